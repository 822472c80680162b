// SPDX-License-Identifier: Apache-2.0
// Convs with 3x3 taps in space by Winograd's F(2x2, 3x3): a tile of 2x2 output pixels is
//   A' [ sum over c, time of (G g G') * (B' d B) ] A,
// where d are the 4x4 pixels that the tile reads, g the 3x3 taps, and * is element by element. So
// 16 products give what takes 36 otherwise. In float32 whatever the operands' type: B' d B has sums
// of four operands, which would lose bits in theirs. (Lavin and Gray, 2016, section 4.1.)
//
// Three taps in time, where frames come in pairs, go the same way: F(2x2x2, 3x3x3), 64 products in
// place of 216. A tile then has two frames, read from four, and a "term" is one of the four
// combinations of them, with its combination of the taps; otherwise a term is a tap in time.
//
// A work item is a block of tiles with all output channels. For each term and chunk of channels it
// transforms the pixels once and each panel's weights once, then runs 16 matrix products, pixels x
// weights, into the item's sums. Which pixels and frames are a tile depends on the image and the
// step's parity alone, so a pixel's bits depend on neither blocks nor threads nor cuts.

// Included once for each instruction set.
#if defined(ZOETROPE_CPU_KERNELS_CONV3D_WINOGRAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ZOETROPE_CPU_KERNELS_CONV3D_WINOGRAD_INL_H_
#undef ZOETROPE_CPU_KERNELS_CONV3D_WINOGRAD_INL_H_
#else
#define ZOETROPE_CPU_KERNELS_CONV3D_WINOGRAD_INL_H_
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

constexpr int64_t kProducts = 16;  // of a tile and term

// F(2, 3) in time: term t reads frames kFirst[t] and kSecond[t] of the tile's four, the second
// times kSign[t].
constexpr int64_t kTerms = 4;
constexpr int64_t kFirst[kTerms] = {0, 1, 2, 1};
constexpr int64_t kSecond[kTerms] = {2, 2, 1, 3};
constexpr float kSign[kTerms] = {-1, 1, -1, -1};

// Rows of `values` (4 x 4), each in place of four: B' d, then (B' d) B the same way.
HWY_INLINE void transform_pixel_lines(FloatVector& a, FloatVector& b, FloatVector& c,
                                      FloatVector& d) {
  const FloatVector sum = hn::Add(b, c);
  const FloatVector difference = hn::Sub(c, b);
  a = hn::Sub(a, c);
  d = hn::Sub(b, d);
  b = sum;
  c = difference;
}

// G g: four rows from three.
HWY_INLINE void transform_tap_lines(FloatVector a, FloatVector b, FloatVector c,
                                    FloatVector (&to)[4]) {
  const FloatVector half = hn::Set(FloatTag(), 0.5F);
  const FloatVector outer = hn::Add(a, c);
  to[0] = a;
  to[1] = hn::Mul(hn::Add(outer, b), half);
  to[2] = hn::Mul(hn::Sub(outer, b), half);
  to[3] = c;
}

// kFrames: output frames of a tile.
template <class Operands, int64_t kFrames>
class WinogradItem {
 public:
  using T = typename Operands::Stored;
  static constexpr int64_t kGroup = Operands::kGroup;

  // buffer: blocks.floats()
  WinogradItem(const Conv3dArgs& args, const WinogradBlocks& blocks, int64_t index, float* buffer)
      : args_(args),
        blocks_(blocks),
        first_tile_(index * blocks.block_tiles),
        tiles_(std::min(blocks.block_tiles, blocks.tiles - first_tile_)),
        sums_(buffer),
        weights_(sums_ + blocks.sums()),
        pixels_(weights_ + blocks.weights()),
        totals_(kFrames == 1 ? pixels_ : pixels_ + blocks.pixels()) {
    if (args.history == nullptr) return;
    const int64_t frames = args.kernel_time - 1;
    history_end_ =
        static_cast<const T*>(args.history) + frames * args.height * args.width * args.c_in;
  }

