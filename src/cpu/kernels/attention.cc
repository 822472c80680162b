// SPDX-License-Identifier: Apache-2.0
// Softmax over all keys of a frame, one block of keys after the other: a query keeps the largest
// score so far, the sum of its weights and its weighted sum of values, and rescales the two
// sums whenever a block raises the largest score. No array grows with positions squared.
//
// A work item is a block of queries. It walks the keys in blocks of kKeys, whose keys and values
// stay in the second-level cache for all its tiles of queries.
//
// Workspace, for one frame at a time, in float32:
//   keys:    panels of kTileVectors vectors of keys (the last may have fewer), (channel, key)
//   values:  panels of kTileVectors vectors of channels (the last may have fewer),
//            (position, channel)
// both with zeros up to the next whole vector; and for bfloat16, whose products are exact in
// float32,
//   queries: (position, channel)
//   sums:    (position, channel), of y before it is rounded
#include "cpu/kernels/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "cpu/kernels/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/attention.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "cpu/kernels/elementwise_inl.h"
#include "cpu/kernels/multiply_inl.h"
#include "hwy/highway.h"

#ifndef ZOETROPE_CPU_KERNELS_ATTENTION_ONCE
#define ZOETROPE_CPU_KERNELS_ATTENTION_ONCE
namespace zoetrope::cpu {

constexpr int64_t kKeys = 192;    // of a block: a multiple of every panel's width
constexpr int64_t kQueries = 48;  // of a work item, at most: a multiple of every kTileRows

// T: of the operands; uint16_t holds bfloat16.
template <class T>
struct AttentionFrame {
  static constexpr bool kConverts = !std::is_same_v<T, float>;
  const T* qkv;
  T* y;
  float* keys;     // packed
  float* values;   // packed
  float* queries;  // only if kConverts
  float* sums;     // y itself unless kConverts
  int64_t positions;
  int64_t channels;
};

}  // namespace zoetrope::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace zoetrope::cpu {
namespace HWY_NAMESPACE {
namespace attention {

inline int64_t panel_width() { return kTileVectors * vector_lanes(); }

inline float to_float(float value) { return value; }
inline float to_float(uint16_t bits) { return bfloat16_to_float(bits); }

// Packs the panel of keys that begins with `first`; converts its queries.
template <class T>
void pack_keys(const AttentionFrame<T>& frame, int64_t first) {
  const int64_t positions = frame.positions;
  const int64_t channels = frame.channels;
  const int64_t width = std::min(panel_width(), round_up(positions - first, vector_lanes()));
  float* panel = frame.keys + first * channels;
  for (int64_t key = 0; key < width; ++key) {
    const T* from = frame.qkv + (first + key) * 3 * channels + channels;
    const bool exists = first + key < positions;
    for (int64_t c = 0; c < channels; ++c) {
      panel[c * width + key] = exists ? to_float(from[c]) : 0.0F;
    }
  }
  if constexpr (AttentionFrame<T>::kConverts) {
    for (int64_t query = first; query < std::min(first + width, positions); ++query) {
      const T* from = frame.qkv + query * 3 * channels;
      float* to = frame.queries + query * channels;
      for (int64_t c = 0; c < channels; ++c) to[c] = to_float(from[c]);
    }
  }
}

template <class T>
void pack_values(const AttentionFrame<T>& frame, int64_t first) {
  const int64_t channels = frame.channels;
  const int64_t width = std::min(panel_width(), round_up(channels - first, vector_lanes()));
  float* panel = frame.values + first * frame.positions;
  for (int64_t position = 0; position < frame.positions; ++position) {
    const T* from = frame.qkv + position * 3 * channels + 2 * channels + first;
    for (int64_t c = 0; c < width; ++c) *panel++ = first + c < channels ? to_float(from[c]) : 0.0F;
  }
}

// scores[i][column + vector j] = products * scale
struct StoreScores {
  float* scores;
  float scale;
  HWY_INLINE void operator()(int i, int j, FloatVector products) const {
    const FloatTag d;
    hn::StoreU(hn::Mul(products, hn::Set(d, scale)), d, scores + i * kKeys + j * vector_lanes());
  }
};

// total[i][vector j] = total * rescale[i] + sums; where `begin`, total = sums.
struct AddToTotal {
  float* total;
  int64_t channels;  // of a row of total
  int64_t columns;   // from total on that exist
  int64_t rows;      // that exist
  const float* rescale;
  bool begin;
  HWY_INLINE void operator()(int i, int j, FloatVector sums) const {
    if (i >= rows) return;
    const FloatTag d;
    const int64_t lanes = vector_lanes();
    const int64_t count = std::min(lanes, columns - j * lanes);
    float* to = total + i * channels + j * lanes;
    if (count == lanes) {
      if (!begin) sums = hn::MulAdd(hn::LoadU(d, to), hn::Set(d, rescale[i]), sums);
      hn::StoreU(sums, d, to);
    } else {
      const FloatVector before = begin ? hn::Zero(d) : elementwise::load_first(to, count);
      elementwise::store_first(hn::MulAdd(before, hn::Set(d, rescale[i]), sums), to, count);
    }
  }
};

template <class T>
class QueryBlock {
 public:
  QueryBlock(const AttentionFrame<T>& frame, int64_t first, int64_t queries)
      : frame_(frame), first_(first), queries_(queries) {
    std::fill_n(largest_, kQueries, -std::numeric_limits<float>::infinity());
    std::fill_n(total_, kQueries, 0.0F);
  }

