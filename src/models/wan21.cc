// SPDX-License-Identifier: Apache-2.0
#include "models/wan21.h"

#include <fmt/format.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/fail.h"
#include "base/shape.h"
#include "graph/builder.h"
#include "models/tensor_names.h"
#include "models/wan21_diffusers.h"
#include "models/wan21_layers.h"

namespace zoetrope::models {
namespace {

using graph::Builder;
using graph::ConstantId;
using graph::ConvShape;
using graph::kNone;
using graph::ValueId;

// Latents as diffusion models consume them are (mean - kLatentsMean) / kLatentsStd; the published
// checkpoints do not hold these numbers, diffusers' config.json does.
const std::vector<float> kLatentsMean = {-0.7571F, -0.7089F, -0.9113F, 0.1075F,  -0.1745F, 0.9653F,
                                         -0.1517F, 1.5508F,  0.4134F,  -0.0715F, 0.5517F,  -0.3632F,
                                         -0.1922F, -0.9497F, 0.2503F,  -0.2921F};
const std::vector<float> kLatentsStd = {2.8184F, 1.4541F, 2.3275F, 2.6558F, 1.2196F, 1.7708F,
                                        2.6052F, 2.0743F, 3.2687F, 2.1526F, 2.8652F, 1.5579F,
                                        1.6382F, 1.1253F, 2.8251F, 1.9160F};

constexpr double kVideoBound = 1;  // [-1, 1]

constexpr ConvShape kConv3x3x3 = {
    .kernel_time = 3, .kernel_height = 3, .kernel_width = 3, .pad_before = 1};

// Makes one entry's Graph from the layers.
class EntryGraph {
 public:
  EntryGraph(Entry entry, const std::map<std::string, graph::Constant>& constants)
      : builder_(name_of(entry)),
        constants_(constants),
        first_(entry == Entry::kEncodeFirst || entry == Entry::kDecodeFirst) {}

  graph::Graph encoder(const Half& half) && {
    const int64_t frames = first_ ? 1 : half.temporal_stride();
    ValueId x = builder_.input("video", frames, 1, half.c_in, kVideoBound);
    x = causal_conv("encoder.conv1", x);
    for (const Block& block : half.blocks) x = this->block(block, x, true);
    x = head(half.name, x);
    return std::move(builder_).finish(conv("conv1", x, {}));
  }

  graph::Graph decoder(const Half& half) && {
    ValueId x = builder_.input("latent", 1, half.spatial_stride(), half.c_in);
    x = conv("conv2", x, {});
    x = causal_conv("decoder.conv1", x);
    for (const Block& block : half.blocks) x = this->block(block, x, false);
    return std::move(builder_).finish(head(half.name, x));
  }

 private:
  ConstantId constant(const std::string& name) {
    const auto found = constants_.find(name);
    ZOETROPE_CHECK(found != constants_.end(), name);
    return builder_.constant(found->second);
  }

  ValueId conv(const std::string& name, ValueId x, const ConvShape& shape,
               ValueId history = kNone) {
    const ConstantId weight = constant(name + ".weight");
    const ConstantId bias = constant(name + ".bias");
    return builder_.conv(name, x, history, shape, weight, bias);
  }

  // A conv that looks back. In the first step there is nothing to see: only the last tap works.
  ValueId conv_with_history(const std::string& name, ValueId x, ConvShape shape) {
    if (first_) shape.first_tap = shape.kernel_time - 1;
    return conv(name, x, shape, builder_.history(name + ".history", shape.history_frames(), x));
  }

  ValueId causal_conv(const std::string& name, ValueId x) {
    return conv_with_history(name, x, kConv3x3x3);
  }

  ValueId norm(const std::string& name, ValueId x) {
    return builder_.rms_norm(name, x, constant(name + ".gamma"));
  }

  ValueId block(const Block& block, ValueId x, bool down) {
    switch (block.kind) {
      case BlockKind::kResidual:
        return residual(block, x);
      case BlockKind::kAttention:
        return attention(block, x);
      case BlockKind::kResample:
        return down ? downsample(block, x) : upsample(block, x);
    }
    fail(ErrorCode::kInternal, "{}: unknown kind of block", block.name);
  }

