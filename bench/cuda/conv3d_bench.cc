// SPDX-License-Identifier: Apache-2.0
// Checks the Hopper convs against a plain conv in double, then times them.
//
// usage: conv3d_bench [match=TEXT|case=NAME|json] [check|time|tune|once]...
//        default: check time; exit status 1 if a check fails
// match: cases whose name contains TEXT; case: the one of that name; json: times as JSON lines,
// with the shape, for compare_cudnn.py
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "bench/cuda/conv3d_cases.h"
#include "bench/cuda/conv3d_check.h"
#include "bench/cuda/stopwatch.h"

namespace zoetrope::bench {
namespace {

using cuda::Conv3dArgs;
using cuda::Conv3dStore;
using cuda::Conv3dTile;

constexpr int64_t kHalf = 2;  // bytes

std::unique_ptr<DeviceArray> random_array(int64_t count, DType type, float scale, uint64_t seed) {
  auto array = std::make_unique<DeviceArray>(count * (type == DType::kFloat32 ? 4 : kHalf));
  array->fill_random(type, scale, seed);
  return array;
}

// `chunk`: of a shortcut's weight, else 0.
std::unique_ptr<DeviceArray> packed(const DeviceArray& weight, const Case& c, int64_t parts,
                                    int64_t chunk = 0) {
  const std::vector<std::byte> values = weight.download();
  const Window& w = c.window;
  const cuda::Conv3dSm90Weight shape = {.values = reinterpret_cast<const float*>(values.data()),
                                        .filters = c.c_out * parts,
                                        .c_in = c.c_in,
                                        .kernel_time = w.kernel_time,
                                        .kernel_height = w.kernel_height,
                                        .kernel_width = w.kernel_width,
                                        .stride_space = w.stride_space,
                                        .chunk = chunk,
                                        .parts = parts,
                                        .operands = c.operands};
  std::vector<std::byte> bytes(static_cast<size_t>(cuda::conv3d_sm90_packed_bytes(shape)));
  cuda::conv3d_sm90_pack(shape, bytes.data());
  auto array = std::make_unique<DeviceArray>(static_cast<int64_t>(bytes.size()));
  check(cudaMemcpy(array->data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice), "pack");
  return array;
}

// Which cases, and how their times are printed.
struct Selection {
  std::string_view match = {};
  std::string_view name = {};
  bool json = false;

  bool has(const Case& c) const {
    if (!name.empty()) return name == c.name;
    return std::string_view(c.name).find(match) != std::string_view::npos;
  }
};

int64_t parts_of(Conv3dStore store) { return Conv3dArgs{.store = store}.parts(); }

// All that a conv reads and writes.
struct Job {
  Case c;
  Conv3dArgs args;
  std::unique_ptr<DeviceArray> x, history, weight, weight_packed, bias, gamma, shortcut,
      shortcut_weight, shortcut_packed, residual, y, activated;

  explicit Job(const Case& from, uint64_t seed) : c(from) {
    const Window& w = c.window;
    const int64_t past = w.kernel_time - w.stride_time;
    const int64_t taps = w.kernel_time * w.kernel_height * w.kernel_width;
    const int64_t filters = c.c_out * parts_of(c.store);
    const int64_t pixels = c.height * c.width;
    x = random_array(c.frames * pixels * c.pixel(), c.operands, 1.0f, seed + 1);
    if (past > 0) history = random_array(past * pixels * c.pixel(), c.operands, 1.0f, seed + 2);
    const auto fan_in = static_cast<float>(taps * c.c_in + c.c_shortcut);
    weight =
        random_array(filters * c.c_in * taps, DType::kFloat32, 1 / std::sqrt(fan_in), seed + 3);
    weight_packed = packed(*weight, c, parts_of(c.store));
    bias = random_array(filters, DType::kFloat32, 0.5f, seed + 4);
    gamma = random_array(c.c_out, DType::kFloat32, 1.0f, seed + 5);
    args = {.operands = c.operands,
            .residual_type = c.raw,
            .y_type = c.raw,
            .activated_type = c.operands,
            .x = x->data(),
            .history = past > 0 ? history->data() : nullptr,
            .frames = c.frames,
            .height = c.height,
            .width = c.width,
            .c_in = c.c_in,
            .pixel_stride = c.pixel_stride,
            .kernel_time = w.kernel_time,
            .kernel_height = w.kernel_height,
            .kernel_width = w.kernel_width,
            .first_tap = w.first_tap,
            .stride_time = w.stride_time,
            .stride_space = w.stride_space,
            .pad_before = w.pad_before,
            .weight = weight_packed->data(),
            .bias = static_cast<const float*>(bias->data()),
            .gamma = c.activated ? static_cast<const float*>(gamma->data()) : nullptr,
            .silu = c.silu,
            .store = c.store,
            .c_out = c.c_out};
    const int64_t outputs = out_elements(args);
    if (c.c_shortcut > 0) add_shortcut(outputs / c.c_out, seed, 1 / std::sqrt(fan_in));
    if (c.residual) {
      residual = random_array(outputs, c.raw, 1.0f, seed + 6);
      args.residual = residual->data();
    }
    if (c.y) y = std::make_unique<DeviceArray>(outputs * kHalf);
    if (c.activated) activated = std::make_unique<DeviceArray>(outputs * kHalf);
    if (c.y) args.y = y->data();
    if (c.activated) args.activated = activated->data();
  }

