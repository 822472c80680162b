// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "base/fail.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/report.h"
#include "cli/standard_streams.h"

namespace zoetrope::cli {
namespace {

int run_command(const Options& options) {
  switch (options.command) {
    case Command::kEncode:
      return run_encode(options);
    case Command::kDecode:
      return run_decode(options);
    case Command::kRoundtrip:
      return run_roundtrip(options);
    case Command::kInspect:
      return run_inspect(options);
    case Command::kCompile:
      return run_compile(options);
    case Command::kConvert:
      return run_convert(options);
    case Command::kCheck:
      return run_check(options);
    case Command::kBench:
      return run_bench(options);
    case Command::kProfile:
      return run_profile(options);
    case Command::kDevices:
      break;
  }
  return run_devices(options);
}

int run(int argc, const char* const* argv) {
  catch_interrupts();
  if (argc < 2) {
    write_stderr(overview());
    return exit_code(ErrorCode::kInvalidArgument);
  }
  const CommandLine line = parse_command_line(argc, argv);
  const Command command = line.options.command;
  // As in `zoetrope inspect FILE --tensors | head`.
  if (line.answer || command == Command::kInspect || command == Command::kDevices) {
    end_on_closed_pipe();
  }
  if (line.answer) {
    std::fputs(line.answer->c_str(), stdout);
    return kExitOk;
  }
  return run_command(line.options);
}

int run_and_report(int argc, const char* const* argv) {
  try {
    return run(argc, argv);
  } catch (const Error& error) {
    print_error(error.what());
    return exit_code(error.code());
  } catch (const std::bad_alloc&) {
    print_error("out of memory: lower --frames-per-step or the size of the video");
    return exit_code(ErrorCode::kOutOfMemory);
  } catch (const std::exception& error) {
    print_error(std::string("internal error, please report it: ") + error.what());
    return exit_code(ErrorCode::kInternal);
  }
}

}  // namespace
}  // namespace zoetrope::cli

int main(int argc, char** argv) {
  zoetrope::cli::take_standard_streams();
  int status = zoetrope::cli::run_and_report(argc, argv);
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (!written && status == zoetrope::cli::kExitOk) {
    zoetrope::cli::print_error("standard output: cannot write what was printed");
    status = zoetrope::cli::exit_code(zoetrope::ErrorCode::kIo);
  }
  std::fflush(nullptr);
  // A reader may still hang in a pipe that says nothing; it must not see statics destroyed.
  if (zoetrope::cli::interrupted()) std::_Exit(status);
  return status;
}