  ValueId residual(const Block& block, ValueId x) {
    const std::string path = block.name + ".residual.";
    ValueId y = builder_.silu(path + "1", norm(path + "0", x));
    y = causal_conv(path + "2", y);
    y = builder_.silu(path + "4", norm(path + "3", y));
    const ValueId shortcut = block.c_in == block.c_out ? x : conv(block.name + ".shortcut", x, {});
    y = causal_conv(path + "6", y);
    return builder_.add(block.name, y, shortcut);
  }

  ValueId attention(const Block& block, ValueId x) {
    ValueId y = conv(block.name + ".to_qkv", norm(block.name + ".norm", x), {});
    y = builder_.attention(block.name + ".attention", y);
    return builder_.add(block.name, conv(block.name + ".proj", y, {}), x);
  }

  // In space: zeros right and below only. In time: frame 0 passes through unchanged.
  ValueId downsample(const Block& block, ValueId x) {
    x = conv(block.name + ".resample.1", x,
             {.kernel_height = 3, .kernel_width = 3, .stride_space = 2});
    if (!block.time) return x;
    const std::string name = block.name + ".time_conv";
    const ConvShape shape = {.kernel_time = 3, .stride_time = 2};
    if (!first_) return conv_with_history(name, x, shape);
    builder_.carry(name, x, builder_.history(name + ".history", shape.history_frames(), x));
    return x;
  }

  // In time: frame 0 passes through and is not seen by later frames either.
  ValueId upsample(const Block& block, ValueId x) {
    if (block.time && !first_) {
      x = conv_with_history(block.name + ".time_conv", x, {.kernel_time = 3});
      x = builder_.frame_interleave(block.name + ".interleave", x);
    }
    x = builder_.upsample_nearest(block.name + ".resample.0", x);
    return conv(block.name + ".resample.1", x,
                {.kernel_height = 3, .kernel_width = 3, .pad_before = 1});
  }

  ValueId head(const std::string& half, ValueId x) {
    x = builder_.silu(half + ".head.1", norm(half + ".head.0", x));
    return causal_conv(half + ".head.2", x);
  }

  Builder builder_;
  const std::map<std::string, graph::Constant>& constants_;
  bool first_;
};

// Convs as (c_out, c_in, kt, kh, kw), vectors as (channels): checkpoints leave out or add axes of
// extent 1.
std::vector<int64_t> graph_shape(const std::string& name, const std::vector<int64_t>& shape) {
  if (!name.ends_with(".weight")) return {shape[0]};
  std::vector<int64_t> conv = shape;
  if (conv.size() == 4) conv.insert(conv.begin() + 2, 1);
  return conv;
}

class Wan21 : public Model {
 public:
  explicit Wan21(std::shared_ptr<const Checkpoint> checkpoint)
      : checkpoint_(std::move(checkpoint)), names_(translate_names(*checkpoint_)) {
    for (const auto& [published, stored] : names_.stored) {
      shapes_[published] = checkpoint_->find(stored)->shape;
    }
    encoder_ = infer_encoder(shapes_);
    decoder_ = infer_decoder(shapes_);
    for (const Half* half : {&encoder_, &decoder_}) check_depth(*half);
    config_.family = "wan2.1";
    config_.naming = names_.naming;
    if (!encoder_.name.empty()) {
      config_.encoder = half_config(encoder_, encoder_.c_in, encoder_.c_out / 2);
    }
    if (!decoder_.name.empty()) {
      config_.decoder = half_config(decoder_, decoder_.c_out, decoder_.c_in);
    }
    read_latent_statistics();
    refuse_other_families();
  }

  const Config& config() const override { return config_; }

  std::vector<std::string> missing() const override {
    std::vector<std::string> names;
    for (const Half* half : {&encoder_, &decoder_}) {
      for (const auto& [name, shape] : required_tensors(*half)) {
        if (!shapes_.contains(name)) names.push_back(name);
      }
    }
    return names;
  }

