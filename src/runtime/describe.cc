// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "base/checked_math.h"
#include "models/model.h"
#include "runtime/backends.h"
#include "runtime/boundary.h"
#include "runtime/load.h"
#include "runtime/module_file.h"
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

void describe_config(CheckpointDescription& description, const models::Config& config) {
  description.family = config.family;
  description.naming = config.naming;
  description.encoder_base_dim = config.encoder.base_dim;
  description.decoder_base_dim = config.decoder.base_dim;
  const models::HalfConfig& half = config.encoder.base_dim != 0 ? config.encoder : config.decoder;
  description.latent_channels = half.latent_channels;
  description.spatial_stride = half.spatial_stride;
  description.temporal_stride = half.temporal_stride;
}

void describe_model(CheckpointDescription& description,
                    const std::shared_ptr<const Checkpoint>& checkpoint) {
  try {
    const std::unique_ptr<models::Model> model = models::recognise(checkpoint);
    describe_config(description, model->config());
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

ModuleDescription describe_header(const ModuleHeader& header) {
  std::map<std::string, uint64_t> hashes;
  for (const auto& [name, weight] : header.weights) hashes[name] = weight.hash;
  return {.target = header.target,
          .packing_version = header.packing_version,
          .encode_dtype = header.encode_dtype,
          .decode_dtype = header.decode_dtype,
          .disabled_passes = header.disabled_passes,
          .weights_checksum = checksum_of(hashes),
          .version = header.version,
          .plans = header.fingerprints,
          .bytes = 0};
}

// Everything that loading looks at.
void check_module(CheckpointDescription& description,
                  const std::shared_ptr<const ModuleFile>& module) {
  const LoadOptions options = options_of(*module, {});
  const std::unique_ptr<const Target> target = target_named(options.target);
  const PlannedModel planned = plan_module(module, *target, options);
  describe_config(description, planned.model->config());
  planned.for_each_entry([&](const PlannedEntry& entry) {
    for (const PackedConstant& constant : entry.plan.constants) {
      (void)module->constant(constant.name, constant.layout, constant.bytes);
    }
  });
  open_module_backend(*module, options);
}

CheckpointDescription describe_module(const std::shared_ptr<const ModuleFile>& module) {
  CheckpointDescription description;
  description.format = "module";
  description.family = module->header().family;
  description.module = describe_header(module->header());
  for (const auto& [name, weight] : module->header().weights) {
    description.parameters += checked_element_count(weight.shape).value_or(0);
  }
  for (const auto& [name, entry] : module->tensors()) {
    description.module->bytes += static_cast<int64_t>(entry.size);
    description.tensors.push_back({.name = name, .dtype = entry.dtype, .shape = entry.shape});
  }
  try {
    check_module(description, module);
  } catch (const Error& error) {
    description.problem = error.what();
  }
  return description;
}

}  // namespace

CheckpointDescription v0::describe(const std::string& weights) {
  return at_boundary([&] {
    if (const auto module = open_module(weights)) return describe_module(module);
    return describe_checkpoint(weights);
  });
}

}  // namespace zoetrope
