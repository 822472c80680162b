// SPDX-License-Identifier: Apache-2.0
// The two ways of computing that check compares.
#pragma once

#include <string>

#include "cli/options.h"
#include "zoetrope/autoencoder.h"

namespace zoetrope::cli {

struct Ways {
  LoadOptions tested;
  LoadOptions reference;
};

// The tested way is what --device, --dtype and --disable-pass say, in a 16-bit type unless --dtype
// says otherwise. The reference has every pass on, and differs in what --against names; without
// that, in the passes, or else in that it is float32. Throws kInvalidArgument if nothing differs.
Ways ways_of(const Options& options);

// "float32 on cpu-avx3", "bfloat16 on cuda-sm90, without fuse-norm"
std::string describe(const Autoencoder& model, const LoadOptions& way);

}  // namespace zoetrope::cli
