// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/conv3d_sm90.h"

#include <algorithm>
#include <cmath>

#include "base/checked_math.h"
#include "cuda/kernels/conv3d_planes.h"
#include "cuda/kernels/conv3d_sm90_kernel.h"
#include "cuda/kernels/tensor_map.h"

namespace zoetrope::cuda {
namespace {

constexpr int64_t kSide = 8;
constexpr int64_t kBytes = 2;  // of an operand
constexpr int64_t kSharedAlignment = 1024;

bool is_half(DType type) { return type == DType::kFloat16 || type == DType::kBFloat16; }

Element element_of(DType type) {
  if (type == DType::kFloat32) return Element::kFloat32;
  return type == DType::kFloat16 ? Element::kFloat16 : Element::kBFloat16;
}

// Frames of height x width pixels; as the kernel's boxes see them, in planes by parity.
struct Frames {
  const void* data;
  int64_t frames;
  int64_t height;
  int64_t width;
  int64_t channels;
  int64_t pixel;   // elements from one to the next
  int64_t stride;  // 2: planes
};

struct Box {
  int64_t channels;
  int64_t width;
  int64_t height;
};

cudaError_t encode(CUtensorMap& map, const Frames& f, const Box& box, DType type) {
  if (f.data == nullptr) return cudaSuccess;
  const int64_t pixel = f.pixel * kBytes;
  const int64_t row = f.width * pixel;
  return encode_tensor_map({.data = f.data,
                            .type = type,
                            .sizes = {f.pixel * (f.stride - 1) + f.channels, f.width / f.stride,
                                      f.stride, f.height / f.stride, f.frames},
                            .strides = {f.stride * pixel, row, f.stride * row, f.height * row},
                            .box = {box.channels, box.width, 1, box.height, 1}},
                           map);
}

Conv3dCut cut_of(const Conv3dArgs& args) {
  return conv3d_cut({.filters = args.c_out,
                     .c_in = args.c_in,
                     .kernel_width = args.kernel_width,
                     .stride_space = args.stride_space});
}

// Pixels that a tile's taps touch in a plane.
Conv3dWindow window_of(const Conv3dArgs& args) {
  const int64_t fold = cut_of(args).fold;
  return {.kernel_height = (args.kernel_height - 1) / args.stride_space + 1,
          .kernel_width = fold > 1 ? fold : (args.kernel_width - 1) / args.stride_space + 1};
}

struct Problem {
  const Conv3dArgs& args;
  const Conv3dTile& tile;
  Conv3dCut cut;
  int64_t frames;  // of the grid of outputs, before the store map
  int64_t height;
  int64_t width;
  std::vector<PlaneTaps> planes;
};

Problem problem_of(const Conv3dArgs& args, const Conv3dTile& tile) {
  const Conv3dCut cut = cut_of(args);
  return {.args = args,
          .tile = tile,
          .cut = cut,
          .frames = args.frames / args.stride_time,
          .height = args.height / args.stride_space,
          .width = args.width / args.stride_space,
          .planes = planes_of(args.kernel_height, cut.fold > 1 ? 1 : args.kernel_width,
                              args.stride_space)};
}

Box box_of(const Problem& p) {
  const Conv3dWindow window = window_of(p.args);
  return {.channels = p.cut.chunk,
          .width = p.tile.blocks_x * kSide + window.kernel_width - 1,
          .height = p.tile.blocks_y * kSide + window.kernel_height - 1};
}

int64_t pixel_of(const Conv3dArgs& args) {
  return args.pixel_stride == 0 ? args.c_in : args.pixel_stride;
}

cudaError_t set_maps(Conv3dSm90Params& out, const Problem& p) {
  const Conv3dArgs& a = p.args;
  const Box box = box_of(p);
  Frames frames = {a.x, a.frames, a.height, a.width, a.c_in, pixel_of(a), a.stride_space};
  cudaError_t error = encode(out.x, frames, box, a.operands);
  frames.data = a.history;
  frames.frames = a.kernel_time - a.stride_time;
  if (error == cudaSuccess && frames.frames > 0) {
    error = encode(out.history, frames, box, a.operands);
  }
  const Frames shortcut = {a.shortcut, p.frames, p.height, p.width, a.c_shortcut, a.c_shortcut, 1};
  if (error == cudaSuccess) error = encode(out.shortcut, shortcut, box, a.operands);
  const Frames residual = {a.residual, p.frames, p.height, p.width, a.c_out, a.c_out, 1};
  if (error == cudaSuccess) error = encode(out.residual, residual, box, a.residual_type);
  return error;
}

void set_sum(Conv3dSm90Params& out, const Problem& p) {
  const Conv3dArgs& a = p.args;
  out.first_tap = static_cast<int32_t>(a.first_tap);
  out.kernel_time = static_cast<int32_t>(a.kernel_time);
  out.stride_time = static_cast<int32_t>(a.stride_time);
  out.history_frames = static_cast<int32_t>(a.kernel_time - a.stride_time);
  out.chunks = static_cast<int32_t>(round_up(a.c_in, p.cut.chunk) / p.cut.chunk);
  out.shortcut_chunks =
      a.shortcut == nullptr
          ? 0
          : static_cast<int32_t>(round_up(a.c_shortcut, p.cut.chunk) / p.cut.chunk);
  out.planes = 0;
  int32_t tap = 0;
  for (const PlaneTaps& from : p.planes) {
    Conv3dSm90Plane& plane = out.plane[out.planes++];
    plane = {.c = static_cast<int32_t>(from.parity_x * pixel_of(a)),
             .x = static_cast<int32_t>(-a.pad_before),
             .parity = static_cast<int32_t>(from.parity_y),
             .y = static_cast<int32_t>(-a.pad_before),
             .first_tap = tap,
             .taps = static_cast<int32_t>(from.taps.size())};
    for (const SpatialTap& t : from.taps) {
      const int64_t pixels = t.y / a.stride_space * out.pitch + t.x / a.stride_space;
      out.tap_offset[tap++] = static_cast<int32_t>(pixels * p.cut.chunk * kBytes / 16);
    }
  }
  const int64_t tap_bytes = int64_t{p.cut.filters} * p.cut.depth() * kBytes;
  out.slice_weight_bytes = a.kernel_time * out.chunks * tap * tap_bytes;
  out.slice_shortcut_bytes = out.shortcut_chunks * tap_bytes;
  out.weight = static_cast<const std::byte*>(a.weight) + a.first_tap * out.chunks * tap * tap_bytes;
  out.shortcut_weight = static_cast<const std::byte*>(a.shortcut_weight);
}

void set_tile(Conv3dSm90Params& out, const Problem& p) {
  const Box box = box_of(p);
  const int64_t bytes = box.channels * kBytes * box.width * box.height;
  out.blocks_x = p.tile.blocks_x;
  out.blocks_y = p.tile.blocks_y;
  out.pitch = static_cast<int32_t>(box.width);
  out.box_bytes = static_cast<int32_t>(bytes);
  out.stages_a = p.tile.stages_a;
  out.stage_a_bytes = static_cast<int32_t>(round_up(bytes, kSharedAlignment));
  out.stages_b = p.tile.stages_b;
  out.taps_per_stage = p.tile.taps_per_stage;
  out.parts = static_cast<int32_t>(p.args.parts());
  out.frames = static_cast<int32_t>(p.frames);
  out.height = static_cast<int32_t>(p.height);
  out.width = static_cast<int32_t>(p.width);
  out.tiles_x =
      static_cast<int32_t>(round_up(p.width, out.blocks_x * kSide) / (out.blocks_x * kSide));
  const int64_t tiles_y = round_up(p.height, out.blocks_y * kSide) / (out.blocks_y * kSide);
  out.tiles = static_cast<int32_t>(out.parts * p.frames * out.tiles_x * tiles_y);
}

void set_result(Conv3dSm90Params& out, const Problem& p) {
  const Conv3dArgs& a = p.args;
  out.bias = a.bias;
  out.gamma = a.gamma;
  out.y = a.y;
  out.activated = a.activated;
  out.c_out = static_cast<int32_t>(a.c_out);
  out.frame_scale = a.store == Conv3dStore::kFrameInterleave ? 2 : 1;
  out.space_scale = a.store == Conv3dStore::kUpsamplePhases ? 2 : 1;
  out.raw_type = element_of(a.y == nullptr ? a.residual_type : a.y_type);
  out.activated_type = element_of(a.activated_type);
  out.has_residual = a.residual != nullptr;
  out.silu = a.silu;
  out.root_channels = std::sqrt(static_cast<float>(a.c_out));
}

Conv3dSm90Variant variant_of(const Conv3dCut& cut, const Conv3dTile& tile) {
  if (cut.fold > 1) return Conv3dSm90Variant::k96OfPictures;
  if (cut.filters == 8) return Conv3dSm90Variant::kFew;
  if (cut.filters == 96) return Conv3dSm90Variant::k96;
  if (cut.chunk == 32) return Conv3dSm90Variant::k192Of32;
  if (cut.cluster == 1) return Conv3dSm90Variant::k192;
  const bool small = tile.blocks_x * tile.blocks_y < cut.blocks();
  return small ? Conv3dSm90Variant::k384Small : Conv3dSm90Variant::k384;
}

}  // namespace

std::vector<PlaneTaps> planes_of(int64_t kernel_height, int64_t kernel_width, int64_t stride) {
  std::vector<PlaneTaps> planes;
  for (int64_t parity = 0; parity < stride * stride; ++parity) {
    PlaneTaps plane = {.parity_y = parity / stride, .parity_x = parity % stride};
    for (int64_t y = plane.parity_y; y < kernel_height; y += stride) {
      for (int64_t x = plane.parity_x; x < kernel_width; x += stride) plane.taps.push_back({y, x});
    }
    if (!plane.taps.empty()) planes.push_back(plane);
  }
  return planes;
}

std::string conv3d_sm90_refusal(const Conv3dArgs& args) {
  const Conv3dCut cut = cut_of(args);
  if (!is_half(args.operands) || (args.y != nullptr && cut.filters != 8 && !is_half(args.y_type)) ||
      (args.activated != nullptr && !is_half(args.activated_type)) ||
      (args.residual != nullptr && !is_half(args.residual_type))) {
    return "operands or results are not of 16 bits";
  }
  if (args.residual != nullptr && args.y != nullptr && args.residual_type != args.y_type) {
    return "the raw result is of another type than the residual";
  }
  if (args.activated != nullptr && args.gamma == nullptr) return "an activation without a norm";
  if (cut.filters == 0) {
    return std::to_string(args.c_out) +
           " output channels; there are kernels for up to 8, 96, 192 and 384";
  }
  if (cut.filters == 8 && (args.gamma != nullptr || args.residual != nullptr ||
                           args.shortcut != nullptr || args.store != Conv3dStore::kPlain)) {
    return "more than a bias after so few output channels";
  }
  if (pixel_of(args) % 8 != 0 || args.c_shortcut % 8 != 0) {
    return "a pixel is no multiple of 16 bytes";
  }
  if (cut.fold > 1 && (args.residual != nullptr || args.shortcut != nullptr)) {
    return "a shortcut or residual after pictures";
  }
  if (args.kernel_height * args.kernel_width > kMaxSpatialTaps || args.stride_space > 2) {
    return "more than 9 taps in space, or a stride over 2";
  }
  if (args.stride_space == 2 && args.pad_before != 0) return "stride 2 with padding before";
  if (args.store != Conv3dStore::kPlain && (args.shortcut != nullptr || args.residual != nullptr)) {
    return "a shortcut or residual where results are interleaved";
  }
  return "";
}

int64_t conv3d_sm90_chunk(const Conv3dArgs& args) { return cut_of(args).chunk; }

Conv3dTile conv3d_sm90_tile(const Conv3dArgs& args) {
  return conv3d_tile(cut_of(args),
                     {.frames = args.frames / args.stride_time * args.parts(),
                      .height = args.height / args.stride_space,
                      .width = args.width / args.stride_space},
                     window_of(args));
}

cudaError_t conv3d_sm90(const Conv3dArgs& args, const Conv3dTile& tile, cudaStream_t stream) {
  const Problem problem = problem_of(args, tile);
  Conv3dSm90Params params = {};
  set_tile(params, problem);
  set_sum(params, problem);
  set_result(params, problem);
  const cudaError_t error = set_maps(params, problem);
  if (error != cudaSuccess) return error;
  const Conv3dSm90Launch launch = {.variant = variant_of(problem.cut, tile),
                                   .operands = element_of(args.operands),
                                   .stream = stream};
  return start_conv3d_sm90(params, launch);
}

}  // namespace zoetrope::cuda
