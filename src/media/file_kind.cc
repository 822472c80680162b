// SPDX-License-Identifier: Apache-2.0
#include "media/file_kind.h"

#include <filesystem>
#include <system_error>

#include "base/fail.h"
#include "checkpoint/safetensors.h"
#include "media/latent_file.h"
#include "media/npy.h"
#include "media/pictures.h"

namespace zoetrope::media {
namespace fs = std::filesystem;

FileKind classify_input(const std::string& path) {
  if (path == "-") return FileKind::kY4mPipe;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    fail(ErrorCode::kIo, "{}: {}", path, error ? error.message() : "No such file or directory");
  }
  if (fs::is_directory(status)) return FileKind::kImageFolder;
  if (!fs::is_regular_file(status)) return FileKind::kVideo;  // a pipe: looking would consume it
  if (fs::file_size(path, error) == 0) {
    fail(ErrorCode::kIo, "{}: expected a video, image, array or latents, found an empty file",
         path);
  }
  if (looks_like_npy(path)) return FileKind::kNpy;
  if (looks_like_safetensors(path)) {
    return is_latent_file(path) ? FileKind::kLatent : FileKind::kSafetensors;
  }
  return classify_pictures(path);
}

FileKind classify_video_output(const std::string& path) {
  if (path == "-") return FileKind::kY4mPipe;
  std::error_code error;
  if (path.ends_with('/') || fs::is_directory(path, error)) return FileKind::kImageFolder;
  const std::string extension = fs::path(path).extension().string();
  if (extension == ".mp4" || extension == ".mkv" || extension == ".y4m") return FileKind::kVideo;
  if (extension == ".png") return FileKind::kImage;
  if (extension == ".npy") return FileKind::kNpy;
  if (extension == ".safetensors") return FileKind::kSafetensors;
  fail(ErrorCode::kInvalidArgument,
       "{}: expected a video output ending in .mp4, .mkv, .y4m, .png, .npy, .safetensors, a folder "
       "ending in / or - for y4m, found {}",
       path, extension.empty() ? "no extension" : extension);
}

FileKind classify_latent_output(const std::string& path) {
  const std::string extension = fs::path(path).extension().string();
  if (extension == ".npy") return FileKind::kNpy;
  if (extension == ".safetensors" || extension == ".latent") return FileKind::kLatent;
  fail(ErrorCode::kInvalidArgument,
       "{}: expected a latent output ending in .safetensors, .npy or .latent, found {}", path,
       extension.empty() ? "no extension" : extension);
}

}  // namespace zoetrope::media
