// SPDX-License-Identifier: Apache-2.0
// The only place that knows which backends exist.
#pragma once

#include <memory>
#include <string>

#include "backend/backend.h"
#include "backend/target.h"
#include "zoetrope/autoencoder.h"

namespace zoetrope {

// Whether they mean anything, on whatever machine. Throws kInvalidArgument.
void check_load_options(const LoadOptions& options);

// Opens what options.device names, with kernels for options.target. Throws kInvalidArgument,
// kUnsupported, kDevice.
std::shared_ptr<const Backend> open_backend(const LoadOptions& options);

// The Target of that name, whose device need not be here: "cpu-avx2", "cuda-sm90". Throws
// kInvalidArgument if there is none, kUnsupported if this build has no kernels for it.
std::unique_ptr<const Target> target_named(const std::string& name);

// options.target or, if that is empty, the one of the device that `options` name.
std::unique_ptr<const Target> target_of(const LoadOptions& options);

}  // namespace zoetrope
