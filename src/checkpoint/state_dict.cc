// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/state_dict.h"

#include <array>
#include <string_view>

#include "base/fail.h"
#include "base/utf8.h"

namespace zoetrope {
namespace {

constexpr std::array<std::string_view, 9> kWrappers = {
    "vae",    "state_dict", "model_state_dict", "model",      "module",
    "params", "ema",        "ema_state_dict",   "params_ema",
};

// Dicts can share entries, so a small pickle can describe an endless tree.
constexpr size_t kMaxVisits = 1'000'000;
constexpr size_t kLongestName = 4096;

class Collector {
 public:
  Collector(const Pickle& pickle, const std::string& source) : pickle_(pickle), source_(source) {}

  std::map<std::string, const PickledTensor*> collect(const PickledValue& dict) {
    tensors_.clear();
    walk(dict, "", 1);
    return std::move(tensors_);
  }

 private:
  void walk(const PickledValue& dict, const std::string& prefix, int depth) {
    if (depth > kMaxPickleDepth) refuse("dicts nested deeper than 64");
    for (size_t i = 0; i < dict.items.size(); i += 2) {
      if (++visits_ > kMaxVisits) refuse("more than 1000000 entries");
      const PickledValue& key = pickle_.values[dict.items[i]];
      const PickledValue& value = pickle_.values[dict.items[i + 1]];
      if (key.kind != PickleKind::kString) continue;
      if (value.kind == PickleKind::kDict) walk(value, extend(prefix, key.text) + ".", depth + 1);
      if (value.kind == PickleKind::kTensor) add(extend(prefix, key.text), value);
    }
  }

  std::string extend(const std::string& prefix, std::string_view key) const {
    if (prefix.size() + key.size() > kLongestName) refuse("a name longer than 4096 bytes");
    return prefix + std::string(key);
  }

  void add(const std::string& name, const PickledValue& value) {
    const PickledTensor& tensor = pickle_.tensors[static_cast<size_t>(value.integer)];
    if (!tensors_.emplace(name, &tensor).second) refuse(printable(name) + " stands twice");
  }

  [[noreturn]] void refuse(const std::string& what) const {
    fail(ErrorCode::kCheckpoint, "{}: data.pkl: {}; expected one dictionary of tensors", source_,
         what);
  }

  const Pickle& pickle_;
  const std::string& source_;
  std::map<std::string, const PickledTensor*> tensors_;
  size_t visits_ = 0;
};

// The dict's entry of that name if it is a dict itself, else null.
const PickledValue* find_dict(const Pickle& pickle, const PickledValue& dict,
                              std::string_view name) {
  for (size_t i = 0; i < dict.items.size(); i += 2) {
    const PickledValue& value = pickle.values[dict.items[i + 1]];
    if (value.kind == PickleKind::kDict && pickle.values[dict.items[i]].text == name) return &value;
  }
  return nullptr;
}

}  // namespace

std::map<std::string, const PickledTensor*> find_state_dict(const Pickle& pickle,
                                                            const std::string& source) {
  const PickledValue& root = pickle.values[pickle.root];
  if (root.kind != PickleKind::kDict) {
    fail(ErrorCode::kCheckpoint,
         "{}: data.pkl holds no dictionary at its top: save model.state_dict()", source);
  }
  Collector collector(pickle, source);
  for (const std::string_view name : kWrappers) {
    const PickledValue* wrapped = find_dict(pickle, root, name);
    if (wrapped == nullptr) continue;
    auto tensors = collector.collect(*wrapped);
    if (!tensors.empty()) return tensors;
  }
  auto tensors = collector.collect(root);
  if (tensors.empty()) {
    fail(ErrorCode::kCheckpoint, "{}: data.pkl holds no tensors: save model.state_dict()", source);
  }
  return tensors;
}

}  // namespace zoetrope
