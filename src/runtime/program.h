// SPDX-License-Identifier: Apache-2.0
// Compiled entries: their Plans and where packed constants are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "backend/plan.h"
#include "graph/graph.h"
#include "models/model.h"
#include "zoetrope/autoencoder.h"

namespace zoetrope {

struct Program {
  Plan plan;
  std::vector<const std::byte*> constants;  // by index in plan.constants
  graph::Graph model;  // before any pass and without its constants: the published arithmetic
};

// One direction of a model: the first step, and those that follow.
struct Codec {
  Program first;
  Program next;
};

// An entry before its constants are packed.
struct PlannedEntry {
  Plan plan;
  graph::Graph model;      // before any pass
  graph::Graph optimised;  // after all: its constants are the Plan's
};

struct PlannedCodec {
  PlannedEntry first;
  PlannedEntry next;
};

struct CodecEntries {
  models::Entry first;
  models::Entry next;
  DType operands;
};

// Builds, optimises and lowers an entry. Of the weights no more is read than passes need.
PlannedEntry plan_entry(const models::Model& model, models::Entry entry, DType operands,
                        const Target& target, const std::vector<std::string>& disabled_passes);

// The constant that the Plan of `entry` calls so.
const graph::Constant& constant_of(const PlannedEntry& entry, const PackedConstant& packed);

PlannedCodec plan_codec(const models::Model& model, const CodecEntries& entries,
                        const Target& target, const std::vector<std::string>& disabled_passes);

// A packed constant in host memory: in `storage`, or where it stays as long as who gave it.
struct PackedBytes {
  std::span<const std::byte> bytes;
  std::vector<std::byte> storage = {};
};

// Gives a constant in a layout.
using PackedSource = std::function<PackedBytes(const graph::Constant&, const std::string& layout)>;

// Reads a constant's values and packs them for `target`, which must stay. `source`: what messages
// call the weights.
PackedSource packing_for(const Target& target, std::string source);

// Packed constants where kernels read them, each kept once however many entries read it.
class ConstantStore {
 public:
  // `source` is kept, and with it what its bytes need.
  ConstantStore(const Backend& backend, PackedSource source)
      : backend_(backend), source_(std::move(source)) {}

  // Fetches the constant, unless it is there already.
  const std::byte* get(const graph::Constant& constant, const std::string& layout);

  int64_t bytes() const { return bytes_; }
  int64_t bytes_on_device() const { return on_host_.empty() ? bytes_ : 0; }

  // Moves all that is not read in place to the host's memory, where nothing can use it. After the
  // last get().
  void unload();

  // Brings all back after unload() and says where each address is now; else empty. Throws
  // kOutOfMemory, and leaves all where it is.
  std::map<const std::byte*, const std::byte*> reload();

 private:
  const std::byte* fetch(const graph::Constant& constant, const std::string& layout);

  const Backend& backend_;
  PackedSource source_;
  std::map<std::pair<std::string, std::string>, const std::byte*> constants_;
  std::vector<std::unique_ptr<Memory>> memory_;
  std::vector<std::pair<const std::byte*, std::vector<std::byte>>> on_host_;  // by old address
  int64_t bytes_ = 0;
};

// Fetches the constants of both entries one at a time, reporting to `options`.
Codec with_constants(PlannedCodec planned, ConstantStore& store, const LoadOptions& options);

}  // namespace zoetrope