  void run() {
    for (int64_t key = 0; key < frame_.positions; key += kKeys) {
      for (int64_t query = 0; query < queries_; query += kTileRows) {
        const int64_t keys = std::min(kKeys, frame_.positions - key);
        score(query, key, keys);
        for (int64_t i = 0; i < kTileRows; ++i) weigh(query + i, scores_ + i * kKeys, keys);
        add_values(query, key, keys);
      }
    }
    for (int64_t query = 0; query < queries_; ++query) divide(query);
  }

 private:
  // scores_ = q k' / sqrt(channels) for one tile of queries; rows after the last query repeat it.
  void score(int64_t query, int64_t first_key, int64_t keys) {
    const float* rows[kTileRows];
    for (int64_t i = 0; i < kTileRows; ++i) {
      const int64_t position = first_ + std::min(query + i, queries_ - 1);
      if constexpr (AttentionFrame<T>::kConverts) {
        rows[i] = frame_.queries + position * frame_.channels;
      } else {
        rows[i] = frame_.qkv + position * 3 * frame_.channels;
      }
    }
    const float scale = 1.0F / std::sqrt(static_cast<float>(frame_.channels));
    for (int64_t column = 0; column < keys; column += panel_width()) {
      const float* panel = frame_.keys + (first_key + column) * frame_.channels;
      with_panel_vectors(column, keys, [&]<int vectors>() HWY_ATTR {
        multiply<vectors>(rows, 1, frame_.channels, panel, StoreScores{scores_ + column, scale});
      });
    }
  }

  // Scores become weights e^(score - largest); sums follow in the order of keys, lane by lane.
  void weigh(int64_t query, float* scores, int64_t keys) {
    const FloatTag d;
    const int64_t end = round_up(keys, vector_lanes());
    std::fill(scores + keys, scores + end, -std::numeric_limits<float>::infinity());
    FloatVector most = hn::Set(d, largest_[query]);
    for (int64_t k = 0; k < end; k += vector_lanes())
      most = hn::Max(hn::LoadU(d, scores + k), most);
    const FloatVector largest = hn::MaxOfLanes(d, most);
    FloatVector sum = hn::Zero(d);
    for (int64_t k = 0; k < end; k += vector_lanes()) {
      const FloatVector weight =
          elementwise::exp_nonpositive(hn::Sub(hn::LoadU(d, scores + k), largest));
      hn::StoreU(weight, d, scores + k);
      sum = hn::Add(sum, weight);
    }
    const FloatVector rescale =
        elementwise::exp_nonpositive(hn::Sub(hn::Set(d, largest_[query]), largest));
    rescale_[query] = hn::GetLane(rescale);
    largest_[query] = hn::GetLane(largest);
    total_[query] = total_[query] * rescale_[query] + hn::GetLane(hn::SumOfLanes(d, sum));
  }

  // sums = sums * rescale + weights v for one tile of queries.
  void add_values(int64_t query, int64_t first_key, int64_t keys) {
    const float* rows[kTileRows];
    for (int64_t i = 0; i < kTileRows; ++i) rows[i] = scores_ + i * kKeys;
    const int64_t channels = frame_.channels;
    for (int64_t column = 0; column < channels; column += panel_width()) {
      const int64_t width = std::min(panel_width(), round_up(channels - column, vector_lanes()));
      const float* panel = frame_.values + column * frame_.positions + first_key * width;
      const AddToTotal finish = {.total = frame_.sums + (first_ + query) * channels + column,
                                 .channels = channels,
                                 .columns = channels - column,
                                 .rows = queries_ - query,
                                 .rescale = rescale_ + query,
                                 .begin = first_key == 0};
      with_panel_vectors(column, channels, [&]<int vectors>() HWY_ATTR {
        multiply<vectors>(rows, 1, keys, panel, finish);
      });
    }
  }

