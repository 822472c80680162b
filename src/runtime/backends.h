// SPDX-License-Identifier: Apache-2.0
// The only place that knows which backends exist.
#pragma once

#include <memory>

#include "backend/backend.h"
#include "zoetrope/autoencoder.h"

namespace zoetrope {

// Opens what options.device names. Throws kInvalidArgument, kUnsupported, kDevice.
std::shared_ptr<const Backend> open_backend(const LoadOptions& options);

}  // namespace zoetrope
