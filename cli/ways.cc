// SPDX-License-Identifier: Apache-2.0
#include "cli/ways.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/fail.h"
#include "zoetrope/tools.h"

namespace zoetrope::cli {
namespace {

void set_dtype(LoadOptions& load, DType dtype) { load.encode_dtype = load.decode_dtype = dtype; }

// The first device if the options leave it open.
std::string device_of(const LoadOptions& load) {
  return load.device == "auto" ? devices().front().id : load.device;
}

bool same(const LoadOptions& a, const LoadOptions& b) {
  return a.device == b.device && a.encode_dtype == b.encode_dtype &&
         a.decode_dtype == b.decode_dtype && a.disabled_passes == b.disabled_passes;
}

}  // namespace

Ways ways_of(const Options& options) {
  Ways ways = {.tested = options.load, .reference = {}};
  ways.tested.device = device_of(options.load);
  if (!ways.tested.decode_dtype) set_dtype(ways.tested, DType::kBFloat16);
  ways.reference = ways.tested;
  ways.reference.disabled_passes.clear();
  const CheckOptions& against = options.against;
  if (against.device) ways.reference.device = *against.device;
  if (against.dtype) set_dtype(ways.reference, *against.dtype);
  const bool named = against.device || against.dtype;
  if (!named && ways.tested.disabled_passes.empty()) set_dtype(ways.reference, DType::kFloat32);
  if (same(ways.tested, ways.reference)) {
    fail(ErrorCode::kInvalidArgument,
         "check: both sides are {} on {}; --against names another type or device, "
         "--disable-pass a pass that is off on one side",
         name_of(*ways.tested.decode_dtype), ways.tested.device);
  }
  return ways;
}

std::string describe(const Autoencoder& model, const LoadOptions& way) {
  const ModelInfo& info = model.info();
  const bool decoder = info.decoder_base_dim != 0;
  std::string text = fmt::format(
      "{} on {}", name_of(decoder ? info.decode_dtype : info.encode_dtype), info.device);
  if (!way.disabled_passes.empty()) {
    text += fmt::format(", without {}", fmt::join(way.disabled_passes, ", "));
  }
  return text;
}

}  // namespace zoetrope::cli
