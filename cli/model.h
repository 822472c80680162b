// SPDX-License-Identifier: Apache-2.0
// The weights that the command line names.
#pragma once

#include "cli/options.h"
#include "cli/report.h"
#include "zoetrope/autoencoder.h"

namespace zoetrope::cli {

// kAny: what the weights hold.
enum class Half : uint8_t { kEncoder, kDecoder, kBoth, kAny };

// Throws kInvalidArgument if no weights are named.
void check_weights(const Options& options);

// Loads what is needed, showing progress. Throws what Autoencoder::load throws, and kCheckpoint if
// the half that is needed is not there.
Autoencoder load_model(const Options& options, Half half, Report& report);

}  // namespace zoetrope::cli