  void run() {
    const int64_t first = kFrames == 1 ? args_.first_tap : 0;
    const int64_t end = kFrames == 1 ? args_.kernel_time : kTerms;
    for (int64_t term = first; term < end; ++term) {
      for (int64_t channel = 0; channel < args_.c_in; channel += blocks_.chunk_channels) {
        const bool starts = channel == 0 && (kFrames == 2 || term == first);
        add_chunk(term, channel, starts);
      }
      // With one frame, totals_ take the pixels' place, which is free after the last term.
      if (kFrames == 2 || term + 1 == end) {
        for_each_panel([&]<int vectors>(int64_t panel)
                           HWY_ATTR { finish_term<vectors>(term, panel); });
      }
    }
    if (args_.shortcut != nullptr) {
      for_each_panel([&]<int vectors>(int64_t panel) HWY_ATTR { add_shortcut<vectors>(panel); });
    }
    const Sums sums = {.data = totals_,
                       .pixels = kTilePixels * blocks_.block_tiles,
                       .panel_channels = blocks_.panel_channels,
                       .first_channel = 0,
                       .channels = args_.c_out};
    const Epilogue<T> epilogue(args_, sums);
    for (int64_t tile = 0; tile < tiles_; ++tile) {
      int64_t outputs[kTilePixels];
      for (int64_t i = 0; i < kTilePixels; ++i) outputs[i] = output_pixel(tile * kTilePixels + i);
      epilogue.pixels(tile * kTilePixels, outputs, kTilePixels);
    }
  }

 private:
  static constexpr int64_t kTilePixels = 4 * kFrames;
  static_assert(kTilePixels <= Epilogue<T>::kPixels);

  struct Place {
    int64_t frame, row, column;  // of a tile's first output pixel
  };

  Place place_of(int64_t tile) const {
    const int64_t index = first_tile_ + tile;
    const int64_t line = index / blocks_.tiles_wide;
    return {.frame = line / blocks_.tiles_high * kFrames,
            .row = line % blocks_.tiles_high * 2,
            .column = index % blocks_.tiles_wide * 2};
  }

  // Pixel of y that is `pixel` of the item, kTilePixels to a tile, frame by frame; -1 where the
  // image has ended.
  int64_t output_pixel(int64_t pixel) const {
    const Place place = place_of(pixel / kTilePixels);
    const int64_t frame = place.frame + pixel % kTilePixels / 4;
    const int64_t row = place.row + pixel % 4 / 2;
    const int64_t column = place.column + pixel % 2;
    if (row >= args_.height || column >= args_.width) return -1;
    return (frame * args_.height + row) * args_.width + column;
  }

  // Calls visit<vectors>(panel) for each panel of output channels.
  template <class Visit>
  HWY_INLINE void for_each_panel(const Visit& visit) const {
    for (int64_t panel = 0; panel < blocks_.panels; ++panel) {
      with_panel_vectors(panel * blocks_.panel_channels, args_.c_out, [&]<int vectors>() HWY_ATTR {
        visit.template operator()<vectors>(panel);
      });
    }
  }

  HWY_INLINE void add_chunk(int64_t term, int64_t channel, bool starts) {
    const int64_t count = std::min(blocks_.chunk_channels, args_.c_in - channel);
    transform_pixels(term, channel, count);
    for_each_panel([&]<int vectors>(int64_t panel) HWY_ATTR {
      transform_weights<vectors>(term, channel, count, panel);
      if (starts) {
        add_products<vectors, StoreTo<vectors>>(count, panel);
      } else {
        add_products<vectors, AddTo<vectors>>(count, panel);
      }
    });
  }

