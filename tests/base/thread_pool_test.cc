// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "tests/base/refusal.h"

namespace zoetrope {
namespace {

TEST(ThreadPool, CountsTheCallingThread) {
  EXPECT_EQ(ThreadPool(1).threads(), 1);
  EXPECT_EQ(ThreadPool(3).threads(), 3);
  EXPECT_GE(ThreadPool(0).threads(), 1);
}

TEST(ThreadPool, RunsEveryItemOnce) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (const int64_t count : {0, 1, 2, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(count));
      pool.run(count, [&](int64_t i) { ++runs[static_cast<size_t>(i)]; });
      for (const std::atomic<int>& n : runs) ASSERT_EQ(n, 1);
    }
  }
}

TEST(ThreadPool, UsesItsWorkers) {
  ThreadPool pool(3);
  std::atomic<int> inside = 0;
  // Each item waits for the two others, so three threads must hold one each.
  pool.run(3, [&](int64_t) {
    ++inside;
    while (inside < 3) std::this_thread::yield();
  });
  EXPECT_EQ(inside, 3);
}

TEST(ThreadPool, RunsLoopsOfSeveralThreadsAtOnce) {
  ThreadPool pool(2);
  std::vector<std::atomic<int64_t>> sums(4);
  std::vector<std::thread> callers;
  for (std::atomic<int64_t>& sum : sums) {
    callers.emplace_back([&pool, &sum] {
      for (int round = 0; round < 50; ++round) {
        pool.run(100, [&](int64_t i) { sum += i; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (const std::atomic<int64_t>& sum : sums) EXPECT_EQ(sum, 50 * 4950);
}

TEST(ThreadPool, RunsALoopInsideAnItem) {
  ThreadPool pool(2);
  std::atomic<int> runs = 0;
  pool.run(4, [&](int64_t) { pool.run(4, [&](int64_t) { ++runs; }); });
  EXPECT_EQ(runs, 16);
}

TEST(ThreadPool, ThrowsTheErrorOfAnItemAndGoesOnWorking) {
  ThreadPool pool(2);
  EXPECT_THROW(pool.run(100,
                        [](int64_t i) {
                          if (i == 7) throw std::runtime_error("7");
                        }),
               std::runtime_error);
  std::atomic<int> runs = 0;
  pool.run(10, [&](int64_t) { ++runs; });
  EXPECT_EQ(runs, 10);
}

TEST(ThreadPool, StartsNoItemAfterAnError) {
  ThreadPool pool(1);
  int runs = 0;
  const auto item = [&](int64_t i) {
    ++runs;
    if (i == 2) throw std::runtime_error("2");
  };
  EXPECT_THROW(pool.run(100, item), std::runtime_error);
  EXPECT_EQ(runs, 3);
}

TEST(ThreadPool, StopsWhenCancelled) {
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    std::atomic<int> runs = 0;
    const LoopControl control{.cancelled = [&] { return runs >= 5; }};
    refusal(ErrorCode::kCancelled, [&] {
      pool.run(
          1000, [&](int64_t) { ++runs; }, control);
    });
    EXPECT_GE(runs, 5);
    EXPECT_LT(runs, 5 + threads);  // each thread may have had one item under way
  }
}

TEST(ThreadPool, HandsOnWhatTheCancelCallbackThrows) {
  ThreadPool pool(3);
  const LoopControl control = {.cancelled = []() -> bool { throw std::runtime_error("asked"); }};
  EXPECT_THROW(pool.run(
                   100, [](int64_t) {}, control),
               std::runtime_error);
  int ran = 0;
  pool.run(1, [&](int64_t) { ++ran; });  // and goes on
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace zoetrope