  std::vector<std::string> unknown() const override {
    Shapes known = required_tensors(encoder_);
    known.merge(required_tensors(decoder_));
    std::vector<std::string> names;
    const std::map<std::string, std::string> published = published_names();
    for (const TensorInfo& tensor : checkpoint_->tensors()) {
      const auto found = published.find(tensor.name);
      if (found == published.end() || !known.contains(found->second)) names.push_back(tensor.name);
    }
    return names;
  }

  std::map<std::string, uint64_t> hashes() const override {
    const std::map<std::string, std::string> published = published_names();
    std::map<std::string, uint64_t> hashes;
    for (const auto& [stored, hash] : checkpoint_->hashes()) hashes[published.at(stored)] = hash;
    return hashes;
  }

  std::string diffusers_config() const override {
    return wan21_diffusers_config(encoder_, decoder_, config_, checkpoint_->source());
  }

  graph::Graph graph(Entry entry) const override {
    const bool encode = entry == Entry::kEncodeFirst || entry == Entry::kEncodeNext;
    const Half& half = encode ? encoder_ : decoder_;
    if (half.name.empty()) {
      fail(ErrorCode::kCheckpoint, "{}: no {} tensors in it; use a checkpoint that holds the {}",
           checkpoint_->source(), encode ? "encoder" : "decoder", encode ? "encoder" : "decoder");
    }
    const auto constants = check_tensors(half);
    EntryGraph graph(entry, constants);
    return encode ? std::move(graph).encoder(half) : std::move(graph).decoder(half);
  }

 private:
  // By the name in the checkpoint.
  std::map<std::string, std::string> published_names() const {
    std::map<std::string, std::string> published;
    for (const auto& [name, stored] : names_.stored) published[stored] = name;
    return published;
  }

  static HalfConfig half_config(const Half& half, int64_t video_channels, int64_t latent_channels) {
    return {.base_dim = half.base_dim(),
            .video_channels = video_channels,
            .latent_channels = latent_channels,
            .spatial_stride = half.spatial_stride(),
            .temporal_stride = half.temporal_stride()};
  }

  int64_t latent_channels() const {
    return encoder_.name.empty() ? config_.decoder.latent_channels
                                 : config_.encoder.latent_channels;
  }

  // The published model halves the size three times; strides must stay small numbers.
  void check_depth(const Half& half) const {
    constexpr int64_t kMaxResamples = 8;
    const auto count = std::ranges::count(half.blocks, BlockKind::kResample, &Block::kind);
    if (count <= kMaxResamples) return;
    fail(ErrorCode::kUnsupported, "{}: expected at most {} resample blocks in the {}, found {}",
         checkpoint_->source(), kMaxResamples, half.name, count);
  }

  void refuse_other_families() const {
    if (any_of_wan22()) {
      fail(
          ErrorCode::kUnsupported,
          "{}: expected the Wan2.1 VAE (16 latent channels), found one of the Wan2.2-5B kind ({} "
          "latent channels), which is not supported; use Wan2.1_VAE.pth or a repackaged copy of it",
          checkpoint_->source(), latent_channels());
    }
    if (static_cast<int64_t>(config_.latents_mean.size()) != latent_channels()) {
      fail(ErrorCode::kCheckpoint,
           "{}: expected one latents_mean for each latent channel, found {} for {} channels",
           checkpoint_->source(), config_.latents_mean.size(), latent_channels());
    }
  }

  // Its blocks are lists of lists, and it works on 2 x 2 patches (12 channels).
  bool any_of_wan22() const {
    const auto nested = shapes_.lower_bound("encoder.downsamples.0.downsamples.");
    const auto nested_up = shapes_.lower_bound("decoder.upsamples.0.upsamples.");
    return (nested != shapes_.end() &&
            nested->first.starts_with("encoder.downsamples.0.downsamples.")) ||
           (nested_up != shapes_.end() &&
            nested_up->first.starts_with("decoder.upsamples.0.upsamples.")) ||
           latent_channels() == 48;
  }

  void read_latent_statistics() {
    config_.latents_mean = kLatentsMean;
    config_.latents_std = kLatentsStd;
    if (checkpoint_->config().empty()) return;
    const auto json = nlohmann::json::parse(checkpoint_->config(), nullptr, false);
    if (!json.is_object()) {
      fail(ErrorCode::kCheckpoint, "{}: config.json is not a JSON object", checkpoint_->source());
    }
    config_.latents_mean = statistics(json, "latents_mean", kLatentsMean);
    config_.latents_std = statistics(json, "latents_std", kLatentsStd);
  }

