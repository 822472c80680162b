// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and its like as a flag that the work polls, so that nothing half done is left behind.
#pragma once

namespace zoetrope::cli {

// From now on SIGINT, SIGTERM and SIGHUP only raise the flag, unless the caller of this program has
// them ignored (nohup). A closed pipe does not end the program but makes writing fail.
void catch_interrupts();

// Lets a closed pipe end the program at once and quietly, as other filters do: for when standard
// output is the only output.
void end_on_closed_pipe();

bool interrupted();

// Throws kCancelled if interrupted.
void check_interrupted();

}  // namespace zoetrope::cli