  void add_shortcut(int64_t pixels, uint64_t seed, float scale) {
    shortcut = random_array(pixels * c.c_shortcut, c.operands, 1.0f, seed + 7);
    shortcut_weight = random_array(c.c_out * c.c_shortcut, DType::kFloat32, scale, seed + 8);
    Case point = c;
    point.c_in = c.c_shortcut;
    point.window = {};
    shortcut_packed = packed(*shortcut_weight, point, 1, cuda::conv3d_sm90_chunk(args));
    args.shortcut = shortcut->data();
    args.shortcut_weight = shortcut_packed->data();
    args.c_shortcut = c.c_shortcut;
  }

  PlainConv plain(double* raw, double* normalized) const {
    return {.args = args,
            .weight = static_cast<const float*>(weight->data()),
            .shortcut_weight =
                shortcut_weight ? static_cast<const float*>(shortcut_weight->data()) : nullptr,
            .raw = raw,
            .activated = normalized};
  }

  double flops() const {
    const Window& w = c.window;
    const int64_t taps = (w.kernel_time - w.first_tap) * w.kernel_height * w.kernel_width;
    return 2.0 * static_cast<double>(out_elements(args)) *
           static_cast<double>(taps * c.c_in + c.c_shortcut);
  }
};

void run(const Conv3dArgs& args, const Conv3dTile& tile) {
  const std::string refusal = cuda::conv3d_sm90_refusal(args);
  if (!refusal.empty()) {
    std::fprintf(stderr, "refused: %s\n", refusal.c_str());
    std::exit(1);
  }
  check(cuda::conv3d_sm90(args, tile, nullptr), "conv3d_sm90");
}

cuda::Conv3dCut cut_of(const Case& c) {
  return cuda::conv3d_cut({.filters = c.c_out,
                           .c_in = c.c_in,
                           .kernel_width = c.window.kernel_width,
                           .stride_space = c.window.stride_space});
}

// ---- checks

// A few values of the plain conv in double on the GPU against the same on the host.
bool plain_agrees(const Job& job, const DeviceArray& raw) {
  const auto host = [](const std::unique_ptr<DeviceArray>& a) {
    return a ? a->download() : std::vector<std::byte>();
  };
  const auto x = host(job.x), history = host(job.history), weight = host(job.weight),
             bias = host(job.bias), residual = host(job.residual), shortcut = host(job.shortcut),
             shortcut_weight = host(job.shortcut_weight), values = raw.download();
  PlainConv conv = job.plain(nullptr, nullptr);
  conv.args.x = x.data();
  conv.args.history = history.data();
  conv.weight = reinterpret_cast<const float*>(weight.data());
  conv.shortcut_weight = reinterpret_cast<const float*>(shortcut_weight.data());
  conv.args.bias = reinterpret_cast<const float*>(bias.data());
  conv.args.residual = job.residual ? residual.data() : nullptr;
  conv.args.shortcut = job.shortcut ? shortcut.data() : nullptr;
  const int64_t height = out_height(job.args), width = out_width(job.args), c_out = job.args.c_out;
  for (int64_t i = 0; i < 64; ++i) {
    const int64_t at = i * 7919 * 31 % out_elements(job.args);
    const int64_t pixel = at / c_out;
    const double expected = plain_raw_on_host(conv, pixel / width / height, pixel / width % height,
                                              pixel % width, at % c_out);
    const double found = reinterpret_cast<const double*>(values.data())[at];
    if (!(std::abs(found - expected) < 1e-9)) return false;
  }
  return true;
}

bool same_bytes(const std::unique_ptr<DeviceArray>& a, const std::vector<std::byte>& expected) {
  return !a || std::memcmp(a->download().data(), expected.data(), expected.size()) == 0;
}

// Every tile shape and other depths of the rings must give the same bits.
bool tiles_agree(Job& job) {
  const Conv3dTile chosen = cuda::conv3d_sm90_tile(job.args);
  const std::vector<std::byte> y = job.y ? job.y->download() : std::vector<std::byte>();
  const std::vector<std::byte> activated =
      job.activated ? job.activated->download() : std::vector<std::byte>();
  const cuda::Conv3dCut cut = cut_of(job.c);
  for (int blocks = cut.blocks() / cut.cluster; blocks <= cut.blocks(); blocks *= 2) {
    for (int x = 1; x <= blocks; x *= 2) {
      Conv3dTile tile = chosen;
      tile.blocks_x = x;
      tile.blocks_y = blocks / x;
      tile.stages_a = 2;
      tile.stages_b = 3;
      if (job.y) job.y->poison();
      if (job.activated) job.activated->poison();
      run(job.args, tile);
      if (!same_bytes(job.y, y) || !same_bytes(job.activated, activated)) return false;
    }
  }
  return true;
}

// All frames at once, then one and the rest with history: the same bits.
bool cuts_agree(Job& job) {
  const Conv3dArgs& w = job.args;
  if (job.args.frames < 2 || w.stride_time != 1 || w.first_tap != 0) return true;
  const std::vector<std::byte> y = job.y ? job.y->download() : std::vector<std::byte>();
  const std::vector<std::byte> activated =
      job.activated ? job.activated->download() : std::vector<std::byte>();
  const int64_t in_frame = job.args.height * job.args.width * job.c.pixel() * kHalf;
  const int64_t out_frame = out_elements(job.args) / job.args.frames * kHalf;
  const int64_t past = w.kernel_time - 1;
  DeviceArray history(std::max<int64_t>(past, 1) * in_frame);
  if (job.y) job.y->poison();
  if (job.activated) job.activated->poison();
  for (int64_t t = 0; t < job.args.frames; ++t) {
    for (int64_t i = 0; i < past; ++i) {
      const int64_t from = t - past + i;
      const std::byte* source =
          from < 0 ? job.history->at((from + past) * in_frame) : job.x->at(from * in_frame);
      check(cudaMemcpy(history.at(i * in_frame), source, in_frame, cudaMemcpyDeviceToDevice),
            "history");
    }
    Conv3dArgs args = job.args;
    args.frames = 1;
    args.x = job.x->at(t * in_frame);
    args.history = history.data();
    if (args.y != nullptr) args.y = job.y->at(t * out_frame);
    if (args.activated != nullptr) args.activated = job.activated->at(t * out_frame);
    if (args.residual != nullptr) args.residual = job.residual->at(t * out_frame);
    if (args.shortcut != nullptr) {
      args.shortcut = job.shortcut->at(t * args.height * args.width * args.c_shortcut * kHalf);
    }
    run(args, cuda::conv3d_sm90_tile(args));
  }
  return same_bytes(job.y, y) && same_bytes(job.activated, activated);
}

bool check_case(const Case& c, uint64_t seed) {
  Job job(c, seed);
  const int64_t count = out_elements(job.args);
  DeviceArray raw(count * 8);
  DeviceArray activated(count * 8);
  auto* normalized = c.activated ? static_cast<double*>(activated.data()) : nullptr;
  run_plain(job.plain(static_cast<double*>(raw.data()), normalized));
  run(job.args, cuda::conv3d_sm90_tile(job.args));
  check(cudaDeviceSynchronize(), c.name);
  const bool plain_ok = plain_agrees(job, raw);
  Difference dy, da;
  if (job.y) dy = compare(*job.y, c.raw, static_cast<double*>(raw.data()), count);
  if (job.activated) {
    da = compare(*job.activated, c.operands, static_cast<double*>(activated.data()), count);
  }
  const bool tiles = tiles_agree(job);
  const bool cuts = cuts_agree(job);
  const bool guards =
      (!job.y || job.y->guard_intact()) && (!job.activated || job.activated->guard_intact());
  const bool ok = plain_ok && dy.ok() && da.ok() && tiles && cuts && guards;
  std::printf("%-27s raw %.2e (%.2f)  activated %.2e (%.2f)%s%s%s%s  %s\n", c.name, dy.relative,
              dy.worst, da.relative, da.worst, plain_ok ? "" : " PLAIN", tiles ? "" : " TILES",
              cuts ? "" : " CUTS", guards ? "" : " GUARD", ok ? "ok" : "WRONG");
  std::fflush(stdout);
  return ok;
}

bool check_all(const Selection& selection) {
  bool ok = true;
  uint64_t seed = 1;
  for (const Case& c : kChecks) {
    if (selection.has(c)) ok &= check_case(c, seed += 100);
  }
  return ok;
}

// ---- times

struct Timing {
  double milliseconds;
  double teraflops;
};

std::vector<Timing> time_job(const Job& job, const std::vector<Conv3dTile>& tiles, int rounds) {
  std::vector<LaunchOne> launches;
  for (const Conv3dTile& tile : tiles) launches.push_back([&] { run(job.args, tile); });
  std::vector<Timing> timings;
  for (const double milliseconds : median_milliseconds(launches, rounds)) {
    timings.push_back({milliseconds, job.flops() / milliseconds * 1e-9});
  }
  return timings;
}

void print_timing(const Case& c, const Conv3dTile& t, const Timing& timing) {
  std::printf("%-38s %dx%d a%d b%dx%d  %8.3f ms  %6.1f TFLOP/s\n", c.name, t.blocks_x * 8,
              t.blocks_y * 8, t.stages_a, t.stages_b, t.taps_per_stage, timing.milliseconds,
              timing.teraflops);
  std::fflush(stdout);
}

void print_json(const Case& c, const Conv3dTile& t, const Timing& timing) {
  const Window& w = c.window;
  const auto n = [](int64_t value) { return static_cast<long long>(value); };
  std::printf(
      R"({"name": "%s", "ms": %.4f, "TFLOP/s": %.1f, "tile": "%dx%d", "type": "%s", "plain": %s, )"
      R"("input": [%lld, %lld, %lld, %lld], "weight": [%lld, %lld, %lld, %lld], "stride": [%lld, %lld]})"
      "\n",
      c.name, timing.milliseconds, timing.teraflops, t.blocks_x * 8, t.blocks_y * 8,
      c.operands == DType::kFloat16 ? "float16" : "bfloat16",
      c.store == Conv3dStore::kPlain && c.c_shortcut == 0 ? "true" : "false", n(c.frames),
      n(c.height), n(c.width), n(c.c_in), n(c.c_out), n(w.kernel_time), n(w.kernel_height),
      n(w.kernel_width), n(w.stride_time), n(w.stride_space));
  std::fflush(stdout);
}

void time_all(const Selection& selection) {
  for (const Case& c : kTimes) {
    if (!selection.has(c)) continue;
    Job job(c, 7);
    const Conv3dTile tile = cuda::conv3d_sm90_tile(job.args);
    const Timing timing = time_job(job, {tile}, 21).front();
    if (selection.json) {
      print_json(c, tile, timing);
    } else {
      print_timing(c, tile, timing);
    }
  }
}

// What conv3d_tile.cc was chosen from; the first is its choice.
std::vector<Conv3dTile> variants(const Job& job) {
  const Conv3dTile chosen = cuda::conv3d_sm90_tile(job.args);
  const cuda::Conv3dCut cut = cut_of(job.c);
  std::vector<Conv3dTile> tiles = {chosen};
  tiles.push_back(chosen);
  tiles.back().stages_a = chosen.stages_a == 3 ? 2 : 3;
  tiles.back().stages_b = chosen.stages_a == 3 ? 7 : 4;
  std::erase_if(tiles, [&](const Conv3dTile& tile) {
    return tile.stages_a * cuda::conv3d_stage_a_bytes(cut, tile, {3, 3}) +
               tile.stages_b * cuda::conv3d_stage_b_bytes(cut, tile) >
           cuda::kConv3dStageBytes;
  });
  return tiles;
}

void tune(const Selection& selection) {
  for (const Case& c : kTimes) {
    if (!selection.has(c)) continue;
    Job job(c, 7);
    const std::vector<Conv3dTile> tiles = variants(job);
    const std::vector<Timing> timings = time_job(job, tiles, 11);
    for (size_t i = 0; i < tiles.size(); ++i) print_timing(c, tiles[i], timings[i]);
  }
}

// One launch of each, for a profiler.
void once(const Selection& selection) {
  for (const Case& c : kTimes) {
    if (!selection.has(c)) continue;
    Job job(c, 7);
    for (const Conv3dTile& tile : variants(job)) {
      run(job.args, tile);
      check(cudaDeviceSynchronize(), c.name);
      print_timing(c, tile, {});
    }
  }
}

}  // namespace
}  // namespace zoetrope::bench

int main(int argc, char** argv) {
  std::vector<std::string_view> words(argv + 1, argv + argc);
  if (words.empty()) words = {"check", "time"};
  bool ok = true;
  zoetrope::bench::Selection selection;
  for (const std::string_view word : words) {
    if (word.starts_with("match=")) selection.match = word.substr(6);
    if (word.starts_with("case=")) selection.name = word.substr(5);
    if (word == "json") selection.json = true;
    if (word == "time") zoetrope::bench::time_all(selection);
    if (word == "tune") zoetrope::bench::tune(selection);
    if (word == "once") zoetrope::bench::once(selection);
    if (word == "check") ok &= zoetrope::bench::check_all(selection);
  }
  if (!selection.json) std::puts(ok ? "all right" : "WRONG RESULTS");
  return ok ? 0 : 1;
}
