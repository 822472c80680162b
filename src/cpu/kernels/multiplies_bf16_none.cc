// SPDX-License-Identifier: Apache-2.0
// For processors that are not x86: they have no AVX-512.
#include "base/fail.h"
#include "cpu/kernels/multiply_bf16.h"

namespace zoetrope::cpu {

bool multiplies_bf16() { return false; }

bool multiplies_bf16_well() { return false; }

double multiply_bf16_in_registers(int64_t) {
  fail(ErrorCode::kInternal, "this processor does not multiply bfloat16");
}

}  // namespace zoetrope::cpu
