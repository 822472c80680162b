// SPDX-License-Identifier: Apache-2.0
// Worker threads that share loops of independent items.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace zoetrope {

// Stops a loop early; both callbacks may be empty.
struct LoopControl {
  std::function<bool()> cancelled;  // polled before each item, from any thread
};

class ThreadPool {
 public:
  // `threads` includes the calling thread; 0 means one per core. There are fewer where the system
  // gives no more.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // How many there are where the system gives what is asked for.
  static int count(int threads);

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls item(i) once for each i in [0, count), on the caller and the workers, and returns when
  // all are done. May be called from several threads at once. The first exception of an item is
  // thrown here; after it, or when `cancelled` says so (Error kCancelled), no new item starts.
  void run(int64_t count, const std::function<void(int64_t)>& item,
           const LoopControl& control = {});

 private:
  struct Loop;
  void work();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::shared_ptr<Loop>> loops_;  // loops that may still have items to start
  std::vector<std::thread> workers_;
  bool stopping_ = false;
};

}  // namespace zoetrope
