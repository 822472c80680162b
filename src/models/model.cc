// SPDX-License-Identifier: Apache-2.0
#include "models/model.h"

#include <utility>

#include "base/fail.h"
#include "models/tensor_names.h"
#include "models/wan21.h"

namespace zoetrope::models {

const char* name_of(Entry entry) {
  switch (entry) {
    case Entry::kEncodeFirst:
      return "encode.first";
    case Entry::kEncodeNext:
      return "encode.next";
    case Entry::kDecodeFirst:
      return "decode.first";
    case Entry::kDecodeNext:
      return "decode.next";
  }
  fail(ErrorCode::kInternal, "name_of: unknown entry {}", static_cast<int>(entry));
}

std::unique_ptr<Model> recognise(std::shared_ptr<const Checkpoint> checkpoint) {
  if (translate_names(*checkpoint).naming.empty()) {
    const auto& tensors = checkpoint->tensors();
    fail(ErrorCode::kCheckpoint,
         "{}: expected a Wan2.1 VAE (a tensor named encoder.conv1.weight or decoder.conv1.weight, "
         "or "
         "diffusers' names), found {} other tensors{}",
         checkpoint->source(), tensors.size(),
         tensors.empty() ? "" : ", the first is " + tensors.front().name);
  }
  return make_wan21(std::move(checkpoint));
}

}  // namespace zoetrope::models
