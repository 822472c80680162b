// SPDX-License-Identifier: Apache-2.0
// Checkpoints written by torch.save since 1.6: a zip archive with a pickle and the tensors' bytes.
#pragma once

#include <memory>
#include <string>

#include "checkpoint/checkpoint.h"

namespace zoetrope {

// Nothing in the file is executed. Throws kIo, kCheckpoint.
std::shared_ptr<const Checkpoint> open_torch_archive(const std::string& path);

}  // namespace zoetrope
