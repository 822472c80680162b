// SPDX-License-Identifier: Apache-2.0
#include "models/tensor_names.h"

#include <array>
#include <charconv>
#include <iterator>
#include <optional>
#include <set>

namespace zoetrope::models {
namespace {

struct Anchor {
  std::string_view name;  // a tensor that every file of the naming holds, in one half or the other
  std::string_view naming;
};

constexpr std::array<Anchor, 4> kAnchors = {{
    {"encoder.conv1.weight", "published"},
    {"decoder.conv1.weight", "published"},
    {"encoder.conv_in.weight", "diffusers"},
    {"decoder.conv_in.weight", "diffusers"},
}};

struct Rename {
  std::string_view from;
  std::string_view to;
};

// Within a block of diffusers' files.
constexpr std::array<Rename, 5> kBlockRenames = {{
    {"norm1.", "residual.0."},
    {"conv1.", "residual.2."},
    {"norm2.", "residual.3."},
    {"conv2.", "residual.6."},
    {"conv_shortcut.", "shortcut."},
}};

constexpr std::array<Rename, 12> kLayerRenames = {{
    {"quant_conv.", "conv1."},
    {"post_quant_conv.", "conv2."},
    {"encoder.conv_in.", "encoder.conv1."},
    {"decoder.conv_in.", "decoder.conv1."},
    {"encoder.norm_out.", "encoder.head.0."},
    {"decoder.norm_out.", "decoder.head.0."},
    {"encoder.conv_out.", "encoder.head.2."},
    {"decoder.conv_out.", "decoder.head.2."},
    {"encoder.mid_block.attentions.0.", "encoder.middle.1."},
    {"decoder.mid_block.attentions.0.", "decoder.middle.1."},
    {"encoder.mid_block.resnets.", "encoder.middle."},
    {"decoder.mid_block.resnets.", "decoder.middle."},
}};

// The shortest prefix before an anchor, and its naming: other copies of the model in the same file
// (an averaged one, say) are left alone.
struct Found {
  std::string prefix;
  std::string_view naming;
};

std::optional<Found> find_anchor(const Checkpoint& checkpoint) {
  std::optional<Found> found;
  for (const TensorInfo& tensor : checkpoint.tensors()) {
    for (const Anchor& anchor : kAnchors) {
      if (!tensor.name.ends_with(anchor.name)) continue;
      const std::string prefix = tensor.name.substr(0, tensor.name.size() - anchor.name.size());
      if (!prefix.empty() && prefix.back() != '.') continue;
      if (!found || prefix.size() < found->prefix.size()) found = {prefix, anchor.naming};
    }
  }
  return found;
}

// Reads "12." at the start of `text` and removes it.
std::optional<int> take_index(std::string_view& text) {
  int index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc() || end == text.data() + text.size() || *end != '.') return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
  return index;
}

using Side = std::string_view Rename::*;

std::string rename_in_block(std::string_view rest, Side from, Side to) {
  for (const Rename& rename : kBlockRenames) {
    if (rest.starts_with(rename.*from)) {
      return std::string(rename.*to) + std::string(rest.substr((rename.*from).size()));
    }
  }
  return std::string(rest);
}

std::string published_in_block(std::string_view rest) {
  return rename_in_block(rest, &Rename::from, &Rename::to);
}

std::string diffusers_in_block(std::string_view rest) {
  return rename_in_block(rest, &Rename::to, &Rename::from);
}

// "decoder.up_blocks.B.resnets.R." and "decoder.up_blocks.B.upsamplers.0.", in the order that the
// published model numbers them in one list.
class UpBlocks {
 public:
  explicit UpBlocks(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      std::string_view rest = name;
      if (const auto block = take(rest)) blocks_.insert(*block);
    }
  }

  // The published name, or empty if `name` is not of an up block.
  std::string published(std::string_view name) const {
    const auto block = take(name);
    if (!block) return "";
    const auto position = std::distance(blocks_.begin(), blocks_.find(*block));
    return "decoder.upsamples." + std::to_string(position) + "." + published_in_block(name);
  }

 private:
  struct Block {
    int level;
    bool upsampler;  // after the level's residual blocks
    int index;
    auto operator<=>(const Block&) const = default;
  };

  static std::optional<Block> take(std::string_view& name) {
    constexpr std::string_view kUpBlocks = "decoder.up_blocks.";
    if (!name.starts_with(kUpBlocks)) return std::nullopt;
    name.remove_prefix(kUpBlocks.size());
    const auto level = take_index(name);
    const bool upsampler = name.starts_with("upsamplers.");
    if (!level || (!upsampler && !name.starts_with("resnets."))) return std::nullopt;
    name.remove_prefix(name.find('.') + 1);
    const auto index = take_index(name);
    if (!index) return std::nullopt;
    return Block{*level, upsampler, *index};
  }

