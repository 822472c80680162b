// SPDX-License-Identifier: Apache-2.0
#include "runtime/load.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/fail.h"
#include "base/utf8.h"
#include "compiler/pipeline.h"
#include "runtime/backends.h"

namespace zoetrope {
namespace {

using Loaded = std::shared_ptr<Autoencoder::Implementation>;

Loaded start(std::shared_ptr<const Backend> backend, std::string source, PackedSource packed) {
  auto loaded = std::make_shared<Autoencoder::Implementation>();
  loaded->backend = std::move(backend);
  loaded->source = std::move(source);
  loaded->constants = std::make_unique<ConstantStore>(*loaded->backend, std::move(packed));
  return loaded;
}

void take_plans(Autoencoder::Implementation& loaded, PlannedModel& planned,
                const LoadOptions& options) {
  loaded.info = planned.info;
  if (planned.encode) {
    loaded.encode = with_constants(std::move(*planned.encode), *loaded.constants, options);
  }
  if (planned.decode) {
    loaded.decode = with_constants(std::move(*planned.decode), *loaded.constants, options);
  }
}

void log_loaded(const Autoencoder::Implementation& loaded, const std::vector<std::string>& unknown,
                const LoadOptions& options) {
  if (!options.log) return;
  options.log(
      LogLevel::kInfo,
      fmt::format("{}: {}, {:.0f} MiB packed for {}, checksum {}", loaded.source,
                  loaded.info.family, static_cast<double>(loaded.constants->bytes()) / (1 << 20),
                  loaded.backend->target().name(), loaded.info.weights_checksum));
  if (unknown.empty()) return;
  options.log(LogLevel::kWarning,
              fmt::format("{}: {} tensors belong to no layer and were left alone, the first is {}",
                          loaded.source, unknown.size(), unknown.front()));
}

// What the caller asks for and a module cannot give, since it is packed already.
void check_type(const ModuleFile& module, const char* half, const std::optional<DType>& asked,
                const std::optional<DType>& made) {
  if (!asked || !made || *asked == *made) return;
  fail(ErrorCode::kInvalidArgument,
       "{}: made to {} in {}, found {} asked for; leave the type out, or make a module of it with "
       "zoetrope compile --dtype {}",
       module.path(), half, name_of(*made), name_of(*asked), name_of(*asked));
}

std::set<std::string> set_of(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

void check_passes(const ModuleFile& module, const LoadOptions& options) {
  const std::vector<std::string>& made = module.header().disabled_passes;
  for (const std::string& name : made) {
    const auto passes = compiler::passes();
    if (std::ranges::any_of(passes, [&](const auto& pass) { return name == pass.name; })) continue;
    fail(ErrorCode::kCheckpoint,
         "{}: made without the pass {}, which this release does not have; make it again with "
         "zoetrope compile",
         module.path(), printable(name));
  }
  if (options.disabled_passes.empty() || set_of(options.disabled_passes) == set_of(made)) return;
  const std::string passes =
      made.empty() ? "with every pass" : fmt::format("without {}", fmt::join(made, ", "));
  fail(ErrorCode::kInvalidArgument,
       "{}: made {}, found one without {} asked for; leave the option out, or make another module "
       "with zoetrope compile --disable-pass",
       module.path(), passes, fmt::join(options.disabled_passes, ", "));
}

void check_packing(const ModuleFile& module, const Target& target) {
  const int found = module.header().packing_version;
  if (found == target.packing_version()) return;
  fail(ErrorCode::kCheckpoint,
       "{}: packed by version {}, this release reads version {} for {}; make it again: zoetrope "
       "compile --weights W --target {} -o {}",
       module.path(), found, target.packing_version(), target.name(), target.name(), module.path());
}

void check_fingerprints(const ModuleFile& module, const PlannedModel& planned) {
  planned.for_each_entry([&](const PlannedEntry& entry) {
    const auto& made = module.header().fingerprints;
    const auto found = made.find(entry.plan.entry);
    if (found != made.end() && found->second == fingerprint(entry.plan)) return;
    fail(ErrorCode::kCheckpoint,
         "{}: this release plans {} otherwise than zoetrope {}, which made it; make it again: "
         "zoetrope compile --weights W --target {} -o {}",
         module.path(), entry.plan.entry, printable(module.header().version), entry.plan.target,
         module.path());
  });
}

// Of the weights that the entries read.
std::string checksum_of(const ModuleFile& module, const PlannedModel& planned) {
  std::map<std::string, uint64_t> hashes;
  planned.for_each_entry([&](const PlannedEntry& entry) {
    for (const graph::Constant& constant : entry.model.constants) {
      const auto found = module.header().weights.find(constant.name);
      if (found == module.header().weights.end()) {
        fail(ErrorCode::kCheckpoint, "{}: {} does not stand among its weights by this name",
             module.path(), printable(constant.name));
      }
      hashes[constant.name] = found->second.hash;
    }
  });
  return zoetrope::checksum_of(hashes);
}

}  // namespace

std::shared_ptr<const Autoencoder::Implementation> load_checkpoint(
    const std::shared_ptr<const Checkpoint>& checkpoint, const LoadOptions& options) {
  std::shared_ptr<const Backend> backend = open_backend(options);
  const Target& target = backend->target();
  PlannedModel planned = plan_model(checkpoint, target, options);
  const Loaded loaded =
      start(std::move(backend), checkpoint->source(), packing_for(target, checkpoint->source()));
  take_plans(*loaded, planned, options);
  loaded->info.weights_checksum = planned.model->checksum();
  log_loaded(*loaded, planned.model->unknown(), options);
  return loaded;
}

LoadOptions options_of(const ModuleFile& module, const LoadOptions& options) {
  const ModuleHeader& header = module.header();
  if (options.encoder) {
    check_type(module, "encode", options.encode_dtype, header.encode_dtype);
  }
  if (options.decoder) {
    check_type(module, "decode", options.decode_dtype, header.decode_dtype);
  }
  check_passes(module, options);
  if (!options.target.empty() && options.target != header.target) {
    fail(ErrorCode::kInvalidArgument,
         "{}: made for {}, found {} asked for; leave the target out, or make a module for it with "
         "zoetrope compile --target {}",
         module.path(), printable(header.target), options.target, options.target);
  }
  LoadOptions as_made = options;
  as_made.target = header.target;
  as_made.encode_dtype = header.encode_dtype;
  as_made.decode_dtype = header.decode_dtype;
  as_made.disabled_passes = header.disabled_passes;
  as_made.encoder = options.encoder && header.encode_dtype.has_value();
  as_made.decoder = options.decoder && header.decode_dtype.has_value();
  if (as_made.encoder || as_made.decoder) return as_made;
  fail(ErrorCode::kCheckpoint,
       "{}: made to {} alone; make a module of both halves with zoetrope compile", module.path(),
       header.encode_dtype ? "encode" : "decode");
}

std::shared_ptr<const Backend> open_module_backend(const ModuleFile& module,
                                                   const LoadOptions& options) {
  check_load_options(options);
  try {
    return open_backend(options);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kOutOfMemory) throw;
    const std::string device = options.device == "auto" ? "" : " --device " + options.device;
    fail(ErrorCode::kCheckpoint,
         "{}: made for {}: {}; make one that fits: zoetrope compile --weights W{} -o {}",
         module.path(), printable(module.header().target), error.what(), device, module.path());
  }
}

PlannedModel plan_module(const std::shared_ptr<const ModuleFile>& module, const Target& target,
                         const LoadOptions& options) {
  check_packing(*module, target);
  PlannedModel planned;
  try {
    planned = plan_model(module_checkpoint(module), target, options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
    fail(ErrorCode::kCheckpoint, "{}: cannot be planned again: {}", module->path(), error.what());
  }
  if (planned.info.family != module->header().family) {
    fail(ErrorCode::kCheckpoint, "{}: expected a module of {}, found {}", module->path(),
         planned.info.family, printable(module->header().family));
  }
  if (options.encoder != planned.encode.has_value() ||
      options.decoder != planned.decode.has_value()) {
    fail(ErrorCode::kCheckpoint,
         "{}: expected {} tensors, found none: the module is damaged, get it again or make it with "
         "zoetrope compile",
         module->path(), planned.encode ? "decoder" : "encoder");
  }
  check_fingerprints(*module, planned);
  return planned;
}

std::shared_ptr<const Autoencoder::Implementation> load_module(
    const std::shared_ptr<const ModuleFile>& module, const LoadOptions& options) {
  const LoadOptions as_made = options_of(*module, options);
  std::shared_ptr<const Backend> backend = open_module_backend(*module, as_made);
  const Target& target = backend->target();
  PlannedModel planned = plan_module(module, target, as_made);
  const std::string checksum = checksum_of(*module, planned);
  const PackedSource packed = [module, &target](const graph::Constant& constant,
                                                const std::string& layout) {
    const int64_t bytes = target.packed_bytes(layout, constant.shape);
    return PackedBytes{.bytes = module->constant(constant.name, layout, bytes)};
  };
  const Loaded loaded = start(std::move(backend), module->path(), packed);
  take_plans(*loaded, planned, as_made);
  loaded->info.weights_checksum = checksum;
  log_loaded(*loaded, {}, options);
  return loaded;
}

}  // namespace zoetrope