  // pixels_: (kProducts, block_tiles, count, rounded up to whole vectors)
  void transform_pixels(int64_t term, int64_t channel, int64_t count) {
    const int64_t row = round_up(count, lanes_);
    const T* from[kFrames][kProducts];
    for (int64_t tile = 0; tile < tiles_; ++tile) {
      const Place place = place_of(tile);
      if constexpr (kFrames == 1) {
        locate_pixels(place, term - (args_.kernel_time - 1), channel, from[0]);
      } else {
        locate_pixels(place, kFirst[term] - 2, channel, from[0]);
        locate_pixels(place, kSecond[term] - 2, channel, from[1]);
      }
      float* to = pixels_ + tile * row;
      elementwise::for_each_vector(count, [&](const auto& load, const auto& store) HWY_ATTR {
        FloatVector d[kProducts];
        HWY_UNROLL(16)
        for (int i = 0; i < kProducts; ++i) {
          d[i] = load(from[0][i]);
          if constexpr (kFrames == 2) {
            d[i] = hn::MulAdd(load(from[1][i]), hn::Set(FloatTag(), kSign[term]), d[i]);
          }
        }
        HWY_UNROLL(4)
        for (int i = 0; i < 4; ++i) transform_pixel_lines(d[i], d[4 + i], d[8 + i], d[12 + i]);
        HWY_UNROLL(4)
        for (int i = 0; i < kProducts; i += 4) {
          transform_pixel_lines(d[i], d[i + 1], d[i + 2], d[i + 3]);
        }
        HWY_UNROLL(16)
        for (int i = 0; i < kProducts; ++i) store(d[i], to + i * blocks_.block_tiles * row);
      });
    }
  }

  // The 4 x 4 pixels that a tile reads `later` frames after its first.
  void locate_pixels(const Place& place, int64_t later, int64_t channel, const T** from) const {
    const int64_t frame = place.frame + later;
    const T* base = (frame < 0 ? history_end_ : static_cast<const T*>(args_.x)) + channel;
    for (int64_t i = 0; i < kProducts; ++i) {
      const int64_t row = place.row - 1 + i / 4;
      const int64_t column = place.column - 1 + i % 4;
      const bool inside = row >= 0 && row < args_.height && column >= 0 && column < args_.width;
      const int64_t pixel = (frame * args_.height + row) * args_.width + column;
      from[i] = inside ? base + pixel * args_.c_in : kZeros<T>;
    }
  }

  // weights_: (kProducts, count, vectors * lanes)
  template <int vectors>
  HWY_NOINLINE void transform_weights(int64_t term, int64_t channel, int64_t count, int64_t panel) {
    const int64_t stride = vectors * lanes_;
    const int64_t depth = round_up(args_.c_in, kGroup);  // of a tap
    const T* from = static_cast<const T*>(args_.weight) +
                    panel * blocks_.panel_channels * args_.kernel_time * 9 * depth +
                    channel * stride;
    const int64_t tap = depth * stride;
    for (int64_t c = 0; c < count; c += kGroup) {
      for (int64_t j = 0; j < vectors; ++j) {
        FloatVector taps[9][kGroup];
        load_taps(from + c * stride + j * lanes_ * kGroup, tap, term, taps);
        for (int64_t i = 0; i < std::min(kGroup, count - c); ++i) {
          transform_taps(taps, i, weights_ + (c + i) * stride + j * lanes_, count * stride);
        }
      }
    }
  }

  // A term's 3x3 taps, each `step` after the one before it: of a tap in time, or G of the three.
  HWY_INLINE static void load_taps(const T* from, int64_t step, int64_t term,
                                   FloatVector (&taps)[9][kGroup]) {
    if (kFrames == 1 || term == 0 || term == kTerms - 1) {
      const int64_t time = kFrames == 2 && term != 0 ? 2 : term;
      for (int i = 0; i < 9; ++i) {
        WeightLoader<kGroup>::load(from + (time * 9 + i) * step, taps[i]);
      }
      return;
    }
    const FloatVector half = hn::Set(FloatTag(), 0.5F);
    const FloatVector middle_half = hn::Set(FloatTag(), term == 1 ? 0.5F : -0.5F);
    for (int i = 0; i < 9; ++i) {
      FloatVector times[3][kGroup];
      for (int time = 0; time < 3; ++time) {
        WeightLoader<kGroup>::load(from + (time * 9 + i) * step, times[time]);
      }
      HWY_UNROLL(2)
      for (int64_t k = 0; k < kGroup; ++k) {
        const FloatVector outer = hn::Mul(hn::Add(times[0][k], times[2][k]), half);
        taps[i][k] = hn::MulAdd(times[1][k], middle_half, outer);
      }
    }
  }

