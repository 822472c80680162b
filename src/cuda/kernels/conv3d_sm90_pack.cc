// SPDX-License-Identifier: Apache-2.0
// Weights as the kernel's copies bring them: part, share of the filters, temporal tap, channel
// chunk, plane, spatial tap; then filters x channels in the order and the swizzle that a matrix
// product reads. Channels beyond c_in, and filters beyond the last, are zero.
#include <cstring>

#include "base/dtype.h"
#include "cuda/kernels/conv3d_planes.h"
#include "cuda/kernels/conv3d_sm90.h"

namespace zoetrope::cuda {
namespace {

constexpr int64_t kBytes = 2;  // of an operand

int64_t chunks_of(int64_t channels, const Conv3dCut& cut) {
  return (channels + cut.chunk - 1) / cut.chunk;
}

int64_t taps_of(const Conv3dSm90Weight& weight) {
  return weight.kernel_time * weight.kernel_height * weight.kernel_width;
}

// The filter whose sums are in column `n` of a product: a thread holds columns 8 j + 2 q and the
// next, for every j, and is to hold neighbours of one group of 32.
int64_t filter_of_column(int64_t n, const Conv3dCut& cut) {
  if (cut.filters < 32) return n;
  const int64_t q = n % 8 / 2;
  return n / 32 * 32 + 8 * q + n % 32 / 8 * 2 + n % 2;
}

// Within a tap, of 16-byte pieces swapped by row as the copy engine's swizzle would.
int64_t swizzled(int64_t row, int64_t channel, int64_t row_bytes) {
  const int64_t at = row * row_bytes + channel * kBytes;
  const int64_t pattern = (at >> 7) % (row_bytes / 16);
  return at ^ (pattern << 4);
}

struct Packer {
  const Conv3dSm90Weight& weight;
  const Conv3dCut& cut;

  // One tap of one chunk of one block's filters: rows of cut.fold neighbouring taps' channels.
  void tap(int64_t first_filter, int64_t chunk, int64_t time, const SpatialTap& at,
           std::byte* out) const {
    const int64_t row_bytes = cut.depth() * kBytes;
    std::memset(out, 0, static_cast<size_t>(cut.filters * row_bytes));
    for (int64_t n = 0; n < cut.filters; ++n) {
      const int64_t filter = first_filter + filter_of_column(n, cut);
      if (filter >= weight.filters) continue;
      for (int64_t i = 0; i < cut.depth(); ++i) {
        const int64_t channel = chunk * cut.chunk + i % cut.chunk;
        const int64_t x = at.x + i / cut.chunk;
        if (channel >= weight.c_in || x >= weight.kernel_width) continue;
        const int64_t row = (time * weight.kernel_height + at.y) * weight.kernel_width;
        const float value =
            weight.values[(filter * weight.c_in + channel) * taps_of(weight) + row + x];
        store_from_float(out + swizzled(n, i, row_bytes), weight.operands, 0, value);
      }
    }
  }
};

Conv3dCut cut_of(const Conv3dSm90Weight& weight) {
  Conv3dCut cut = conv3d_cut({.filters = weight.filters / weight.parts,
                              .c_in = weight.c_in,
                              .kernel_width = weight.kernel_width,
                              .stride_space = weight.stride_space});
  if (weight.chunk != 0) cut.chunk = static_cast<int32_t>(weight.chunk);
  return cut;
}

// Taps that are stored: of neighbours in a row, the first alone.
std::vector<PlaneTaps> stored_planes(const Conv3dSm90Weight& weight, const Conv3dCut& cut) {
  return planes_of(weight.kernel_height, cut.fold > 1 ? 1 : weight.kernel_width,
                   weight.stride_space);
}

}  // namespace

int64_t conv3d_sm90_packed_bytes(const Conv3dSm90Weight& weight) {
  const Conv3dCut cut = cut_of(weight);
  int64_t taps = 0;
  for (const PlaneTaps& plane : stored_planes(weight, cut)) {
    taps += static_cast<int64_t>(plane.taps.size());
  }
  const int64_t slices = (weight.filters + cut.filters - 1) / cut.filters;
  return slices * cut.filters * chunks_of(weight.c_in, cut) * cut.depth() * weight.kernel_time *
         taps * kBytes;
}

void conv3d_sm90_pack(const Conv3dSm90Weight& weight, std::byte* packed) {
  const Conv3dCut cut = cut_of(weight);
  const Packer packer{weight, cut};
  const std::vector<PlaneTaps> planes = stored_planes(weight, cut);
  const int64_t tap_bytes = int64_t{cut.filters} * cut.depth() * kBytes;
  for (int64_t first = 0; first < weight.filters; first += cut.filters) {
    for (int64_t time = 0; time < weight.kernel_time; ++time) {
      for (int64_t chunk = 0; chunk < chunks_of(weight.c_in, cut); ++chunk) {
        for (const PlaneTaps& plane : planes) {
          for (const SpatialTap& tap : plane.taps) {
            packer.tap(first, chunk, time, tap, packed);
            packed += tap_bytes;
          }
        }
      }
    }
  }
}

}  // namespace zoetrope::cuda
