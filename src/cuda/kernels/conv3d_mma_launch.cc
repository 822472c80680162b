// SPDX-License-Identifier: Apache-2.0
// From a conv's arguments to those of its kernel.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/checked_math.h"
#include "base/fail.h"
#include "cuda/kernels/conv3d_mma_params.h"

namespace zoetrope::cuda {
namespace {

constexpr int kChunkBytes = 64;
constexpr int kTileWidth = 16;

void check(const Conv3dArgs& args) {
  ZOETROPE_CHECK(args.frames % args.stride_time == 0, std::to_string(args.frames));
  ZOETROPE_CHECK(0 <= args.first_tap && args.first_tap < args.kernel_time,
                 std::to_string(args.first_tap));
  ZOETROPE_CHECK(args.history != nullptr || args.first_tap >= args.kernel_time - args.stride_time,
                 "taps from " + std::to_string(args.first_tap) + " on read a missing history");
  ZOETROPE_CHECK(args.y != nullptr || args.activated != nullptr, "no output");
  ZOETROPE_CHECK((args.gamma != nullptr) == (args.activated != nullptr),
                 "gamma and activated go together");
  ZOETROPE_CHECK(args.shortcut == nullptr || args.store == Conv3dStore::kPlain,
                 "a shortcut where results are interleaved");
  ZOETROPE_CHECK(args.store != Conv3dStore::kUpsamplePhases ||
                     (args.stride_space == 1 && args.out_height == 2 * args.height &&
                      args.out_width == 2 * args.width),
                 "phases do not give twice the input's size");
}

// Pixels are counted in 32 bits on the device.
int32_t count_of(int64_t value, const char* what) {
  if (value < std::numeric_limits<int32_t>::max() / 2) return static_cast<int32_t>(value);
  fail(ErrorCode::kUnsupported,
       "conv: {} {} are more than the CUDA kernels count; use a smaller size", value, what);
}

bool is_aligned(const void* data, int64_t bytes) {
  return reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(bytes) == 0;
}

// Whether every output pixel reads the pixel at its own place: frames are then rows of pixels, of
// whatever width.
bool is_pixelwise(const Conv3dArgs& args) {
  return args.kernel_height == 1 && args.kernel_width == 1 && args.stride_space == 1 &&
         args.pad_before == 0 && args.store != Conv3dStore::kUpsamplePhases;
}

void set_size(Conv3dMmaImage& image, int64_t height, int64_t width, bool pixelwise) {
  image.pixels = count_of(height * width, "pixels of a frame");
  image.width = static_cast<int32_t>(pixelwise ? kTileWidth : width);
  image.height = static_cast<int32_t>(divide_up(image.pixels, image.width));
}

Conv3dMmaImage image_of(const Conv3dArgs& args) {
  const int64_t size = size_of(args.operands);
  const int64_t stride = args.pixel_stride == 0 ? args.c_in : args.pixel_stride;
  Conv3dMmaImage image = {.frames = static_cast<const std::byte*>(args.x),
                          .history = static_cast<const std::byte*>(args.history),
                          .frame_bytes = args.height * args.width * stride * size,
                          .pixel_bytes = static_cast<int32_t>(stride * size),
                          .channel_bytes = static_cast<int32_t>(args.c_in * size)};
  image.chunks = static_cast<int32_t>(divide_up(image.channel_bytes, kChunkBytes));
  set_size(image, args.height, args.width, is_pixelwise(args));
  return image;
}

Conv3dMmaImage shortcut_of(const Conv3dArgs& args) {
  if (args.shortcut == nullptr) return {};
  const auto bytes = static_cast<int32_t>(args.c_shortcut * size_of(args.operands));
  Conv3dMmaImage image = {.frames = static_cast<const std::byte*>(args.shortcut),
                          .frame_bytes = args.out_height * args.out_width * bytes,
                          .pixel_bytes = bytes,
                          .channel_bytes = bytes};
  image.chunks = static_cast<int32_t>(divide_up(bytes, kChunkBytes));
  set_size(image, args.out_height, args.out_width, is_pixelwise(args));
  return image;
}

bool copies_16_bytes(const Conv3dMmaImage& image) {
  return is_aligned(image.frames, 16) && is_aligned(image.history, 16) &&
         image.pixel_bytes % 16 == 0 && image.channel_bytes % 16 == 0;
}

bool is_wide(const Conv3dArgs& args) {
  const int64_t size = size_of(args.operands);
  const auto fits = [&](const void* data, DType type) {
    return data == nullptr || (size_of(type) == size && is_aligned(data, 4 * size));
  };
  return args.c_out % 4 == 0 && is_aligned(args.gamma, 16) && fits(args.y, args.y_type) &&
         fits(args.activated, args.activated_type) && fits(args.residual, args.residual_type);
}

class Launch {
 public:
  Launch(const Conv3dArgs& args, int64_t block_filters)
      : args_(args),
        block_filters_(block_filters),
        rows_(conv3d_mma_rows(args.operands, block_filters)) {
    set_operands();
    set_taps();
    set_grid();
    set_weights();
    set_boxes();
  }

