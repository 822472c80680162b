// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/irpa.h"

#include "fuzz/hostile_file.h"

ZOETROPE_FUZZ_TARGET(zoetrope::fuzz::read_all(*zoetrope::open_irpa(zoetrope::fuzz::file_of(data,
                                                                                           size))))
