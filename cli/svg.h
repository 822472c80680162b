// SPDX-License-Identifier: Apache-2.0
// Pieces of pictures in HTML pages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace zoetrope::cli {

// For text and attributes of HTML and SVG.
std::string escaped(std::string_view text);

// From values to pixels.
class Scale {
 public:
  enum class Kind { kLinear, kLogarithmic };

  // `least` < `most`, both above 0 if logarithmic. `begin` may be beyond `end`: the axis of y.
  Scale(Kind kind, double least, double most, double begin, double end);

  double at(double value) const;

  // Round values within the range, about `count` of them; powers of ten if logarithmic.
  std::vector<double> ticks(int count) const;

 private:
  Kind kind_;
  double least_;
  double most_;
  double begin_;
  double end_;
};

// "0.5", "200", "1e-05"
std::string tick_text(double value);

// The rectangle in which a chart draws, in pixels of its view box.
struct Plot {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;
};

// Grid lines with their values, and what the axis stands for.
std::string x_axis(const Scale& scale, const Plot& plot, int ticks, const std::string& label);
std::string y_axis(const Scale& scale, const Plot& plot, int ticks, const std::string& label);

// A picture of `width` x `height` with a title that screen readers say, and a description.
std::string picture(int width, int height, const std::string& title, const std::string& description,
                    const std::string& body);

}  // namespace zoetrope::cli
