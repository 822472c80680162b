// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/pickle.h"

#include "checkpoint/state_dict.h"
#include "fuzz/hostile_file.h"

ZOETROPE_FUZZ_TARGET({
  const zoetrope::Pickle pickle =
      zoetrope::read_pickle({reinterpret_cast<const std::byte*>(data), size}, "input");
  zoetrope::find_state_dict(pickle, "input");
})
