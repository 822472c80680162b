// SPDX-License-Identifier: Apache-2.0
#include "models/wan21_layers.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace zoetrope::models {
namespace {

constexpr int64_t kPublishedLatentChannels = 16;

// Names that begin with `prefix` stand together in the sorted map.
bool any_starts_with(const Shapes& shapes, const std::string& prefix) {
  const auto found = shapes.lower_bound(prefix);
  return found != shapes.end() && found->first.starts_with(prefix);
}

// One extent of a tensor, or `otherwise` if there is no such tensor or its extents make no sense.
int64_t extent(const Shapes& shapes, const std::string& name, size_t axis, int64_t otherwise) {
  const auto found = shapes.find(name);
  if (found == shapes.end() || axis >= found->second.size()) return otherwise;
  return has_sensible_extents(found->second) ? found->second[axis] : otherwise;
}

// Indices i for which names "<list>.<i>." exist.
std::set<int64_t> indices(const Shapes& shapes, const std::string& list) {
  std::set<int64_t> found;
  const std::string prefix = list + ".";
  for (auto it = shapes.lower_bound(prefix); it != shapes.end(); ++it) {
    const std::string& name = it->first;
    if (!name.starts_with(prefix)) break;
    int64_t index = 0;
    const char* begin = name.data() + prefix.size();
    const auto [end, error] = std::from_chars(begin, name.data() + name.size(), index);
    if (error == std::errc() && *end == '.') found.insert(index);
  }
  return found;
}

Block infer_block(const Shapes& shapes, const std::string& name, int64_t c_in) {
  Block block = {.name = name, .c_in = c_in, .c_out = c_in};
  if (any_starts_with(shapes, name + ".resample.")) {
    block.kind = BlockKind::kResample;
    block.time = any_starts_with(shapes, name + ".time_conv.");
    block.c_out = extent(shapes, name + ".resample.1.weight", 0, c_in);
  } else if (any_starts_with(shapes, name + ".to_qkv.")) {
    block.kind = BlockKind::kAttention;
  } else {
    const int64_t second = extent(shapes, name + ".residual.6.weight", 0, c_in);
    block.c_out = extent(shapes, name + ".residual.2.weight", 0, second);
  }
  return block;
}

// Appends the blocks of a list and returns the channels after it. An index left out before the last
// becomes a residual block, all of whose tensors are then missing.
int64_t infer_list(const Shapes& shapes, const std::string& list, int64_t channels, Half& half) {
  const std::set<int64_t> found = indices(shapes, list);
  const auto count = std::min<int64_t>(found.empty() ? 0 : *found.rbegin() + 1,
                                       static_cast<int64_t>(shapes.size()));
  for (int64_t i = 0; i < count; ++i) {
    half.blocks.push_back(infer_block(shapes, list + "." + std::to_string(i), channels));
    channels = half.blocks.back().c_out;
  }
  return channels;
}

void infer_ends(const Shapes& shapes, Half& half) {
  half.c_first = extent(shapes, half.name + ".conv1.weight", 0, 1);
  half.c_in = extent(shapes, half.name + ".conv1.weight", 1, 1);
  half.c_out = extent(shapes, half.name + ".head.2.weight", 0, 1);
}

int64_t count_resamples(const std::vector<Block>& blocks, bool in_time_only) {
  return std::ranges::count_if(blocks, [&](const Block& block) {
    return block.kind == BlockKind::kResample && (block.time || !in_time_only);
  });
}

void add_conv(Shapes& shapes, const std::string& name, std::vector<int64_t> shape) {
  shapes[name + ".bias"] = {shape[0]};
  shapes[name + ".weight"] = std::move(shape);
}

void add_block(Shapes& shapes, const Block& block, bool down) {
  const std::string& name = block.name;
  const int64_t c_in = block.c_in;
  const int64_t c_out = block.c_out;
  switch (block.kind) {
    case BlockKind::kResidual:
      shapes[name + ".residual.0.gamma"] = {c_in, 1, 1, 1};
      add_conv(shapes, name + ".residual.2", {c_out, c_in, 3, 3, 3});
      shapes[name + ".residual.3.gamma"] = {c_out, 1, 1, 1};
      add_conv(shapes, name + ".residual.6", {c_out, c_out, 3, 3, 3});
      if (c_in != c_out) add_conv(shapes, name + ".shortcut", {c_out, c_in, 1, 1, 1});
      return;
    case BlockKind::kAttention:
      shapes[name + ".norm.gamma"] = {c_in, 1, 1};
      add_conv(shapes, name + ".to_qkv", {3 * c_in, c_in, 1, 1});
      add_conv(shapes, name + ".proj", {c_in, c_in, 1, 1});
      return;
    case BlockKind::kResample:
      add_conv(shapes, name + ".resample.1", {c_out, c_in, 3, 3});
      if (!block.time) return;
      // Down: after the spatial conv; up: before it, two frames' worth of channels.
      add_conv(shapes, name + ".time_conv",
               {down ? c_out : 2 * c_in, down ? c_out : c_in, 3, 1, 1});
      return;
  }
}

// Appends blocks to a half, numbering them.
class ListMaker {
 public:
  ListMaker(Half& half, std::string list, int64_t channels)
      : half_(half), list_(std::move(list)), channels_(channels) {}

