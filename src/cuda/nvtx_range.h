// SPDX-License-Identifier: Apache-2.0
// A name for what a thread does, shown by NVIDIA's profilers. Without one a range costs a function
// call: NVTX is in headers alone, and does nothing until a profiler loads itself.
#pragma once

#include <nvtx3/nvToolsExt.h>

#include <string>

namespace zoetrope::cuda {

class NvtxRange {
 public:
  explicit NvtxRange(const std::string& name) { nvtxRangePushA(name.c_str()); }
  ~NvtxRange() { nvtxRangePop(); }
  NvtxRange(const NvtxRange&) = delete;
  NvtxRange& operator=(const NvtxRange&) = delete;
};

}  // namespace zoetrope::cuda
