// SPDX-License-Identifier: Apache-2.0
// Weights that are a pure function of name, shape and seed.
//
// Element i of a tensor is output i of SplitMix64, started at the FNV-1a hash of the tensor's name
// mixed with the seed; its upper 24 bits, a float32's precision, give v in [-1, 1). Norm scales
// become 1 + 0.25 v, biases 0.1 v, and weights v sqrt(3 / fan_in), which has variance 1 / fan_in.
#include <cmath>
#include <string>
#include <utility>

#include "base/checked_math.h"
#include "base/fail.h"
#include "base/shape.h"
#include "base/utf8.h"
#include "checkpoint/checkpoint.h"

namespace zoetrope {
namespace {

constexpr uint64_t kFnvOffset = 0xcbf29ce484222325;
constexpr uint64_t kFnvPrime = 0x100000001b3;
constexpr uint64_t kIncrement = 0x9e3779b97f4a7c15;

uint64_t fnv1a(const std::string& text) {
  uint64_t hash = kFnvOffset;
  for (const char byte : text) hash = (hash ^ static_cast<uint8_t>(byte)) * kFnvPrime;
  return hash;
}

// A value is offset + scale * v.
struct Range {
  float offset = 0;
  float scale = 1;
};

Range range_of(const TensorInfo& tensor) {
  if (tensor.name.ends_with("gamma")) return {1, 0.25F};
  if (tensor.shape.size() == 1) return {0, 0.1F};
  double fan_in = 1;
  for (size_t axis = 1; axis < tensor.shape.size(); ++axis) {
    fan_in *= static_cast<double>(tensor.shape[axis]);
  }
  return {0, static_cast<float>(std::sqrt(3 / fan_in))};
}

class RandomCheckpoint final : public Checkpoint {
 public:
  RandomCheckpoint(std::vector<TensorInfo> tensors, uint64_t seed, std::string source)
      : Checkpoint(std::move(source), "random"), seed_(seed) {
    for (TensorInfo& tensor : tensors) {
      tensor.dtype = DType::kFloat32;
      const auto count = checked_element_count(tensor.shape);
      if (count && checked_multiply(*count, size_of(tensor.dtype))) continue;
      fail(ErrorCode::kInvalidArgument, "{}: {}: shape {} is negative or too large", this->source(),
           printable(tensor.name), to_string(tensor.shape));
    }
    set_tensors(std::move(tensors));
  }

 private:
  void view_tensor(const TensorInfo& tensor, const TensorUse& use) const override {
    const RandomSequence sequence(tensor.name, seed_);
    const Range range = range_of(tensor);
    std::vector<float> values(static_cast<size_t>(*checked_element_count(tensor.shape)));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = range.offset + range.scale * sequence.at(i);
    }
    use({.data = values.data(), .dtype = tensor.dtype, .shape = tensor.shape});
  }

  uint64_t seed_;
};

}  // namespace

RandomSequence::RandomSequence(const std::string& name, uint64_t seed)
    : start_(fnv1a(name) ^ (seed * kIncrement)) {}

float RandomSequence::at(uint64_t index) const {
  uint64_t z = start_ + (index + 1) * kIncrement;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  z ^= z >> 31;
  // 2 (z >> 40) 2^-24 - 1, without a rounding: the integer has 24 bits.
  return static_cast<float>(static_cast<int32_t>(z >> 40) - (1 << 23)) * 0x1p-23F;
}

std::shared_ptr<const Checkpoint> random_checkpoint(std::vector<TensorInfo> tensors, uint64_t seed,
                                                    std::string source) {
  return std::make_shared<RandomCheckpoint>(std::move(tensors), seed, std::move(source));
}

}  // namespace zoetrope
