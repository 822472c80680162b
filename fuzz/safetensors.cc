// SPDX-License-Identifier: Apache-2.0
#include "fuzz/hostile_file.h"

// Whatever is no safetensors is refused by open_checkpoint, and by the other targets' readers.
ZOETROPE_FUZZ_TARGET(
    zoetrope::fuzz::read_all(*zoetrope::open_checkpoint(zoetrope::fuzz::file_of(data, size))))
