// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/fail.h"
#include "base/output_file.h"
#include "checkpoint/safetensors.h"
#include "runtime/backends.h"
#include "runtime/boundary.h"
#include "runtime/module_file.h"
#include "runtime/planned_model.h"
#include "zoetrope/tools.h"
#include "zoetrope/version.h"

namespace zoetrope {
namespace {

// Packs every constant of the Plans once, into tensors whose sizes keep each other aligned.
std::vector<NamedTensor> pack(const PlannedModel& planned, const PackedSource& packing,
                              const LoadOptions& options) {
  int64_t total = 0;
  planned.for_each_entry([&](const PlannedEntry& entry) {
    total += static_cast<int64_t>(entry.plan.constants.size());
  });
  int64_t done = 0;
  std::map<std::string, std::shared_ptr<std::vector<std::byte>>> tensors;
  planned.for_each_entry([&](const PlannedEntry& entry) {
    for (const PackedConstant& packed : entry.plan.constants) {
      if (options.cancelled && options.cancelled()) fail(ErrorCode::kCancelled, "cancelled");
      auto& bytes = tensors[module_tensor_name(packed.name, packed.layout)];
      if (bytes == nullptr) {
        PackedBytes made = packing(constant_of(entry, packed), packed.layout);
        bytes = std::make_shared<std::vector<std::byte>>(std::move(made.storage));
        bytes->resize(static_cast<size_t>(module_tensor_bytes(packed.bytes)));
      }
      if (options.progress) options.progress(++done, total);
    }
  });
  std::vector<NamedTensor> named;
  for (const auto& [name, bytes] : tensors) {
    named.push_back({.name = name,
                     .tensor = {.data = bytes->data(),
                                .dtype = DType::kUInt8,
                                .shape = {static_cast<int64_t>(bytes->size())}},
                     .storage = bytes});
  }
  return named;
}

std::map<std::string, ModuleWeight> weights_of(const PlannedModel& planned) {
  std::map<std::string, ModuleWeight> weights;
  const std::map<std::string, uint64_t> hashes = planned.model->hashes();
  planned.for_each_entry([&](const PlannedEntry& entry) {
    for (const graph::Constant& constant : entry.model.constants) {
      weights[constant.name] = {.shape = constant.shape, .hash = hashes.at(constant.name)};
    }
  });
  return weights;
}

ModuleHeader header_of(const PlannedModel& planned, const Target& target,
                       const LoadOptions& options, const std::vector<NamedTensor>& tensors) {
  const ModelInfo& info = planned.info;
  const nlohmann::json config = {{"latents_mean", info.latents_mean},
                                 {"latents_std", info.latents_std}};
  ModuleHeader header = {.target = target.name(),
                         .packing_version = target.packing_version(),
                         .family = info.family,
                         .config = config.dump(),
                         .weights = weights_of(planned),
                         .version = version()};
  const std::set<std::string> passes(options.disabled_passes.begin(),
                                     options.disabled_passes.end());
  header.disabled_passes.assign(passes.begin(), passes.end());
  if (planned.encode) header.encode_dtype = info.encode_dtype;
  if (planned.decode) header.decode_dtype = info.decode_dtype;
  planned.for_each_entry([&](const PlannedEntry& entry) {
    header.fingerprints[entry.plan.entry] = fingerprint(entry.plan);
  });
  for (const NamedTensor& tensor : tensors) {
    const auto* data = static_cast<const std::byte*>(tensor.tensor.data);
    header.constants[tensor.name] =
        module_hash({data, static_cast<size_t>(tensor.tensor.shape.at(0))});
  }
  return header;
}

void write(const std::string& weights, const std::string& path, const LoadOptions& options) {
  const std::shared_ptr<const Checkpoint> checkpoint = open_unpacked(weights, "compile");
  const std::unique_ptr<const Target> target = target_of(options);
  const PlannedModel planned = plan_model(checkpoint, *target, options);
  PendingOutput output(path);
  const std::vector<NamedTensor> tensors =
      pack(planned, packing_for(*target, checkpoint->source()), options);
  const ModuleHeader header = header_of(planned, *target, options, tensors);
  try {
    write_safetensors(output.temporary_path(), tensors, module_metadata(header, tensors));
  } catch (const Error& error) {
    throw output.in_its_name(error);
  }
  output.commit();
}

}  // namespace

void v0::write_module(const std::string& weights, const std::string& path,
                      const LoadOptions& options) {
  at_boundary([&] { write(weights, path, options); });
}

}  // namespace zoetrope
