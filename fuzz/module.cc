// SPDX-License-Identifier: Apache-2.0
// Modules, as loading reads and plans them. Checksums that would stop nearly every change are made
// to fit, after the input was read as it is.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "cpu/cpu_target.h"
#include "fuzz/hostile_file.h"
#include "runtime/load.h"
#include "runtime/module_file.h"
#include "runtime/module_schema.h"
#include "runtime/planned_model.h"

namespace {

using namespace zoetrope;

constexpr int64_t kLargestConstant = 1 << 20;

void plan(const std::string& path) {
  const auto module = open_module(path);
  if (module == nullptr) return;
  const std::string& name = module->header().target;
  const cpu::CpuTarget target = cpu::cpu_target_named(name).value_or(cpu::CpuTarget());
  const LoadOptions options = options_of(*module, {});
  const PlannedModel planned = plan_model(module_checkpoint(module), target, options);
  planned.for_each_entry([&](const PlannedEntry& entry) {
    (void)fingerprint(entry.plan);
    for (const PackedConstant& constant : entry.plan.constants) {
      if (constant.bytes > kLargestConstant) continue;
      (void)module->constant(constant.name, constant.layout, constant.bytes);
    }
  });
}

// The file at `path` again, with checksums that fit what is in it.
void make_checksums_fit(const std::string& path) {
  std::vector<NamedTensor> tensors;
  std::map<std::string, size_t> sizes;
  nlohmann::json hashes = nlohmann::json::object();
  std::map<std::string, std::string> metadata;
  {
    const SafetensorsFile file(path);
    metadata = file.metadata();
    for (const auto& [name, entry] : file.tensors()) {
      const auto bytes = file.bytes(entry);
      const auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
      tensors.push_back(
          {.name = name,
           .tensor = {.data = copy->data(), .dtype = entry.dtype, .shape = entry.shape},
           .storage = copy});
      sizes[name] = entry.size;
      hashes[name] = hash_text(module_hash(bytes));
    }
  }
  if (metadata.contains("constants")) metadata["constants"] = hashes.dump();
  metadata["header_checksum"] = module_header_checksum(metadata, sizes);
  write_safetensors(path, tensors, metadata);
}

void read(const uint8_t* data, size_t size) {
  const std::string path = fuzz::file_of(data, size);
  try {
    (void)open_module(path);
  } catch (const Error&) {
    // Most often for its checksum alone.
  }
  make_checksums_fit(path);
  plan(path);
}

}  // namespace

ZOETROPE_FUZZ_TARGET(read(data, size))
