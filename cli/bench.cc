// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "base/machine.h"
#include "cli/baseline.h"
#include "cli/bench_rows.h"
#include "cli/commands.h"
#include "cli/measured_job.h"
#include "cli/model.h"
#include "cli/report.h"
#include "cli/result_file.h"

namespace zoetrope::cli {
namespace {

// Runs of a job, and the machine's peak before, between and after them.
struct Measured {
  std::vector<Run> runs;
  std::vector<double> peak_resident;  // bytes, after each run
  std::vector<double> peaks;          // flops per second, sorted

  double peak() const { return median(peaks); }
};

void check_bits(const std::vector<Run>& runs, const std::string& name) {
  if (runs.back().outputs.bits == runs.front().outputs.bits) return;
  fail(ErrorCode::kInternal,
       "{}: repetition {} gave other bits than the first, which must never be; please report it",
       name, runs.size());
}

Measured measure(MeasuredJob& job, const MeasureOptions& options) {
  Measured measured;
  for (int64_t i = 0; i < options.warmup; ++i) job.run("warming up");
  measured.peaks.push_back(job.measure_peak());
  for (int64_t i = 0; i < options.repetitions; ++i) {
    measured.runs.push_back(job.run(fmt::format("run {} of {}", i + 1, options.repetitions)));
    check_bits(measured.runs, job.name());
    measured.peak_resident.push_back(static_cast<double>(peak_resident_memory()));
    measured.peaks.push_back(job.measure_peak());
  }
  std::ranges::sort(measured.peaks);
  return measured;
}

std::vector<BenchValues> values_of(const Measured& measured, const MeasuredJob& job) {
  std::vector<BenchValues> repetitions;
  for (size_t i = 0; i < measured.runs.size(); ++i) {
    const Run& run = measured.runs[i];
    BenchValues values = {};
    values[kTime] = run.seconds * 1e3;
    values[kCpuTime] = run.cpu_seconds * 1e3;
    values[kFramesPerSecond] = static_cast<double>(job.frames()) / run.seconds;
    values[kFirstOutput] = run.first_output_seconds * 1e3;
    values[kPeakMemory] = measured.peak_resident[i];
    values[kLibraryMemory] = static_cast<double>(job.memory().total());
    values[kFlops] = job.arithmetic() / run.seconds;
    values[kShareOfPeak] = values[kFlops] / measured.peak();
    repetitions.push_back(values);
  }
  return repetitions;
}

std::string peak_line(const Measured& measured, const MeasuredJob& job) {
  return fmt::format(
      "arithmetic {:.6g} TFLOP; peak of {} {:.4f} TFLOP/s, the median of {} ({:.4f} to {:.4f})\n\n",
      job.arithmetic() / 1e12, name_of(job.dtype()), measured.peak() / 1e12, measured.peaks.size(),
      measured.peaks.front() / 1e12, measured.peaks.back() / 1e12);
}

std::string device_memory_line(const MemoryUse& use) {
  if (use.most_allocated == 0) return "";
  return fmt::format(
      "device memory: {:.1f} MiB allocated at most, {:.0f} MiB taken as the driver counts\n\n",
      static_cast<double>(use.most_allocated) / kMebi, static_cast<double>(use.taken) / kMebi);
}

void run_repetitions(const Options& options) {
  const MeasureOptions& asked = options.measure;
  std::optional<Baseline> baseline;
  if (!asked.baseline.empty()) baseline.emplace(asked.baseline);
  ResultFile file(options);
  Report report(options, asked.json == "-");
  MeasuredJob job(options, report);
  nlohmann::ordered_json context = result_context(options, job);
  if (baseline) {
    for (const std::string& difference : baseline->check(context)) report.note(difference);
  }

  job.verify();
  const std::string title = job_title(job.name(), job);
  const Measured measured = measure(job, asked);
  const std::vector<BenchRow> rows = bench_rows(values_of(measured, job));

  const MemoryUse use = job.memory_use();
  std::string text = title + peak_line(measured, job) + device_memory_line(use) + bench_table(rows);
  if (baseline) text += fmt::format("\n{}", baseline->ratios(rows));
  if (!options.quiet) std::fputs(text.c_str(), file.table());
  context["model_flops"] = job.arithmetic();
  context["peak_flops_per_second"] = measured.peak();
  context["latents_per_step"] = job.frames_per_step();
  if (use.most_allocated > 0) {
    context["device_allocated_bytes"] = use.most_allocated;
    context["device_taken_bytes"] = use.taken;
  }
  file.write({{"context", context}, {"benchmarks", bench_json(rows, job.name(), job.threads())}});
}

// Of all its jobs.
std::string sweep_name(const MeasuredJob& job) {
  return fmt::format("sweep of {}/{}/base_dim:{}/threads:{}", job.decode() ? "decode" : "encode",
                     name_of(job.dtype()), job.base_dim(), job.threads());
}

std::string sweep_heading() {
  return fmt::format("{:<12}{:>7}{:>12}{:>12}{:>11}{:>14}{:>14}{:>13}\n", "size", "frames", "time",
                     "frames/s", "Mpixel/s", "first output", "peak memory", "library");
}

// Of the median.
std::string sweep_line(const MeasuredJob& job, const BenchValues& values) {
  const auto pixels = static_cast<double>(job.size().width * job.size().height);
  return fmt::format(
      "{:<12}{:>7}{:>9.1f} ms{:>12.2f}{:>11.3f}{:>11.1f} ms{:>10.1f} MiB{:>9.1f} MiB\n",
      fmt::format("{}x{}", job.size().width, job.size().height), job.frames(), values[kTime],
      values[kFramesPerSecond], values[kFramesPerSecond] * pixels / 1e6, values[kFirstOutput],
      values[kPeakMemory] / kMebi, values[kLibraryMemory] / kMebi);
}

BenchValues median_of(const std::vector<BenchRow>& rows) {
  for (const BenchRow& row : rows) {
    if (row.aggregate == "median") return row.values;
  }
  return rows.front().values;
}

// Every number of frames at every size, on one model.
void run_sweep(const Options& options) {
  const MeasureOptions& asked = options.measure;
  ResultFile file(options);
  Report report(options, asked.json == "-");
  MeasuredJob job(options, report);
  nlohmann::ordered_json context = result_context(options, job);
  context["sweep"] = true;
  for (const char* of_one_job : {"frames", "width", "height"}) context.erase(of_one_job);
  for (const media::FrameSize& size : asked.sizes) {
    for (const int64_t frames : asked.frame_counts) job.change(frames, size);  // refuses at once
  }
  const std::string text = job_title(sweep_name(job), job) + sweep_heading();
  if (!options.quiet) std::fputs(text.c_str(), file.table());
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const media::FrameSize& size : asked.sizes) {
    for (const int64_t frames : asked.frame_counts) {
      job.change(frames, size);
      if (list.empty()) job.verify();
      reset_peak_resident_memory();
      const std::vector<BenchRow> rows = bench_rows(values_of(measure(job, asked), job));
      if (!options.quiet) std::fputs(sweep_line(job, median_of(rows)).c_str(), file.table());
      for (auto& row : bench_json(rows, job.name(), job.threads())) list.push_back(std::move(row));
    }
  }
  file.write({{"context", context}, {"benchmarks", list}});
}

}  // namespace

int run_bench(const Options& options) {
  check_weights(options);
  const bool sweep = !options.measure.sizes.empty();
  run_interruptible([&] { sweep ? run_sweep(options) : run_repetitions(options); });
  return 0;
}

}  // namespace zoetrope::cli
