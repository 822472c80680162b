// SPDX-License-Identifier: Apache-2.0
// Packed weights of convs. Apart from the kernels, which are compiled for their instruction set:
// any machine packs for any other.
//
// For each part (see Conv3dBlocks) panels of panel_vectors vectors (the last may have fewer), each
// (tap, c_in / group, vectors * lanes, group), zero beyond c_out and c_in.
// `group` is 1 for float32 and 2 for bfloat16, which one instruction multiplies where there is one.
#include <algorithm>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "cpu/kernels/conv3d.h"

namespace zoetrope::cpu {
namespace {

void pack_value(float value, float* to) { *to = value; }
void pack_value(float value, uint16_t* to) { *to = float_to_bfloat16(value); }

// Of one part.
struct Weight {
  const float* values;
  int64_t filters;
  int64_t c_in;
  int64_t taps;
};

// Returns the end of what it wrote.
template <int64_t kGroup, class T>
T* pack_part(const Weight& weight, int64_t lanes, int64_t panel_width, T* to) {
  const int64_t padded = round_up(weight.filters, lanes);
  const int64_t depth = round_up(weight.c_in, kGroup);
  for (int64_t first = 0; first < padded; first += panel_width) {
    const int64_t end = std::min(first + panel_width, padded);
    for (int64_t step = 0; step < weight.taps * depth; step += kGroup) {
      const int64_t tap = step / depth;
      const int64_t channel = step % depth;
      for (int64_t out = first; out < end; ++out) {
        for (int64_t c = channel; c < channel + kGroup; ++c) {
          const bool exists = out < weight.filters && c < weight.c_in;
          pack_value(exists ? weight.values[(out * weight.c_in + c) * weight.taps + tap] : 0.0F,
                     to++);
        }
      }
    }
  }
  return to;
}

template <int64_t kGroup, class T>
void pack_parts(Weight weight, int64_t parts, int64_t lanes, int64_t panel_width,
                std::byte* packed) {
  auto* to = reinterpret_cast<T*>(packed);
  weight.filters /= parts;
  for (int64_t part = 0; part < parts; ++part) {
    to = pack_part<kGroup>(weight, lanes, panel_width, to);
    weight.values += weight.filters * weight.c_in * weight.taps;
  }
}

}  // namespace

int64_t Conv3dKernel::packed_bytes(int64_t filters, int64_t c_in, int64_t taps,
                                   int64_t parts) const {
  return parts * round_up(filters / parts, lanes()) * round_up(c_in, group) * taps *
         size_of(operands);
}

void Conv3dKernel::pack(const float* weight, int64_t filters, int64_t c_in, int64_t taps,
                        int64_t parts, std::byte* packed) const {
  const Weight whole = {.values = weight, .filters = filters, .c_in = c_in, .taps = taps};
  const int64_t panel_width = panel_vectors * lanes();
  if (operands == DType::kFloat32 && group == 1) {
    return pack_parts<1, float>(whole, parts, lanes(), panel_width, packed);
  }
  ZOETROPE_CHECK(operands == DType::kBFloat16 && group == 2, name);
  pack_parts<2, uint16_t>(whole, parts, lanes(), panel_width, packed);
}

}  // namespace zoetrope::cpu
