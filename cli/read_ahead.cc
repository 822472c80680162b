// SPDX-License-Identifier: Apache-2.0
#include "cli/read_ahead.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include "base/fail.h"
#include "cli/interrupt.h"

namespace zoetrope::cli {
namespace {

using std::chrono::milliseconds;

constexpr size_t kQueuedItems = 2;
constexpr milliseconds kPoll{50};         // for interrupts
constexpr milliseconds kPatience{1'000};  // for a read to end, before the thread is left behind

}  // namespace

// What the reader found, in its order: for each input an opened one, blocks, and an empty block; or
// an error, which ends the input.
struct ReadAhead::Item {
  size_t input = 0;
  std::vector<std::string> notices;
  std::optional<media::VideoInfo> opened;
  FrameBlock block;
  std::exception_ptr error;
};

struct ReadAhead::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Item> items;
  size_t current = 0;    // the input that is wanted; items of earlier ones are dropped
  bool started = false;  // open() was called once
  bool stopping = false;
  bool ended = false;  // the thread is done

  // False if nobody wants the rest of this input.
  bool put(Item item) {
    std::unique_lock lock(mutex);
    const auto unwanted = [&] { return stopping || item.input < current; };
    changed.wait(lock, [&] { return unwanted() || items.size() < kQueuedItems; });
    if (unwanted()) return false;
    items.push_back(std::move(item));
    changed.notify_all();
    return true;
  }
};

namespace {

// Reads one input into items until it ends or put() says that nobody wants more.
template <typename Item, typename Put>
void read_input(size_t index, const ReadAhead::Settings& settings, const Put& put) {
  std::vector<std::string> notices;
  const auto make_item = [&] {
    Item item;
    item.input = index;
    item.notices = std::exchange(notices, {});
    return item;
  };
  try {
    media::ReadOptions reading = settings.reading;
    reading.notice = [&](const std::string& text) { notices.push_back(text); };
    const auto reader = media::open_video_reader(settings.inputs[index], reading);
    const media::VideoInfo& info = reader->info();
    Item opened = make_item();
    opened.opened = info;
    if (!put(std::move(opened))) return;
    const int64_t bytes = media::frame_bytes(info.format, info.height, info.width);
    for (int64_t count = -1; count != 0;) {
      FrameBlock block;
      block.data.resize(static_cast<size_t>(settings.block_frames * bytes));
      count = block.count = reader->read(settings.block_frames, block.data.data());
      Item item = make_item();
      item.block = std::move(block);
      if (!put(std::move(item))) return;
    }
  } catch (...) {
    Item failed = make_item();
    failed.error = std::current_exception();
    put(std::move(failed));
  }
}

}  // namespace

ReadAhead::ReadAhead(const Settings& settings)
    : shared_(std::make_shared<Shared>()), notice_(settings.reading.notice) {
  thread_ = std::thread([shared = shared_, settings] { run(shared, settings); });
}

ReadAhead::~ReadAhead() {
  std::unique_lock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->changed.notify_all();
  const bool ended = shared_->changed.wait_for(lock, kPatience, [&] { return shared_->ended; });
  lock.unlock();
  if (ended) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

void ReadAhead::run(const std::shared_ptr<Shared>& shared, const Settings& settings) {
  for (size_t index = 0; index < settings.inputs.size(); ++index) {
    {
      const std::lock_guard lock(shared->mutex);
      if (shared->stopping) break;
      if (index < shared->current) continue;
    }
    read_input<Item>(index, settings, [&](Item item) { return shared->put(std::move(item)); });
  }
  const std::lock_guard lock(shared->mutex);
  shared->ended = true;
  shared->changed.notify_all();
}

void ReadAhead::wait_until_open() {
  std::unique_lock lock(shared_->mutex);
  while (shared_->items.empty()) {
    shared_->changed.wait_for(lock, kPoll);
    check_interrupted();
  }
  if (shared_->items.front().error) std::rethrow_exception(shared_->items.front().error);
}

ReadAhead::Item ReadAhead::take() {
  std::unique_lock lock(shared_->mutex);
  for (;;) {
    check_interrupted();
    while (!shared_->items.empty() && shared_->items.front().input < shared_->current) {
      shared_->items.pop_front();
      shared_->changed.notify_all();
    }
    if (!shared_->items.empty()) break;
    shared_->changed.wait_for(lock, kPoll);
  }
  Item item = std::move(shared_->items.front());
  shared_->items.pop_front();
  shared_->changed.notify_all();
  lock.unlock();
  for (const std::string& text : item.notices) {
    if (notice_) notice_(text);
  }
  if (item.error) std::rethrow_exception(item.error);
  return item;
}

media::VideoInfo ReadAhead::open() {
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->started) ++shared_->current;
    shared_->started = true;
    shared_->changed.notify_all();
  }
  const Item item = take();
  ZOETROPE_CHECK(item.opened.has_value(), "an input begins with what it is");
  return *item.opened;
}

FrameBlock ReadAhead::read() { return take().block; }

}  // namespace zoetrope::cli
