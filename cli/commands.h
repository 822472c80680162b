// SPDX-License-Identifier: Apache-2.0
// The subcommands. Each returns the exit status and throws Error.
#pragma once

#include "cli/options.h"

namespace zoetrope::cli {

int run_encode(const Options& options);
int run_decode(const Options& options);
int run_roundtrip(const Options& options);
int run_compile(const Options& options);
int run_inspect(const Options& options);
int run_convert(const Options& options);
int run_check(const Options& options);
int run_bench(const Options& options);
int run_profile(const Options& options);
int run_devices(const Options& options);

}  // namespace zoetrope::cli