  std::set<Block> blocks_;
};

std::string published_from_diffusers(std::string_view name, const UpBlocks& up_blocks) {
  if (std::string published = up_blocks.published(name); !published.empty()) return published;
  constexpr std::string_view kDownBlocks = "encoder.down_blocks.";
  if (name.starts_with(kDownBlocks)) {
    std::string_view rest = name.substr(kDownBlocks.size());
    const auto index = take_index(rest);
    if (!index) return std::string(name);
    return "encoder.downsamples." + std::to_string(*index) + "." + published_in_block(rest);
  }
  for (const Rename& rename : kLayerRenames) {
    if (!name.starts_with(rename.from)) continue;
    std::string_view rest = name.substr(rename.from.size());
    if (!rename.to.ends_with("middle.")) return std::string(rename.to) + std::string(rest);
    const auto index = take_index(rest);  // residual blocks stand on both sides of the attention
    if (!index) return std::string(name);
    return std::string(rename.to) + std::to_string(2 * *index) + "." + published_in_block(rest);
  }
  return std::string(name);
}

// "decoder.upsamples.P." by diffusers' levels: each is a few residual blocks, then an upsampler.
class Upsamples {
 public:
  explicit Upsamples(const std::vector<std::string>& published) {
    for (std::string_view name : published) {
      const auto position = take(name);
      const bool upsampler = name.starts_with("resample.") || name.starts_with("time_conv.");
      if (position && upsampler) upsamplers_.insert(*position);
    }
  }

  // Empty if `name` is not in the list.
  std::string diffusers(std::string_view name) const {
    const auto position = take(name);
    if (!position) return "";
    const auto level_end = upsamplers_.lower_bound(*position);
    const int level_start = level_end == upsamplers_.begin() ? 0 : *std::prev(level_end) + 1;
    const std::string level =
        "decoder.up_blocks." + std::to_string(std::distance(upsamplers_.begin(), level_end));
    if (upsamplers_.contains(*position)) return level + ".upsamplers.0." + std::string(name);
    return level + ".resnets." + std::to_string(*position - level_start) + "." +
           diffusers_in_block(name);
  }

 private:
  static std::optional<int> take(std::string_view& name) {
    constexpr std::string_view kUpsamples = "decoder.upsamples.";
    if (!name.starts_with(kUpsamples)) return std::nullopt;
    name.remove_prefix(kUpsamples.size());
    return take_index(name);
  }

  std::set<int> upsamplers_;  // positions
};

std::string diffusers_from_published(std::string_view name, const Upsamples& upsamples) {
  if (std::string diffusers = upsamples.diffusers(name); !diffusers.empty()) return diffusers;
  constexpr std::string_view kDownsamples = "encoder.downsamples.";
  if (name.starts_with(kDownsamples)) {
    std::string_view rest = name.substr(kDownsamples.size());
    const auto index = take_index(rest);
    if (!index) return std::string(name);
    return "encoder.down_blocks." + std::to_string(*index) + "." + diffusers_in_block(rest);
  }
  for (const Rename& rename : kLayerRenames) {  // the attention's stands before the middle's
    if (!name.starts_with(rename.to)) continue;
    std::string_view rest = name.substr(rename.to.size());
    if (!rename.to.ends_with("middle.")) return std::string(rename.from) + std::string(rest);
    const auto index = take_index(rest);
    if (!index || *index % 2 != 0) return std::string(name);
    return std::string(rename.from) + std::to_string(*index / 2) + "." + diffusers_in_block(rest);
  }
  return std::string(name);
}

}  // namespace

std::map<std::string, std::string> diffusers_names(const std::vector<std::string>& published) {
  const Upsamples upsamples(published);
  std::map<std::string, std::string> names;
  for (const std::string& name : published) {
    names[name] = diffusers_from_published(name, upsamples);
  }
  return names;
}

TensorNames translate_names(const Checkpoint& checkpoint) {
  TensorNames names;
  const auto found = find_anchor(checkpoint);
  if (!found) return names;
  names.naming = found->naming;
  std::vector<std::string> stripped;
  for (const TensorInfo& tensor : checkpoint.tensors()) {
    if (tensor.name.starts_with(found->prefix)) {
      stripped.push_back(tensor.name.substr(found->prefix.size()));
    }
  }
  const UpBlocks up_blocks(stripped);
  for (const std::string& name : stripped) {
    const std::string published =
        names.naming == "diffusers" ? published_from_diffusers(name, up_blocks) : name;
    names.stored.emplace(published, found->prefix + name);
  }
  return names;
}

}  // namespace zoetrope::models
