// SPDX-License-Identifier: Apache-2.0
// Standard input, output and error as the system hands them over: full, closed or not there.
#pragma once

#include <string>

namespace zoetrope::cli {

// Makes sure that descriptors 0 to 2 are taken, so that no file opened later becomes one of them
// and gets what is printed. Using one that was closed still fails.
void take_standard_streams();

// `text` on standard output; main() says if it could not be written.
void print(const std::string& text);

// `text` on standard error. That it cannot be written stops nothing: there is nowhere to say so.
void write_stderr(const std::string& text);

}  // namespace zoetrope::cli
