//===- Scheduler.h - Work, in any order that its dependencies allow -*- C++
//-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nothing is done until someone waits for it. Then pieces of work whose
// dependencies are done are carried out in an order that the seed decides:
// now and then any, now and then the newest first, now and then the oldest, so
// that what nothing orders happens early in one run and late in another. All
// threads that wait work.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_CUDART_SCHEDULER_H
#define WEFT_EMULATOR_CUDART_SCHEDULER_H

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

namespace weft::emulator {

struct Work {
  std::string label;
  std::function<void()> run;

private:
  friend class Scheduler;
  bool done = false;
  uint64_t number = 0;
  size_t waitsFor = 0;
  std::vector<std::shared_ptr<Work>> dependents;
};
using WorkPointer = std::shared_ptr<Work>;

class Scheduler {
public:
  explicit Scheduler(uint64_t seed) : random(seed) {}

  /// Adds work that comes after `dependencies`; null ones are nothing.
  WorkPointer submit(std::string label, std::function<void()> run,
                     const std::vector<WorkPointer> &dependencies);
  bool isDone(const WorkPointer &work);
  /// Works until `work`, or all that was submitted, is done.
  void wait(const WorkPointer &work);
  void waitForAll();
  /// Does one piece of work, if one is ready: those who only ask whether work
  /// is done drive it, too.
  void step();
  /// Called with all work before it is carried out.
  void setStartHandler(std::function<void(const Work &)> handler) {
    onStart = std::move(handler);
  }
  /// Asked before work is done: whether it never ends, as on a device that
  /// hangs. May throw what the work fails with.
  void setFaultHandler(std::function<bool(const Work &)> handler) {
    neverEnds = std::move(handler);
  }
  /// What failed work says; no work is carried out from then on.
  void setFailureHandler(std::function<void(const Work &)> handler) {
    onException = std::move(handler);
  }

private:
  WorkPointer pick();
  void carryOut(WorkPointer work, std::unique_lock<std::mutex> &lock);
  template <typename Condition> void workUntil(Condition condition);

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<WorkPointer> ready, stuck;
  size_t pending = 0;
  uint64_t submitted = 0, picked = 0;
  bool failed = false;
  enum class Mood { Any, Newest, Oldest } mood = Mood::Any;
  std::mt19937_64 random;
  std::function<void(const Work &)> onStart, onException;
  std::function<bool(const Work &)> neverEnds;
};

} // namespace weft::emulator

#endif // WEFT_EMULATOR_CUDART_SCHEDULER_H
