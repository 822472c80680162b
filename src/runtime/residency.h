// SPDX-License-Identifier: Apache-2.0
// Whether a model's weights are on its device, where its Streams need them.
#pragma once

#include <memory>

#include "zoetrope/autoencoder.h"

namespace zoetrope {

// While one lives, the weights are there.
class WeightsLease {
 public:
  // Brings them back if they were unloaded. Throws kOutOfMemory.
  explicit WeightsLease(std::shared_ptr<const Autoencoder::Implementation> model);
  ~WeightsLease();
  WeightsLease(const WeightsLease& other) : WeightsLease(other.model_) {}
  WeightsLease& operator=(const WeightsLease&) = delete;

 private:
  std::shared_ptr<const Autoencoder::Implementation> model_;
};

// Moves them to the host's memory. Throws kInvalidArgument while there is a lease.
void unload_weights(const Autoencoder::Implementation& model);

}  // namespace zoetrope
