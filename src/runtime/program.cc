// SPDX-License-Identifier: Apache-2.0
#include "runtime/program.h"

#include "base/fail.h"
#include "base/finite.h"
#include "compiler/lower.h"
#include "compiler/pipeline.h"

namespace zoetrope {
namespace {

graph::Graph optimised(graph::Graph graph, DType operands, const Backend& backend,
                       const LoadOptions& options) {
  compiler::run_passes(graph, {.target = backend.target(), .operands = operands},
                       options.disabled_passes);
  return graph;
}

const graph::Constant& constant_named(const graph::Graph& graph, const std::string& name) {
  for (const graph::Constant& constant : graph.constants) {
    if (constant.name == name) return constant;
  }
  fail(ErrorCode::kInternal, "plan {}: no constant is named {}", graph.name, name);
}

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

const Memory& ConstantStore::get(const graph::Constant& constant, const std::string& layout) {
  std::unique_ptr<Memory>& memory = constants_[{constant.name, layout}];
  if (memory == nullptr) {
    const std::vector<float> values = constant.read();
    check_finite(source_, constant, values);
    const std::vector<std::byte> packed = backend_.target().pack(layout, constant.shape, values);
    const auto size = static_cast<int64_t>(packed.size());
    memory = backend_.allocate(size);
    backend_.copy_from_host(memory->data(), packed.data(), size);
    bytes_ += size;
  }
  return *memory;
}

Codec compile_codec(const models::Model& model, const CodecEntries& entries, const Backend& backend,
                    const LoadOptions& options, ConstantStore& store) {
  Codec codec = {.first = {.plan = {}, .constants = {}, .model = model.graph(entries.first)},
                 .next = {.plan = {}, .constants = {}, .model = model.graph(entries.next)}};
  const graph::Graph first_graph = optimised(codec.first.model, entries.operands, backend, options);
  const graph::Graph next_graph = optimised(codec.next.model, entries.operands, backend, options);
  codec.first.plan = compiler::lower(first_graph, backend.target());
  codec.next.plan = compiler::lower(next_graph, backend.target());
  const auto total =
      static_cast<int64_t>(codec.first.plan.constants.size() + codec.next.plan.constants.size());
  int64_t done = 0;
  const auto pack = [&](Program& program, const graph::Graph& graph) {
    for (PackedConstant& constant : program.plan.constants) {
      if (options.cancelled && options.cancelled()) fail(ErrorCode::kCancelled, "cancelled");
      const Memory& memory = store.get(constant_named(graph, constant.name), constant.layout);
      program.constants.push_back(memory.data());
      constant.bytes = memory.size();
      if (options.progress) options.progress(++done, total);
    }
  };
  pack(codec.next, next_graph);
  pack(codec.first, first_graph);
  codec.next.model.constants.clear();  // they hold the checkpoint
  codec.first.model.constants.clear();
  return codec;
}

}  // namespace zoetrope
