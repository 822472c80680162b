// SPDX-License-Identifier: Apache-2.0
#include "runtime/residency.h"

#include <utility>

#include "base/fail.h"
#include "runtime/autoencoder_implementation.h"

namespace zoetrope {
namespace {

void move_constants(Program& program, const std::map<const std::byte*, const std::byte*>& moved) {
  for (const std::byte*& constant : program.constants) {
    const auto found = moved.find(constant);
    if (found != moved.end()) constant = found->second;
  }
}

}  // namespace

WeightsLease::WeightsLease(std::shared_ptr<const Autoencoder::Implementation> model)
    : model_(std::move(model)) {
  const std::scoped_lock lock(model_->weights_mutex);
  const auto moved = model_->constants->reload();
  for (std::optional<Codec>* codec : {&model_->encode, &model_->decode}) {
    if (moved.empty() || !*codec) continue;
    move_constants((*codec)->first, moved);
    move_constants((*codec)->next, moved);
  }
  ++model_->leases;
}

WeightsLease::~WeightsLease() {
  const std::scoped_lock lock(model_->weights_mutex);
  --model_->leases;
}

void unload_weights(const Autoencoder::Implementation& model) {
  const std::scoped_lock lock(model.weights_mutex);
  if (model.leases > 0) {
    fail(ErrorCode::kInvalidArgument,
         "unload: expected no open stream, found {}, which need the weights; end them first",
         model.leases);
  }
  model.constants->unload();
}

}  // namespace zoetrope
