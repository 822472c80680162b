// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/pickle.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/fail.h"
#include "base/utf8.h"

namespace zoetrope {
namespace {

// Far above any real checkpoint (about 40 values a tensor), low enough to bound memory.
constexpr size_t kMaxValues = size_t{1} << 21;
constexpr size_t kMaxMemo = 1'000'000;
constexpr size_t kMaxAxes = 8;
constexpr size_t kLongestGlobal = 128;  // bytes of a module or a name

// Instructions of pickle protocol 2, by Python's names (Lib/pickle.py).
enum Opcode : uint8_t {
  kMark = '(',
  kEmptyTuple = ')',
  kStop = '.',
  kBinFloat = 'G',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinPersId = 'Q',
  kReduce = 'R',
  kBinUnicode = 'X',
  kEmptyList = ']',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kEmptyDict = '}',
  kProto = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
};

enum class Meaning : uint8_t { kOrderedDict, kTensor, kParameter, kStorage };

struct AllowedGlobal {
  std::string_view module;
  std::string_view name;
  Meaning meaning;
  DType dtype = DType::kFloat32;  // kStorage
};

constexpr std::array<AllowedGlobal, 11> kGlobals = {{
    {"collections", "OrderedDict", Meaning::kOrderedDict},
    {"torch._utils", "_rebuild_tensor_v2", Meaning::kTensor},
    {"torch._utils", "_rebuild_parameter", Meaning::kParameter},
    {"torch", "FloatStorage", Meaning::kStorage, DType::kFloat32},
    {"torch", "HalfStorage", Meaning::kStorage, DType::kFloat16},
    {"torch", "BFloat16Storage", Meaning::kStorage, DType::kBFloat16},
    {"torch", "DoubleStorage", Meaning::kStorage, DType::kFloat64},
    {"torch", "LongStorage", Meaning::kStorage, DType::kInt64},
    {"torch", "IntStorage", Meaning::kStorage, DType::kInt32},
    {"torch", "ByteStorage", Meaning::kStorage, DType::kUInt8},
    {"torch", "BoolStorage", Meaning::kStorage, DType::kBool},
}};

class Machine {
 public:
  Machine(std::span<const std::byte> bytes, const std::string& source)
      : bytes_(bytes), source_(source) {}

  Pickle run() {
    if (byte() != kProto) damaged("no protocol at the start");
    if (const int protocol = byte(); protocol != 2) {
      fail(ErrorCode::kCheckpoint,
           "{}: pickle protocol {}; expected 2: save it again with torch.save's own "
           "pickle_protocol, or as safetensors",
           source_, protocol);
    }
    while (step(byte())) {
    }
    if (!marks_.empty() || stack_.size() != 1) damaged("more or less than one result");
    pickle_.root = stack_.back();
    return std::move(pickle_);
  }

 private:
  [[noreturn]] void damaged(const std::string& what) const {
    fail(ErrorCode::kCheckpoint,
         "{}: data.pkl: {} before byte {}: the file is damaged, get it again", source_, what,
         position_);
  }

  // False after STOP.
  bool step(uint8_t opcode) {
    switch (opcode) {
      case kStop:
        return false;
      case kMark:
        mark();
        return true;
      case kGlobal:
        push_global();
        return true;
      case kBinPut:
        put(byte());
        return true;
      case kLongBinPut:
        put(unsigned_integer(4));
        return true;
      case kBinGet:
        get(byte());
        return true;
      case kLongBinGet:
        get(unsigned_integer(4));
        return true;
      case kBinPersId:
        load_storage();
        return true;
      case kReduce:
        reduce();
        return true;
      case kBuild:
        build();
        return true;
      default:
        if (!step_container(opcode) && !step_scalar(opcode)) unknown(opcode);
        return true;
    }
  }

  bool step_container(uint8_t opcode) {
    switch (opcode) {
      case kEmptyTuple:
        push(PickleKind::kTuple);
        return true;
      case kEmptyList:
        push(PickleKind::kList);
        return true;
      case kEmptyDict:
        push(PickleKind::kDict);
        return true;
      case kTuple:
        push_tuple(pop_to_mark());
        return true;
      case kTuple1:
      case kTuple2:
      case kTuple3:
        push_tuple(pop_many(1 + (opcode - kTuple1)));
        return true;
      case kAppend:
        extend(pop_many(1), PickleKind::kList);
        return true;
      case kAppends:
        extend(pop_to_mark(), PickleKind::kList);
        return true;
      case kSetItem:
        extend(pop_many(2), PickleKind::kDict);
        return true;
      case kSetItems:
        extend(pop_to_mark(), PickleKind::kDict);
        return true;
      default:
        return false;
    }
  }

