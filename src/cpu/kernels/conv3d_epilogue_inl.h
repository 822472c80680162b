// SPDX-License-Identifier: Apache-2.0
// What follows a conv's sums: residual, norm, SiLU, rounding and storing. Compiled for each
// instruction set.

// Included once for each instruction set.
#if defined(ZOETROPE_CPU_KERNELS_CONV3D_EPILOGUE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ZOETROPE_CPU_KERNELS_CONV3D_EPILOGUE_INL_H_
#undef ZOETROPE_CPU_KERNELS_CONV3D_EPILOGUE_INL_H_
#else
#define ZOETROPE_CPU_KERNELS_CONV3D_EPILOGUE_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "base/checked_math.h"
#include "cpu/kernels/conv3d.h"
#include "cpu/kernels/elementwise_inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace zoetrope::cpu {
namespace HWY_NAMESPACE {
namespace conv3d {

// An item's sums: a panel after the other, each (pixels, channels), channels rounded up to whole
// vectors in the last.
struct Sums {
  float* data = nullptr;
  int64_t pixels = 0;          // as allocated
  int64_t panel_channels = 0;  // of a whole panel
  int64_t first_channel = 0;   // of the output
  int64_t channels = 0;        // that exist
};

// T: of the operands; uint16_t holds bfloat16.
template <class T>
class Epilogue {
 public:
  Epilogue(const Conv3dArgs& args, const Sums& sums)
      : args_(args),
        sums_(sums),
        residual_(static_cast<const T*>(args.residual)),
        y_(args.y_float32 ? nullptr : static_cast<T*>(args.y)),
        y_float32_(args.y_float32 ? static_cast<float*>(args.y) : nullptr),
        activated_(static_cast<T*>(args.activated)) {}

  // At most so many pixels at a time: their norms' long chains of sum, root and quotient overlap.
  static constexpr int64_t kPixels = 8;

  // Pixel `first` + i of the item is pixel outputs[i] of y, or none if that is negative.
  HWY_INLINE void pixels(int64_t first, const int64_t* outputs, int64_t count) const {
    float squares[kPixels] = {};
    for (int64_t i = 0; i < count; ++i) {
      if (outputs[i] >= 0) squares[i] = store_raw(first + i, outputs[i] * args_.c_out);
    }
    if (activated_ == nullptr) return;
    float scales[kPixels];
    for (int64_t i = 0; i < kPixels; ++i) {
      scales[i] = elementwise::norm_scale(squares[i], args_.c_out);
    }
    for (int64_t i = 0; i < count; ++i) {
      if (outputs[i] < 0) continue;
      if (args_.silu) {
        store_activated<true>(first + i, outputs[i] * args_.c_out, scales[i]);
      } else {
        store_activated<false>(first + i, outputs[i] * args_.c_out, scales[i]);
      }
    }
  }

 private:
  // Calls visit(sums, channel, count) for each panel: its sums of pixel i, its first output channel
  // and their number.
  template <class Visit>
  HWY_INLINE void for_each_panel(int64_t i, const Visit& visit) const {
    for (int64_t done = 0; done < sums_.channels; done += sums_.panel_channels) {
      const int64_t count = std::min(sums_.panel_channels, sums_.channels - done);
      const int64_t stride = round_up(count, elementwise::lanes());
      visit(sums_.data + done * sums_.pixels + i * stride, sums_.first_channel + done, count);
    }
  }

  // Adds the residual, stores y, and leaves the unrounded values in place for the norm. Returns
  // the sum of their squares, lane by lane in the order of channels, then over the lanes.
  HWY_INLINE float store_raw(int64_t i, int64_t at) const {
    namespace hn = hwy::HWY_NAMESPACE;
    const elementwise::FloatTag d;
    auto squares = hn::Zero(d);
    for_each_panel(i, [&](float* sums, int64_t channel, int64_t count) HWY_ATTR {
      const int64_t to = at + channel;
      elementwise::for_each_vector(count, [&](const auto& load, const auto& store) HWY_ATTR {
        auto value = load(sums);
        if (residual_ != nullptr) value = hn::Add(value, load(residual_ + to));
        if (y_ != nullptr) store(value, y_ + to);
        if (y_float32_ != nullptr) store(value, y_float32_ + to);
        if (activated_ == nullptr) return;
        store(value, sums);
        squares = hn::MulAdd(value, value, squares);
      });
    });
    return activated_ == nullptr ? 0.0F : hn::GetLane(hn::SumOfLanes(d, squares));
  }

  template <bool silu>
  HWY_INLINE void store_activated(int64_t i, int64_t at, float scale) const {
    namespace hn = hwy::HWY_NAMESPACE;
    const auto scales = hn::Set(elementwise::FloatTag(), scale);
    for_each_panel(i, [&](const float* sums, int64_t channel, int64_t count) HWY_ATTR {
      elementwise::for_each_vector(count, [&](const auto& load, const auto& store) HWY_ATTR {
        const auto value = hn::Mul(hn::Mul(load(sums), scales), load(args_.gamma + channel));
        store(silu ? elementwise::silu(value) : value, activated_ + at + channel);
      });
    });
  }

  const Conv3dArgs& args_;
  const Sums& sums_;
  const T* const residual_;
  T* const y_;
  float* const y_float32_;
  T* const activated_;
};

}  // namespace conv3d
}  // namespace HWY_NAMESPACE
}  // namespace zoetrope::cpu
HWY_AFTER_NAMESPACE();

#endif
