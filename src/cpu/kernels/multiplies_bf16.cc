// SPDX-License-Identifier: Apache-2.0
// Apart from multiply_bf16.cc, since every processor runs this.
#include <cpuid.h>

#include "cpu/kernels/multiply_bf16.h"

namespace zoetrope::cpu {

bool multiplies_bf16() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bf16") != 0;
}

bool multiplies_bf16_well() {
  constexpr unsigned kFamily = 6;
  constexpr unsigned kSapphireRapids = 0x8f;  // the first model of that kind with AVX-512 BF16
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__builtin_cpu_is("intel") == 0 || __get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return true;
  const unsigned family = (eax >> 8) & 0xf;
  const unsigned model = ((eax >> 12) & 0xf0) | ((eax >> 4) & 0xf);
  return family != kFamily || model < kSapphireRapids;
}

}  // namespace zoetrope::cpu
