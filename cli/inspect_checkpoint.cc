// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "base/shape.h"
#include "cli/inspect.h"
#include "cli/report.h"
#include "zoetrope/tools.h"

namespace zoetrope::cli {
namespace {

constexpr size_t kListedNames = 5;

// The first few names, and how many more there are.
std::string some_of(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kListedNames); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  const size_t more = names.size() - std::min(names.size(), kListedNames);
  return more == 0 ? text : fmt::format("{} and {} more", text, more);
}

std::string dtypes_of(const CheckpointDescription& description) {
  std::set<std::string_view> names;
  for (const TensorDescription& tensor : description.tensors) names.insert(name_of(tensor.dtype));
  return fmt::format("{}", fmt::join(names, ", "));
}

const char* kind_of(const CheckpointDescription& description) {
  return description.module ? "module" : "checkpoint";
}

Json to_json(const ModuleDescription& module) {
  const auto type = [](const std::optional<DType>& dtype) {
    return dtype ? Json(name_of(*dtype)) : Json();
  };
  return {{"target", module.target},
          {"packing_version", module.packing_version},
          {"encode_dtype", type(module.encode_dtype)},
          {"decode_dtype", type(module.decode_dtype)},
          {"disabled_passes", module.disabled_passes},
          {"weights_checksum", module.weights_checksum},
          {"zoetrope_version", module.version},
          {"plans", module.plans},
          {"bytes", module.bytes}};
}

Json to_json(const std::string& file, const CheckpointDescription& description, bool list) {
  Json object = {{"file", file},
                 {"kind", kind_of(description)},
                 {"format", description.format},
                 {"family", description.family},
                 {"naming", description.naming},
                 {"problem", description.problem},
                 {"encoder_base_dim", description.encoder_base_dim},
                 {"decoder_base_dim", description.decoder_base_dim},
                 {"latent_channels", description.latent_channels},
                 {"parameters", description.parameters},
                 {"dtypes", dtypes_of(description)},
                 {"tensor_count", description.tensors.size()},
                 {"unknown", description.unknown},
                 {"missing", description.missing}};
  if (description.module) object["module"] = to_json(*description.module);
  if (!list) return object;
  object["tensors"] = Json::array();
  for (const TensorDescription& tensor : description.tensors) {
    object["tensors"].push_back(
        {{"name", tensor.name}, {"dtype", name_of(tensor.dtype)}, {"shape", tensor.shape}});
  }
  return object;
}

std::string half_text(int64_t base_dim) {
  return base_dim == 0 ? "none" : fmt::format("base_dim {}", base_dim);
}

void print_tensors(const CheckpointDescription& description) {
  for (const TensorDescription& tensor : description.tensors) {
    print(fmt::format("  {} {} {}\n", one_line(tensor.name), name_of(tensor.dtype),
                      to_string(tensor.shape)));
  }
}

// What was found of the model itself.
void print_model(const CheckpointDescription& description) {
  if (description.family.empty()) return print_row("model", "not known");
  const std::string naming =
      description.module ? "" : fmt::format(", {} names", description.naming);
  print_row("model", description.family + naming);
  print_row("encoder", half_text(description.encoder_base_dim));
  print_row("decoder", half_text(description.decoder_base_dim));
  print_row("latents", fmt::format("{} channels", description.latent_channels));
}

void print_module(const ModuleDescription& module) {
  print_row("target", fmt::format("{}, packing version {}", module.target, module.packing_version));
  print_row("operands", operands_of(module));
  print_row("without", fmt::format("{}", fmt::join(module.disabled_passes, ", ")));
  print_row("weights", fmt::format("checksum {}", module.weights_checksum));
  print_row("written by", "zoetrope " + module.version);
}

}  // namespace

std::string operands_of(const ModuleDescription& module) {
  const std::optional<DType>& encode = module.encode_dtype;
  const std::optional<DType>& decode = module.decode_dtype;
  if (encode && decode && encode != decode) {
    return fmt::format("{} to encode, {} to decode", name_of(*encode), name_of(*decode));
  }
  if (encode && decode) return std::string(name_of(*encode));
  return encode ? fmt::format("{}, to encode alone", name_of(*encode))
                : fmt::format("{}, to decode alone", name_of(decode.value_or(DType::kFloat32)));
}

void print_json(const Json& object) { print(json_line(object) + "\n"); }

void print_row(const char* name, const std::string& value) {
  if (!value.empty()) print(fmt::format("  {:<12}{}\n", name, one_line(value)));
}

void inspect_checkpoint(const std::string& file, const Options& options) {
  const CheckpointDescription description = describe(file);
  if (options.json) return print_json(to_json(file, description, options.list_tensors));
  print(fmt::format("{}: {}\n", one_line(file), kind_of(description)));
  print_row("format", description.module ? "" : description.format);
  print_model(description);
  const std::string packed =
      description.module
          ? fmt::format(" packed in {:.1f} MiB, {} constants",
                        static_cast<double>(description.module->bytes) / (1 << 20),
                        description.tensors.size())
          : fmt::format(" in {} tensors, {}", description.tensors.size(), dtypes_of(description));
  print_row("parameters", fmt::format("{}{}", description.parameters, packed));
  if (description.module) print_module(*description.module);
  print_row("unknown", some_of(description.unknown));
  print_row("missing", some_of(description.missing));
  print_row("problem", description.problem);
  if (options.list_tensors) print_tensors(description);
}

}  // namespace zoetrope::cli
