// SPDX-License-Identifier: Apache-2.0
// Files of named tensors. The same tensors give the same bytes: sorted by name, without times.
//
// Each writes to `path` directly; give it a PendingOutput's temporary path. They throw kIo, and
// kInvalidArgument for what the format cannot hold.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/file_writer.h"
#include "checkpoint/checkpoint.h"

namespace zoetrope {

// Writes the tensor's bytes, row-major; asked once for each tensor, in the order of the names.
using WriteTensor = std::function<void(const TensorInfo&, FileWriter&)>;

void write_safetensors(const std::string& path, std::vector<TensorInfo> tensors,
                       const std::map<std::string, std::string>& metadata,
                       const WriteTensor& write);

// `architecture` is what general.architecture says.
void write_gguf(const std::string& path, std::vector<TensorInfo> tensors,
                const std::string& architecture, const WriteTensor& write);

// A parameter archive of IREE, laid out as IREE's own writer does.
void write_irpa(const std::string& path, std::vector<TensorInfo> tensors, const WriteTensor& write);

}  // namespace zoetrope
