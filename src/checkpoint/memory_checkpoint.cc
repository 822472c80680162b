// SPDX-License-Identifier: Apache-2.0
// A Checkpoint over tensors that the caller holds.
#include <cstdlib>
#include <string>
#include <utility>

#include "base/checked_math.h"
#include "base/fail.h"
#include "base/shape.h"
#include "base/utf8.h"
#include "checkpoint/checkpoint.h"

namespace zoetrope {
namespace {

constexpr const char* kSource = "tensors in memory";

[[noreturn]] void refuse(const NamedTensor& tensor, const std::string& what) {
  fail(ErrorCode::kInvalidArgument, "{}: {} {}: {}", kSource, printable(tensor.name),
       to_string(tensor.tensor.shape), what);
}

// Bytes from the lowest to past the highest element; empty if that overflows.
std::optional<int64_t> checked_reach(const TensorView& view) {
  std::optional<int64_t> reach = 1;  // elements
  for (size_t axis = 0; axis < view.strides.size(); ++axis) {
    if (view.strides[axis] == INT64_MIN) return std::nullopt;
    const auto step = checked_multiply(std::abs(view.strides[axis]), view.shape[axis] - 1);
    if (step) reach = checked_add(*reach, *step);
    if (!step || !reach) return std::nullopt;
  }
  return checked_multiply(*reach, size_of(view.dtype));
}

void check_view(const NamedTensor& tensor) {
  const TensorView& view = tensor.tensor;
  if (view.device.kind != DeviceKind::kCpu) refuse(tensor, "expected a tensor in host memory");
  if (view.dtype > DType::kBool) {
    refuse(tensor, fmt::format("unknown dtype {}", static_cast<int>(view.dtype)));
  }
  const std::optional<int64_t> count = checked_element_count(view.shape);
  if (!count) refuse(tensor, "expected extents of 0 or more whose product fits 63 bits");
  if (!view.strides.empty() && view.strides.size() != view.shape.size()) {
    refuse(tensor, fmt::format("expected a stride for each axis or none, found {}",
                               to_string(view.strides)));
  }
  if (*count == 0) return;
  if (view.data == nullptr) refuse(tensor, "expected data, found a null pointer");
  if (!checked_multiply(*count, size_of(DType::kFloat64)) || !checked_reach(view)) {
    refuse(tensor, fmt::format("strides {} reach past any memory", to_string(view.strides)));
  }
}

class MemoryCheckpoint final : public Checkpoint {
 public:
  explicit MemoryCheckpoint(const std::vector<NamedTensor>& tensors)
      : Checkpoint(kSource, "memory") {
    std::vector<TensorInfo> infos;
    infos.reserve(tensors.size());
    for (const NamedTensor& tensor : tensors) {
      check_view(tensor);
      infos.push_back({tensor.name, tensor.tensor.dtype, tensor.tensor.shape});
    }
    set_tensors(std::move(infos));
    for (const NamedTensor& tensor : tensors) views_.emplace(tensor.name, tensor);
  }

 private:
  void view_tensor(const TensorInfo& tensor, const TensorUse& use) const override {
    use(views_.at(tensor.name).tensor);
  }

  std::map<std::string, NamedTensor> views_;
};

}  // namespace

std::shared_ptr<const Checkpoint> checkpoint_from_tensors(const std::vector<NamedTensor>& tensors) {
  return std::make_shared<MemoryCheckpoint>(tensors);
}

}  // namespace zoetrope
