// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cuda/kernels/edge_copy.h"
#include "cuda/kernels/grid.cuh"
#include "cuda/kernels/number.cuh"

namespace zoetrope::cuda {
namespace {

// Products and sums are rounded one by one, as on other devices: what the edges give does not
// depend on where they run.
__device__ float read(const StridedTensor& tensor, int64_t index) {
  if (tensor.dtype == DType::kUInt8) {
    return __fsub_rn(static_cast<float>(static_cast<const uint8_t*>(tensor.data)[index]) / 127.5F,
                     1.0F);
  }
  const float value = load_number(tensor.data, tensor.dtype, index);
  return tensor.range == Range::kUnit ? __fsub_rn(__fmul_rn(value, 2.0F), 1.0F) : value;
}

__device__ uint8_t to_byte(float value) {
  if (!(value > 0.0F)) return 0;  // NaN too
  return value >= 255.0F ? 255 : static_cast<uint8_t>(rintf(value));
}

__device__ void write(const StridedTensor& tensor, int64_t index, float value) {
  if (tensor.dtype == DType::kUInt8) {
    static_cast<uint8_t*>(tensor.data)[index] = to_byte(__fmul_rn(__fadd_rn(value, 1.0F), 127.5F));
    return;
  }
  if (tensor.range == Range::kUnit) value = __fmul_rn(__fadd_rn(value, 1.0F), 0.5F);
  store_number(tensor.data, tensor.dtype, index, value);
}

__device__ void add(NotFiniteTally& tally, int64_t frame) {
  static_assert(sizeof(unsigned long long) == sizeof(uint64_t));
  atomicAdd(reinterpret_cast<unsigned long long*>(&tally.values), 1ULL);
  atomicMax(reinterpret_cast<unsigned long long*>(&tally.left),
            static_cast<unsigned long long>(NotFiniteTally::kEnd) -
                static_cast<unsigned long long>(frame));
}

// Axes from the one that moves fastest to the slowest.
struct Order {
  int axes[4];
};

__global__ void edge_copy_kernel(const __grid_constant__ EdgeCopyArgs args, Order order) {
  const int64_t count = args.shape[0] * args.shape[1] * args.shape[2] * args.shape[3];
  for (int64_t i = grid_first(); i < count; i += grid_step()) {
    int64_t rest = i;
    int64_t from = 0;
    int64_t to = 0;
    int64_t channel = 0;
    int64_t frame = args.first_frame;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int axis = order.axes[k];
      const int64_t extent = args.shape[axis];
      const int64_t at = rest % extent;
      rest /= extent;
      from += at * args.from.strides[axis];
      to += at * args.to.strides[axis];
      if (axis == 3) channel = at;
      if (axis == 0) frame += at;
    }
    float value =
        __fadd_rn(__fmul_rn(read(args.from, from), args.scale[channel]), args.offset[channel]);
    if (args.tally != nullptr && !isfinite(value)) add(*args.tally, frame);
    if (args.clamp && !isnan(value)) value = fminf(fmaxf(value, -1.0F), 1.0F);
    write(args.to, to, value);
  }
}

// Neighbouring threads take neighbours in memory of the side whose pixels are farther apart, the
// caller's more often than not.
Order order_of(const EdgeCopyArgs& args) {
  Order order = {{3, 2, 1, 0}};
  const auto& strides = args.to.strides[3] == 1 ? args.from.strides : args.to.strides;
  std::stable_sort(std::begin(order.axes), std::end(order.axes), [&](int a, int b) {
    const int64_t first = strides[a];
    const int64_t second = strides[b];
    return (first < 0 ? -first : first) < (second < 0 ? -second : second);
  });
  return order;
}

}  // namespace

cudaError_t edge_copy(const EdgeCopyArgs& args, cudaStream_t stream) {
  const int64_t count = args.shape[0] * args.shape[1] * args.shape[2] * args.shape[3];
  if (count == 0) return cudaSuccess;
  edge_copy_kernel<<<grid_for(count), kGridThreads, 0, stream>>>(args, order_of(args));
  return cudaGetLastError();
}

}  // namespace zoetrope::cuda