  bool step_scalar(uint8_t opcode) {
    switch (opcode) {
      case kNone:
        push(PickleKind::kNone);
        return true;
      case kNewTrue:
      case kNewFalse:
        push(PickleKind::kBool).integer = opcode == kNewTrue ? 1 : 0;
        return true;
      case kBinInt:
        push_integer(static_cast<int32_t>(unsigned_integer(4)));
        return true;
      case kBinInt1:
        push_integer(byte());
        return true;
      case kBinInt2:
        push_integer(unsigned_integer(2));
        return true;
      case kLong1:
        push_long(byte());
        return true;
      case kBinFloat:
        take(8);  // no number that counts here is a float
        push(PickleKind::kFloat);
        return true;
      case kBinUnicode:
        push_string(take(unsigned_integer(4)));
        return true;
      default:
        return false;
    }
  }

  [[noreturn]] void unknown(uint8_t opcode) const {
    fail(ErrorCode::kCheckpoint,
         "{}: data.pkl: instruction 0x{:02x} before byte {} is not one that describes tensors, so "
         "it is not run: get the weights as safetensors",
         source_, opcode, position_);
  }

  std::string_view take(size_t size) {
    if (size > bytes_.size() - position_) damaged("the stream ends too early");
    const auto* text = reinterpret_cast<const char*>(bytes_.data()) + position_;
    position_ += size;
    return {text, size};
  }

  uint8_t byte() { return static_cast<uint8_t>(take(1)[0]); }

  uint32_t unsigned_integer(size_t size) {
    uint32_t value = 0;
    const std::string_view text = take(size);
    std::memcpy(&value, text.data(), size);
    return value;
  }

  // Up to a line break, which is taken too.
  std::string_view take_line() {
    const size_t limit = std::min(bytes_.size() - position_, kLongestGlobal + 1);
    const std::string_view ahead(reinterpret_cast<const char*>(bytes_.data()) + position_, limit);
    const size_t length = ahead.find('\n');
    if (length == std::string_view::npos) damaged("a name without end");
    return take(length + 1).substr(0, length);
  }

  PickledValue& push(PickleKind kind) {
    if (pickle_.values.size() == kMaxValues) damaged("too many values");
    push_index(static_cast<uint32_t>(pickle_.values.size()));
    PickledValue& value = pickle_.values.emplace_back();
    value.kind = kind;
    return value;
  }

  void push_index(uint32_t index) {
    if (++pushes_ > 2 * kMaxValues) damaged("too many values");
    stack_.push_back(index);
  }

  void push_integer(int64_t value) { push(PickleKind::kInteger).integer = value; }

  void push_string(std::string_view text) {
    if (!is_utf8(text)) damaged("a string that is not UTF-8");
    push(PickleKind::kString).text = text;
  }

  // A two's complement integer, little-endian.
  void push_long(size_t size) {
    const std::string_view text = take(size);
    if (size > sizeof(int64_t)) damaged("an integer of more than 64 bits");
    const bool negative = size > 0 && static_cast<uint8_t>(text.back()) >= 0x80;
    int64_t value = negative ? -1 : 0;
    if (size > 0) std::memcpy(&value, text.data(), size);
    push_integer(value);
  }

  void push_tuple(std::vector<uint32_t> items) {
    const uint8_t depth = depth_over(items);
    PickledValue& value = push(PickleKind::kTuple);
    value.items = std::move(items);
    value.depth = depth;
  }

  void push_global() {
    const std::string_view module = take_line();
    const std::string_view name = take_line();
    for (size_t i = 0; i < kGlobals.size(); ++i) {
      if (kGlobals[i].module != module || kGlobals[i].name != name) continue;
      push(PickleKind::kGlobal).integer = static_cast<int64_t>(i);
      return;
    }
    fail(ErrorCode::kCheckpoint,
         "{}: data.pkl names {}.{}, which is no part of a dictionary of tensors and is not run: "
         "get the weights as safetensors, or from a source you trust",
         source_, printable(module), printable(name));
  }

  void mark() {
    if (marks_.size() == kMaxPickleDepth) damaged("nested deeper than 64");
    marks_.push_back(stack_.size());
  }

  std::vector<uint32_t> pop_many(size_t count) {
    const size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() - floor < count) damaged("the stack is empty");
    const auto first = stack_.end() - static_cast<std::ptrdiff_t>(count);
    std::vector<uint32_t> items(first, stack_.end());
    stack_.erase(first, stack_.end());
    return items;
  }

  std::vector<uint32_t> pop_to_mark() {
    if (marks_.empty()) damaged("no mark on the stack");
    std::vector<uint32_t> items = pop_many(stack_.size() - marks_.back());
    marks_.pop_back();
    return items;
  }

  uint32_t pop() { return pop_many(1)[0]; }

  PickledValue& top() {
    const size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() == floor) damaged("the stack is empty");
    return pickle_.values[stack_.back()];
  }

  const PickledValue& at(uint32_t index) const { return pickle_.values[index]; }

  // Depth of a container that holds `items`.
  uint8_t depth_over(const std::vector<uint32_t>& items) const {
    int depth = 1;
    for (const uint32_t item : items) depth = std::max(depth, at(item).depth + 1);
    if (depth > kMaxPickleDepth) damaged("nested deeper than 64");
    return static_cast<uint8_t>(depth);
  }

