// SPDX-License-Identifier: Apache-2.0
// What all fuzz targets do with the bytes they are given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "checkpoint/checkpoint.h"

namespace zoetrope::fuzz {

// The path of a file in memory with these bytes; the next call replaces it.
std::string file_of(const uint8_t* data, size_t size);

// Calls `read`, which may throw an Error that blames the input, in one line. Anything else ends the
// process, so that the fuzzer keeps the input.
void expect_read_or_refused(const std::function<void()>& read);

// Reads every tensor that is not too large to be quick.
void read_all(const Checkpoint& checkpoint);

}  // namespace zoetrope::fuzz

// What libFuzzer calls: `body` sees `data` and `size`.
#define ZOETROPE_FUZZ_TARGET(body)                                          \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) { \
    ::zoetrope::fuzz::expect_read_or_refused([&] { body; });                \
    return 0;                                                               \
  }
