// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/checked_math.h"
#include "base/fail.h"
#include "models/model.h"
#include "runtime/boundary.h"
#include "runtime/weights.h"
#include "zoetrope/tools.h"

namespace zoetrope {
namespace {

// What loading would say, found by building the Graphs without reading a value.
std::string problem_of(const models::Model& model) {
  using models::Entry;
  try {
    if (model.config().encoder.base_dim != 0) model.graph(Entry::kEncodeNext);
    if (model.config().decoder.base_dim != 0) model.graph(Entry::kDecodeNext);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void describe_model(CheckpointDescription& description,
                    const std::shared_ptr<const Checkpoint>& checkpoint) {
  try {
    const std::unique_ptr<models::Model> model = models::recognise(checkpoint);
    const models::Config& config = model->config();
    description.family = config.family;
    description.naming = config.naming;
    description.encoder_base_dim = config.encoder.base_dim;
    description.decoder_base_dim = config.decoder.base_dim;
    description.latent_channels = config.encoder.base_dim != 0 ? config.encoder.latent_channels
                                                               : config.decoder.latent_channels;
    description.missing = model->missing();
    description.unknown = model->unknown();
    description.problem = problem_of(*model);
  } catch (const Error& error) {
    description.problem = error.what();
  }
}

CheckpointDescription describe_checkpoint(const std::string& weights) {
  const std::shared_ptr<const Checkpoint> checkpoint = open_weights(weights);
  CheckpointDescription description;
  description.format = checkpoint->format();
  for (const TensorInfo& tensor : checkpoint->tensors()) {
    description.parameters += checked_element_count(tensor.shape).value_or(0);
    description.tensors.push_back(
        {.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape});
  }
  describe_model(description, checkpoint);
  return description;
}

}  // namespace

CheckpointDescription v0::describe(const std::string& weights) {
  return at_boundary([&] { return describe_checkpoint(weights); });
}

}  // namespace zoetrope
