// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/onednn.h"

namespace zoetrope::bench {

std::unique_ptr<OneDnnConv> make_onednn_conv(const Conv3dProblem&, DType, int) { return nullptr; }

std::string onednn_version() { return "absent"; }

}  // namespace zoetrope::bench
