// SPDX-License-Identifier: Apache-2.0
// Graphs of the published structure with small random weights.
#pragma once

#include "models/model.h"
#include "models/wan21.h"

namespace zoetrope::testing {

inline graph::Graph wan21_graph(models::Entry entry, int64_t base_dim = 8) {
  return models::recognise(random_checkpoint(models::wan21_tensors(base_dim), 1, "random"))
      ->graph(entry);
}

constexpr models::Entry kEntries[] = {models::Entry::kEncodeFirst, models::Entry::kEncodeNext,
                                      models::Entry::kDecodeFirst, models::Entry::kDecodeNext};

}  // namespace zoetrope::testing
