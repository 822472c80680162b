// SPDX-License-Identifier: Apache-2.0
// What `--weights` and Autoencoder::load take.
#pragma once

#include <memory>
#include <string>

#include "checkpoint/checkpoint.h"

namespace zoetrope {

// A path, or random[:base_dim[:seed]] (default 96 and 0). Throws kCheckpoint,
// kInvalidArgument.
std::shared_ptr<const Checkpoint> open_weights(const std::string& weights);

}  // namespace zoetrope
