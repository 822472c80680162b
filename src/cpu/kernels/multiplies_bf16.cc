// SPDX-License-Identifier: Apache-2.0
// Apart from multiply_bf16.cc, since every processor runs this.
#include "cpu/kernels/multiply_bf16.h"

namespace zoetrope::cpu {

bool multiplies_bf16() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bf16") != 0;
}

}  // namespace zoetrope::cpu