  void residuals(int count, int64_t channels) {
    for (int i = 0; i < count; ++i) add(BlockKind::kResidual, channels, false);
  }
  void attention() { add(BlockKind::kAttention, channels_, false); }
  void resample(int64_t channels, bool time) { add(BlockKind::kResample, channels, time); }

 private:
  void add(BlockKind kind, int64_t c_out, bool time) {
    half_.blocks.push_back({.kind = kind,
                            .name = list_ + "." + std::to_string(next_++),
                            .c_in = channels_,
                            .c_out = c_out,
                            .time = time});
    channels_ = c_out;
  }

  Half& half_;
  std::string list_;
  int64_t channels_;
  int next_ = 0;
};

void add_middle(Half& half, int64_t channels) {
  ListMaker middle(half, half.name + ".middle", channels);
  middle.residuals(1, channels);
  middle.attention();
  middle.residuals(1, channels);
}

}  // namespace

bool has_sensible_extents(const std::vector<int64_t>& shape) {
  return std::ranges::all_of(shape,
                             [](int64_t extent) { return extent >= 1 && extent <= kMaxChannels; });
}

int64_t Half::spatial_stride() const { return int64_t{1} << count_resamples(blocks, false); }

int64_t Half::temporal_stride() const { return int64_t{1} << count_resamples(blocks, true); }

Half infer_encoder(const Shapes& shapes) {
  Half half;
  if (!any_starts_with(shapes, "encoder.")) return half;
  half.name = "encoder";
  infer_ends(shapes, half);
  half.c_last = infer_list(shapes, "encoder.downsamples", half.c_first, half);
  half.c_last = infer_list(shapes, "encoder.middle", half.c_last, half);
  return half;
}

Half infer_decoder(const Shapes& shapes) {
  Half half;
  if (!any_starts_with(shapes, "decoder.")) return half;
  half.name = "decoder";
  infer_ends(shapes, half);
  half.c_last = infer_list(shapes, "decoder.middle", half.c_first, half);
  half.c_last = infer_list(shapes, "decoder.upsamples", half.c_last, half);
  return half;
}

Half published_encoder(int64_t base_dim) {
  Half half = {.name = "encoder",
               .c_in = 3,
               .c_first = base_dim,
               .c_last = 4 * base_dim,
               .c_out = 2 * kPublishedLatentChannels,
               .blocks = {}};
  ListMaker down(half, "encoder.downsamples", base_dim);
  down.residuals(2, base_dim);
  down.resample(base_dim, false);
  down.residuals(2, 2 * base_dim);
  down.resample(2 * base_dim, true);
  down.residuals(2, 4 * base_dim);
  down.resample(4 * base_dim, true);
  down.residuals(2, 4 * base_dim);
  add_middle(half, 4 * base_dim);
  return half;
}

Half published_decoder(int64_t base_dim) {
  Half half = {.name = "decoder",
               .c_in = kPublishedLatentChannels,
               .c_first = 4 * base_dim,
               .c_last = base_dim,
               .c_out = 3,
               .blocks = {}};
  add_middle(half, 4 * base_dim);
  ListMaker up(half, "decoder.upsamples", 4 * base_dim);
  up.residuals(3, 4 * base_dim);
  up.resample(2 * base_dim, true);
  up.residuals(3, 4 * base_dim);
  up.resample(2 * base_dim, true);
  up.residuals(3, 2 * base_dim);
  up.resample(base_dim, false);
  up.residuals(3, base_dim);
  return half;
}

Shapes required_tensors(const Half& half) {
  Shapes shapes;
  if (half.name.empty()) return shapes;
  const bool down = half.name == "encoder";
  add_conv(shapes, half.name + ".conv1", {half.c_first, half.c_in, 3, 3, 3});
  for (const Block& block : half.blocks) add_block(shapes, block, down);
  shapes[half.name + ".head.0.gamma"] = {half.c_last, 1, 1, 1};
  add_conv(shapes, half.name + ".head.2", {half.c_out, half.c_last, 3, 3, 3});
  const int64_t latent = down ? half.c_out : half.c_in;
  add_conv(shapes, down ? "conv1" : "conv2", {latent, latent, 1, 1, 1});
  return shapes;
}

}  // namespace zoetrope::models
