// SPDX-License-Identifier: Apache-2.0
// What the writers of all formats ask of tensors.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/checked_math.h"
#include "checkpoint/checkpoint_writer.h"

namespace zoetrope {

// Sorts `tensors` by name and returns the bytes each takes, which add up to less than 2^63. Throws
// kInvalidArgument, naming `path` and `format`, if a name stands twice or a shape makes no sense.
std::vector<size_t> prepare_tensors(const std::string& path, const char* format,
                                    std::vector<TensorInfo>& tensors);

// The next multiple of `alignment`.
constexpr size_t aligned_size(size_t size, size_t alignment) {
  return static_cast<size_t>(round_up(static_cast<int64_t>(size), static_cast<int64_t>(alignment)));
}

// Pads the file to `alignment` and writes the tensor of `size` bytes.
void write_aligned(FileWriter& file, size_t alignment, const TensorInfo& tensor, size_t size,
                   const WriteTensor& write);

[[noreturn]] void refuse_to_write(const std::string& path, const char* format,
                                  const std::string& what);

}  // namespace zoetrope
