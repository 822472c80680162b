// SPDX-License-Identifier: Apache-2.0
// Convs with 3x3 taps in space over three channels, which a video's frames have. Taps of three
// channels would each begin with eight rows' addresses for three multiply-adds of each; but a
// line's three taps are neighbours in memory, nine values from which the next pixel's are three
// further on. So a work item copies the lines that it reads into float32 side by side, with zeros
// where the image has ended, and a pixel's sum walks nine values of each line from a constant
// distance. All of it is one chunk: 81 products with three taps in time.

// Included once for each instruction set.
#if defined(ZOETROPE_CPU_KERNELS_CONV3D_RGB_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ZOETROPE_CPU_KERNELS_CONV3D_RGB_INL_H_
#undef ZOETROPE_CPU_KERNELS_CONV3D_RGB_INL_H_
#else
#define ZOETROPE_CPU_KERNELS_CONV3D_RGB_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "cpu/kernels/conv3d_blocks.h"
#include "cpu/kernels/conv3d_epilogue_inl.h"
#include "cpu/kernels/conv3d_products_inl.h"

HWY_BEFORE_NAMESPACE();
namespace zoetrope::cpu {
namespace HWY_NAMESPACE {
namespace conv3d {

constexpr int kLineValues = 3 * kRgbChannels;  // of a pixel's three taps

// totals[i][j] = bias[j] + sums
template <int vectors>
struct StoreBiased {
  const float* bias;
  float* totals;
  HWY_INLINE void operator()(int i, int j, FloatVector sums) const {
    const FloatVector sum = hn::Add(elementwise::load(bias + j * vector_lanes()), sums);
    elementwise::store(sum, totals + (i * vectors + j) * vector_lanes());
  }
};

// Like multiply(), for kTileRows pixels of a line, `channels` apart: taps are lines, `step` apart.
// That `channels` is always kRgbChannels must not be known here: values that neighbours share would
// be kept from tap to tap, and run out of registers.
template <int vectors, class Finish>
HWY_NOINLINE void multiply_lines(const float* line, int64_t channels, int64_t lines, int64_t step,
                                 const float* panel, Finish finish) {
  const FloatTag d;
  const int64_t lanes = vector_lanes();
  FloatVector sums[kTileRows][vectors];
  HWY_UNROLL(8)
  for (int i = 0; i < kTileRows; ++i) {
    HWY_UNROLL(3)
    for (int j = 0; j < vectors; ++j) sums[i][j] = hn::Zero(d);
  }
  const float* row[kTileRows];
  HWY_UNROLL(8)
  for (int i = 0; i < kTileRows; ++i) row[i] = line + i * channels;
  for (int64_t first = 0; first < lines * step; first += step) {
    HWY_UNROLL(3)
    for (int64_t k = first; k < first + kLineValues; ++k, panel += vectors * lanes) {
      FloatVector columns[vectors];
      HWY_UNROLL(3)
      for (int j = 0; j < vectors; ++j) columns[j] = hn::LoadU(d, panel + j * lanes);
      HWY_UNROLL(8)
      for (int i = 0; i < kTileRows; ++i) {
        const FloatVector value = hn::Set(d, row[i][k]);
        HWY_UNROLL(3)
        for (int j = 0; j < vectors; ++j) sums[i][j] = hn::MulAdd(value, columns[j], sums[i][j]);
      }
    }
  }
  HWY_UNROLL(8)
  for (int i = 0; i < kTileRows; ++i) {
    HWY_UNROLL(3)
    for (int j = 0; j < vectors; ++j) finish(i, j, sums[i][j]);
  }
}

// A piece of an output line, with all channels.
template <class Operands>
class RgbItem {
 public:
  using T = typename Operands::Stored;

