// SPDX-License-Identifier: Apache-2.0
#include "cli/profile_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "cli/svg.h"

namespace zoetrope::cli {
namespace {

constexpr int kWidth = 1000;
constexpr double kTera = 1e12;
constexpr double kMebibyte = 1 << 20;
constexpr std::array kKinds = {StepKind::kConv, StepKind::kAttention, StepKind::kOther,
                               StepKind::kCopy};

// Where the dots of the roofline chart stand, and how far its axes reach.
class RooflineView {
 public:
  RooflineView(const std::vector<Group>& steps, const Roofline& roofline) : roofline_(roofline) {
    double least_x = ridge();
    double most_x = ridge();
    for (const Group& step : steps) {
      if (step.flops <= 0) continue;
      least_x = std::min(least_x, step.flops / step.bytes);
      most_x = std::max(most_x, step.flops / step.bytes);
    }
    least_x_ = least_x / 8;  // the left edge, for steps without arithmetic
    most_x_ = most_x * 3;
    least_y_ = most_y_ = roofline.flops;
    for (const Group& step : steps) {
      if (step.seconds <= 0) continue;
      least_y_ = std::min(least_y_, rate(step));
      most_y_ = std::max(most_y_, rate(step));
    }
  }

  double ridge() const { return roofline_.flops / roofline_.bytes; }
  double intensity(const Group& step) const {
    return step.flops > 0 ? step.flops / step.bytes : edge();
  }
  double rate(const Group& step) const {
    return (step.flops > 0 ? step.flops : step.bytes * edge()) / step.seconds;
  }
  double edge() const { return least_x_ * 1.5; }

  Scale x(const Plot& plot) const {
    return {Scale::Kind::kLogarithmic, least_x_, most_x_, plot.left, plot.right};
  }
  Scale y(const Plot& plot) const {
    return {Scale::Kind::kLogarithmic, least_y_ / kTera / 2, most_y_ / kTera * 2, plot.bottom,
            plot.top};
  }

  // The roof at an intensity, in TFLOP/s.
  double roof(double intensity) const {
    return std::min(roofline_.flops, intensity * roofline_.bytes) / kTera;
  }
  double most_x() const { return most_x_; }
  double least_x() const { return least_x_; }

 private:
  Roofline roofline_;
  double least_x_ = 1;
  double most_x_ = 1;
  double least_y_ = 1;
  double most_y_ = 1;
};

std::string roof_lines(const RooflineView& view, const Roofline& roofline, const Plot& plot) {
  const Scale x = view.x(plot);
  const Scale y = view.y(plot);
  // The slope may begin below the plot.
  const double bottom = std::max(view.least_x(), y.ticks(1).front() / 10 * kTera / roofline.bytes);
  return fmt::format(
      R"(<path class="roof" d="M{:.1f} {:.1f}L{:.1f} {:.1f}H{:.1f}"/>)"
      R"(<text class="label" x="{:.1f}" y="{:.1f}">peak {:.3g} TFLOP/s</text>)"
      R"(<text class="label" x="{:.1f}" y="{:.1f}" text-anchor="end">memory {:.3g} GB/s</text>)",
      x.at(bottom), y.at(view.roof(bottom)), x.at(view.ridge()), y.at(roofline.flops / kTera),
      plot.right, x.at(view.ridge()) + 6, y.at(roofline.flops / kTera) - 8, roofline.flops / kTera,
      x.at(view.ridge()) - 40, y.at(view.roof(view.ridge() / 1.6)) - 14, roofline.bytes / 1e9);
}

std::string dot(const Group& step, const RooflineView& view, const Plot& plot, double radius) {
  const double x = view.x(plot).at(view.intensity(step));
  const double y = view.y(plot).at(view.rate(step) / kTera);
  return fmt::format(
      R"(<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{:.1f}"><title>{}: {:.3g} ms, )"
      R"({:.3g} TFLOP/s, {:.3g} GB/s</title></circle>)",
      name_of(step.kind), x, y, radius, escaped(step.name), step.seconds * 1e3,
      ratio(step.flops, step.seconds) / kTera, ratio(step.bytes, step.seconds) / 1e9);
}

// The number beside a dot, clear of those that are there.
std::string number_of(double x, double y, size_t number,
                      std::vector<std::pair<double, double>>& taken) {
  constexpr double kClear = 13;
  const auto meets = [&](double at) {
    return std::ranges::any_of(taken, [&](const auto& other) {
      return std::abs(other.first - x) < kClear && std::abs(other.second - at) < kClear;
    });
  };
  while (meets(y)) y -= kClear;
  taken.emplace_back(x, y);
  return fmt::format(R"(<text class="number" x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)",
                     x, y, number);
}

// Numbers of the slowest steps, by name.
std::map<std::string, size_t> numbers_of(const std::vector<Group>& steps, size_t numbered) {
  std::map<std::string, size_t> numbers;
  for (size_t i = 0; i < std::min(numbered, steps.size()); ++i) numbers[steps[i].name] = i + 1;
  return numbers;
}

Scale time_scale(const Timeline& timeline, const EntryRun& run, const Plot& plot) {
  const std::vector<TimedStep>& steps = timeline.steps();
  const double milliseconds = (steps[run.last - 1].end() - steps[run.first].start) * 1e3;
  return {Scale::Kind::kLinear, 0, std::max(milliseconds, 1e-6), plot.left, plot.right};
}

std::string lane_names(const Plot& plot, double lane) {
  std::string text;
  double y = plot.top;
  for (const StepKind kind : kKinds) {
    text += fmt::format(R"(<text class="axis" x="{}" y="{:.1f}" text-anchor="end">{}</text>)"
                        R"(<line class="grid" x1="{}" y1="{:.1f}" x2="{}" y2="{:.1f}"/>)",
                        plot.left - 8, y + lane / 2 + 4, name_of(kind), plot.left, y + lane,
                        plot.right, y + lane);
    y += lane;
  }
  return text;
}

}  // namespace

