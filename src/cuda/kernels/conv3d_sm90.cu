// SPDX-License-Identifier: Apache-2.0
// Causal 3-D convs on Hopper: implicit GEMM, output pixels x filters, summed over taps and input
// channels. A block owns tiles of 8x8-pixel blocks, one, two or four for each of its two consumer
// warpgroups. For each (temporal tap, channel chunk) one box of the input, halo and all, lies in
// shared memory and serves every spatial tap: a tap is an address, since a matrix may begin on any
// row. Rows of a matrix are pixels; 8 of one image row, then the next image row.
//
//   producer warp 0: boxes of x or history    -> full_a ... empty_a ->  ring of boxes
//   producer warp 1: packed weights           -> full_b ... empty_b ->  ring of weight stages
//   consumer warpgroups: products, then the epilogue in registers
//
// Up to 8 filters are one narrow product, whose epilogue adds a bias and nothing else.
//
// The residual comes through the ring of boxes too, as wide as the conv's, between them.
#include <algorithm>

#include "cuda/kernels/conv3d_sm90_epilogue.cuh"
#include "cuda/kernels/conv3d_sm90_kernel.h"
#include "cuda/kernels/conv3d_sm90_products.cuh"
#include "cuda/kernels/conv3d_sm90_stages.cuh"
#include "cuda/kernels/conv3d_tile.h"