  void extend(const std::vector<uint32_t>& items, PickleKind kind) {
    PickledValue& target = top();
    if (target.kind != kind) damaged("items for something that takes none");
    if (kind == PickleKind::kDict && items.size() % 2 != 0) damaged("a key without value");
    target.depth = std::max(target.depth, depth_over(items));
    target.items.insert(target.items.end(), items.begin(), items.end());
  }

  void put(uint32_t key) {
    top();
    if (memo_.size() == kMaxMemo) damaged("more than 1000000 memo entries");
    memo_[key] = stack_.back();
  }

  void get(uint32_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) damaged("an unknown memo entry");
    push_index(found->second);
  }

  // The persistent id ("storage", type, key, device, number of elements). The device is where the
  // tensor was; it does not matter here.
  void load_storage() {
    const PickledValue& id = at(pop());
    if (id.kind != PickleKind::kTuple || id.items.size() != 5) damaged("not a storage");
    const bool fits = at(id.items[0]).text == "storage" && is_storage_type(at(id.items[1])) &&
                      at(id.items[2]).kind == PickleKind::kString && natural(id.items[4]);
    if (!fits) damaged("not a storage");
    std::vector<uint32_t> items = id.items;  // push() moves the values
    push(PickleKind::kStorage).items = std::move(items);
  }

  static bool is_storage_type(const PickledValue& value) {
    return value.kind == PickleKind::kGlobal &&
           kGlobals[static_cast<size_t>(value.integer)].meaning == Meaning::kStorage;
  }

  std::optional<int64_t> natural(uint32_t index) const {
    const PickledValue& value = at(index);
    if (value.kind != PickleKind::kInteger || value.integer < 0) return std::nullopt;
    return value.integer;
  }

  // Calls in Python; here the result is built from the arguments.
  void reduce() {
    const uint32_t arguments_index = pop();
    const PickledValue& function = at(pop());
    const PickledValue& arguments = at(arguments_index);
    if (function.kind != PickleKind::kGlobal || arguments.kind != PickleKind::kTuple) {
      damaged("a call of something that is not a function");
    }
    switch (kGlobals[static_cast<size_t>(function.integer)].meaning) {
      case Meaning::kOrderedDict:
        if (!arguments.items.empty()) damaged("an OrderedDict with arguments");
        push(PickleKind::kDict);
        return;
      case Meaning::kTensor:
        push_tensor(arguments.items);
        return;
      case Meaning::kParameter:  // (tensor, requires_grad, hooks)
        if (arguments.items.empty() || at(arguments.items[0]).kind != PickleKind::kTensor) {
          damaged("a parameter without tensor");
        }
        push_index(arguments.items[0]);
        return;
      case Meaning::kStorage:
        damaged("a call of a storage type");
    }
  }

  // (storage, offset, size, stride, requires_grad, hooks), newer files also metadata at the end.
  void push_tensor(const std::vector<uint32_t>& arguments) {
    if (arguments.size() < 4) damaged("a tensor with too few arguments");
    const PickledValue& storage = at(arguments[0]);
    const std::optional<int64_t> offset = natural(arguments[1]);
    if (storage.kind != PickleKind::kStorage || !offset) damaged("a tensor without storage");
    PickledTensor tensor;
    tensor.storage = at(storage.items[2]).text;
    tensor.dtype = kGlobals[static_cast<size_t>(at(storage.items[1]).integer)].dtype;
    tensor.storage_elements = at(storage.items[4]).integer;
    tensor.offset = *offset;
    tensor.shape = naturals(arguments[2]);
    tensor.strides = naturals(arguments[3]);
    if (tensor.shape.size() != tensor.strides.size()) damaged("a tensor with too few strides");
    push(PickleKind::kTensor).integer = static_cast<int64_t>(pickle_.tensors.size());
    pickle_.tensors.push_back(std::move(tensor));
  }

  std::vector<int64_t> naturals(uint32_t index) const {
    const PickledValue& tuple = at(index);
    if (tuple.kind != PickleKind::kTuple || tuple.items.size() > kMaxAxes) {
      damaged("a tensor whose size or stride is not a tuple of at most 8 integers");
    }
    std::vector<int64_t> numbers;
    for (const uint32_t item : tuple.items) {
      const std::optional<int64_t> number = natural(item);
      if (!number) damaged("a negative or missing size, stride or offset");
      numbers.push_back(*number);
    }
    return numbers;
  }

  // Attributes of an object. A state dict's OrderedDict has one, _metadata, which is not needed.
  void build() {
    pop();
    if (top().kind != PickleKind::kDict) damaged("attributes for something that takes none");
  }

  std::span<const std::byte> bytes_;
  const std::string& source_;
  size_t position_ = 0;
  Pickle pickle_;
  std::vector<uint32_t> stack_;  // indices of values
  std::vector<size_t> marks_;    // sizes of the stack
  std::unordered_map<uint32_t, uint32_t> memo_;
  size_t pushes_ = 0;
};

}  // namespace

Pickle read_pickle(std::span<const std::byte> bytes, const std::string& source) {
  return Machine(bytes, source).run();
}

}  // namespace zoetrope
