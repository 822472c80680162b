// SPDX-License-Identifier: Apache-2.0
// A compiled entry: its Plan and where its packed constants are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
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

// Packed constants on the device, each kept once however many entries read it.
class ConstantStore {
 public:
  // `source`: what messages call the weights.
  explicit ConstantStore(const Backend& backend, std::string source = "weights")
      : backend_(backend), source_(std::move(source)) {}

  // Reads, packs and keeps the constant, unless it is there already.
  const Memory& get(const graph::Constant& constant, const std::string& layout);

  int64_t bytes() const { return bytes_; }

 private:
  const Backend& backend_;
  std::string source_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<Memory>> constants_;
  int64_t bytes_ = 0;
};

struct CodecEntries {
  models::Entry first;
  models::Entry next;
  DType operands;
};

// Builds, optimises and lowers both entries and packs their constants one at a time.
Codec compile_codec(const models::Model& model, const CodecEntries& entries, const Backend& backend,
                    const LoadOptions& options, ConstantStore& store);

}  // namespace zoetrope
