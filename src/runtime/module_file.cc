// SPDX-License-Identifier: Apache-2.0
#include "runtime/module_file.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "backend/target.h"
#include "base/checked_math.h"
#include "base/fail.h"
#include "base/utf8.h"
#include "runtime/module_schema.h"
#include "runtime/weights.h"

namespace zoetrope {
namespace {

constexpr int64_t kAlignment = 64;  // of the data in the file, and of every tensor in it

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  fail(ErrorCode::kCheckpoint,
       "{}: {}: the module is damaged, get it again or make it with zoetrope compile", path, what);
}

// Every tensor has its hash and fits in the middle of others.
void check_tensors(const SafetensorsFile& file, const ModuleHeader& header) {
  for (const auto& [name, entry] : file.tensors()) {
    if (!header.constants.contains(name)) {
      refuse(file.path(), fmt::format("tensor {}: its checksum is missing", printable(name)));
    }
    const bool whole = entry.size % kAlignment == 0 && entry.size > 0;
    if (entry.dtype == DType::kUInt8 && entry.shape.size() == 1 && whole) continue;
    refuse(file.path(), fmt::format("tensor {}: expected uint8 in a multiple of {} bytes, found {} "
                                    "bytes of {}",
                                    printable(name), kAlignment, entry.size, name_of(entry.dtype)));
  }
  for (const auto& [name, hash] : header.constants) {
    if (file.tensors().contains(name)) continue;
    refuse(file.path(), fmt::format("tensor {} is missing", printable(name)));
  }
}

void add_operand(std::string& text, const std::string& role, const Buffer& buffer) {
  const Extent& extent = buffer.extent;
  text += fmt::format(" {}={}:{}x{}x{}/{}:{}", role, buffer.name, extent.frames,
                      extent.frames_per_latent ? "n" : "1", extent.channels, extent.stride,
                      name_of(extent.dtype));
}

class ModuleCheckpoint final : public Checkpoint {
 public:
  explicit ModuleCheckpoint(std::shared_ptr<const ModuleFile> module)
      : Checkpoint(module->path(), "module"), module_(std::move(module)) {
    std::vector<TensorInfo> infos;
    for (const auto& [name, weight] : module_->header().weights) {
      infos.push_back({.name = name, .dtype = DType::kFloat32, .shape = weight.shape});
    }
    set_tensors(std::move(infos));
    set_config(module_->header().config);
  }

 private:
  void view_tensor(const TensorInfo& tensor, const TensorUse& use) const override {
    const std::optional<int64_t> count = checked_element_count(tensor.shape);
    const auto size = count ? checked_multiply(*count, size_of(DType::kFloat32)) : std::nullopt;
    if (!size) refuse(source(), fmt::format("{}: its shape is too large", printable(tensor.name)));
    const auto bytes = module_->constant(tensor.name, Target::kPlainLayout, *size);
    auto* data = const_cast<std::byte*>(bytes.data());  // only read
    use({.data = data, .dtype = DType::kFloat32, .shape = tensor.shape});
  }

  std::shared_ptr<const ModuleFile> module_;
};

}  // namespace

std::string fingerprint(const Plan& plan) {
  std::string text = plan.entry + " " + plan.target + "\n";
  for (const Step& step : plan.steps) {
    text += fmt::format("{} {} {}", step.name, step.op, step.kernel);
    for (const auto& [name, value] : step.attributes) text += fmt::format(" {}={}", name, value);
    for (const auto& [role, index] : step.buffers) {
      if (role != "workspace") add_operand(text, role, plan.buffers[static_cast<size_t>(index)]);
    }
    for (const auto& [role, index] : step.constants) {
      const PackedConstant& constant = plan.constants[static_cast<size_t>(index)];
      text += fmt::format(" {}=@{}:{}:{}", role, constant.name, constant.layout, constant.bytes);
    }
    text += "\n";
  }
  return hash_text(XXH3_64bits(text.data(), text.size()));
}

std::string module_tensor_name(std::string_view constant, std::string_view layout) {
  return fmt::format("{}@{}", constant, layout);
}

int64_t module_tensor_bytes(int64_t packed) { return round_up(packed, kAlignment); }

uint64_t module_hash(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

ModuleFile::ModuleFile(std::unique_ptr<const SafetensorsFile> file) : file_(std::move(file)) {
  header_ = parse_module_metadata(*file_);
  check_tensors(*file_, header_);
}

std::span<const std::byte> ModuleFile::constant(const std::string& name, const std::string& layout,
                                                int64_t bytes) const {
  const std::string tensor = module_tensor_name(name, layout);
  const auto found = file_->tensors().find(tensor);
  if (found == file_->tensors().end()) {
    refuse(path(), fmt::format("tensor {} is missing", printable(tensor)));
  }
  const std::span<const std::byte> stored = file_->bytes(found->second);
  if (static_cast<int64_t>(stored.size()) != module_tensor_bytes(bytes)) {
    refuse(path(), fmt::format("tensor {}: expected {} bytes, found {}", printable(tensor),
                               module_tensor_bytes(bytes), stored.size()));
  }
  if (module_hash(stored) != header_.constants.at(tensor)) {
    refuse(path(),
           fmt::format("tensor {}: its bytes do not fit their checksum", printable(tensor)));
  }
  return stored.first(static_cast<size_t>(bytes));
}

std::shared_ptr<const ModuleFile> open_module(const std::string& path) {
  if (!looks_like_safetensors(path)) return nullptr;
  std::unique_ptr<const SafetensorsFile> file;
  try {
    file = std::make_unique<const SafetensorsFile>(path);
  } catch (const Error&) {
    return nullptr;  // whoever reads it as a checkpoint says why
  }
  if (!is_module_metadata(file->metadata())) return nullptr;
  return std::make_shared<const ModuleFile>(std::move(file));
}

std::shared_ptr<const Checkpoint> module_checkpoint(std::shared_ptr<const ModuleFile> module) {
  return std::make_shared<ModuleCheckpoint>(std::move(module));
}

std::shared_ptr<const Checkpoint> open_unpacked(const std::string& weights,
                                                std::string_view purpose) {
  if (open_module(weights) == nullptr) return open_weights(weights);
  fail(ErrorCode::kUnsupported,
       "{}: a module, whose weights are packed: {} the checkpoint that it was made from", weights,
       purpose);
}

}  // namespace zoetrope
