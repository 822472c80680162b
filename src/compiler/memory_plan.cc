// SPDX-License-Identifier: Apache-2.0
#include "compiler/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "base/checked_math.h"
#include "base/fail.h"

namespace zoetrope::compiler {
namespace {

// Extent::bytes without overflow.
int64_t checked_bytes(const Buffer& buffer, int64_t n, int64_t height, int64_t width) {
  const Extent& extent = buffer.extent;
  const std::vector<int64_t> factors = {extent.frames,          extent.frames_per_latent ? n : 1,
                                        height / extent.stride, width / extent.stride,
                                        extent.channels,        size_of(extent.dtype)};
  const auto bytes = checked_element_count(factors);
  const int64_t limit = int64_t{1} << 50;  // far beyond any machine, and sums stay exact
  if (!bytes || *bytes > limit) {
    fail(ErrorCode::kOutOfMemory,
         "{}: {} latent frames of a {}x{} video need more than any machine has; use a smaller size",
         buffer.name, n, width, height);
  }
  return *bytes + buffer.extra_bytes;
}

bool live_together(const Buffer& a, const Buffer& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

// The lowest offset at which a buffer meets none of those placed already (sorted by offset).
int64_t lowest_gap(const std::vector<std::pair<int64_t, int64_t>>& taken, int64_t size,
                   int64_t alignment) {
  int64_t offset = 0;
  for (const auto& [begin, end] : taken) {
    if (offset + size <= begin) break;
    offset = std::max(offset, round_up(end, alignment));
  }
  return offset;
}

}  // namespace

MemoryLayout memory_plan(const Plan& plan, int64_t n, int64_t height, int64_t width) {
  MemoryLayout layout;
  layout.offsets.resize(plan.buffers.size());
  std::vector<int64_t> sizes;
  std::vector<size_t> arena;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    sizes.push_back(checked_bytes(buffer, n, height, width));
    if (buffer.kind != BufferKind::kState) {
      arena.push_back(i);
      continue;
    }
    layout.offsets[i] = round_up(layout.state_bytes, buffer.alignment);
    layout.state_bytes = layout.offsets[i] + sizes[i];
  }
  // Largest first: small buffers then fill the gaps. Ties keep the order of the Plan.
  std::ranges::stable_sort(arena, [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });
  std::vector<size_t> placed;
  for (const size_t i : arena) {
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (const size_t j : placed) {
      if (live_together(plan.buffers[i], plan.buffers[j])) {
        taken.emplace_back(layout.offsets[j], layout.offsets[j] + sizes[j]);
      }
    }
    std::ranges::sort(taken);
    layout.offsets[i] = lowest_gap(taken, sizes[i], plan.buffers[i].alignment);
    layout.arena_bytes = std::max(layout.arena_bytes, layout.offsets[i] + sizes[i]);
    placed.push_back(i);
  }
  return layout;
}

}  // namespace zoetrope::compiler
