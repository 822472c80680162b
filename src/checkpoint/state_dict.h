// SPDX-License-Identifier: Apache-2.0
// The named tensors among the values of a pickle.
#pragma once

#include <map>
#include <string>

#include "checkpoint/pickle.h"

namespace zoetrope {

// Finds the state dict and names its tensors.
//
// Training scripts wrap it: {"state_dict": {...}, "optimizer": ...}. If the outermost dict has an
// entry called vae, state_dict, model_state_dict, model, module, params, ema, ema_state_dict or
// params_ema that holds tensors, the first of these in this order is the state dict and its
// siblings are ignored; only one level is unwrapped. In the state dict, nested dicts are flattened
// with a dot: {"encoder": {"conv1.weight": t}} gives encoder.conv1.weight. What is not a tensor
// (numbers, strings, lists, None) and keys that are not strings are ignored.
//
// Throws kCheckpoint, naming `source`. The tensors point into `pickle`.
std::map<std::string, const PickledTensor*> find_state_dict(const Pickle& pickle,
                                                            const std::string& source);

}  // namespace zoetrope
