// SPDX-License-Identifier: Apache-2.0
// What packed weights look like, for any instruction set and on any machine.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <vector>

#include "cpu/cpu_target.h"
#include "cpu/kernels/conv3d.h"

namespace zoetrope {
namespace {

using cpu::Conv3dKernel;

// All that packing depends on: operands, lanes, vectors of a panel, group.
using Form = std::tuple<DType, int64_t, int64_t, int64_t>;

constexpr int64_t kEverySet = -1;

std::vector<std::byte> packed(const Conv3dKernel& kernel) {
  constexpr int64_t kFilters = 68, kChannels = 3, kTaps = 9, kParts = 4;
  std::vector<float> weight(kFilters * kChannels * kTaps);
  std::iota(weight.begin(), weight.end(), 1.0F);
  std::vector<std::byte> bytes(
      static_cast<size_t>(kernel.packed_bytes(kFilters, kChannels, kTaps, kParts)));
  kernel.pack(weight.data(), kFilters, kChannels, kTaps, kParts, bytes.data());
  return bytes;
}

uint64_t fnv1a(const std::vector<std::byte>& bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<uint64_t>(byte)) * 0x100000001b3;
  return hash;
}

// Modules that people keep hold these bytes: where one of them changes, CpuTarget::packing_version
// must change too.
TEST(Conv3dPack, GivesTheBytesOfPackingVersion1) {
  ASSERT_EQ(cpu::CpuTarget().packing_version(), 1);
  const std::map<Form, uint64_t> expected = {
      {{DType::kBFloat16, 16, 3, 2}, 0x8baac8b4f5c026ee},  // AVX-512
      {{DType::kFloat32, 16, 3, 1}, 0xc685386dce26d76d},   // AVX-512
      {{DType::kFloat32, 8, 2, 1}, 0x5d2ced10990cd079},    // AVX2
      {{DType::kFloat32, 4, 2, 1}, 0x193225bbded44a7d},    // SSE4
      {{DType::kFloat32, 1, 2, 1}, 0xe0799f1b51db805d},    // scalar
  };
  std::set<Form> seen;
  for (const Conv3dKernel& kernel : cpu::conv3d_kernels(kEverySet, cpu::Bf16Products::kPairs)) {
    const Form form = {kernel.operands, kernel.lanes(), kernel.panel_vectors, kernel.group};
    const auto found = expected.find(form);
    if (found == expected.end()) continue;  // of another architecture
    EXPECT_EQ(fnv1a(packed(kernel)), found->second) << kernel.name;
    seen.insert(form);
  }
#if defined(__x86_64__)
  EXPECT_EQ(seen.size(), expected.size());
#endif
}

}  // namespace
}  // namespace zoetrope
