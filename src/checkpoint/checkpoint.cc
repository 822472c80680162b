// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint.h"

#include <xxhash.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/dtype.h"
#include "base/fail.h"
#include "base/shape.h"
#include "base/utf8.h"
#include "checkpoint/gather.h"
#include "checkpoint/tensor_name.h"

namespace zoetrope {

Checkpoint::Checkpoint(std::string source, std::string format)
    : source_(std::move(source)), format_(std::move(format)) {}

void Checkpoint::set_tensors(std::vector<TensorInfo> tensors) {
  for (const TensorInfo& tensor : tensors) check_tensor_name(source_, tensor.name);
  std::ranges::sort(tensors, {}, &TensorInfo::name);
  const auto twice = std::ranges::adjacent_find(tensors, {}, &TensorInfo::name);
  if (twice != tensors.end()) {
    fail(ErrorCode::kCheckpoint, "{}: tensor {} stands twice; expected every name once", source_,
         printable(twice->name));
  }
  tensors_ = std::move(tensors);
}

const TensorInfo* Checkpoint::find(const std::string& name) const {
  const auto found = std::ranges::lower_bound(tensors_, name, {}, &TensorInfo::name);
  return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

const TensorInfo& Checkpoint::named(const std::string& name) const {
  const TensorInfo* tensor = find(name);
  if (tensor != nullptr) return *tensor;
  fail(ErrorCode::kCheckpoint, "{}: tensor {} is missing", source_, printable(name));
}

std::vector<float> Checkpoint::read(const std::string& name) const {
  const TensorInfo& tensor = named(name);
  if (!is_floating(tensor.dtype)) {
    fail(ErrorCode::kCheckpoint,
         "{}: tensor {} is {}; expected float64, float32, float16 or bfloat16: convert it first",
         source_, printable(name), name_of(tensor.dtype));
  }
  std::vector<float> values;
  try {
    view_tensor(tensor, [&](const TensorView& view) { values = gather_floats(view); });
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::kOutOfMemory, "{}: no memory for tensor {} {} as float32", source_,
         printable(name), to_string(tensor.shape));
  }
  const uint64_t hash = XXH3_64bits(values.data(), values.size() * sizeof(float));
  const std::lock_guard lock(mutex_);
  hashes_[name] = hash;
  return values;
}

std::vector<std::byte> Checkpoint::read_stored(const std::string& name) const {
  const TensorInfo& tensor = named(name);
  std::vector<std::byte> bytes;
  try {
    view_tensor(tensor, [&](const TensorView& view) { bytes = gather_bytes(view); });
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::kOutOfMemory, "{}: no memory for tensor {} {} {}", source_, printable(name),
         name_of(tensor.dtype), to_string(tensor.shape));
  }
  return bytes;
}

std::map<std::string, uint64_t> Checkpoint::hashes() const {
  const std::lock_guard lock(mutex_);
  return hashes_;
}

std::string checksum_of(const std::map<std::string, uint64_t>& hashes) {
  std::string text;
  // A name holds no line break, so no two sets of tensors have the same text.
  for (const auto& [name, hash] : hashes) text += fmt::format("{:016x} {}\n", hash, name);
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

}  // namespace zoetrope
