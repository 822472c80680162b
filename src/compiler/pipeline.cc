// SPDX-License-Identifier: Apache-2.0
#include "compiler/pipeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "base/fail.h"
#include "compiler/passes.h"
#include "graph/verify.h"

namespace zoetrope::compiler {
namespace {

constexpr std::array kPasses = {
    Pass{"fold-linear", "fold 1x1x1 convs into the conv before them", fold_linear},
    Pass{"fold-upsample", "nearest upsampling and its conv as four smaller convs", fold_upsample},
    Pass{"assign-types", "give every value its type by the policy", assign_types},
    Pass{"fuse-interleave", "frame interleaving as a conv's store addresses", fuse_interleave},
    Pass{"fuse-residual", "residual additions in the conv before them", fuse_residual},
    Pass{"fuse-shortcut", "1x1x1 shortcuts as terms of the conv they are added to", fuse_shortcut},
    Pass{"fuse-silu", "SiLU in the RMS norm before it", fuse_silu},
    Pass{"fuse-norm", "RMS norms in the conv before them", fuse_norm},
};

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

void check_names(const std::vector<std::string>& disabled) {
  std::vector<std::string> known;
  for (const Pass& pass : kPasses) known.emplace_back(pass.name);
  for (const std::string& name : disabled) {
    if (contains(known, name)) continue;
    fail(ErrorCode::kInvalidArgument,
         "--disable-pass {}: no compiler pass has this name; there are {}", name,
         fmt::join(known, ", "));
  }
}

}  // namespace

std::span<const Pass> passes() { return kPasses; }

PassReport run_pass(graph::Graph& graph, const Pass& pass, const PassContext& context) {
  const auto start = std::chrono::steady_clock::now();
  const int changes = pass.run(graph, context);
  graph::verify(graph);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return {.name = pass.name, .changes = changes, .seconds = elapsed.count()};
}

std::vector<PassReport> run_passes(graph::Graph& graph, const PassContext& context,
                                   const std::vector<std::string>& disabled) {
  check_names(disabled);
  std::vector<PassReport> reports;
  for (const Pass& pass : kPasses) {
    if (!contains(disabled, pass.name)) reports.push_back(run_pass(graph, pass, context));
  }
  return reports;
}

}  // namespace zoetrope::compiler
