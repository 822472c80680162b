// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/fail.h"
#include "media/ffmpeg/decoder.h"
#include "media/ffmpeg/rgb_converter.h"
#include "media/pictures.h"

namespace zoetrope::media {
namespace {

namespace fs = std::filesystem;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// The run of digits at `start` without leading zeros.
std::string_view number_at(std::string_view text, size_t start, size_t& end) {
  end = start;
  while (end < text.size() && is_digit(text[end])) ++end;
  while (start + 1 < end && text[start] == '0') ++start;
  return text.substr(start, end - start);
}

// Runs of digits compare as numbers: 2.png before 10.png.
bool natural_less(std::string_view a, std::string_view b) {
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const std::string_view first = number_at(a, i, i);
      const std::string_view second = number_at(b, j, j);
      if (first.size() != second.size()) return first.size() < second.size();
      if (first != second) return first < second;
    } else if (a[i] != b[j]) {
      return a[i] < b[j];
    } else {
      ++i;
      ++j;
    }
  }
  if (i < a.size() || j < b.size()) return i == a.size();
  return a < b;
}

bool is_image_name(const fs::path& path) {
  static constexpr std::array<std::string_view, 11> kExtensions = {
      ".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff", ".ppm", ".pgm", ".jxl", ".gif"};
  std::string extension = path.extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const bool hidden = path.filename().string().starts_with('.');
  return !hidden &&
         std::find(kExtensions.begin(), kExtensions.end(), extension) != kExtensions.end();
}

std::vector<std::string> list_images(const std::string& folder, const Notice& notice) {
  std::vector<std::string> names;
  int64_t others = 0;
  std::error_code error;
  for (fs::directory_iterator it(folder, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    if (is_image_name(it->path()) && it->is_regular_file(error)) {
      names.push_back(it->path().filename().string());
    } else {
      ++others;
    }
  }
  if (error) fail(ErrorCode::kIo, "{}: {}", folder, error.message());
  if (names.empty()) {
    fail(ErrorCode::kIo, "{}: expected a folder of images, found none among {} entries", folder,
         others);
  }
  if (others > 0 && notice) {
    notice(
        fmt::format("{}: {} images read, {} other entries left out", folder, names.size(), others));
  }
  std::sort(names.begin(), names.end(), natural_less);
  std::vector<std::string> paths;
  for (const std::string& name : names) paths.push_back((fs::path(folder) / name).string());
  return paths;
}

class ImageFolderReader final : public VideoReader {
 public:
  ImageFolderReader(const std::string& folder, const ReadOptions& options)
      : images_(list_images(folder, options.notice)) {
    const auto total = static_cast<int64_t>(images_.size());
    if (options.range.begin >= total) {
      fail(ErrorCode::kInvalidArgument, "{}: frames from {} on: the folder has {} images", folder,
           options.range.begin, total);
    }
    next_ = options.range.begin;
    end_ = std::min(total, options.range.end.value_or(total));
    say_if_short(folder, options.range, total, options.notice);
    open_first(options);
    info_.frames = end_ - next_;
    info_.frames_exact = true;
    info_.rate = options.rate.value_or(FrameRate{});
    info_.rate_known = options.rate.has_value();
    if (!info_.rate_known && total > 1 && options.notice) {
      options.notice(fmt::format("{}: no frame rate: {} assumed (--fps sets it)", folder,
                                 to_string(info_.rate)));
    }
  }

  int64_t read(int64_t count, void* frames) override {
    const int64_t n = std::min(count, end_ - next_);
    const int64_t bytes = frame_bytes(info_.format, info_.height, info_.width);
    for (int64_t i = 0; i < n; ++i) {
      Decoder decoder(path_of(next_ + i));
      const AvPointer<AVFrame> frame = first_frame(decoder);
      converter_->convert(decoder.input().path(), *frame, *decoder.input().stream(),
                          static_cast<std::byte*>(frames) + i * bytes);
    }
    next_ += n;
    return n;
  }

 private:
  const std::string& path_of(int64_t index) const { return images_[static_cast<size_t>(index)]; }

  static AvPointer<AVFrame> first_frame(Decoder& decoder) {
    AvPointer<AVFrame> frame = decoder.next();
    if (!frame) fail(ErrorCode::kIo, "{}: expected an image, found none", decoder.input().path());
    return frame;
  }

  void open_first(const ReadOptions& options) {
    Decoder decoder(path_of(next_));
    const AvPointer<AVFrame> frame = first_frame(decoder);
    converter_ = std::make_unique<RgbConverter>(options, decoder.input().path(), *frame,
                                                *decoder.input().stream());
    info_.height = converter_->height();
    info_.width = converter_->width();
    info_.format = converter_->format();
    info_.color = converter_->color();
  }

  std::vector<std::string> images_;
  std::unique_ptr<RgbConverter> converter_;
  int64_t next_ = 0;
  int64_t end_ = 0;
};

}  // namespace

std::unique_ptr<VideoReader> open_image_folder_reader(const std::string& folder,
                                                      const ReadOptions& options) {
  return std::make_unique<ImageFolderReader>(folder, options);
}

}  // namespace zoetrope::media
