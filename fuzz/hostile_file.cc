// SPDX-License-Identifier: Apache-2.0
#include "fuzz/hostile_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "zoetrope/error.h"

namespace zoetrope::fuzz {
namespace {

constexpr int64_t kLargestRead = 1 << 16;  // elements

[[noreturn]] void abort_with(const std::string& what) {
  std::fprintf(stderr, "fuzz: %s\n", what.c_str());
  std::abort();
}

}  // namespace

std::string file_of(const uint8_t* data, size_t size) {
  static const int kFile = memfd_create("input", MFD_CLOEXEC);
  const bool written = kFile >= 0 && ftruncate(kFile, 0) == 0 &&
                       pwrite(kFile, data, size, 0) == static_cast<ssize_t>(size);
  if (!written) abort_with("no file in memory");
  return "/proc/self/fd/" + std::to_string(kFile);
}

void expect_read_or_refused(const std::function<void()>& read) {
  try {
    read();
  } catch (const Error& error) {
    const std::string message = error.what();
    const bool blames_input = error.code() == ErrorCode::kCheckpoint ||
                              error.code() == ErrorCode::kIo ||
                              error.code() == ErrorCode::kUnsupported;
    if (!blames_input) abort_with("an error of another code: " + message);
    if (message.find('\n') != std::string::npos) abort_with("a message of two lines: " + message);
    if (message.size() > 2000) abort_with("a message without end: " + message);
  }
}

void read_all(const Checkpoint& checkpoint) {
  for (const TensorInfo& tensor : checkpoint.tensors()) {
    const auto count = checked_element_count(tensor.shape);
    if (!count) abort_with("a shape that overflows was let in");
    if (*count > kLargestRead) continue;
    checkpoint.read_stored(tensor.name);
    if (is_floating(tensor.dtype)) checkpoint.read(tensor.name);
  }
}

}  // namespace zoetrope::fuzz