  // buffer: blocks.floats()
  RgbItem(const Conv3dArgs& args, const RgbBlocks& blocks, int64_t index, float* buffer)
      : args_(args),
        blocks_(blocks),
        column_(index % blocks.pieces * blocks.pixels),
        row_(index / blocks.pieces % args.height),
        frame_(index / blocks.pieces / args.height),
        pixels_(std::min(blocks.pixels, args.width - column_)),
        totals_(buffer),
        bias_(totals_ + blocks.totals()),
        weights_(bias_ + blocks.channels),
        lines_(weights_ + blocks.weights()) {}

  void run() {
    std::fill_n(bias_, blocks_.channels, 0.0F);
    if (args_.bias != nullptr) std::copy_n(args_.bias, args_.c_out, bias_);
    for (int64_t i = 0; i < blocks_.lines; ++i) copy_line(i);
    if (Operands::kGroup != 1) {
      for_each_panel([&]<int vectors>(int64_t panel) HWY_ATTR { expand_weights<vectors>(panel); });
    }
    const Sums sums = {.data = totals_,
                       .pixels = kTileRows,
                       .panel_channels = blocks_.panel_channels,
                       .first_channel = 0,
                       .channels = args_.c_out};
    const Epilogue<T> epilogue(args_, sums);
    for (int64_t pixel = 0; pixel < pixels_; pixel += kTileRows) {
      for_each_panel([&]<int vectors>(int64_t panel)
                         HWY_ATTR { add_panel<vectors>(pixel, panel); });
      int64_t outputs[kTileRows];
      for (int64_t i = 0; i < kTileRows; ++i) outputs[i] = output_pixel(pixel + i);
      epilogue.pixels(0, outputs, kTileRows);
    }
  }

 private:
  static_assert(kTileRows <= Epilogue<T>::kPixels);

  // Calls visit<vectors>(panel) for each panel of output channels.
  template <class Visit>
  HWY_INLINE void for_each_panel(const Visit& visit) const {
    for (int64_t panel = 0; panel < blocks_.panels; ++panel) {
      with_panel_vectors(panel * blocks_.panel_channels, args_.c_out, [&]<int vectors>() HWY_ATTR {
        visit.template operator()<vectors>(panel);
      });
    }
  }

  int64_t output_pixel(int64_t pixel) const {
    if (pixel >= pixels_) return -1;
    return (frame_ * args_.height + row_) * args_.width + column_ + pixel;
  }

  // lines_: (lines, blocks.step()), of which a line begins one pixel left of the piece.
  void copy_line(int64_t index) const {
    float* to = lines_ + index * blocks_.step();
    std::fill_n(to, blocks_.step(), 0.0F);
    const int64_t frame = frame_ + args_.first_tap + index / 3 - (args_.kernel_time - 1);
    const int64_t row = row_ - 1 + index % 3;
    if (row < 0 || row >= args_.height) return;
    const int64_t first = std::max<int64_t>(column_ - 1, 0);
    const int64_t end = std::min(column_ + pixels_ + 1, args_.width);
    const T* from = frame_of(frame) + (row * args_.width + first) * kRgbChannels;
    to += (first - (column_ - 1)) * kRgbChannels;
    elementwise::for_each_vector((end - first) * kRgbChannels,
                                 [&](const auto& load, const auto& store)
                                     HWY_ATTR { store(load(from), to); });
  }

  const T* frame_of(int64_t frame) const {
    const int64_t size = args_.height * args_.width * kRgbChannels;
    if (frame >= 0) return static_cast<const T*>(args_.x) + frame * size;
    return static_cast<const T*>(args_.history) + (args_.kernel_time - 1 + frame) * size;
  }

  // A panel as packed: (taps, kRgbChannels rounded up to whole groups, vectors * lanes).
  const T* packed_panel(int64_t panel) const {
    constexpr int64_t kDepth = 9 * ((kRgbChannels + Operands::kGroup - 1) / Operands::kGroup *
                                    Operands::kGroup);  // of a tap in time
    const int64_t stride = panel_vectors(panel) * vector_lanes();
    const int64_t before = panel * blocks_.panel_channels * args_.kernel_time;
    return static_cast<const T*>(args_.weight) + (before + args_.first_tap * stride) * kDepth;
  }

