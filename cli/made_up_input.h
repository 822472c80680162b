// SPDX-License-Identifier: Apache-2.0
// Inputs of the model for when nobody brings one. The same numbers every time.
#pragma once

#include <cstdint>
#include <vector>

namespace zoetrope::cli {

// Writes float32 (frames, height, width, 3) in [-1, 1]: a slow gradient, a grating and a disc that
// moves over it, so that there are flat areas, texture and edges, at rest and in motion.
void make_up_clip(int64_t frames, int64_t height, int64_t width, float* values);

// float32 (channels, frames, height, width), about as large as normalized latents are.
std::vector<float> made_up_latents(int64_t channels, int64_t frames, int64_t height, int64_t width);

}  // namespace zoetrope::cli