  // Writes the kProducts values of one channel, `step` apart.
  HWY_INLINE static void transform_taps(const FloatVector (&taps)[9][kGroup], int64_t channel,
                                        float* to, int64_t step) {
    FloatVector columns[3][4];  // by the tap's column
    HWY_UNROLL(3)
    for (int i = 0; i < 3; ++i) {
      transform_tap_lines(taps[i][channel], taps[3 + i][channel], taps[6 + i][channel], columns[i]);
    }
    HWY_UNROLL(4)
    for (int i = 0; i < 4; ++i) {
      FloatVector row[4];
      transform_tap_lines(columns[0][i], columns[1][i], columns[2][i], row);
      HWY_UNROLL(4)
      for (int j = 0; j < 4; ++j) elementwise::store(row[j], to + (i * 4 + j) * step);
    }
  }

  // sums_: panel after panel, each (kProducts, block_tiles, vectors * lanes)
  template <int vectors, class Finish>
  HWY_INLINE void add_products(int64_t count, int64_t panel) {
    const int64_t stride = vectors * lanes_;
    const int64_t row = round_up(count, lanes_);
    for (int64_t product = 0; product < kProducts; ++product) {
      const float* pixels = pixels_ + product * blocks_.block_tiles * row;
      const float* weights = weights_ + product * count * stride;
      float* sums = panel_sums(panel) + product * blocks_.block_tiles * stride;
      for (int64_t tile = 0; tile < tiles_; tile += kTileRows) {
        const float* rows[kTileRows];
        for (int64_t i = 0; i < kTileRows; ++i) {
          rows[i] = pixels + std::min(tile + i, tiles_ - 1) * row;  // some twice, and never used
        }
        multiply<vectors>(rows, 1, count, weights, Finish{sums + tile * stride});
      }
    }
  }

  float* panel_sums(int64_t panel) const {
    return sums_ + panel * kProducts * blocks_.block_tiles * blocks_.panel_channels;
  }

  float* panel_totals(int64_t panel) const {
    return totals_ + panel * kTilePixels * blocks_.block_tiles * blocks_.panel_channels;
  }

  // Pixels from a term's sums, or all terms', which are added to what totals_ hold of the frames
  // that the term belongs to; the first begins with the bias. totals_: panel after panel, each
  // (kTilePixels * block_tiles, vectors * lanes).
  template <int vectors>
  void finish_term(int64_t term, int64_t panel) {
    const int64_t stride = vectors * lanes_;
    const int64_t first_channel = panel * blocks_.panel_channels;
    alignas(64) float bias[vectors * kMaxLanes] = {};
    if (args_.bias != nullptr) {
      std::copy_n(args_.bias + first_channel, std::min(stride, args_.c_out - first_channel), bias);
    }
    const int64_t step = blocks_.block_tiles * stride;
    for (int64_t tile = 0; tile < tiles_; ++tile) {
      const float* from = panel_sums(panel) + tile * stride;
      float* to = panel_totals(panel) + tile * kTilePixels * stride;
      for (int64_t j = 0; j < stride; j += lanes_) {
        FloatVector pixels[4];
        transform_sums(from + j, step, pixels);
        if constexpr (kFrames == 1) {
          add_to(pixels, 1, bias + j, 0, to + j, stride);
        } else {
          add_to_frames(term, pixels, bias + j, to + j, stride);
        }
      }
    }
  }

