// SPDX-License-Identifier: Apache-2.0
// A checkpoint recognised and planned for a Target, before any constant is packed.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "backend/target.h"
#include "checkpoint/checkpoint.h"
#include "models/model.h"
#include "runtime/program.h"
#include "zoetrope/autoencoder.h"

namespace zoetrope {

struct PlannedModel {
  std::unique_ptr<models::Model> model;
  ModelInfo info;  // without the checksum of the weights
  std::optional<PlannedCodec> encode;
  std::optional<PlannedCodec> decode;

  // Every entry that is there.
  void for_each_entry(const std::function<void(const PlannedEntry&)>& visit) const;
};

// Plans the halves that `options` ask for and the checkpoint holds. Throws kCheckpoint if none is
// there, and what passes throw.
PlannedModel plan_model(const std::shared_ptr<const Checkpoint>& checkpoint, const Target& target,
                        const LoadOptions& options);

}  // namespace zoetrope
