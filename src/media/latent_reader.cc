// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <utility>

#include "base/dtype.h"
#include "base/fail.h"
#include "base/shape.h"
#include "checkpoint/safetensors.h"
#include "media/latent_file.h"
#include "media/latent_schema.h"
#include "media/npy.h"
#include "media/tensor_source.h"

namespace zoetrope::media {
namespace {

constexpr int64_t kForeignChannels = 16;  // of every model whose latents pass without a record

// What ComfyUI's LoadLatent multiplies by if latent_format_version_0 is missing: files of its first
// days hold values scaled for Stable Diffusion.
constexpr float kOldComfyScale = 1.0F / 0.18215F;

enum class LatentKind { kOwn, kComfy, kOldComfy, kForeign };

struct LatentTensor {
  LatentKind kind;
  std::string name;
};

// [1, C, h, w]: one image, in the axes of image models.
bool is_image(const std::vector<int64_t>& shape) {
  return shape.size() == 4 && shape[0] == 1 && shape[1] == kForeignChannels;
}

bool has_foreign_shape(const std::vector<int64_t>& shape) {
  if (shape.size() == 5) return shape[1] == kForeignChannels;
  return shape.size() == 4 && (shape[0] == kForeignChannels || is_image(shape));
}

std::optional<LatentTensor> find_latent(const SafetensorsFile& file) {
  const auto& tensors = file.tensors();
  const auto schema = file.metadata().find("schema");
  if (schema != file.metadata().end() && schema->second == kLatentSchema) {
    return LatentTensor{LatentKind::kOwn,
                        tensors.contains(kComfyTensor) ? kComfyTensor : kLatentTensor};
  }
  if (tensors.contains(kComfyTensor)) {
    if (tensors.contains(kComfyVersion)) return LatentTensor{LatentKind::kComfy, kComfyTensor};
    if (std::filesystem::path(file.path()).extension() == ".latent") {
      return LatentTensor{LatentKind::kOldComfy, kComfyTensor};
    }
  }
  if (tensors.size() != 1) return std::nullopt;
  static constexpr std::array kNames = {"latent", "latents", "samples", "latent_tensor"};
  const auto& [name, entry] = *tensors.begin();
  const bool named = std::find(kNames.begin(), kNames.end(), name) != kNames.end();
  if (!named || !has_foreign_shape(entry.shape)) return std::nullopt;
  return LatentTensor{LatentKind::kForeign, name};
}

class MappedLatentReader final : public LatentReader {
 public:
  MappedLatentReader(const std::string& path, const LatentReadOptions& options) {
    if (looks_like_npy(path)) {
      source_ = open_npy_tensor(path);
      take_scale(LatentKind::kForeign, options);
    } else {
      open_tensor(path, options);
    }
    read_shape();
    if (options.any_value) return;
    check_finite(source_, scan_values(source_, [](int64_t /*index*/) { return true; }));
  }

  int64_t read(int64_t count, float* latent) override {
    const int64_t n = std::min(count, info_.frames - next_);
    const int64_t plane = info_.height * info_.width;
    const auto size = static_cast<size_t>(n * plane * size_of(source_.dtype));
    for (int64_t channel = 0; channel < info_.channels; ++channel) {
      const auto offset =
          static_cast<size_t>((channel * info_.frames + next_) * plane * size_of(source_.dtype));
      float* values = latent + channel * n * plane;
      convert_to_float(source_.bytes.data() + offset, source_.dtype, n * plane, values);
      source_.release(offset, size);
      if (factor_ == 1) continue;
      for (int64_t i = 0; i < n * plane; ++i) values[i] *= factor_;
    }
    next_ += n;
    return n;
  }

 private:
  void open_tensor(const std::string& path, const LatentReadOptions& options) {
    const std::shared_ptr<const SafetensorsFile> file = open_safetensors(path);
    const std::optional<LatentTensor> found = find_latent(*file);
    if (!found || !file->tensors().contains(found->name)) {
      fail(ErrorCode::kIo,
           "{}: expected latents: a file of `zoetrope encode` or ComfyUI, or one tensor named "
           "latent, latents, samples or latent_tensor with {} channels, found {} tensors",
           path, kForeignChannels, file->tensors().size());
    }
    source_ = safetensors_tensor(file, found->name);
    if (found->kind == LatentKind::kOwn) {
      const LatentRecord record = parse_latent_metadata(path, file->metadata());
      info_.scale = record.scale;
      info_.scale_recorded = true;
      info_.source = record.source;
    }
    take_scale(found->kind, options);
  }

  void take_scale(LatentKind kind, const LatentReadOptions& options) {
    const bool comfy = kind == LatentKind::kComfy || kind == LatentKind::kOldComfy;
    if (kind == LatentKind::kForeign) {
      info_.scale = options.scale.value_or(LatentScale::kNormalized);
    } else if (comfy) {
      info_.scale = LatentScale::kRaw;
    }
    if (options.scale && *options.scale != info_.scale) {
      fail(ErrorCode::kInvalidArgument,
           "{}: expected {} latents, found {} ones {}: --latent-scale {}", source_.name,
           name_of(*options.scale), name_of(info_.scale),
           comfy ? "as ComfyUI's files hold" : "by its record", name_of(info_.scale));
    }
    if (kind == LatentKind::kOldComfy) factor_ = kOldComfyScale;
    if (!options.notice) return;
    if (kind == LatentKind::kOldComfy) {
      options.notice(fmt::format("{}: no {}: multiplied by 1/0.18215, as ComfyUI does",
                                 source_.name, kComfyVersion));
    } else if (kind == LatentKind::kForeign && !options.scale) {
      options.notice(
          fmt::format("{}: no record of the scale: normalized assumed (--latent-scale raw if not)",
                      source_.name));
    }
  }

  void read_shape() {
    std::vector<int64_t> shape = source_.shape;
    if (!is_floating(source_.dtype)) {
      fail(ErrorCode::kIo, "{}: expected a floating type, found {}", source_.name,
           name_of(source_.dtype));
    }
    if (shape.size() == 5 && shape[0] != 1) {
      fail(ErrorCode::kIo, "{}: expected latents of one video, found {} of them: split the file",
           source_.name, shape[0]);
    }
    if (shape.size() == 5) shape.erase(shape.begin());
    if (is_image(source_.shape) && !info_.scale_recorded) std::swap(shape[0], shape[1]);
    const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
    if (shape.size() != 4 || empty) {
      fail(ErrorCode::kIo, "{}: expected latents [C, T, h, w], found {}", source_.name,
           zoetrope::to_string(source_.shape));
    }
    info_.channels = shape[0];
    info_.frames = shape[1];
    info_.height = shape[2];
    info_.width = shape[3];
  }

  TensorSource source_;
  float factor_ = 1;
  int64_t next_ = 0;
};

}  // namespace

std::unique_ptr<LatentReader> open_latent_reader(const std::string& path,
                                                 const LatentReadOptions& options) {
  return std::make_unique<MappedLatentReader>(path, options);
}

bool is_latent_file(const std::string& path) {
  if (!looks_like_safetensors(path)) return false;
  try {
    return find_latent(SafetensorsFile(path)).has_value();
  } catch (const Error&) {
    return false;
  }
}

}  // namespace zoetrope::media
