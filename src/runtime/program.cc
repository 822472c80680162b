// SPDX-License-Identifier: Apache-2.0
#include "runtime/program.h"

#include "base/fail.h"
#include "base/finite.h"
#include "compiler/lower.h"
#include "compiler/pipeline.h"

namespace zoetrope {
namespace {

// One such value makes every picture black or gray, without a word.
void check_finite(const std::string& source, const graph::Constant& constant,
                  const std::vector<float>& values) {
  const int64_t bad = find_not_finite(values.data(), static_cast<int64_t>(values.size()));
  if (bad < 0) return;
  fail(ErrorCode::kCheckpoint,
       "{}: tensor {}: expected finite values, found {} at index {} of {}: the checkpoint is "
       "damaged, get it again",
       source, constant.name, values[static_cast<size_t>(bad)], bad, values.size());
}

}  // namespace

PlannedEntry plan_entry(const models::Model& model, models::Entry entry, DType operands,
                        const Target& target, const std::vector<std::string>& disabled_passes) {
  PlannedEntry planned = {.plan = {}, .model = model.graph(entry), .optimised = {}};
  planned.optimised = planned.model;
  compiler::run_passes(planned.optimised, {.target = target, .operands = operands},
                       disabled_passes);
  planned.plan = compiler::lower(planned.optimised, target);
  return planned;
}

PlannedCodec plan_codec(const models::Model& model, const CodecEntries& entries,
                        const Target& target, const std::vector<std::string>& disabled_passes) {
  return {.first = plan_entry(model, entries.first, entries.operands, target, disabled_passes),
          .next = plan_entry(model, entries.next, entries.operands, target, disabled_passes)};
}

const graph::Constant& constant_of(const PlannedEntry& entry, const PackedConstant& packed) {
  for (const graph::Constant& constant : entry.optimised.constants) {
    if (constant.name == packed.name) return constant;
  }
  fail(ErrorCode::kInternal, "plan {}: no constant is named {}", entry.plan.entry, packed.name);
}

PackedSource packing_for(const Target& target, std::string source) {
  return [&target, source = std::move(source)](const graph::Constant& constant,
                                               const std::string& layout) {
    const std::vector<float> values = constant.read();
    check_finite(source, constant, values);
    PackedBytes packed = {.bytes = {}, .storage = target.pack(layout, constant.shape, values)};
    packed.bytes = packed.storage;
    return packed;
  };
}

const std::byte* ConstantStore::get(const graph::Constant& constant, const std::string& layout) {
  const std::byte*& data = constants_[{constant.name, layout}];
  if (data == nullptr) data = fetch(constant, layout);
  return data;
}

const std::byte* ConstantStore::fetch(const graph::Constant& constant, const std::string& layout) {
  const PackedBytes packed = source_(constant, layout);
  const auto size = static_cast<int64_t>(packed.bytes.size());
  bytes_ += size;
  const bool stays = packed.storage.empty();
  if (stays && backend_.reads_in_place(packed.bytes.data())) return packed.bytes.data();
  memory_.push_back(backend_.allocate(size));
  backend_.copy_from_host(memory_.back()->data(), packed.bytes.data(), size);
  return memory_.back()->data();
}

void ConstantStore::unload() {
  if (!on_host_.empty()) return;
  decltype(on_host_) on_host;  // all or, if one fails, nothing is moved
  for (const auto& memory : memory_) {
    std::vector<std::byte> bytes(static_cast<size_t>(memory->size()));
    backend_.copy_to_host(bytes.data(), memory->data(), memory->size());
    on_host.emplace_back(memory->data(), std::move(bytes));
  }
  on_host_ = std::move(on_host);
  memory_.clear();
}

std::map<const std::byte*, const std::byte*> ConstantStore::reload() {
  std::map<const std::byte*, const std::byte*> moved;
  std::vector<std::unique_ptr<Memory>> memory;
  for (const auto& [old, bytes] : on_host_) {
    memory.push_back(backend_.allocate(std::ssize(bytes)));
    backend_.copy_from_host(memory.back()->data(), bytes.data(), std::ssize(bytes));
    moved[old] = memory.back()->data();
  }
  if (!on_host_.empty()) memory_ = std::move(memory);
  on_host_.clear();
  return moved;
}

Codec with_constants(PlannedCodec planned, ConstantStore& store, const LoadOptions& options) {
  const auto total = static_cast<int64_t>(planned.first.plan.constants.size() +
                                          planned.next.plan.constants.size());
  int64_t done = 0;
  const auto program_of = [&](PlannedEntry& entry) {
    Program program = {.plan = std::move(entry.plan), .constants = {}, .model = {}};
    for (const PackedConstant& constant : program.plan.constants) {
      if (options.cancelled && options.cancelled()) fail(ErrorCode::kCancelled, "cancelled");
      program.constants.push_back(store.get(constant_of(entry, constant), constant.layout));
      if (options.progress) options.progress(++done, total);
    }
    program.model = std::move(entry.model);
    program.model.constants.clear();  // they hold the checkpoint
    return program;
  };
  Codec codec;
  codec.next = program_of(planned.next);
  codec.first = program_of(planned.first);
  return codec;
}

}  // namespace zoetrope
