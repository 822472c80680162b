// SPDX-License-Identifier: Apache-2.0
// Results of an earlier bench to compare with.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/bench_rows.h"
#include "cli/earlier_result.h"

namespace zoetrope::cli {

class Baseline {
 public:
  // Throws kIo if the file cannot be read or is not what `zoetrope bench --json` writes.
  explicit Baseline(const std::string& path);

  // See EarlierResult.
  std::vector<std::string> check(const nlohmann::ordered_json& context) const {
    return result_.check(context);
  }

  // For each row and column new / old, and whether that is better or worse. Rows that the baseline
  // does not have are left out.
  std::string ratios(const std::vector<BenchRow>& rows) const;

 private:
  const BenchRow* row_like(const BenchRow& row) const;

  EarlierResult result_;
  std::vector<BenchRow> rows_;
};

}  // namespace zoetrope::cli
