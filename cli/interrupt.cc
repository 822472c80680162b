// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <atomic>
#include <csignal>

#include "base/fail.h"

namespace zoetrope::cli {
namespace {

std::atomic<bool> flag = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler may set it

void raise_flag(int /*signal*/) { flag = true; }

}  // namespace

void catch_interrupts() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = raise_flag;
    sigaction(signal, &action, nullptr);
  }
  std::signal(SIGPIPE, SIG_IGN);
}

void end_on_closed_pipe() { std::signal(SIGPIPE, SIG_DFL); }

bool interrupted() { return flag; }

void check_interrupted() {
  if (interrupted()) fail(ErrorCode::kCancelled, "interrupted");
}

}  // namespace zoetrope::cli
