// SPDX-License-Identifier: Apache-2.0
// What a GPU's matrix units can do at most, measured.
#pragma once

#include <cuda_runtime_api.h>

#include "zoetrope/tensor_view.h"

namespace zoetrope::cuda {

// Starts `blocks` thread blocks that multiply on registers alone, and says how many multiplications
// and additions they make. float32: three products of tf32 each count as one. `sink` is a float of
// device memory.
cudaError_t multiply_in_registers(DType operands, int blocks, float* sink, double* flops,
                                  cudaStream_t stream);

// The same by products of warpgroups, for Hopper and 16-bit operands. One block fills a
// multiprocessor.
cudaError_t multiply_in_warpgroups(DType operands, int blocks, float* sink, double* flops,
                                   cudaStream_t stream);

}  // namespace zoetrope::cuda
