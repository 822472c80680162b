// SPDX-License-Identifier: Apache-2.0
// Videos read one after another by a thread of their own, a few blocks ahead of the work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "media/video.h"

namespace zoetrope::cli {

// Frames as they came from a reader; none at the end of a video.
struct FrameBlock {
  int64_t count = 0;
  std::vector<std::byte> data;
};

class ReadAhead {
 public:
  struct Settings {
    std::vector<std::string> inputs;  // in the order in which they will be opened
    media::ReadOptions reading;       // `notice` is called from the thread that calls this class
    int64_t block_frames = 4;
  };

  explicit ReadAhead(const Settings& settings);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // Waits until the next input is open, or throws why it cannot be; open() will do so again.
  void wait_until_open();

  // Goes to the next input, leaving out what is left of the current one. Throws what its reader
  // throws, and kCancelled when interrupted; so does read().
  media::VideoInfo open();

  // The next block of the input opened last.
  FrameBlock read();

 private:
  struct Shared;
  struct Item;
  static void run(const std::shared_ptr<Shared>& shared, const Settings& settings);
  Item take();

  // Outlives this object if the thread hangs in a read from a pipe that says nothing.
  std::shared_ptr<Shared> shared_;
  media::Notice notice_;
  std::thread thread_;
};

}  // namespace zoetrope::cli
