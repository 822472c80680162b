// SPDX-License-Identifier: Apache-2.0
// Running the built program, and ffmpeg to make what it reads.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace zoetrope::testing {

using Words = std::vector<std::string>;

struct Finished {
  int status = -1;  // exit status; 128 + signal if one ended the program
  std::string out;
  std::string err;
};

struct Streams {
  std::string input;    // a file for standard input; empty: nothing to read
  int input_pipe = -1;  // or the reading end of a pipe
};

// The program in a process of its own. ZOETROPE_WEIGHTS is not set, unless the first words are
// "NAME=value", which set variables.
class Program {
 public:
  explicit Program(const Words& arguments, const Streams& streams = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void send(int signal) const;
  Finished wait();

 private:
  pid_t pid_ = -1;
  std::string folder_;  // of what it prints
};

// Runs it to its end.
Finished zoetrope(const Words& arguments, const Streams& streams = {});

// The same in float32 with made-up weights, those of the golden files `tiny`.
Finished zoetrope_tiny(Words arguments, const Streams& streams = {});

// Runs `ffmpeg` with these arguments; the last is the output.
void ffmpeg(const Words& arguments);

// A moving test picture; `size` as "34x50". The extension says the kind of file.
void make_clip(const std::string& path, const std::string& size, int frames);

// Names in a folder, hidden ones too, sorted.
Words names_in(const std::string& folder);

// Waits until a file appears in `folder` whose name has `part` in it; false if none does in a
// minute.
bool wait_for_file(const std::string& folder, const std::string& part);

// "": the text is one line "zoetrope: ..." and no more; else the text.
std::string unlike_error_line(const std::string& text);

// The words fail with `status` and one line that has `part` in it, print nothing else, and change
// no name in `folder`.
void expect_failure(const std::string& folder, int status, const std::string& part,
                    const Words& words);

}  // namespace zoetrope::testing
