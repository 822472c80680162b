// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "backend/backend.h"
#include "cpu/cpu_target.h"
#include "zoetrope/autoencoder.h"

namespace zoetrope::cpu {

// `threads`: 0 means one per core. `target` must run here.
std::unique_ptr<Backend> open_cpu_backend(int threads, Allocator allocator,
                                          CpuTarget target = CpuTarget());

// The name of the instruction set that kernels use by default: "AVX3".
std::string default_instruction_set();

// Types of operands that it has kernels for, the default first: "float32, bfloat16".
std::string operand_types();

}  // namespace zoetrope::cpu