  int64_t panel_vectors(int64_t panel) const {
    const int64_t left = args_.c_out - panel * blocks_.panel_channels;
    return std::min<int64_t>(divide_up(left, vector_lanes()), kTileVectors);
  }

  float* panel_weights(int64_t panel) const {
    return weights_ + panel * blocks_.lines * kLineValues * blocks_.panel_channels;
  }

  // panel_weights: (lines, kLineValues, vectors * lanes)
  template <int vectors>
  void expand_weights(int64_t panel) const {
    const int64_t stride = vectors * vector_lanes();
    const T* from = packed_panel(panel);
    float* to = panel_weights(panel);
    for (int64_t tap = 0; tap < 3 * blocks_.lines; ++tap) {
      for (int64_t c = 0; c < kRgbChannels; c += Operands::kGroup) {
        for (int64_t j = 0; j < vectors; ++j, from += Operands::kGroup * vector_lanes()) {
          FloatVector values[Operands::kGroup];
          WeightLoader<Operands::kGroup>::load(from, values);
          for (int64_t k = 0; k < std::min(Operands::kGroup, kRgbChannels - c); ++k) {
            elementwise::store(values[k], to + k * stride + j * vector_lanes());
          }
        }
        to += std::min(Operands::kGroup, kRgbChannels - c) * stride;
      }
    }
  }

  template <int vectors>
  HWY_INLINE void add_panel(int64_t pixel, int64_t panel) const {
    const int64_t first_channel = panel * blocks_.panel_channels;
    const float* weights;
    if constexpr (Operands::kGroup == 1) {
      weights = packed_panel(panel);
    } else {
      weights = panel_weights(panel);
    }
    float* totals = totals_ + first_channel * kTileRows;
    multiply_lines<vectors>(lines_ + pixel * kRgbChannels, args_.c_in, blocks_.lines,
                            blocks_.step(), weights,
                            StoreBiased<vectors>{bias_ + first_channel, totals});
    if (args_.shortcut != nullptr) add_shortcut<vectors>(pixel, first_channel, totals);
  }

  template <int vectors>
  HWY_NOINLINE void add_shortcut(int64_t pixel, int64_t first_channel, float* totals) const {
    const int64_t depth = round_up(args_.c_shortcut, Operands::kGroup);
    const T* weight = static_cast<const T*>(args_.shortcut_weight) + first_channel * depth;
    for (int64_t channel = 0; channel < args_.c_shortcut; channel += blocks_.shortcut_channels) {
      const Conv3dChunk chunk = {
          .taps = 1, .channels = std::min(blocks_.shortcut_channels, args_.c_shortcut - channel)};
      const T* rows[kTileRows];
      for (int64_t i = 0; i < kTileRows; ++i) {
        const int64_t output = output_pixel(pixel + i);
        const T* from = static_cast<const T*>(args_.shortcut) + output * args_.c_shortcut + channel;
        rows[i] = output < 0 ? kZeros<T> : from;
      }
      Multiplier<Operands, vectors>(chunk, weight + channel * vectors * vector_lanes())
          .add(rows, totals);
    }
  }

  const Conv3dArgs& args_;
  const RgbBlocks& blocks_;
  const int64_t column_;  // of the first output pixel
  const int64_t row_;
  const int64_t frame_;
  const int64_t pixels_;
  float* const totals_;  // of a tile: panel after panel, each (kTileRows, vectors * lanes)
  float* const bias_;
  float* const weights_;  // panel after panel; only if operands are not float32
  float* const lines_;
};

}  // namespace conv3d
}  // namespace HWY_NAMESPACE
}  // namespace zoetrope::cpu
HWY_AFTER_NAMESPACE();

#endif
