// SPDX-License-Identifier: Apache-2.0
#include "cpu/cpu_target.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace zoetrope {
namespace {

TEST(CpuTargets, HaveNamesOfTheirOwn) {
  std::vector<std::string> names;
  for (const cpu::CpuTarget& target : cpu::cpu_targets()) {
    EXPECT_EQ(cpu::cpu_target_named(target.name())->name(), target.name());
    EXPECT_EQ(std::count(names.begin(), names.end(), target.name()), 0);
    names.push_back(target.name());
  }
  EXPECT_TRUE(cpu::CpuTarget().runs_here());
  EXPECT_EQ(std::count(names.begin(), names.end(), cpu::CpuTarget().name()), 1);
  EXPECT_FALSE(cpu::cpu_target_named("cpu").has_value());
}

}  // namespace
}  // namespace zoetrope