  // The first frame is the sum of terms 0 to 2, the second term 1 less 2 and 3.
  HWY_INLINE static void add_to_frames(int64_t term, const FloatVector (&pixels)[4],
                                       const float* bias, float* to, int64_t stride) {
    if (term <= 2) add_to(pixels, 1, term == 0 ? bias : to, term == 0 ? 0 : stride, to, stride);
    float* second = to + 4 * stride;
    if (term >= 1) {
      add_to(pixels, term == 1 ? 1 : -1, term == 1 ? bias : second, term == 1 ? 0 : stride, second,
             stride);
    }
  }

  // to = before + sign pixels, four `stride` apart, those before `step` apart.
  HWY_INLINE static void add_to(const FloatVector (&pixels)[4], float sign, const float* before,
                                int64_t step, float* to, int64_t stride) {
    HWY_UNROLL(4)
    for (int i = 0; i < 4; ++i) {
      const FloatVector sum =
          hn::MulAdd(pixels[i], hn::Set(FloatTag(), sign), elementwise::load(before + i * step));
      elementwise::store(sum, to + i * stride);
    }
  }

  // A' m A: four pixels from kProducts sums, `step` apart.
  HWY_INLINE static void transform_sums(const float* from, int64_t step, FloatVector (&pixels)[4]) {
    FloatVector lines[2][4];
    HWY_UNROLL(4)
    for (int i = 0; i < 4; ++i) {
      const FloatVector a = elementwise::load(from + i * step);
      const FloatVector b = elementwise::load(from + (4 + i) * step);
      const FloatVector c = elementwise::load(from + (8 + i) * step);
      const FloatVector d = elementwise::load(from + (12 + i) * step);
      lines[0][i] = hn::Add(hn::Add(a, b), c);
      lines[1][i] = hn::Sub(hn::Sub(b, c), d);
    }
    HWY_UNROLL(2)
    for (int i = 0; i < 2; ++i) {
      const FloatVector(&m)[4] = lines[i];
      pixels[2 * i] = hn::Add(hn::Add(m[0], m[1]), m[2]);
      pixels[2 * i + 1] = hn::Sub(hn::Sub(m[1], m[2]), m[3]);
    }
  }

  template <int vectors>
  void add_shortcut(int64_t panel) {
    const int64_t stride = vectors * lanes_;
    const int64_t first_channel = panel * blocks_.panel_channels;
    float* totals = panel_totals(panel);
    const int64_t depth = round_up(args_.c_shortcut, kGroup);
    const T* weight = static_cast<const T*>(args_.shortcut_weight) + first_channel * depth;
    for (int64_t channel = 0; channel < args_.c_shortcut; channel += blocks_.shortcut_channels) {
      const Conv3dChunk chunk = {
          .taps = 1, .channels = std::min(blocks_.shortcut_channels, args_.c_shortcut - channel)};
      Multiplier<Operands, vectors> multiplier(chunk, weight + channel * stride);
      for (int64_t pixel = 0; pixel < kTilePixels * tiles_; pixel += kTileRows) {
        const T* rows[kTileRows];
        for (int64_t i = 0; i < kTileRows; ++i) rows[i] = shortcut_pixel(pixel + i, channel);
        multiplier.add(rows, totals + pixel * stride);
      }
    }
  }

  const T* shortcut_pixel(int64_t pixel, int64_t channel) const {
    const int64_t output = pixel < kTilePixels * tiles_ ? output_pixel(pixel) : -1;
    if (output < 0) return kZeros<T>;
    return static_cast<const T*>(args_.shortcut) + output * args_.c_shortcut + channel;
  }

  const Conv3dArgs& args_;
  const WinogradBlocks& blocks_;
  const int64_t lanes_ = vector_lanes();
  const int64_t first_tile_;
  const int64_t tiles_;
  float* const sums_;
  float* const weights_;
  float* const pixels_;
  float* const totals_;
  const T* history_end_ = nullptr;
};

}  // namespace conv3d
}  // namespace HWY_NAMESPACE
}  // namespace zoetrope::cpu
HWY_AFTER_NAMESPACE();

#endif