namespace zoetrope::cuda::sm90 {
namespace {

template <typename T>
__device__ void consume(const Conv3dSm90Params& p, const Stages& s, const Place& place,
                        Tail<T>& tail) {
  Consumer<T> consumer(p, s, place, tail, static_cast<int>(threadIdx.x) - kWarpgroup);
  typename Consumer<T>::Sums sums = {};
  uint32_t count = 0;
  for (int tile = place.first; tile < p.tiles; tile += place.step, ++count) {
    consumer.multiply(sums);
    const Origin origin = origin_of(p, tile);
    if constexpr (T::kFew) {
      store_few(consumer, origin, sums);
    } else {
      finish(Epilogue<T>(consumer, origin), sums, count);
    }
  }
}

template <typename T>
__device__ void prepare(const Conv3dSm90Params& p, const Place& place, Tail<T>& tail) {
  for (int i = static_cast<int>(threadIdx.x); i < T::kFilters; i += kThreads) {
    const int filter = place.split * T::kFilters + i;
    for (int part = 0; part < p.frame_scale; ++part) {
      const bool none = p.bias == nullptr || filter >= p.c_out;
      tail.bias[part][i] = none ? 0.0f : p.bias[part * p.c_out + filter];
    }
    tail.gamma[i] = p.gamma == nullptr ? 0.0f : p.gamma[filter] * (p.silu ? 0.5f : 1.0f);
  }
  if (threadIdx.x == 0) {
    for (int i = 0; i < kMaxStagesA; ++i) {
      ptx::mbarrier_init(ptx::shared_address(&tail.full_a[i]), 1);
      ptx::mbarrier_init(ptx::shared_address(&tail.empty_a[i]), kConsumerWarps * T::kSplit);
    }
    for (int i = 0; i < kMaxStagesB; ++i) {
      ptx::mbarrier_init(ptx::shared_address(&tail.full_b[i]), 1);
      ptx::mbarrier_init(ptx::shared_address(&tail.empty_b[i]), kConsumerWarps);
    }
    for (int i = 0; i < 4; ++i) {
      ptx::mbarrier_init(ptx::shared_address(&tail.exchange.arrived[i / 2][i % 2]), 1);
    }
    ptx::mbarrier_init_fence();
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads, 1) conv3d(const __grid_constant__ Conv3dSm90Params p) {
  extern __shared__ __align__(1024) std::byte shared[];
  const Place at = place<T>();
  const int a_bytes = p.stages_a * p.stage_a_bytes;
  const int b_bytes = p.stages_b * p.taps_per_stage * T::kTapBytes;
  Tail<T>& tail = *reinterpret_cast<Tail<T>*>(shared + a_bytes + b_bytes);
  const uint32_t base = ptx::shared_address(shared);
  const Stages stages = {.a = base,
                         .b = base + a_bytes,
                         .full_a = ptx::shared_address(tail.full_a),
                         .empty_a = ptx::shared_address(tail.empty_a),
                         .full_b = ptx::shared_address(tail.full_b),
                         .empty_b = ptx::shared_address(tail.empty_b)};
  prepare<T>(p, at, tail);
  if constexpr (T::kSplit > 1) ptx::cluster_sync();
  __syncthreads();
  if (threadIdx.x < kWarpgroup) {
    ptx::lower_registers<24>();
    if (threadIdx.x == 0) load_boxes<T>(p, stages, at);
    if (threadIdx.x == kWarp) load_weights<T>(p, stages, at);
  } else {
    ptx::raise_registers<240>();
    consume<T>(p, stages, at, tail);
  }
  if constexpr (T::kSplit > 1) ptx::cluster_sync();
}

// Clusters that run at once on the present device.
template <typename T>
cudaError_t resident(const cudaLaunchConfig_t& config, int* clusters) {
  if constexpr (T::kSplit > 1) return cudaOccupancyMaxActiveClusters(clusters, conv3d<T>, &config);
  int device = 0;
  const cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) return error;
  return cudaDeviceGetAttribute(clusters, cudaDevAttrMultiProcessorCount, device);
}

template <typename T>
cudaError_t start(const Conv3dSm90Params& params, cudaStream_t stream) {
  const int bytes = params.stages_a * params.stage_a_bytes +
                    params.stages_b * params.taps_per_stage * T::kTapBytes +
                    static_cast<int>(sizeof(Tail<T>));
  // Never less for one launch than for another: two threads may start this kernel at once.
  cudaError_t error = cudaFuncSetAttribute(conv3d<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           kConv3dSharedBytes);
  if (error != cudaSuccess) return error;
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {T::kSplit, 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(T::kSplit);
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = bytes;
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = 1;
  int clusters = 0;
  error = resident<T>(config, &clusters);
  if (error != cudaSuccess) return error;
  config.gridDim = dim3(std::min(params.tiles, clusters) * T::kSplit);
  return cudaLaunchKernelEx(&config, conv3d<T>, params);
}

template <typename Operand>
cudaError_t start_for(const Conv3dSm90Params& params, const Conv3dSm90Launch& launch) {
  switch (launch.variant) {
    case Conv3dSm90Variant::kFew:
      return start<Tile<Operand, 8, 4, 32>>(params, launch.stream);
    case Conv3dSm90Variant::k96:
      return start<Tile<Operand, 96, 4, 32>>(params, launch.stream);
    case Conv3dSm90Variant::k96OfPictures:
      return start<Tile<Operand, 96, 4, 8, 1, 4>>(params, launch.stream);
    case Conv3dSm90Variant::k192:
      return start<Tile<Operand, 192, 2, 64>>(params, launch.stream);
    case Conv3dSm90Variant::k192Of32:
      return start<Tile<Operand, 192, 2, 32>>(params, launch.stream);
    case Conv3dSm90Variant::k384:
      return start<Tile<Operand, 192, 2, 64, 2>>(params, launch.stream);
    case Conv3dSm90Variant::k384Small:
      return start<Tile<Operand, 192, 1, 64, 2>>(params, launch.stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace
}  // namespace zoetrope::cuda::sm90

namespace zoetrope::cuda {

cudaError_t start_conv3d_sm90(const Conv3dSm90Params& params, const Conv3dSm90Launch& launch) {
  return launch.operands == Element::kFloat16 ? sm90::start_for<__half>(params, launch)
                                              : sm90::start_for<__nv_bfloat16>(params, launch);
}

}  // namespace zoetrope::cuda
