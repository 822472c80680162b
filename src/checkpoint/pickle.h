// SPDX-License-Identifier: Apache-2.0
// What torch.save's pickle says, without running it.
//
// A pickle is a program for a stack machine that can call any function. Here it only builds plain
// data: the few instructions and names that a dictionary of tensors needs are known, everything
// else is refused, and nothing is ever called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zoetrope/tensor_view.h"

namespace zoetrope {

// A tensor as the pickle describes it: no number is negative, each axis has a stride; whether it
// fits its storage is not checked here.
struct PickledTensor {
  std::string_view storage;  // the archive's member data/<storage>
  DType dtype = DType::kFloat32;
  int64_t storage_elements = 0;
  int64_t offset = 0;            // elements
  std::vector<int64_t> shape;    // at most 8 axes
  std::vector<int64_t> strides;  // elements
};

enum class PickleKind : uint8_t {
  kNone,
  kBool,
  kInteger,
  kFloat,
  kString,
  kTuple,
  kList,
  kDict,
  kGlobal,
  kStorage,
  kTensor,
};

struct PickledValue {
  PickleKind kind = PickleKind::kNone;
  uint8_t depth = 1;            // of nested tuples, lists and dicts when it was built
  int64_t integer = 0;          // kInteger; kGlobal: which; kTensor: index into Pickle::tensors
  std::string_view text;        // kString, UTF-8
  std::vector<uint32_t> items;  // kTuple, kList; kDict: key, value, key, value, ...
};

// Values refer to each other by index; a dict may contain itself. Strings point into the bytes that
// were read.
struct Pickle {
  std::vector<PickledValue> values;
  std::vector<PickledTensor> tensors;
  uint32_t root = 0;
};

constexpr int kMaxPickleDepth = 64;

// Throws kCheckpoint, naming `source`.
Pickle read_pickle(std::span<const std::byte> bytes, const std::string& source);

}  // namespace zoetrope
