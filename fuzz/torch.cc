// SPDX-License-Identifier: Apache-2.0
// The zip container with the pickle in it; fuzz/pickle.cc goes deeper into the latter.
#include "checkpoint/torch_archive.h"
#include "fuzz/hostile_file.h"

ZOETROPE_FUZZ_TARGET(
    zoetrope::fuzz::read_all(*zoetrope::open_torch_archive(zoetrope::fuzz::file_of(data, size))))
