// SPDX-License-Identifier: Apache-2.0
#include "tests/media/media_support.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace zoetrope::media {
namespace fs = std::filesystem;

ScratchFolder::ScratchFolder() {
  std::string name = (fs::temp_directory_path() / "zoetrope-media-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no scratch folder");
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::vector<std::string> ScratchFolder::names() const {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

void write_bytes(const std::string& path, const void* data, size_t size) {
  std::ofstream(path, std::ios::binary)
      .write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
}

void write_bytes(const std::string& path, const std::string& bytes) {
  write_bytes(path, bytes.data(), bytes.size());
}

std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void run_ffmpeg(const std::string& arguments) {
  const std::string command = "ffmpeg -hide_banner -v error -nostdin -y " + arguments;
  if (std::system(command.c_str()) != 0) throw std::runtime_error(command);
}

bool Clip::said(const std::string& text) const {
  return std::any_of(notices.begin(), notices.end(), [&text](const std::string& notice) {
    return notice.find(text) != std::string::npos;
  });
}

Clip read_clip(const std::string& path, ReadOptions options, int64_t block) {
  Clip clip;
  options.notice = [&clip](const std::string& text) { clip.notices.push_back(text); };
  const std::unique_ptr<VideoReader> reader = open_video_reader(path, options);
  clip.info = reader->info();
  const auto size =
      static_cast<size_t>(frame_bytes(clip.info.format, clip.info.height, clip.info.width));
  std::vector<uint8_t> all;
  std::vector<uint8_t> frames(static_cast<size_t>(block) * size);
  while (const int64_t n = reader->read(block, frames.data())) {
    all.insert(all.end(), frames.begin(), frames.begin() + n * static_cast<std::ptrdiff_t>(size));
    clip.frames += n;
  }
  if (clip.info.format.dtype == DType::kUInt8) {
    clip.bytes = std::move(all);
  } else {
    const auto* values = reinterpret_cast<const float*>(all.data());
    clip.values.assign(values, values + all.size() / sizeof(float));
  }
  return clip;
}

void write_clip(const std::string& path, const WriteOptions& options,
                const std::vector<uint8_t>& frames) {
  const std::unique_ptr<VideoWriter> writer = open_video_writer(path, options);
  const int64_t size = frame_bytes(writer->format(), options.height, options.width);
  writer->write(static_cast<int64_t>(frames.size()) / size, frames.data());
  writer->finish();
}

std::vector<uint8_t> noise(size_t count) {
  std::vector<uint8_t> bytes(count);
  uint32_t state = 1;
  for (uint8_t& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<uint8_t>(state >> 24);
  }
  return bytes;
}

}  // namespace zoetrope::media
