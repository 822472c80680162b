// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include "base/dtype.h"
#include "base/fail.h"
#include "base/finite.h"
#include "base/output_file.h"
#include "base/utf8.h"
#include "checkpoint/checkpoint_writer.h"
#include "models/model.h"
#include "models/tensor_names.h"
#include "models/wan21.h"
#include "runtime/boundary.h"
#include "runtime/module_file.h"
#include "zoetrope/tools.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;

using Names = std::map<std::string, std::string>;

// What PyTorch's own readers of safetensors files look for.
const std::map<std::string, std::string> kMetadata = {{"format", "pt"}};
constexpr const char* kArchitecture = "wan-vae";  // of GGUF

CheckpointFormat format_by_ending(const std::string& output) {
  constexpr std::array<std::pair<std::string_view, CheckpointFormat>, 4> kEndings = {{
      {".safetensors", CheckpointFormat::kSafetensors},
      {".gguf", CheckpointFormat::kGguf},
      {".irpa", CheckpointFormat::kIrpa},
      {"/", CheckpointFormat::kDiffusers},
  }};
  for (const auto& [ending, format] : kEndings) {
    if (output.ends_with(ending)) return format;
  }
  fail(ErrorCode::kInvalidArgument,
       "{}: expected an output named .safetensors, .gguf or .irpa, or a diffusers folder with a / "
       "at its end: name it so, or say which with --to",
       output);
}

// A folder that convert() may replace: empty, or no more than what it writes itself.
void check_folder(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return;
  const fs::directory_iterator entries(folder, error);
  if (error) fail(ErrorCode::kIo, "{}: cannot be read: {}", folder, error.message());
  for (const fs::directory_entry& entry : entries) {
    const fs::path name = entry.path().filename();
    const bool ours = name == kDiffusersWeights || name == kDiffusersConfig;
    if (ours && entry.is_regular_file(error)) continue;
    fail(ErrorCode::kIo,
         "{}: expected a new folder or a diffusers one, found {} in it: name another output",
         folder, printable(name.string()));
  }
}

// In blocks, since tensors are large.
int64_t count_not_finite(const std::vector<std::byte>& bytes, DType dtype) {
  constexpr int64_t kBlock = 4096;
  std::array<float, kBlock> values = {};
  const int64_t total = std::ssize(bytes) / size_of(dtype);
  int64_t count = 0;
  for (int64_t done = 0; done < total; done += kBlock) {
    const int64_t size = std::min(kBlock, total - done);
    convert_to_float(bytes.data() + done * size_of(dtype), dtype, size, values.data());
    if (find_not_finite(values.data(), size) < 0) continue;
    count += std::count_if(values.begin(), values.begin() + size,
                           [](float value) { return !std::isfinite(value); });
  }
  return count;
}

class Converter {
 public:
  Converter(const std::string& weights, const std::string& output, const ConvertOptions& options)
      : options_(options),
        output_(output),
        format_(options.format ? *options.format : format_by_ending(output)),
        checkpoint_(open_unpacked(weights, "convert")) {
    check_options();
    check_output();
    read_model();
  }

  Conversion run() {
    result_.format = checkpoint_->format();
    const Names names = new_names();
    std::vector<TensorInfo> tensors;
    for (const TensorInfo& tensor : checkpoint_->tensors()) {
      const std::string& name = names.at(tensor.name);
      if (!stored_.emplace(name, tensor.name).second) {
        fail(ErrorCode::kInvalidArgument,
             "{}: {} and {} would both be called {}: convert without new names",
             checkpoint_->source(), printable(stored_.at(name)), printable(tensor.name),
             printable(name));
      }
      if (name != tensor.name) ++result_.renamed;
      tensors.push_back({name, new_type(tensor.dtype), tensor.shape});
    }
    note_unknown(names);
    result_.tensors = static_cast<int64_t>(tensors.size());
    write(std::move(tensors));
    return std::move(result_);
  }

 private:
  bool to_folder() const { return format_ == CheckpointFormat::kDiffusers; }

  std::optional<TensorNaming> naming() const {
    return to_folder() ? TensorNaming::kDiffusers : options_.names;
  }

  void check_options() const {
    if (options_.dtype && !is_floating(*options_.dtype)) {
      fail(ErrorCode::kInvalidArgument, "{}: expected a floating type, found {}", output_,
           name_of(*options_.dtype));
    }
    if (to_folder() && options_.names == TensorNaming::kPublished) {
      fail(ErrorCode::kInvalidArgument,
           "{}: a diffusers folder has diffusers' names, published ones were asked for: leave "
           "--names out, or write safetensors",
           output_);
    }
  }

  // Tensors of another model can be converted too, as long as nothing of a model is asked for.
  void read_model() {
    try {
      model_ = models::recognise(checkpoint_);
    } catch (const Error& error) {
      const bool of_another =
          error.code() == ErrorCode::kCheckpoint || error.code() == ErrorCode::kUnsupported;
      if (naming() || !of_another) throw;
    }
  }

  // By the name in the checkpoint.
  Names new_names() const {
    Names names;
    for (const TensorInfo& tensor : checkpoint_->tensors()) names[tensor.name] = tensor.name;
    if (!naming()) return names;
    const models::TensorNames known = models::translate_names(*checkpoint_);
    std::vector<std::string> published;
    for (const auto& [name, stored] : known.stored) published.push_back(name);
    const Names diffusers = models::diffusers_names(published);
    for (const auto& [name, stored] : known.stored) {
      names[stored] = naming() == TensorNaming::kDiffusers ? diffusers.at(name) : name;
    }
    return names;
  }

