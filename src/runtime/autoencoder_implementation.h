// SPDX-License-Identifier: Apache-2.0
// What an Autoencoder shares with its Streams.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
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
  // A WeightsLease may move the weights.
  mutable std::optional<Codec> encode;
  mutable std::optional<Codec> decode;
  mutable std::mutex weights_mutex;
  mutable int64_t leases = 0;
};

}  // namespace zoetrope
