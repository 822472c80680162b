// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gguf.h"

#include "fuzz/hostile_file.h"

ZOETROPE_FUZZ_TARGET(zoetrope::fuzz::read_all(*zoetrope::open_gguf(zoetrope::fuzz::file_of(data,
                                                                                           size))))
