// SPDX-License-Identifier: Apache-2.0
// Recognises checkpoints by what they contain; names and extensions do not matter.
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/fail.h"
#include "base/mapped_file.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/gguf.h"
#include "checkpoint/irpa.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/torch_archive.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestConfig = size_t{1} << 20;

// What people have in hand instead of a checkpoint that can be read, by the bytes it has.
struct OtherFormat {
  size_t offset;
  std::string_view magic;
  const char* advice;
};

using namespace std::string_view_literals;

constexpr std::array<OtherFormat, 8> kOtherFormats = {{
    {0, "version https://git-lfs"sv,
     "this is a Git LFS pointer, not the weights: run git lfs pull"},
    {0, "\x89HDF\r\n\x1a\n"sv, "HDF5 files are not read: convert it to safetensors"},
    {0, "\x93NUMPY"sv, "a NumPy array is not a checkpoint: give a .safetensors or .pth file"},
    {0, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20"sv,
     "a torch checkpoint in the format before torch 1.6: load it with torch.load(weights_only=True)"
     " and save it with torch.save or as safetensors"},
    {0, "\x80"sv, "a Python pickle is not read: save the tensors as safetensors"},
    {0, "\x1f\x8b"sv, "a gzip archive: unpack it and give the file inside"},
    {257, "ustar"sv,
     "a tar archive: unpack it and give the .safetensors or .pth file inside, or save a tar "
     "checkpoint of an early torch again as safetensors"},
    {0, "\x28\xb5\x2f\xfd"sv, "a zstd archive: unpack it and give the file inside"},
}};

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

bool is_zip(std::string_view text) {
  return text.starts_with("PK\x03\x04") || text.starts_with("PK\x05\x06");
}

[[noreturn]] void refuse_other(const std::string& path, std::string_view text) {
  if (text.empty()) {
    fail(ErrorCode::kCheckpoint, "{}: the file is empty: get it again", path);
  }
  for (const OtherFormat& format : kOtherFormats) {
    if (text.size() < format.offset) continue;
    if (text.substr(format.offset).starts_with(format.magic)) {
      fail(ErrorCode::kCheckpoint, "{}: {}", path, format.advice);
    }
  }
  const size_t first = text.substr(0, 1024).find_first_not_of(" \t\r\n\xef\xbb\xbf");
  const char start = first == std::string_view::npos ? '\0' : text[first];
  if (start == '<') {
    fail(ErrorCode::kCheckpoint,
         "{}: a web page, not the weights: download the file itself, logged in if it needs that",
         path);
  }
  if (start == '{') {
    fail(ErrorCode::kCheckpoint,
         "{}: JSON, not the weights: give the .safetensors file or the folder it belongs to", path);
  }
  fail(ErrorCode::kCheckpoint,
       "{}: not a known checkpoint: expected a .safetensors, torch .pth, .gguf or .irpa file or a "
       "diffusers folder",
       path);
}

class SafetensorsCheckpoint final : public Checkpoint {
 public:
  explicit SafetensorsCheckpoint(const std::string& path, std::string format = "safetensors")
      : Checkpoint(path, std::move(format)), file_(path) {
    std::vector<TensorInfo> infos;
    infos.reserve(file_.tensors().size());
    for (const auto& [name, entry] : file_.tensors()) {
      infos.push_back({name, entry.dtype, entry.shape});
    }
    set_tensors(std::move(infos));
  }

  void add_config(std::string config) { set_config(std::move(config)); }

 private:
  void view_tensor(const TensorInfo& tensor, const TensorUse& use) const override {
    const SafetensorsEntry& entry = file_.tensors().at(tensor.name);
    auto* data = const_cast<std::byte*>(file_.bytes(entry).data());  // only read
    use({.data = data, .dtype = entry.dtype, .shape = entry.shape});
    file_.release(entry);
  }

  SafetensorsFile file_;
};

// The text of diffusers' config.json.
std::string read_config(const std::string& path) {
  const MappedFile file(path);
  const std::string_view text = text_of(file);
  if (text.size() > kLongestConfig) {
    fail(ErrorCode::kCheckpoint, "{}: {} bytes; expected at most {}", path, text.size(),
         kLongestConfig);
  }
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos || text.front() != '{') {
    refuse_other(path, text);
  }
  return std::string(text);
}

std::shared_ptr<const Checkpoint> open_folder(const fs::path& folder) {
  std::error_code ignored;
  for (const fs::path& candidate : {folder, folder / "vae"}) {
    const fs::path weights = candidate / kDiffusersWeights;
    if (!fs::exists(weights, ignored)) continue;
    const fs::path config = candidate / kDiffusersConfig;
    if (!fs::exists(config, ignored)) {
      fail(ErrorCode::kCheckpoint, "{}: {} is missing: add it, or give {} itself",
           candidate.string(), kDiffusersConfig, weights.string());
    }
    if (!looks_like_safetensors(weights.string())) {
      refuse_other(weights.string(), text_of(MappedFile(weights.string())));
    }
    const auto checkpoint = std::make_shared<SafetensorsCheckpoint>(weights.string(), "diffusers");
    checkpoint->add_config(read_config(config.string()));
    return checkpoint;
  }
  fail(ErrorCode::kCheckpoint,
       "{}: a folder without {}, also in vae/: give a diffusers folder or a weights file",
       folder.string(), kDiffusersWeights);
}

}  // namespace

std::shared_ptr<const Checkpoint> open_checkpoint(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return open_folder(path);
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) {
    fail(ErrorCode::kIo, "{}: expected a file or folder that can be read at any place", path);
  }
  if (looks_like_safetensors(path)) return std::make_shared<SafetensorsCheckpoint>(path);
  const MappedFile file(path);
  const std::string_view text = text_of(file);
  if (is_zip(text)) return open_torch_archive(path);
  if (text.starts_with(kGgufMagic)) return open_gguf(path);
  if (text.starts_with(kIrpaMagic)) return open_irpa(path);
  refuse_other(path, text);
}

}  // namespace zoetrope
