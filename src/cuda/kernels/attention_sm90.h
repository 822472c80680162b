// SPDX-License-Identifier: Apache-2.0
// Attention with one head over the positions of each frame, on Hopper's matrix units. Keys come in
// one order for every query, so its bits depend on its frame alone. All pointers are of device
// memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

#include "cuda/kernels/attention.h"

namespace zoetrope::cuda {

// Why this kernel cannot do attention over heads of `channels`; empty if it can.
std::string attention_sm90_refusal(DType operands, int64_t channels);

// Warpgroups of a thread block, each with 64 queries: 1 or 2. Results do not depend on it.
int attention_sm90_warpgroups(int64_t frames, int64_t positions);

// Without a workspace.
cudaError_t attention_sm90(const AttentionArgs& args, int warpgroups, cudaStream_t stream);

}  // namespace zoetrope::cuda
