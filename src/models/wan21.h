// SPDX-License-Identifier: Apache-2.0
// The Wan2.1 video VAE, which Wan2.2-A14B and Qwen-Image use too.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "models/model.h"

namespace zoetrope::models {

// Throws kCheckpoint or kUnsupported if the checkpoint's tensors are not of this family.
std::unique_ptr<Model> make_wan21(std::shared_ptr<const Checkpoint> checkpoint);

// Whether the model takes latents as those of the published weights.
bool has_published_statistics(const Config& config);

// Names and shapes of the published configuration with another width (published: 96).
std::vector<TensorInfo> wan21_tensors(int64_t base_dim);

}  // namespace zoetrope::models
