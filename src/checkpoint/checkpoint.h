// SPDX-License-Identifier: Apache-2.0
// Named tensors of a file or of memory. Knows no model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "zoetrope/tensor_view.h"

namespace zoetrope {

// Of a diffusers folder.
inline constexpr const char* kDiffusersWeights = "diffusion_pytorch_model.safetensors";
inline constexpr const char* kDiffusersConfig = "config.json";

struct TensorInfo {
  std::string name;
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape;
};

class Checkpoint {
 public:
  virtual ~Checkpoint() = default;

  // What messages call it: a path, "random:96:0", "tensors in memory".
  const std::string& source() const { return source_; }

  // "safetensors", "torch", "gguf", "irpa", "diffusers", "memory", "random"
  const std::string& format() const { return format_; }

  // Sorted by name, names unique.
  const std::vector<TensorInfo>& tensors() const { return tensors_; }

  // Null if there is none of that name.
  const TensorInfo* find(const std::string& name) const;

  // The text of a configuration file beside the weights (diffusers' config.json), or empty.
  const std::string& config() const { return config_; }

  // The tensor as row-major float32. Only the tensor's own bytes are read, and leave memory again.
  // Safe from several threads. Throws kCheckpoint if the tensor is missing or not of a floating
  // type.
  std::vector<float> read(const std::string& name) const;

  // The tensor as it is stored, row-major, of any type. Else as read(), but leaves no hash.
  std::vector<std::byte> read_stored(const std::string& name) const;

  // A hash of the float32 values of every tensor read so far, by the tensor's name. The stored
  // type and the number of reads do not matter.
  std::map<std::string, uint64_t> hashes() const;

 protected:
  Checkpoint(std::string source, std::string format);

  // Takes the list of tensors, in any order. Throws kCheckpoint if a name stands twice.
  void set_tensors(std::vector<TensorInfo> tensors);
  void set_config(std::string config) { config_ = std::move(config); }

  using TensorUse = std::function<void(const TensorView&)>;

  // Calls `use` with the tensor, whose every element can be read until `use` returns. Safe from
  // several threads.
  virtual void view_tensor(const TensorInfo& tensor, const TensorUse& use) const = 0;

 private:
  // The tensor of that name. Throws kCheckpoint if there is none.
  const TensorInfo& named(const std::string& name) const;

  std::string source_;
  std::string format_;
  std::string config_;
  std::vector<TensorInfo> tensors_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, uint64_t> hashes_;  // of the tensors read so far
};

// One hash over names and their hashes: 16 hexadecimal digits.
std::string checksum_of(const std::map<std::string, uint64_t>& hashes);

// Opens a .safetensors, torch .pth, GGUF or .irpa file or a diffusers folder (its config.json and
// diffusion_pytorch_model.safetensors; also the parent folder of such a "vae" folder), recognised
// by content. Throws kIo, kCheckpoint.
std::shared_ptr<const Checkpoint> open_checkpoint(const std::string& path);

// Tensors that the caller keeps alive while the Checkpoint is read.
std::shared_ptr<const Checkpoint> checkpoint_from_tensors(const std::vector<NamedTensor>& tensors);

// Values that are a pure function of name, shape and seed: weights for tests and benchmarks that
// need no file. `tensors` give the names and shapes.
std::shared_ptr<const Checkpoint> random_checkpoint(std::vector<TensorInfo> tensors, uint64_t seed,
                                                    std::string source);

// The rule itself: element i of the tensor `name`, in [-1, 1).
class RandomSequence {
 public:
  RandomSequence(const std::string& name, uint64_t seed);
  float at(uint64_t index) const;

 private:
  uint64_t start_;
};

}  // namespace zoetrope
