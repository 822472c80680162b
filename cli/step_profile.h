// SPDX-License-Identifier: Apache-2.0
// Where the time of a run went: steps added up in rows.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/options.h"
#include "zoetrope/tools.h"

namespace zoetrope::cli {

// What the machine reaches at most.
struct Roofline {
  double flops = 0;  // per second
  double bytes = 0;  // per second
};

enum class StepKind : uint8_t { kConv, kAttention, kOther, kCopy };
StepKind kind_of(const StepEvent& event);
const char* name_of(StepKind kind);  // "conv", "attention", "other", "copy"

// Steps that share a row.
struct Group {
  std::string name;
  StepKind kind = StepKind::kOther;  // of the first of them
  std::string kernel = {};           // likewise
  double calls = 0;
  double seconds = 0;
  double flops = 0;
  double bytes = 0;
  // (flops, bytes) of a step -> how often: a roofline holds for steps, not for their sum.
  std::map<std::pair<double, double>, double> works = {};

  void add(const StepEvent& event);
  void add(const Group& other);

  // Of one run, from the sums of `runs`.
  void divide(double runs);

  // Seconds that the roofline allows at least.
  double least(const Roofline& roofline) const;
};

// "conv3d_bf16_avx3 3x3x3 96->96 128x128": taps in time, rows and columns, channels, picture size.
std::string layer_name(const StepEvent& event);

double ratio(double part, double whole);  // 0 if there is no whole

// What an observer saw.
class StepProfile {
 public:
  explicit StepProfile(ProfileRow row) : row_(row) {}

  void add(const StepEvent& event);

  // Forgets what was seen before the runs that count.
  void clear() { *this = StepProfile(row_); }

  // Averages over `runs`, which took `seconds` together.
  void finish(double seconds, double runs);

  const std::vector<Group>& rows() const { return rows_; }    // the slowest first
  const std::vector<Group>& steps() const { return steps_; }  // each step on its own, likewise

  // Convs, other steps, time outside steps, and all of it.
  std::vector<Group> summary() const { return {convs_, others_, outside_, total_}; }
  const Group& total() const { return total_; }

 private:
  using Groups = std::map<std::string, Group>;
  static std::vector<Group> averages(Groups& groups, double runs);

  ProfileRow row_;
  Groups by_row_ = {};
  Groups by_step_ = {};
  std::vector<Group> rows_ = {};
  std::vector<Group> steps_ = {};
  Group convs_ = {.name = "convs"};
  Group others_ = {.name = "other steps"};
  Group outside_ = {.name = "outside steps"};
  Group total_ = {.name = "total"};
};

}  // namespace zoetrope::cli
