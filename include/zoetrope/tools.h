// SPDX-License-Identifier: Apache-2.0
// What tools ask the library beside coding video.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "zoetrope/export.h"
#include "zoetrope/tensor_view.h"

namespace zoetrope {
inline namespace v0 {

struct DeviceDescription {
  std::string id;            // what LoadOptions::device takes
  std::string name;          // the maker's name of it
  std::string instructions;  // CPU: the instruction set that kernels use, e.g. "AVX3"
  int threads = 0;           // CPU: worker threads by default
  int64_t memory = 0;        // bytes
  std::string dtypes;        // operand types, e.g. "float32"
};

// Devices that can be used now, best first.
ZOETROPE_API std::vector<DeviceDescription> devices();

struct TensorDescription {
  std::string name;  // as in the file
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape;
};

// What a checkpoint holds, read from its headers alone.
struct CheckpointDescription {
  std::string format;            // "safetensors", "torch", "diffusers", "random"
  std::string family;            // "wan2.1"; empty if the tensors are not of a known model
  std::string naming;            // "published", "diffusers"
  std::string problem;           // why it cannot be loaded; empty if it can
  int64_t encoder_base_dim = 0;  // 0: no encoder
  int64_t decoder_base_dim = 0;
  int64_t latent_channels = 0;
  int64_t parameters = 0;
  std::vector<TensorDescription> tensors;  // sorted by name
  std::vector<std::string> unknown;        // tensors of no layer, ignored
  std::vector<std::string> missing;        // published names that a layer lacks
};

// Throws kCheckpoint or kIo if the file is not a readable checkpoint at all.
ZOETROPE_API CheckpointDescription describe(const std::string& weights);

}  // namespace v0
}  // namespace zoetrope
