// SPDX-License-Identifier: Apache-2.0
// What an Autoencoder shares with its Streams.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backend/backend.h"
#include "runtime/program.h"
#include "zoetrope/autoencoder.h"

namespace zoetrope {

// Members are destroyed in reverse: constants before the backend that holds them.
struct ZOETROPE_HIDDEN Autoencoder::Implementation {
  std::shared_ptr<const Backend> backend;
  std::string source;  // what messages call the weights
  std::unique_ptr<ConstantStore> constants;
  ModelInfo info;
  std::optional<Codec> encode;
  std::optional<Codec> decode;
};

}  // namespace zoetrope
