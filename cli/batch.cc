// SPDX-License-Identifier: Apache-2.0
#include "cli/batch.h"

#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "base/fail.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"

namespace zoetrope::cli {
namespace {

namespace fs = std::filesystem;

Outcome outcome_of(const Job& job, Status status) {
  Outcome outcome;
  outcome.input = job.input;
  outcome.output = job.output;
  outcome.status = status;
  return outcome;
}

// Messages of the library do not know the file at hand.
std::string with_input(const Job& job, const std::string& message) {
  const bool named =
      message.find(job.input) != std::string::npos || message.find(job.output) != std::string::npos;
  return named ? message : job.input + ": " + message;
}

// Codes one input of many; only an interrupt ends the run.
void run_job(const Job& job, const Work& work, Report& report) {
  std::string message;
  try {
    Outcome outcome = work.code(job);
    outcome.input = job.input;
    outcome.output = job.output;
    report.outcome(outcome);
    return;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kCancelled) throw;
    message = error.what();
  } catch (const std::bad_alloc&) {
    message = "out of memory: lower --frames-per-step or the size of the video";
  } catch (const std::exception& error) {
    message = std::string("internal error, please report it: ") + error.what();
  }
  message = with_input(job, message);
  report.error(message);
  Outcome failed = outcome_of(job, Status::kFailed);
  failed.error = message;
  report.outcome(failed);
}

// A single input: its error is the program's.
void run_only_job(const Job& job, const Work& work, Report& report) {
  bool written = false;
  try {
    work.prepare();
    Outcome outcome = work.code(job);
    written = true;
    outcome.input = job.input;
    outcome.output = job.output;
    if (outcome.status == Status::kFailed) {
      report.error(outcome.error);
    } else if (work.reference) {
      outcome.comparison = work.reference->compare(job.output, work.tolerance);
    }
    report.outcome(outcome);
  } catch (const Error& error) {
    const bool cancelled = error.code() == ErrorCode::kCancelled;
    const char* left = written ? "is written, but was not compared" : "was not written";
    const std::string message =
        cancelled ? fmt::format("interrupted: {} {}", job.output, left) : error.what();
    Outcome failed = outcome_of(job, Status::kFailed);
    failed.error = message;
    report.outcome(failed);
    throw Error(error.code(), message);
  }
}

void make_folder(const std::string& folder) {
  std::error_code error;
  if (folder.empty()) return;
  fs::create_directory(folder, error);
  if (error) fail(ErrorCode::kIo, "{}: cannot make this folder: {}", folder, error.message());
}

void run_many(const Jobs& jobs, const Work& work, Report& report) {
  bool prepared = false;
  for (const Job& job : jobs.jobs) {
    if (job.finished) {
      report.outcome(outcome_of(job, Status::kSkipped));
      continue;
    }
    try {
      check_interrupted();
      if (!prepared) {
        work.prepare();
        make_folder(jobs.folder);
        prepared = true;
      }
      run_job(job, work, report);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kCancelled) throw;
      fail(ErrorCode::kCancelled,
           "interrupted at {} of {} inputs: the same command goes on from there",
           &job - jobs.jobs.data() + 1, jobs.jobs.size());
    }
  }
}

}  // namespace

Outcome unlike_reference(const Job& job, const Comparison& comparison) {
  Outcome outcome;
  outcome.status = Status::kFailed;
  outcome.comparison = comparison;
  outcome.error = fmt::format("{}: not written, since it differs from {}: {}", job.output,
                              comparison.reference, comparison.problem);
  return outcome;
}

int run_jobs(const Jobs& jobs, const Work& work, Report& report) {
  if (!jobs.many) {
    run_only_job(jobs.jobs.at(0), work, report);
    return report.different() ? kExitDifferent : kExitOk;
  }
  run_many(jobs, work, report);
  report.summary();
  return report.failed() > 0 ? kExitSomeFailed : kExitOk;
}

}  // namespace zoetrope::cli
