// SPDX-License-Identifier: Apache-2.0
// Module files: a model compiled for one Target, in a safetensors container. The tensors are packed
// constants, as kernels read them; what else there is to know is metadata.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/plan.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"
#include "zoetrope/tensor_view.h"

namespace zoetrope {

// A tensor of the checkpoint that the module was made from.
struct ModuleWeight {
  std::vector<int64_t> shape;
  uint64_t hash = 0;  // as Checkpoint::hashes
};

struct ModuleHeader {
  std::string target;       // Target::name
  int packing_version = 0;  // Target::packing_version
  std::string family;
  std::optional<DType> encode_dtype;  // of the operands; empty: it does not encode
  std::optional<DType> decode_dtype;
  std::vector<std::string> disabled_passes;
  std::string config;                               // as Checkpoint::config
  std::map<std::string, ModuleWeight> weights;      // by published name
  std::map<std::string, uint64_t> constants;        // hash of each tensor's bytes, by its name
  std::map<std::string, std::string> fingerprints;  // of the Plans, by entry
  std::string version;                              // of the zoetrope that wrote it
};

// Of what a Plan computes: its steps, their kernels, attributes and operands, and its constants.
// Where buffers lie, and why other kernels were refused, do not count. 16 hexadecimal digits.
std::string fingerprint(const Plan& plan);

// The tensor that holds a constant: "decoder.conv1.weight@conv3d_f32_avx2/1".
std::string module_tensor_name(std::string_view constant, std::string_view layout);

// Bytes that such a tensor takes for a constant of so many: the next one is aligned.
int64_t module_tensor_bytes(int64_t packed);

// Hash of a tensor's bytes.
uint64_t module_hash(std::span<const std::byte> bytes);

// The metadata of a file with these tensors, all of them uint8.
std::map<std::string, std::string> module_metadata(const ModuleHeader& header,
                                                   const std::vector<NamedTensor>& tensors);

// A mapped module whose header was checked: every field has its form, and header and tensors belong
// together. Not whether this release would compile the same.
class ModuleFile {
 public:
  // Throws kCheckpoint if it is damaged, kUnsupported if a later release wrote it.
  explicit ModuleFile(std::unique_ptr<const SafetensorsFile> file);

  const std::string& path() const { return file_->path(); }
  const ModuleHeader& header() const { return header_; }
  const std::map<std::string, SafetensorsEntry>& tensors() const { return file_->tensors(); }

  // The constant's packed bytes in the mapped file, whose hash is compared. Throws kCheckpoint if
  // they are not there, not so many, or damaged.
  std::span<const std::byte> constant(const std::string& name, const std::string& layout,
                                      int64_t bytes) const;

 private:
  std::unique_ptr<const SafetensorsFile> file_;
  ModuleHeader header_;
};

// Null if `path` is not a module, or cannot be opened at all.
std::shared_ptr<const ModuleFile> open_module(const std::string& path);

// As open_weights. Throws kUnsupported too, for a module: it holds weights as one target's kernels
// read them. `purpose`: what is wanted of them, "convert".
std::shared_ptr<const Checkpoint> open_unpacked(const std::string& weights,
                                                std::string_view purpose);

// The tensors that the module was made from, by shape; only those that kernels read as they are can
// be read, which is all that passes need.
std::shared_ptr<const Checkpoint> module_checkpoint(std::shared_ptr<const ModuleFile> module);

}  // namespace zoetrope
