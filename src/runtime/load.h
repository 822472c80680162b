// SPDX-License-Identifier: Apache-2.0
// From weights to an Autoencoder.
#pragma once

#include <memory>

#include "checkpoint/checkpoint.h"
#include "runtime/autoencoder_implementation.h"
#include "runtime/module_file.h"
#include "runtime/planned_model.h"
#include "zoetrope/autoencoder.h"

namespace zoetrope {

// Packs the weights.
std::shared_ptr<const Autoencoder::Implementation> load_checkpoint(
    const std::shared_ptr<const Checkpoint>& checkpoint, const LoadOptions& options);

// Takes packed weights as they lie in the file. Throws kCheckpoint if the module does not fit the
// device or this release, or is damaged, kInvalidArgument if the options contradict it.
std::shared_ptr<const Autoencoder::Implementation> load_module(
    const std::shared_ptr<const ModuleFile>& module, const LoadOptions& options);

// What load_module does, step by step, throwing what it throws. `options` as the module was made:
LoadOptions options_of(const ModuleFile& module, const LoadOptions& options);

// With those, the device:
std::shared_ptr<const Backend> open_module_backend(const ModuleFile& module,
                                                   const LoadOptions& options);

// and the Plans, for the module's Target, which need not be here.
PlannedModel plan_module(const std::shared_ptr<const ModuleFile>& module, const Target& target,
                         const LoadOptions& options);

}  // namespace zoetrope
