// SPDX-License-Identifier: Apache-2.0
// The layers of a Wan2.1 VAE as its tensors' names and shapes tell them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace zoetrope::models {

enum class BlockKind : uint8_t { kResidual, kAttention, kResample };

// One entry of encoder.downsamples, decoder.upsamples or middle.
struct Block {
  BlockKind kind = BlockKind::kResidual;
  std::string name;  // "encoder.downsamples.3"
  int64_t c_in = 0;
  int64_t c_out = 0;
  bool time = false;  // kResample: in time too
};

// Encoder or decoder: conv1, then `blocks` in order, then head. The encoder's go down and then
// through the middle, the decoder's the other way.
struct Half {
  std::string name;     // "encoder" or "decoder"; empty: not in the checkpoint
  int64_t c_in = 0;     // of conv1
  int64_t c_first = 0;  // outputs of conv1
  int64_t c_last = 0;   // inputs of the head
  int64_t c_out = 0;    // of the head
  std::vector<Block> blocks;

  int64_t base_dim() const { return name == "encoder" ? c_first : c_last; }
  int64_t spatial_stride() const;
  int64_t temporal_stride() const;
};

using Shapes = std::map<std::string, std::vector<int64_t>>;  // by published name

// Larger widths than any model has are taken for damage.
inline constexpr int64_t kMaxChannels = 65536;
bool has_sensible_extents(const std::vector<int64_t>& shape);

// Reads the structure off the names, the widths off the shapes. Where a tensor is missing, its
// width is taken from a neighbour, so that required_tensors() can name what is missing.
Half infer_encoder(const Shapes& shapes);
Half infer_decoder(const Shapes& shapes);

// The published structure with another width.
Half published_encoder(int64_t base_dim);
Half published_decoder(int64_t base_dim);

// Every tensor that the half's Graphs read, with its shape.
Shapes required_tensors(const Half& half);

}  // namespace zoetrope::models