  std::vector<float> statistics(const nlohmann::json& json, const char* key,
                                const std::vector<float>& otherwise) const {
    const auto found = json.find(key);
    if (found == json.end() || found->is_null()) return otherwise;
    const bool positive = std::string_view(key) == "latents_std";
    // Says what kind of value was found, never the value: it may be nested without end.
    const auto refuse = [&](const char* kind) {
      fail(ErrorCode::kCheckpoint, "{}: config.json: expected {} to be a list of {}, found {}",
           checkpoint_->source(), key, positive ? "positive numbers" : "numbers", kind);
    };
    if (!found->is_array()) refuse(found->type_name());
    std::vector<float> values;
    for (const auto& item : *found) {
      if (!item.is_number()) refuse(item.type_name());
      const auto value = item.get<float>();
      if (!std::isfinite(value) || (positive && value < FLT_MIN)) refuse("another number");
      values.push_back(value);
    }
    if (static_cast<int64_t>(values.size()) != latent_channels()) {
      fail(ErrorCode::kCheckpoint, "{}: config.json: expected {} {} (one a channel), found {}",
           checkpoint_->source(), latent_channels(), key, values.size());
    }
    return values;
  }

  // The half's tensors as Constants, by published name.
  std::map<std::string, graph::Constant> check_tensors(const Half& half) const {
    const Shapes required = required_tensors(half);
    check_presence(half, required);
    std::map<std::string, graph::Constant> constants;
    for (const auto& [name, expected] : required) {
      const std::string& stored = names_.stored.at(name);
      const std::vector<int64_t>& found = shapes_.at(name);
      if (found != expected && found != graph_shape(name, expected)) {
        fail(ErrorCode::kCheckpoint, "{}: {}: expected shape {}, found {}", checkpoint_->source(),
             stored, to_string(expected), to_string(found));
      }
      constants[name] = {
          .name = name,
          .shape = graph_shape(name, expected),
          .read = [checkpoint = checkpoint_, stored = stored] { return checkpoint->read(stored); }};
    }
    return constants;
  }

  // Missing tensors and senseless extents come first: widths that were inferred without them would
  // make the shapes of others look wrong.
  void check_presence(const Half& half, const Shapes& required) const {
    std::vector<std::string> absent;
    for (const auto& [name, expected] : required) {
      const auto found = shapes_.find(name);
      if (found == shapes_.end()) {
        absent.push_back(name);
      } else if (!has_sensible_extents(found->second)) {
        fail(ErrorCode::kCheckpoint, "{}: {}: expected extents from 1 to {}, found {}",
             checkpoint_->source(), names_.stored.at(name), kMaxChannels, to_string(found->second));
      }
    }
    if (absent.empty()) return;
    fail(ErrorCode::kCheckpoint,
         "{}: {} of the {}'s tensors are missing, the first is {}; is the file whole, and of this "
         "model?",
         checkpoint_->source(), absent.size(), half.name, absent.front());
  }

  std::shared_ptr<const Checkpoint> checkpoint_;
  TensorNames names_;
  Shapes shapes_;
  Half encoder_;
  Half decoder_;
  Config config_;
};

}  // namespace

std::unique_ptr<Model> make_wan21(std::shared_ptr<const Checkpoint> checkpoint) {
  return std::make_unique<Wan21>(std::move(checkpoint));
}

bool has_published_statistics(const Config& config) {
  return config.latents_mean == kLatentsMean && config.latents_std == kLatentsStd;
}

std::vector<TensorInfo> wan21_tensors(int64_t base_dim) {
  Shapes shapes = required_tensors(published_encoder(base_dim));
  shapes.merge(required_tensors(published_decoder(base_dim)));
  std::vector<TensorInfo> tensors;
  for (auto& [name, shape] : shapes) {
    tensors.push_back({.name = name, .dtype = DType::kFloat32, .shape = shape});
  }
  return tensors;
}

}  // namespace zoetrope::models
