// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "backend/backend.h"
#include "zoetrope/autoencoder.h"

namespace zoetrope::cpu {

// `threads`: 0 means one per core. `instruction_set`: Highway's bit; 0 means the best.
std::unique_ptr<Backend> open_cpu_backend(int threads, Allocator allocator,
                                          int64_t instruction_set = 0);

// The name of the instruction set that kernels use by default: "AVX3".
std::string default_instruction_set();

// Types of operands that it has kernels for, the default first: "float32, bfloat16".
std::string operand_types();

}  // namespace zoetrope::cpu