  void divide(int64_t query) {
    const float* sums = frame_.sums + (first_ + query) * frame_.channels;
    T* y = frame_.y + (first_ + query) * frame_.channels;
    const FloatVector total = hn::Set(FloatTag(), total_[query]);
    elementwise::for_each_vector(frame_.channels,
                                 [&](const auto& load, const auto& store)
                                     HWY_ATTR { store(hn::Div(load(sums), total), y); });
  }

  const AttentionFrame<T>& frame_;
  const int64_t first_;
  const int64_t queries_;
  float largest_[kQueries];
  float total_[kQueries];
  float rescale_[kQueries];
  alignas(64) float scores_[kTileRows * kKeys];
};

template <class T>
void run_frame(const AttentionFrame<T>& frame, ThreadPool& pool, const LoopControl& control) {
  const int64_t width = panel_width();
  const int64_t key_panels = (frame.positions + width - 1) / width;
  const int64_t value_panels = (frame.channels + width - 1) / width;
  const auto pack = [&](int64_t item) {
    if (item < key_panels) {
      pack_keys(frame, item * width);
    } else {
      pack_values(frame, (item - key_panels) * width);
    }
  };
  pool.run(key_panels + value_panels, pack, control);
  // Few queries are cut finer, so that all threads finish together.
  const int64_t share = frame.positions / (4 * int64_t{pool.threads()}) + 1;
  const int64_t queries = std::min(round_up(share, kTileRows), kQueries);
  const auto attend = [&](int64_t item) {
    const int64_t first = item * queries;
    QueryBlock<T>(frame, first, std::min(queries, frame.positions - first)).run();
  };
  pool.run((frame.positions + queries - 1) / queries, attend, control);
}

template <class T>
int64_t workspace_per_position(int64_t channels) {
  return channels * (AttentionFrame<T>::kConverts ? 3 : 1) + round_up(channels, vector_lanes());
}

int64_t workspace_fixed(int64_t channels) { return channels * vector_lanes(); }

template <class T>
void run(const AttentionArgs& args, ThreadPool& pool, const LoopControl& control) {
  static_assert(kQueries % kTileRows == 0);
  const int64_t size = args.positions * args.channels;
  float* keys = args.workspace;
  float* values = keys + round_up(args.positions, vector_lanes()) * args.channels;
  float* queries = values + round_up(args.channels, vector_lanes()) * args.positions;
  for (int64_t i = 0; i < args.frames; ++i) {
    T* y = static_cast<T*>(args.y) + i * size;
    AttentionFrame<T> frame = {.qkv = static_cast<const T*>(args.qkv) + i * 3 * size,
                               .y = y,
                               .keys = keys,
                               .values = values,
                               .queries = nullptr,
                               .sums = nullptr,
                               .positions = args.positions,
                               .channels = args.channels};
    if constexpr (AttentionFrame<T>::kConverts) {
      frame.queries = queries;
      frame.sums = queries + size;
    } else {
      frame.sums = y;
    }
    run_frame(frame, pool, control);
  }
}

template <class T>
constexpr AttentionKernel row(const char* name, DType operands) {
  return {.name = name,
          .target = HWY_TARGET,
          .operands = operands,
          .workspace_per_position = workspace_per_position<T>,
          .workspace_fixed = workspace_fixed,
          .run = run<T>};
}

constexpr auto kFloat32Name = row_name("attention_f32_", HWY_STR(HWY_NAMESPACE));
constexpr auto kBFloat16Name = row_name("attention_bf16_", HWY_STR(HWY_NAMESPACE));

}  // namespace attention

constexpr AttentionKernel kAttentionFloat32 =
    attention::row<float>(attention::kFloat32Name.data(), DType::kFloat32);
constexpr AttentionKernel kAttentionBFloat16 =
    attention::row<uint16_t>(attention::kBFloat16Name.data(), DType::kBFloat16);

}  // namespace HWY_NAMESPACE
}  // namespace zoetrope::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zoetrope::cpu {

std::vector<AttentionKernel> attention_kernels(int64_t instruction_sets) {
  return supported_rows<AttentionKernel>(
      std::to_array<const AttentionKernel*>(
          {HWY_CHOOSE_TARGET_LIST(kAttentionFloat32), HWY_CHOOSE_FALLBACK(kAttentionFloat32),
           HWY_CHOOSE_TARGET_LIST(kAttentionBFloat16), HWY_CHOOSE_FALLBACK(kAttentionBFloat16)}),
      instruction_sets);
}

std::span<const AttentionKernel> attention_kernels() {
  static const std::vector<AttentionKernel> rows = attention_kernels(hwy::SupportedTargets());
  return rows;
}

}  // namespace zoetrope::cpu
#endif