  cudaError_t start(cudaStream_t stream) const {
    const int64_t tiles = int64_t{p_.tiles_x} * p_.tiles_y * p_.parts * p_.blocks *
                          (args_.frames / args_.stride_time);
    if (tiles == 0) return cudaSuccess;
    return start_conv3d_mma(p_, args_.operands, block_filters_, count_of(tiles, "tiles"),
                            shared_bytes_, stream);
  }

 private:
  void set_operands() {
    p_.x = image_of(args_);
    p_.shortcut = shortcut_of(args_);
    p_.weight = static_cast<const std::byte*>(args_.weight);
    p_.shortcut_weight = static_cast<const std::byte*>(args_.shortcut_weight);
    p_.bias = args_.bias;
    p_.gamma = args_.gamma;
    p_.residual = args_.residual;
    p_.y = args_.y;
    p_.activated = args_.activated;
    p_.residual_type = args_.residual_type;
    p_.y_type = args_.y_type;
    p_.activated_type = args_.activated_type;
    p_.aligned = copies_16_bytes(p_.x) && (p_.shortcut.chunks == 0 || copies_16_bytes(p_.shortcut));
    p_.wide = is_wide(args_);
    p_.silu = args_.silu;
    p_.c_out = static_cast<int32_t>(args_.c_out);
    p_.root_channels = std::sqrt(static_cast<float>(args_.c_out));
  }

  void set_taps() {
    p_.first_tap = static_cast<int32_t>(args_.first_tap);
    p_.kernel_time = static_cast<int32_t>(args_.kernel_time);
    p_.kernel_height = static_cast<int32_t>(args_.kernel_height);
    p_.kernel_width = static_cast<int32_t>(args_.kernel_width);
    p_.stride_time = static_cast<int32_t>(args_.stride_time);
    p_.stride_space = static_cast<int32_t>(args_.stride_space);
    p_.pad_before = static_cast<int32_t>(args_.pad_before);
  }

  void set_grid() {
    const bool phases = args_.store == Conv3dStore::kUpsamplePhases;
    Conv3dMmaImage grid;
    set_size(grid, phases ? args_.height : args_.out_height, phases ? args_.width : args_.out_width,
             is_pixelwise(args_));
    p_.grid_height = grid.height;
    p_.grid_width = grid.width;
    p_.grid_pixels = grid.pixels;
    p_.tiles_x = static_cast<int32_t>(divide_up(grid.width, kTileWidth));
    p_.tiles_y = static_cast<int32_t>(divide_up(grid.height, rows_));
    p_.parts = static_cast<int32_t>(args_.parts());
    p_.blocks = static_cast<int32_t>(divide_up(args_.c_out, block_filters_));
    p_.frame_scale = args_.store == Conv3dStore::kFrameInterleave ? 2 : 1;
    p_.space_scale = phases ? 2 : 1;
    p_.out_width = phases ? 2 * grid.width : grid.width;
    p_.out_frame_pixels = args_.out_height * args_.out_width;
    count_of(int64_t{p_.space_scale} * rows_ * p_.out_width * args_.c_out, "elements of some rows");
  }

  void set_weights() {
    const int64_t stage = block_filters_ * kChunkBytes;
    p_.block_weight_bytes =
        args_.kernel_time * p_.x.chunks * args_.kernel_height * args_.kernel_width * stage;
    p_.part_weight_bytes = p_.blocks * p_.block_weight_bytes;
    p_.block_shortcut_bytes = p_.shortcut.chunks * stage;
  }

  // A plane's box if it fits, else one for each tap. Depends on the conv alone, not on its size.
  void set_boxes() {
    const int64_t stages_b = kConv3dMmaStagesB * block_filters_ * kChunkBytes;
    const int64_t row = (kTileWidth - 1) * args_.stride_space + args_.kernel_width;
    const int64_t pixels = ((rows_ - 1) * args_.stride_space + args_.kernel_height) * row;
    // Two steps ahead of one of the last tap lie two boxes more if each serves one step.
    const int64_t stages_a = p_.shortcut.chunks > 0 ? kConv3dMmaStagesB : 2;
    const int64_t bytes = stages_a * pixels * kConv3dMmaPixelBytes + stages_b;
    p_.whole_plane = args_.kernel_height * args_.kernel_width > 1 && bytes <= kConv3dMmaSharedBytes;
    if (p_.whole_plane) {
      p_.box = {.row = static_cast<int32_t>(row),
                .pixels = static_cast<int32_t>(pixels),
                .row_magic = static_cast<int32_t>(divide_up(1 << 20, row))};
    } else {
      p_.box.pixels = rows_ * kTileWidth;
    }
    p_.stages_a = p_.whole_plane ? static_cast<int32_t>(stages_a) : kConv3dMmaStagesB;
    p_.stage_a_bytes = std::max(p_.box.pixels, rows_ * kTileWidth) * kConv3dMmaPixelBytes;
    shared_bytes_ = static_cast<int>(int64_t{p_.stages_a} * p_.stage_a_bytes + stages_b);
  }

  const Conv3dArgs& args_;
  int64_t block_filters_;
  int rows_;
  Conv3dMmaParams p_ = {};
  int shared_bytes_ = 0;
};

}  // namespace

cudaError_t conv3d_mma(const Conv3dArgs& args, int64_t block_filters, cudaStream_t stream) {
  check(args);
  return Launch(args, block_filters).start(stream);
}

}  // namespace zoetrope::cuda
