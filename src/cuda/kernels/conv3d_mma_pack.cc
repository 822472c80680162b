// SPDX-License-Identifier: Apache-2.0
// Weights in the order in which conv3d_mma's lanes read them:
//   (part, block of filters, tap in time, chunk of channels, tap in space,
//    half of the chunk, 16 filters, lane, 16 bytes)
// A chunk is 64 bytes of channels, zero beyond c_in, as are filters beyond the part's. See
// Conv3dMmaLane.
#include <algorithm>
#include <string>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "cuda/kernels/conv3d_mma.h"
#include "cuda/kernels/conv3d_mma_lane.h"

namespace zoetrope::cuda {
namespace {

constexpr int64_t kChunkBytes = 64;
constexpr int64_t kLaneBytes = 16;

// One tap and chunk of one block: block_filters * 64 bytes.
void pack_step(const Conv3dMmaLayout& layout, const Conv3dWeight& weight, int64_t first_filter,
               int64_t tap, int64_t first_channel, std::byte* to) {
  const int64_t size = size_of(layout.operands);
  const int64_t taps = weight.kernel_time * weight.plane_taps;
  const int64_t lanes = layout.block_filters * kChunkBytes / kLaneBytes;
  for (int64_t index = 0; index < lanes; ++index, to += kLaneBytes) {
    const Conv3dMmaLane lane(index, layout.block_filters, size);
    for (int64_t i = 0; i < kLaneBytes / size; ++i) {
      const int64_t filter = first_filter + lane.filter(i);
      const int64_t c = first_channel + lane.channel(i);
      if (filter >= weight.filters || c >= weight.c_in) continue;
      const float value = weight.values[(filter * weight.c_in + c) * taps + tap];
      store_from_float(to, layout.operands, i, value);
    }
  }
}

// All filters of one part.
void pack_part(const Conv3dMmaLayout& layout, const Conv3dWeight& part, std::byte* to) {
  const int64_t chunk = kChunkBytes / size_of(layout.operands);
  for (int64_t filter = 0; filter < part.filters; filter += layout.block_filters) {
    for (int64_t time = 0; time < part.kernel_time; ++time) {
      for (int64_t channel = 0; channel < part.c_in; channel += chunk) {
        for (int64_t tap = 0; tap < part.plane_taps; ++tap) {
          pack_step(layout, part, filter, time * part.plane_taps + tap, channel, to);
          to += layout.block_filters * kChunkBytes;
        }
      }
    }
  }
}

}  // namespace

int64_t conv3d_mma_block(int64_t c_out, bool norm) {
  for (const int64_t block : kConv3dMmaBlocks) {
    const bool only_for_norms = block == kConv3dMmaMostNormed;
    if (c_out <= block && (norm || !only_for_norms)) return block;
  }
  ZOETROPE_CHECK(!norm, std::to_string(c_out));
  return 192;
}

int64_t conv3d_mma_packed_bytes(const Conv3dMmaLayout& layout, const Conv3dWeight& weight) {
  const int64_t blocks = divide_up(weight.filters / layout.parts, layout.block_filters);
  const int64_t chunks = divide_up(weight.c_in * size_of(layout.operands), kChunkBytes);
  const int64_t steps = weight.kernel_time * chunks * weight.plane_taps;
  return layout.parts * blocks * steps * layout.block_filters * kChunkBytes;
}

void conv3d_mma_pack(const Conv3dMmaLayout& layout, const Conv3dWeight& weight, std::byte* packed) {
  const int64_t bytes = conv3d_mma_packed_bytes(layout, weight);
  std::fill_n(packed, bytes, std::byte{0});
  Conv3dWeight part = weight;
  part.filters = weight.filters / layout.parts;
  const int64_t part_values = part.filters * weight.c_in * weight.kernel_time * weight.plane_taps;
  for (int64_t i = 0; i < layout.parts; ++i) {
    part.values = weight.values + i * part_values;
    pack_part(layout, part, packed + i * (bytes / layout.parts));
  }
}

}  // namespace zoetrope::cuda
