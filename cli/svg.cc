// SPDX-License-Identifier: Apache-2.0
#include "cli/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace zoetrope::cli {

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += letter;
    }
  }
  return safe;
}

Scale::Scale(Kind kind, double least, double most, double begin, double end)
    : kind_(kind), least_(least), most_(most), begin_(begin), end_(end) {}

double Scale::at(double value) const {
  const double share = kind_ == Kind::kLinear ? (value - least_) / (most_ - least_)
                                              : std::log(value / least_) / std::log(most_ / least_);
  return begin_ + share * (end_ - begin_);
}

std::vector<double> Scale::ticks(int count) const {
  std::vector<double> values;
  if (kind_ == Kind::kLogarithmic) {
    for (double exponent = std::ceil(std::log10(least_)); std::pow(10, exponent) <= most_;) {
      values.push_back(std::pow(10, exponent++));
    }
    return values;
  }
  const double rough = (most_ - least_) / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= rough) step = factor * power;
  }
  const double first = std::ceil(least_ / step);
  for (double i = first; i * step <= most_ * (1 + 1e-9); ++i) values.push_back(i * step);
  return values;
}

std::string tick_text(double value) { return fmt::format("{:.4g}", value); }

std::string x_axis(const Scale& scale, const Plot& plot, int ticks, const std::string& label) {
  std::string text;
  for (const double value : scale.ticks(ticks)) {
    const double x = scale.at(value);
    text += fmt::format(R"(<line class="grid" x1="{0:.1f}" y1="{1}" x2="{0:.1f}" y2="{2}"/>)"
                        R"(<text class="tick" x="{0:.1f}" y="{3}" text-anchor="middle">{4}</text>)",
                        x, plot.top, plot.bottom, plot.bottom + 18, tick_text(value));
  }
  return text + fmt::format(R"(<text class="axis" x="{}" y="{}" text-anchor="middle">{}</text>)",
                            (plot.left + plot.right) / 2, plot.bottom + 40, escaped(label));
}

std::string y_axis(const Scale& scale, const Plot& plot, int ticks, const std::string& label) {
  std::string text;
  for (const double value : scale.ticks(ticks)) {
    const double y = scale.at(value);
    text += fmt::format(R"(<line class="grid" x1="{1}" y1="{0:.1f}" x2="{2}" y2="{0:.1f}"/>)"
                        R"(<text class="tick" x="{3}" y="{4:.1f}" text-anchor="end">{5}</text>)",
                        y, plot.left, plot.right, plot.left - 8, y + 4, tick_text(value));
  }
  return text + fmt::format(R"(<text class="axis" x="{}" y="{}">{}</text>)", 0, plot.top - 12,
                            escaped(label));
}

std::string picture(int width, int height, const std::string& title, const std::string& description,
                    const std::string& body) {
  return fmt::format(
      "<svg role=\"img\" viewBox=\"0 0 {} {}\" aria-label=\"{}\">\n<desc>{}</desc>\n{}\n</svg>\n",
      width, height, escaped(title), escaped(description), body);
}

}  // namespace zoetrope::cli