  void note_unknown(const Names& names) {
    if (!model_) {
      if (!checkpoint_->config().empty()) {
        result_.lost = "config.json stays behind: only a diffusers folder holds it";
      }
      return;
    }
    for (const std::string& name : model_->unknown()) result_.unknown.push_back(names.at(name));
    if (!to_folder() && !models::has_published_statistics(model_->config())) {
      result_.lost =
          "the latents_mean and latents_std of config.json, which are not the published ones, stay "
          "behind: only a diffusers folder holds them";
    }
  }

  DType new_type(DType dtype) const {
    return options_.dtype && is_floating(dtype) ? *options_.dtype : dtype;
  }

  // Without the / at its end.
  std::string output_path() const {
    std::string path = output_;
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    return path;
  }

  void check_output() const {
    const std::string path = output_path();
    std::error_code ignored;
    if (to_folder()) {
      check_folder(path);
      const fs::path name = fs::path(path).filename();
      if (name != "." && name != ".." && !name.empty()) return;
      fail(ErrorCode::kIo, "{}: this folder cannot be replaced by a new one: name one in it",
           output_);
    }
    if (!fs::is_directory(path, ignored)) return;
    fail(ErrorCode::kIo, "{}: expected a file or a new name, found a folder", path);
  }

  void write(std::vector<TensorInfo> tensors) {
    PendingOutput pending(output_path());
    try {
      write_to(pending.temporary_path(), std::move(tensors));
    } catch (const Error& error) {
      throw pending.in_its_name(error);
    }
    pending.commit();
  }

  void write_to(const std::string& temporary, std::vector<TensorInfo> tensors) {
    const WriteTensor writer = [&](const TensorInfo& tensor, FileWriter& file) {
      write_tensor(tensor, file);
    };
    switch (format_) {
      case CheckpointFormat::kSafetensors:
        write_safetensors(temporary, std::move(tensors), kMetadata, writer);
        break;
      case CheckpointFormat::kGguf:
        write_gguf(temporary, std::move(tensors), model_ ? kArchitecture : "unknown", writer);
        break;
      case CheckpointFormat::kIrpa:
        write_irpa(temporary, std::move(tensors), writer);
        break;
      case CheckpointFormat::kDiffusers:
        write_folder(temporary, std::move(tensors), writer);
        break;
    }
  }

  std::string folder_config() const {
    if (!checkpoint_->config().empty()) return checkpoint_->config();
    const std::vector<std::string> missing = model_->missing();
    if (missing.empty()) return model_->diffusers_config();
    fail(ErrorCode::kCheckpoint,
         "{}: a diffusers folder needs the whole model, {} tensors are missing, the first is {}",
         checkpoint_->source(), missing.size(), missing.front());
  }

  void write_folder(const std::string& folder, std::vector<TensorInfo> tensors,
                    const WriteTensor& writer) {
    const std::string config = folder_config();
    std::error_code error;
    if (!fs::create_directory(folder, error)) {
      fail(ErrorCode::kIo, "{}: cannot make this folder: {}", folder, error.message());
    }
    FileWriter file((fs::path(folder) / kDiffusersConfig).string());
    file.write(config);
    file.close();
    write_safetensors((fs::path(folder) / kDiffusersWeights).string(), std::move(tensors),
                      kMetadata, writer);
  }

  void write_tensor(const TensorInfo& tensor, FileWriter& file) {
    if (options_.cancelled && options_.cancelled()) {
      fail(ErrorCode::kCancelled, "interrupted: {} was not written", output_);
    }
    const std::string& stored = stored_.at(tensor.name);
    const DType from = checkpoint_->find(stored)->dtype;
    std::vector<std::byte> bytes = checkpoint_->read_stored(stored);
    if (is_floating(from)) result_.not_finite += count_not_finite(bytes, from);
    if (from != tensor.dtype) bytes = rounded(tensor, from, bytes);
    file.write(bytes.data(), bytes.size());
    result_.bytes += static_cast<int64_t>(bytes.size());
    if (options_.progress) options_.progress(++done_, result_.tensors);
  }

  std::vector<std::byte> rounded(const TensorInfo& tensor, DType from,
                                 const std::vector<std::byte>& bytes) const {
    const int64_t count = static_cast<int64_t>(bytes.size()) / size_of(from);
    std::vector<std::byte> result(static_cast<size_t>(count * size_of(tensor.dtype)));
    const int64_t lost = convert_floating(bytes.data(), from, count, tensor.dtype, result.data());
    if (lost < 0) return result;
    fail(ErrorCode::kInvalidArgument,
         "{}: tensor {}: element {} is too large for {}: choose bfloat16 or float32",
         checkpoint_->source(), printable(tensor.name), lost, name_of(tensor.dtype));
  }

  const ConvertOptions& options_;
  const std::string& output_;
  CheckpointFormat format_;
  std::shared_ptr<const Checkpoint> checkpoint_;
  std::unique_ptr<models::Model> model_;  // null: not known
  Names stored_;                          // name in the output -> in the checkpoint
  int64_t done_ = 0;                      // tensors
  Conversion result_;
};

}  // namespace

Conversion v0::convert(const std::string& weights, const std::string& output,
                       const ConvertOptions& options) {
  return at_boundary([&] { return Converter(weights, output, options).run(); });
}

}  // namespace zoetrope
