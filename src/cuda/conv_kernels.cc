// SPDX-License-Identifier: Apache-2.0
#include "cuda/conv_kernels.h"

#include <fmt/format.h>

#include <array>
#include <sstream>

#include "base/dtype.h"
#include "base/fail.h"
#include "cuda/kernels/conv3d_mma.h"
#include "cuda/kernels/conv3d_sm90.h"
#include "cuda/kernels/pointwise.h"

namespace zoetrope::cuda {
namespace {

std::string sm90_refusal(const Conv3dArgs& args, int capability) {
  const std::string reason = sm90_tier_refusal(capability);
  return reason.empty() ? conv3d_sm90_refusal(args) : reason;
}

constexpr int64_t kStrides = 4;  // more than there are

// Channels of a chunk, which a shortcut's weight shares with its conv's, and the stride in space.
int64_t sm90_variant(const Conv3dArgs& args) {
  return conv3d_sm90_chunk(args) * kStrides + args.stride_space;
}

Conv3dSm90Weight sm90_weight(const ConvLayout& layout, const std::vector<int64_t>& shape,
                             const float* values) {
  return {.values = values,
          .filters = shape[0],
          .c_in = shape[1],
          .kernel_time = shape[2],
          .kernel_height = shape[3],
          .kernel_width = shape[4],
          .stride_space = layout.variant % kStrides,
          .chunk = layout.variant / kStrides,
          .parts = layout.parts,
          .operands = layout.operands};
}

int64_t sm90_packed_bytes(const ConvLayout& layout, const std::vector<int64_t>& shape) {
  return conv3d_sm90_packed_bytes(sm90_weight(layout, shape, nullptr));
}

std::vector<std::byte> sm90_pack(const ConvLayout& layout, const std::vector<int64_t>& shape,
                                 const float* values) {
  std::vector<std::byte> packed(static_cast<size_t>(sm90_packed_bytes(layout, shape)));
  conv3d_sm90_pack(sm90_weight(layout, shape, values), packed.data());
  return packed;
}

cudaError_t sm90_run(const Conv3dArgs& args, cudaStream_t stream) {
  return conv3d_sm90(args, conv3d_sm90_tile(args), stream);
}

constexpr int64_t kSpreadChannels = 8;  // 16 bytes: the least that the copy engine steps by

Conv3dArgs spread(const Conv3dArgs& args) {
  Conv3dArgs spread = args;
  spread.pixel_stride = kSpreadChannels;
  return spread;
}

std::string pictures_refusal(const Conv3dArgs& args, int capability) {
  if (args.c_in > kSpreadChannels) return fmt::format("{} input channels; up to 8", args.c_in);
  return sm90_refusal(spread(args), capability);
}

cudaError_t pictures_run(const Conv3dArgs& args, cudaStream_t stream) {
  const int64_t frame = args.height * args.width;
  const int64_t past = args.history == nullptr ? 0 : args.kernel_time - args.stride_time;
  Conv3dArgs conv = spread(args);
  conv.x = static_cast<std::byte*>(args.workspace) + past * frame * kSpreadChannels * 2;
  conv.history = past == 0 ? nullptr : args.workspace;
  const cudaError_t error = spread_pixels({.before = args.history,
                                           .pixels_before = past * frame,
                                           .x = args.x,
                                           .pixels = args.frames * frame,
                                           .channels = args.c_in,
                                           .y = args.workspace},
                                          stream);
  return error == cudaSuccess ? sm90_run(conv, stream) : error;
}

std::string mma_refusal(const Conv3dArgs& args, int /*capability*/) {
  if (args.shortcut != nullptr && args.store != Conv3dStore::kPlain) {
    return "a shortcut where results are interleaved";
  }
  if (args.gamma != nullptr && args.c_out > kConv3dMmaMostNormed) {
    return fmt::format("a norm over {} channels; there are kernels for up to {}", args.c_out,
                       kConv3dMmaMostNormed);
  }
  return "";
}

int64_t mma_block(const Conv3dArgs& args) {
  return conv3d_mma_block(args.c_out, args.gamma != nullptr);
}

Conv3dMmaLayout mma_layout(const ConvLayout& layout) {
  return {.operands = layout.operands, .block_filters = layout.variant, .parts = layout.parts};
}

Conv3dWeight mma_weight(const std::vector<int64_t>& shape, const float* values) {
  return {.values = values,
          .filters = shape[0],
          .c_in = shape[1],
          .kernel_time = shape[2],
          .plane_taps = shape[3] * shape[4]};
}

int64_t mma_packed_bytes(const ConvLayout& layout, const std::vector<int64_t>& shape) {
  return conv3d_mma_packed_bytes(mma_layout(layout), mma_weight(shape, nullptr));
}

std::vector<std::byte> mma_pack(const ConvLayout& layout, const std::vector<int64_t>& shape,
                                const float* values) {
  std::vector<std::byte> packed(static_cast<size_t>(mma_packed_bytes(layout, shape)));
  conv3d_mma_pack(mma_layout(layout), mma_weight(shape, values), packed.data());
  return packed;
}

cudaError_t mma_run(const Conv3dArgs& args, cudaStream_t stream) {
  return conv3d_mma(args, mma_block(args), stream);
}

constexpr int64_t kWindow = 32;  // numbers of a window: what the kernel takes at a time

std::string windows_refusal(const Conv3dArgs& args, int capability) {
  const int64_t numbers = args.c_in * args.kernel_height * args.kernel_width;
  if (numbers > kWindow || numbers == args.c_in) {
    return fmt::format("a window of {} numbers in space; it is for more than a pixel's, up to {}",
                       numbers, kWindow);
  }
  if (args.stride_space != 1 || args.store != Conv3dStore::kPlain) {
    return "a stride, or results that are interleaved";
  }
  return mma_refusal(args, capability);
}

// Taps in space become channels; a shortcut has one.
std::vector<int64_t> windows_shape(const std::vector<int64_t>& shape) {
  if (shape[3] * shape[4] == 1) return shape;
  return {shape[0], kWindow, shape[2], 1, 1};
}

int64_t windows_packed_bytes(const ConvLayout& layout, const std::vector<int64_t>& shape) {
  return mma_packed_bytes(layout, windows_shape(shape));
}

std::vector<std::byte> windows_pack(const ConvLayout& layout, const std::vector<int64_t>& shape,
                                    const float* values) {
  const int64_t taps = shape[3] * shape[4];
  if (taps == 1) return mma_pack(layout, shape, values);
  std::vector<float> windows(static_cast<size_t>(shape[0] * kWindow * shape[2]));
  for (int64_t i = 0; i < shape[0] * shape[1] * shape[2] * taps; ++i) {
    const int64_t tap = i % taps;
    const int64_t time = i / taps % shape[2];
    const int64_t channel = i / taps / shape[2] % shape[1];
    const int64_t filter = i / taps / shape[2] / shape[1];
    const int64_t to = (filter * kWindow + tap * shape[1] + channel) * shape[2] + time;
    windows[static_cast<size_t>(to)] = values[i];
  }
  return mma_pack(layout, windows_shape(shape), windows.data());
}

cudaError_t windows_run(const Conv3dArgs& args, cudaStream_t stream) {
  const int64_t past = args.history == nullptr ? 0 : args.kernel_time - args.stride_time;
  const int64_t frame = args.height * args.width * kWindow * size_of(args.operands);
  Conv3dArgs conv = args;
  conv.x = static_cast<std::byte*>(args.workspace) + past * frame;
  conv.history = past == 0 ? nullptr : args.workspace;
  conv.c_in = kWindow;
  conv.kernel_height = conv.kernel_width = 1;
  conv.pad_before = 0;
  const cudaError_t error = gather_windows({.before = args.history,
                                            .frames_before = past,
                                            .x = args.x,
                                            .frames = args.frames,
                                            .height = args.height,
                                            .width = args.width,
                                            .channels = args.c_in,
                                            .element_bytes = size_of(args.operands),
                                            .kernel_height = args.kernel_height,
                                            .kernel_width = args.kernel_width,
                                            .pad_before = args.pad_before,
                                            .window = kWindow,
                                            .y = args.workspace},
                                           stream);
  return error == cudaSuccess ? mma_run(conv, stream) : error;
}

constexpr std::array kKernels = {
    ConvKernel{"conv3d_sm90", sm90_refusal, sm90_variant, sm90_packed_bytes, sm90_pack, sm90_run},
    ConvKernel{"conv3d_sm90_pictures", pictures_refusal, sm90_variant, sm90_packed_bytes, sm90_pack,
               pictures_run, kSpreadChannels},
    ConvKernel{"conv3d_mma_pictures", windows_refusal, mma_block, windows_packed_bytes,
               windows_pack, windows_run, kWindow},
    ConvKernel{"conv3d_mma", mma_refusal, mma_block, mma_packed_bytes, mma_pack, mma_run}};

}  // namespace

std::string ConvLayout::text() const {
  return fmt::format("{}/{}/{}/{}", kernel, name_of(operands), variant, parts);
}

ConvLayout ConvLayout::parse(const std::string& text) {
  std::istringstream fields(text);
  ConvLayout layout;
  std::string type;
  char slash = 0;
  std::getline(fields, layout.kernel, '/');
  std::getline(fields, type, '/');
  fields >> layout.variant >> slash >> layout.parts;
  const auto operands = parse_dtype(type);
  ZOETROPE_CHECK(operands && fields, text);
  layout.operands = *operands;
  return layout;
}

std::string sm90_tier_refusal(int capability) {
  if (capability == kHopper) return "";
  return fmt::format("it needs compute capability 9.0, this is {}.{}", capability / 10,
                     capability % 10);
}

std::span<const ConvKernel> conv_kernels() { return kKernels; }

std::string step_kernel_name(const char* kernel, DType operands) {
  const char* type = operands == DType::kFloat32   ? "f32"
                     : operands == DType::kFloat16 ? "f16"
                                                   : "bf16";
  return fmt::format("{}_{}", kernel, type);
}

}  // namespace zoetrope::cuda
