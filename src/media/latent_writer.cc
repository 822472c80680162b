// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "base/fail.h"
#include "base/output_file.h"
#include "media/file_kind.h"
#include "media/latent_file.h"
#include "media/latent_schema.h"
#include "media/npy.h"
#include "media/planar_file.h"
#include "media/streamed_safetensors.h"

namespace zoetrope::media {
namespace {

bool is_comfy(const std::string& path) {
  return std::filesystem::path(path).extension() == ".latent";
}

// The tensors' planes follow one another in one PlanarFile: latent, then logvar, then mean, sorted
// by name as safetensors are.
class PlanarLatentWriter final : public LatentWriter {
 public:
  PlanarLatentWriter(const std::string& path, const LatentWriteOptions& options)
      : output_(path),
        kind_(classify_latent_output(path)),
        comfy_(is_comfy(path)),
        options_(options),
        file_(output_.temporary_path(), path,
              {.header_bytes = static_cast<int64_t>(
                   kind_ == FileKind::kNpy ? kNpyHeaderBytes : kSafetensorsHeaderBytes),
               .planes = options.channels * (options.posterior ? 3 : 1),
               .frame_bytes = 4 * options.height * options.width,
               .frames = options.frames}) {
    if (options.posterior && (comfy_ || kind_ == FileKind::kNpy)) {
      fail(ErrorCode::kInvalidArgument,
           "{}: --posterior needs a .safetensors output, which holds several tensors", path);
    }
    if (comfy_ && options.scale == LatentScale::kNormalized) {
      fail(ErrorCode::kInvalidArgument,
           "{}: .latent files hold raw latents: leave out --latent-scale normalized, or write "
           ".safetensors",
           path);
    }
    scale_ = comfy_ ? LatentScale::kRaw : options.scale.value_or(LatentScale::kNormalized);
  }

  void write(const LatentBlock& block) override {
    std::vector<const void*> planes;
    add_planes(block, block.latent, planes);
    if (options_.posterior) {
      add_planes(block, block.logvar, planes);
      add_planes(block, block.mean, planes);
    }
    file_.append(block.count, planes);
  }

  void finish(const LatentSource& source) override {
    file_.finish(header(source));
    output_.commit();
  }

 private:
  void add_planes(const LatentBlock& block, const float* values,
                  std::vector<const void*>& planes) const {
    ZOETROPE_CHECK(values != nullptr, output_.path());
    const int64_t plane = block.count * options_.height * options_.width;
    for (int64_t i = 0; i < options_.channels; ++i) planes.push_back(values + i * plane);
  }

  std::string header(const LatentSource& source) const {
    std::vector<int64_t> shape = {options_.channels, file_.frames(), options_.height,
                                  options_.width};
    if (kind_ == FileKind::kNpy) return npy_header(DType::kFloat32, shape);
    const std::map<std::string, std::string> metadata = latent_metadata({scale_, source});
    if (comfy_) {
      shape.insert(shape.begin(), 1);
      return safetensors_header({{kComfyVersion, {0}}, {kComfyTensor, shape}}, metadata);
    }
    std::vector<StreamedTensor> tensors = {{kLatentTensor, shape}};
    if (options_.posterior) {
      tensors.push_back({"logvar", shape});
      tensors.push_back({"mean", shape});
    }
    return safetensors_header(tensors, metadata);
  }

  PendingOutput output_;
  FileKind kind_;
  bool comfy_;
  LatentWriteOptions options_;
  PlanarFile file_;
};

}  // namespace

std::unique_ptr<LatentWriter> open_latent_writer(const std::string& path,
                                                 const LatentWriteOptions& options) {
  return std::make_unique<PlanarLatentWriter>(path, options);
}

bool records_source(const std::string& path) {
  return classify_latent_output(path) != FileKind::kNpy;
}

}  // namespace zoetrope::media
