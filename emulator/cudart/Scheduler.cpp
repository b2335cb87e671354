//===- Scheduler.cpp - Work, in any order that its dependencies allow -----===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scheduler.h"

#include <algorithm>

namespace weft::emulator {

WorkPointer Scheduler::submit(std::string label, std::function<void()> run,
                              const std::vector<WorkPointer> &dependencies) {
  auto work = std::make_shared<Work>();
  work->label = std::move(label);
  work->run = std::move(run);
  std::lock_guard lock(mutex);
  work->number = ++submitted;
  ++pending;
  for (const WorkPointer &dependency : dependencies)
    if (dependency && !dependency->done) {
      dependency->dependents.push_back(work);
      ++work->waitsFor;
    }
  if (!work->waitsFor) {
    ready.push_back(work);
    changed.notify_all();
  }
  return work;
}

bool Scheduler::isDone(const WorkPointer &work) {
  std::lock_guard lock(mutex);
  return !work || work->done;
}

WorkPointer Scheduler::pick() {
  if (picked++ % 32 == 0)
    mood = static_cast<Mood>(random() % 3);
  auto older = [](const WorkPointer &a, const WorkPointer &b) {
    return a->number < b->number;
  };
  auto choice = ready.begin();
  if (mood == Mood::Any)
    choice += random() % ready.size();
  else if (mood == Mood::Newest)
    choice = std::max_element(ready.begin(), ready.end(), older);
  else
    choice = std::min_element(ready.begin(), ready.end(), older);
  WorkPointer work = *choice;
  *choice = std::move(ready.back());
  ready.pop_back();
  return work;
}

void Scheduler::carryOut(WorkPointer work, std::unique_lock<std::mutex> &lock) {
  if (work->run && !failed) {
    lock.unlock();
    bool throws = false, isStuck = false;
    try {
      isStuck = neverEnds && neverEnds(*work);
      if (!isStuck) {
        if (onStart)
          onStart(*work);
        work->run();
      }
    } catch (...) {
      throws = true;
      onException(*work);
    }
    lock.lock();
    failed |= throws;
    if (isStuck) {
      stuck.push_back(std::move(work));
      return;
    }
  }
  work->done = true;
  work->run = nullptr;
  --pending;
  for (WorkPointer &dependent : work->dependents)
    if (--dependent->waitsFor == 0)
      ready.push_back(std::move(dependent));
  work->dependents.clear();
  changed.notify_all();
}

template <typename Condition> void Scheduler::workUntil(Condition condition) {
  std::unique_lock lock(mutex);
  while (!condition()) {
    // What is not ready waits for what another thread carries out.
    if (ready.empty())
      changed.wait(lock);
    else
      carryOut(pick(), lock);
  }
}

void Scheduler::wait(const WorkPointer &work) {
  workUntil([&] { return !work || work->done; });
}

void Scheduler::waitForAll() {
  workUntil([&] { return pending == 0; });
}

void Scheduler::step() {
  std::unique_lock lock(mutex);
  if (!ready.empty())
    carryOut(pick(), lock);
}

} // namespace weft::emulator
