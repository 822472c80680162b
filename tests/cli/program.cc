// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/program.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/base/scratch_folder.h"

namespace zoetrope::testing {
namespace {

namespace fs = std::filesystem;

void redirect(int from, int to) {
  dup2(from, to);
  close(from);
}

[[noreturn]] void become(const Words& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  _exit(127);
}

int status_of(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Program::Program(const Words& arguments, const Streams& streams) {
  std::string name = (fs::temp_directory_path() / "zoetrope-XXXXXX").string();
  folder_ = mkdtemp(name.data());
  const auto assignment = [](const std::string& word) { return word.starts_with("ZOETROPE_"); };
  const auto first = std::find_if_not(arguments.begin(), arguments.end(), assignment);
  Words words = {"env"};
  words.insert(words.end(), arguments.begin(), first);
  words.emplace_back(ZOETROPE_PROGRAM);
  words.insert(words.end(), first, arguments.end());
  pid_ = fork();
  if (pid_ != 0) return;
  const std::string input = streams.input.empty() ? "/dev/null" : streams.input;
  redirect(streams.input_pipe >= 0 ? streams.input_pipe : open(input.c_str(), O_RDONLY), 0);
  redirect(open((folder_ + "/out").c_str(), O_WRONLY | O_CREAT, 0600), 1);
  redirect(open((folder_ + "/err").c_str(), O_WRONLY | O_CREAT, 0600), 2);
  unsetenv("ZOETROPE_WEIGHTS");
  for (const int caught : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(caught, SIG_DFL);
  become(words);
}

Program::~Program() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    status_of(pid_);
  }
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void Program::send(int signal) const { kill(pid_, signal); }

Finished Program::wait() {
  Finished finished;
  finished.status = status_of(pid_);
  pid_ = -1;
  finished.out = read_file(folder_ + "/out");
  finished.err = read_file(folder_ + "/err");
  return finished;
}

Finished zoetrope(const Words& arguments, const Streams& streams) {
  return Program(arguments, streams).wait();
}

Finished zoetrope_tiny(Words arguments, const Streams& streams) {
  arguments.insert(arguments.end(), {"--weights", "random:8:2", "--dtype", "float32"});
  return zoetrope(arguments, streams);
}

void ffmpeg(const Words& arguments) {
  Words words = {"ffmpeg", "-v", "error", "-y", "-nostdin"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const pid_t pid = fork();
  if (pid == 0) become(words);
  ASSERT_EQ(status_of(pid), 0) << "ffmpeg could not make " << arguments.back();
}

void make_clip(const std::string& path, const std::string& size, int frames) {
  const bool lossless = path.ends_with(".mkv");
  Words words = {"-f",        "lavfi",
                 "-i",        "testsrc2=size=" + size + ":rate=8",
                 "-frames:v", std::to_string(frames)};
  if (lossless) words.insert(words.end(), {"-c:v", "ffv1", "-pix_fmt", "bgr0"});
  words.push_back(path);
  ffmpeg(words);
}

Words names_in(const std::string& folder) {
  Words names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool wait_for_file(const std::string& folder, const std::string& part) {
  for (int attempt = 0; attempt < 6'000; ++attempt) {
    for (const std::string& name : names_in(folder)) {
      if (name.find(part) != std::string::npos) return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

std::string unlike_error_line(const std::string& text) {
  const bool one_line = !text.empty() && text.find('\n') == text.size() - 1;
  return one_line && text.starts_with("zoetrope: ") ? "" : "not one error line: " + text;
}

void expect_failure(const std::string& folder, int status, const std::string& part,
                    const Words& words) {
  const Words before = names_in(folder);
  const Finished run = zoetrope(words);
  EXPECT_EQ(run.status, status) << run.err;
  EXPECT_EQ(unlike_error_line(run.err), "");
  EXPECT_THAT(run.err, ::testing::HasSubstr(part));
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(names_in(folder), before);
}

}  // namespace zoetrope::testing
