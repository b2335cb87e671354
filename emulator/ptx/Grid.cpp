//===- Grid.cpp - Launches of kernels -------------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Grid.h"
#include "Block.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>

namespace weft::emulator {
namespace {

class GridRun {
public:
  GridRun(const Launch &launch, const RunOptions &options)
      : launch(launch), options(options),
        checks(options.findRaces || options.findUninitialized),
        checker(options.findRaces, options.findUninitialized),
        order(launch.grid.count()) {
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(),
                 std::mt19937_64(options.seed ^ order.size()));
  }

  uint64_t run() {
    // A thread is worth its start for a few blocks. What is checked runs on
    // one: else two atomics could be recorded in one order and happen in the
    // other.
    size_t threads =
        checks ? 1 : std::min<size_t>(options.hostThreads, order.size() / 4);
    std::vector<std::thread> helpers;
    for (size_t i = 1; i < threads; ++i)
      helpers.emplace_back([this] { work(); });
    work();
    for (std::thread &helper : helpers)
      helper.join();
    if (failure)
      std::rethrow_exception(failure);
    if (options.traffic)
      *options.traffic = traffic.total();
    return executed;
  }

private:
  void work() {
    try {
      TrafficCounter own;
      Block block(launch, checks ? &checker : nullptr,
                  options.traffic ? &own : nullptr);
      uint64_t count = 0;
      for (size_t i; (i = next++) < order.size() && !failed;)
        count += block.run(order[i], options.seed);
      executed += count;
      std::lock_guard lock(mutex);
      own.addTo(traffic);
    } catch (...) {
      std::lock_guard lock(mutex);
      if (!failure)
        failure = std::current_exception();
      failed = true;
    }
  }

  const Launch &launch;
  const RunOptions &options;
  const bool checks;
  AccessChecker checker;
  TrafficCounter traffic;
  std::vector<uint32_t> order;
  std::atomic<size_t> next = 0;
  std::atomic<uint64_t> executed = 0;
  std::atomic<bool> failed = false;
  std::mutex mutex;
  std::exception_ptr failure;
};

} // namespace

uint64_t run(const Launch &launch, const RunOptions &options) {
  return GridRun(launch, options).run();
}

} // namespace weft::emulator
