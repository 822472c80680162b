// SPDX-License-Identifier: Apache-2.0
#include "base/fail.h"
#include "base/output_file.h"
#include "media/array_video.h"
#include "media/file_kind.h"
#include "media/npy.h"
#include "media/planar_file.h"
#include "media/streamed_safetensors.h"

namespace zoetrope::media {
namespace {

class ArrayWriter final : public VideoWriter {
 public:
  ArrayWriter(const std::string& path, const WriteOptions& options)
      : output_(path),
        npy_(classify_video_output(path) == FileKind::kNpy),
        height_(options.height),
        width_(options.width),
        file_(
            output_.temporary_path(), path,
            {.header_bytes = static_cast<int64_t>(npy_ ? kNpyHeaderBytes : kSafetensorsHeaderBytes),
             .planes = 3,
             .frame_bytes = 4 * height_ * width_,
             .frames = options.frames}) {
    format_ = {Layout::kTCHW, Range::kSigned, DType::kFloat32};
  }

  void write(int64_t count, const void* frames) override {
    const auto* values = static_cast<const float*>(frames);
    const int64_t plane = height_ * width_;
    for (int64_t i = 0; i < count; ++i) {
      const float* frame = values + i * 3 * plane;
      file_.append(1, {frame, frame + plane, frame + 2 * plane});
      ++frames_;
    }
  }

  void finish() override {
    complete();
    output_.commit();
  }

  std::string finish_partial() override {
    complete();
    return output_.commit_partial();
  }

 private:
  void complete() {
    const std::vector<int64_t> shape = {3, file_.frames(), height_, width_};
    file_.finish(npy_ ? npy_header(DType::kFloat32, shape)
                      : safetensors_header({{"video", shape}}, {}));
  }

  PendingOutput output_;
  bool npy_;
  int64_t height_;
  int64_t width_;
  PlanarFile file_;
};

}  // namespace

std::unique_ptr<VideoWriter> open_array_writer(const std::string& path,
                                               const WriteOptions& options) {
  return std::make_unique<ArrayWriter>(path, options);
}

}  // namespace zoetrope::media
