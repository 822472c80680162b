// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>

#include "base/fail.h"

namespace zoetrope {

struct ThreadPool::Loop {
  Loop(int64_t items, const std::function<void(int64_t)>& run_item, const LoopControl& stop_rule)
      : count(items), item(run_item), control(stop_rule) {}

  // Takes items until none is left. Nothing is thrown past it: helpers still use this loop.
  void drain() {
    for (;;) {
      try {
        if (control.cancelled && control.cancelled()) fail(ErrorCode::kCancelled, "cancelled");
        const int64_t index = next.fetch_add(1, std::memory_order_relaxed);
        if (index >= count) return;
        item(index);
      } catch (...) {
        stop(std::current_exception());
        return;
      }
    }
  }

  void stop(const std::exception_ptr& reason) {
    next.store(count, std::memory_order_relaxed);
    const std::lock_guard lock(mutex);
    if (!error) error = reason;
  }

  const int64_t count;
  const std::function<void(int64_t)>& item;
  const LoopControl& control;
  std::atomic<int64_t> next = 0;
  std::mutex mutex;
  std::condition_variable done;
  int helpers = 0;  // workers inside drain()
  std::exception_ptr error;
};

int ThreadPool::count(int threads) {
  return threads > 0 ? threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

ThreadPool::ThreadPool(int threads) {
  threads = count(threads);
  workers_.reserve(static_cast<size_t>(threads) - 1);
  try {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
    // The system gives no more threads: those there are do the work, with the same results.
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !loops_.empty(); });
    if (stopping_) return;
    const std::shared_ptr<Loop> loop = loops_.front();
    {
      const std::lock_guard loop_lock(loop->mutex);
      ++loop->helpers;
    }
    lock.unlock();
    loop->drain();
    lock.lock();
    std::erase(loops_, loop);
    const std::lock_guard loop_lock(loop->mutex);
    if (--loop->helpers == 0) loop->done.notify_all();
  }
}

void ThreadPool::run(int64_t count, const std::function<void(int64_t)>& item,
                     const LoopControl& control) {
  const auto loop = std::make_shared<Loop>(count, item, control);
  if (!workers_.empty() && count > 1) {
    {
      const std::lock_guard lock(mutex_);
      loops_.push_back(loop);
    }
    wake_.notify_all();
  }
  loop->drain();
  {
    const std::lock_guard lock(mutex_);
    std::erase(loops_, loop);  // no worker can join from here on
  }
  std::unique_lock lock(loop->mutex);
  loop->done.wait(lock, [&] { return loop->helpers == 0; });
  if (loop->error) std::rethrow_exception(loop->error);
}

}  // namespace zoetrope
