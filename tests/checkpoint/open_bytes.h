// SPDX-License-Identifier: Apache-2.0
// Checkpoints from bytes, and why they are refused.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "checkpoint/checkpoint.h"
#include "tests/base/refusal.h"
#include "tests/base/scratch_folder.h"

namespace zoetrope {

inline std::shared_ptr<const Checkpoint> open_bytes(std::string_view bytes) {
  const ScratchFolder folder;
  return open_checkpoint(folder.write("weights", bytes));  // mapped: the file may go
}

inline std::string refused(std::string_view bytes) {
  return refusal(ErrorCode::kCheckpoint, [&] { open_bytes(bytes); });
}

}  // namespace zoetrope