std::string legend() {
  std::string text = "<ul class=\"legend\">";
  for (const StepKind kind : kKinds) {
    text += fmt::format("<li><span class=\"swatch {0}\"></span>{0}</li>", name_of(kind));
  }
  return text + "</ul>\n";
}

std::string roofline_chart(const std::vector<Group>& steps, const Roofline& roofline,
                           size_t numbered) {
  constexpr int kHeight = 480;
  const Plot plot = {.left = 60, .top = 32, .right = kWidth - 12, .bottom = kHeight - 52};
  const RooflineView view(steps, roofline);
  std::string body = x_axis(view.x(plot), plot, 0, "arithmetic per byte moved, FLOP/B");
  body += y_axis(view.y(plot), plot, 0, "TFLOP/s");
  body += roof_lines(view, roofline, plot);
  const double whole = steps.empty() ? 1 : std::max(steps.front().seconds, 1e-12);
  std::vector<std::pair<double, double>> taken;
  std::string numbers;
  for (size_t i = steps.size(); i-- > 0;) {  // the slowest on top
    const Group& step = steps[i];
    if (step.seconds <= 0 || step.bytes <= 0) continue;
    const double radius = 3 + 9 * std::sqrt(step.seconds / whole);
    body += dot(step, view, plot, radius);
  }
  for (size_t i = 0; i < std::min(numbered, steps.size()); ++i) {
    if (steps[i].seconds <= 0 || steps[i].bytes <= 0) continue;
    const double radius = 3 + 9 * std::sqrt(steps[i].seconds / whole);
    numbers += number_of(view.x(plot).at(view.intensity(steps[i])),
                         view.y(plot).at(view.rate(steps[i]) / kTera) - radius - 4, i + 1, taken);
  }
  return picture(kWidth, kHeight, "Roofline: every step under the machine's limits",
                 "Arithmetic per byte against arithmetic per second of each step; the table of all "
                 "steps has the same numbers.",
                 body + numbers);
}

std::string timeline_chart(const Timeline& timeline, const EntryRun& run,
                           const std::vector<Group>& steps, size_t numbered) {
  constexpr double kLane = 34;
  constexpr int kHeight = 4 * 34 + 64;
  const Plot plot = {.left = 80, .top = 12, .right = kWidth - 12, .bottom = 12 + 4 * kLane};
  const Scale x = time_scale(timeline, run, plot);
  const std::map<std::string, size_t> numbers = numbers_of(steps, numbered);
  std::string body = x_axis(x, plot, 10, "ms") + lane_names(plot, kLane);
  const double begin = timeline.steps()[run.first].start;
  for (size_t i = run.first; i < run.last; ++i) {
    const TimedStep& step = timeline.steps()[i];
    const auto lane = std::ranges::find(kKinds, step.kind) - kKinds.begin();
    const double top = plot.top + static_cast<double>(lane) * kLane;
    const double left = x.at((step.start - begin) * 1e3);
    const double right = x.at((step.end() - begin) * 1e3);
    body += fmt::format(R"(<rect class="{}" x="{:.2f}" y="{:.1f}" width="{:.2f}" height="{}">)"
                        R"(<title>{}: {:.3g} ms, {}</title></rect>)",
                        name_of(step.kind), left, top + 4, std::max(0.6, right - left), kLane - 8,
                        escaped(step.name), step.seconds * 1e3, escaped(step.layer));
    const auto number = numbers.find(fmt::format("{} {} {}", step.entry, step.op, step.name));
    constexpr double kRoom = 14;
    if (number == numbers.end() || right - left < kRoom) continue;
    body += fmt::format(R"(<text class="on" x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)",
                        (left + right) / 2, top + kLane / 2 + 4, number->second);
  }
  return picture(kWidth, kHeight, "Time line of " + run.entry,
                 "When each step ran, one lane for each kind; the tables have their times.", body);
}

std::string memory_chart(const Timeline& timeline, const EntryRun& run) {
  constexpr int kHeight = 220;
  const Plot plot = {.left = 80, .top = 32, .right = kWidth - 12, .bottom = kHeight - 52};
  const std::vector<TimedStep>& steps = timeline.steps();
  int64_t most = 1;
  for (size_t i = run.first; i < run.last; ++i) most = std::max(most, steps[i].memory);
  const Scale x = time_scale(timeline, run, plot);
  const Scale y(Scale::Kind::kLinear, 0, 1.1 * static_cast<double>(most) / kMebibyte, plot.bottom,
                plot.top);
  std::string path = fmt::format("M{:.1f} {:.1f}", plot.left, plot.bottom);
  const double begin = steps[run.first].start;
  for (size_t i = run.first; i < run.last; ++i) {
    path += fmt::format("H{:.2f}V{:.1f}", x.at((steps[i].start - begin) * 1e3),
                        y.at(static_cast<double>(steps[i].memory) / kMebibyte));
  }
  path += fmt::format("H{:.1f}V{:.1f}Z", plot.right, plot.bottom);
  return picture(kWidth, kHeight, "Memory of the values over time in " + run.entry,
                 fmt::format("At most {:.1f} MiB.", static_cast<double>(most) / kMebibyte),
                 x_axis(x, plot, 10, "ms") + y_axis(y, plot, 4, "MiB held by values") +
                     fmt::format(R"(<path class="area" d="{}"/>)", path));
}

}  // namespace zoetrope::cli
