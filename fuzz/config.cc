// SPDX-License-Identifier: Apache-2.0
// A diffusers folder's config.json beside tensors that are as they should be.
#include <string>

#include "fuzz/hostile_file.h"
#include "models/model.h"

namespace {

class ConfiguredCheckpoint final : public zoetrope::Checkpoint {
 public:
  explicit ConfiguredCheckpoint(std::string config) : Checkpoint("input", "diffusers") {
    set_tensors({{"encoder.conv_in.weight", zoetrope::DType::kFloat32, {4, 3, 3, 3, 3}},
                 {"encoder.conv_out.weight", zoetrope::DType::kFloat32, {32, 16, 3, 3, 3}}});
    set_config(std::move(config));
  }

 private:
  void view_tensor(const zoetrope::TensorInfo& /*tensor*/,
                   const TensorUse& /*use*/) const override {}
};

}  // namespace

ZOETROPE_FUZZ_TARGET(zoetrope::models::recognise(
    std::make_shared<ConfiguredCheckpoint>(std::string(reinterpret_cast<const char*>(data), size))))
