// SPDX-License-Identifier: Apache-2.0
#include "models/wan21_diffusers.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/fail.h"
#include "base/parse_number.h"

namespace zoetrope::models {
namespace {

using Json = nlohmann::ordered_json;

// A list of levels, each some residual blocks, with a resample block after all but the last.
struct Levels {
  std::vector<int64_t> residuals = {0};
  std::vector<int64_t> channels = {0};  // after the residual blocks
  std::vector<bool> time;               // of the resample blocks
  bool attention = false;
};

Levels levels_of(const Half& half, std::string_view list) {
  Levels levels;
  for (const Block& block : half.blocks) {
    if (!block.name.starts_with(list)) continue;
    if (block.kind == BlockKind::kAttention) levels.attention = true;
    if (block.kind == BlockKind::kResidual) {
      ++levels.residuals.back();
      levels.channels.back() = block.c_out;
    }
    if (block.kind == BlockKind::kResample) {
      levels.time.push_back(block.time);
      levels.residuals.push_back(0);
      levels.channels.push_back(0);
    }
  }
  return levels;
}

// The same number in every level, as the class has it; 0 if they differ.
int64_t residuals_per_level(const Levels& levels) {
  for (const int64_t count : levels.residuals) {
    if (count != levels.residuals.front()) return 0;
  }
  return levels.residuals.front();
}

// As written in decimal: 0.9653, not the nearest double of the float32.
std::vector<double> shortest(const std::vector<float>& values) {
  std::vector<double> doubles;
  for (const float value : values) {
    doubles.push_back(parse_number<double>(fmt::format("{}", value)).value_or(0));
  }
  return doubles;
}

std::vector<int64_t> multiples(const std::vector<int64_t>& channels, int64_t base) {
  std::vector<int64_t> result;
  for (const int64_t count : channels) result.push_back(count % base == 0 ? count / base : 0);
  return result;
}

// Whether the decoder is the encoder's mirror image: one residual block more in each level, and
// each upsampler but the last halves what its level has.
bool mirrors(const Levels& up, const Levels& down) {
  const auto residuals = residuals_per_level(down);
  return !up.attention && !down.attention && residuals > 0 &&
         residuals_per_level(up) == residuals + 1 &&
         std::vector(up.time.rbegin(), up.time.rend()) == down.time;
}

}  // namespace

std::string wan21_diffusers_config(const Half& encoder, const Half& decoder, const Config& config,
                                   const std::string& source) {
  if (encoder.name.empty() || decoder.name.empty()) {
    fail(ErrorCode::kUnsupported,
         "{}: a diffusers folder holds an encoder and a decoder, found the {} alone: write "
         "safetensors instead",
         source, encoder.name.empty() ? "decoder" : "encoder");
  }
  const Levels down = levels_of(encoder, "encoder.downsamples.");
  const Levels up = levels_of(decoder, "decoder.upsamples.");
  const int64_t base_dim = encoder.base_dim();
  const std::vector<int64_t> down_multiples = multiples(down.channels, base_dim);
  const std::vector<int64_t> up_multiples = multiples(up.channels, decoder.base_dim());
  const bool same = std::vector(up_multiples.rbegin(), up_multiples.rend()) == down_multiples;
  if (!same || !mirrors(up, down)) {
    fail(ErrorCode::kUnsupported,
         "{}: its blocks are not those of diffusers' AutoencoderKLWan, the same up as down: write "
         "safetensors instead",
         source);
  }
  Json json = {{"_class_name", "AutoencoderKLWan"},
               {"attn_scales", Json::array()},
               {"base_dim", base_dim},
               {"dim_mult", down_multiples},
               {"dropout", 0.0},
               {"latents_mean", shortest(config.latents_mean)},
               {"latents_std", shortest(config.latents_std)},
               {"num_res_blocks", residuals_per_level(down)},
               {"temperal_downsample", down.time},  // diffusers' own spelling
               {"z_dim", config.encoder.latent_channels}};
  if (decoder.base_dim() != base_dim) json["decoder_base_dim"] = decoder.base_dim();
  return json.dump(2) + "\n";
}

}  // namespace zoetrope::models
