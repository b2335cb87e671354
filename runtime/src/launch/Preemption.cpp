//===- Preemption.cpp - A job stops after the same step everywhere --------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/runtime/Preemption.h"

#include "comm/Call.h"
#include "comm/StartThread.h"
#include "launch/Number.h"
#include "launch/Store.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>

namespace weft::runtime {

/// Between two looks for requests.
static constexpr std::chrono::milliseconds lookInterval(200);
/// What a process says that makes no further step.
static constexpr int64_t endOfSteps = std::numeric_limits<int64_t>::max() - 1;

class Preemption::Impl {
public:
  Impl(std::shared_ptr<Bootstrap> bootstrap, std::chrono::nanoseconds deadline)
      : bootstrap(std::move(bootstrap)), deadline(deadline) {}
  ~Impl();

  Status start();
  void request() noexcept { isRequested.store(true); }
  Result<bool> reached(int64_t steps);

private:
  bool isAlone() const { return !bootstrap || bootstrap->launch().world == 1; }
  std::string key(const std::string &what) const { return name + "/" + what; }
  bool isLeaving() {
    const std::lock_guard lock(mutex);
    return leaves;
  }
  Status watch();
  Result<bool> isAsked();
  Status answer();
  Result<int64_t> stepOf(int process);

  const std::shared_ptr<Bootstrap> bootstrap;
  const std::chrono::nanoseconds deadline;
  /// Of this one among those of the job: the beginning of its keys.
  std::string name;

  std::atomic<bool> isRequested{false};
  static_assert(std::atomic<bool>::is_always_lock_free,
                "a handler of signals sets it");

  std::mutex mutex;
  std::condition_variable changed;
  /// Steps that this process has made in all; -1 before it has said so.
  int64_t done = -1;
  /// Whether this process has said which step it is in, and must not begin
  /// another one before it knows the sync point.
  bool hasAnswered = false;
  bool leaves = false;
  std::optional<int64_t> syncPoint;
  Status failure;

  std::thread thread;
};

Status Preemption::Impl::start() {
  if (isAlone())
    return {};
  static std::atomic<int> number{0};
  WEFT_ASSIGN_OR_RETURN(
      name,
      bootstrap->broadcast("the name of the sync point",
                           fmt::format("preemption-{}", number++), deadline));
  return startThread(thread, "that waits for a signal", [this] {
    const Status status = watch();
    const std::lock_guard lock(mutex);
    failure = status;
    changed.notify_all();
  });
}

Preemption::Impl::~Impl() {
  if (!thread.joinable())
    return;
  bool isUnsaid = false;
  {
    const std::lock_guard lock(mutex);
    leaves = true;
    isUnsaid = !hasAnswered;
    changed.notify_all();
  }
  thread.join();
  // The others may ask later, and would wait.
  if (isUnsaid)
    (void)bootstrap->store().set(
        key(fmt::format("{}", bootstrap->launch().rank)),
        fmt::format("{}", endOfSteps));
}

/// Whether this process or another one wants to stop.
Result<bool> Preemption::Impl::isAsked() {
  if (isRequested.load()) {
    WEFT_RETURN_IF_ERROR(bootstrap->store().set(key("request"), ""));
    return true;
  }
  WEFT_ASSIGN_OR_RETURN(const auto found,
                        bootstrap->store().find(key("request")));
  return found.has_value();
}

Status Preemption::Impl::watch() {
  while (true) {
    WEFT_ASSIGN_OR_RETURN(const bool asked, isAsked());
    if (asked)
      return answer();
    std::unique_lock lock(mutex);
    if (changed.wait_for(lock, lookInterval, [&] { return leaves; }))
      return {};
  }
}

/// What a process says. Nobody wants to know it when this one ends meanwhile.
Result<int64_t> Preemption::Impl::stepOf(int process) {
  WaitBudget budget(deadline);
  for (Backoff backoff; !isLeaving(); backoff.sleep(budget)) {
    WEFT_ASSIGN_OR_RETURN(const bool isGone, bootstrap->isGone(process));
    WEFT_ASSIGN_OR_RETURN(const auto text, bootstrap->store().find(key(
                                               fmt::format("{}", process))));
    if (text)
      return parseNumber(*text, -1).value_or(endOfSteps);
    if (isGone)
      return unavailable(
          fmt::format("process {} ended before it had stopped", process));
    WEFT_RETURN_IF_ERROR(bootstrap->failure());
    if (budget.isSpent())
      return deadlineExceeded(
          fmt::format("process {} did not say within {} which step it is in",
                      process, describeDuration(deadline)));
  }
  return endOfSteps;
}

Status Preemption::Impl::answer() {
  int64_t last = 0;
  {
    const std::lock_guard lock(mutex);
    if (leaves)
      return {};
    hasAnswered = true;
    last = done;
  }
  const Launch &launch = bootstrap->launch();
  WEFT_RETURN_IF_ERROR(bootstrap->store().set(
      key(fmt::format("{}", launch.rank)), fmt::format("{}", last)));
  for (int process = 0; process < launch.world; ++process) {
    if (process == launch.rank)
      continue;
    WEFT_ASSIGN_OR_RETURN(const int64_t step, stepOf(process));
    last = std::max(last, step);
  }
  const std::lock_guard lock(mutex);
  // The step that is being made.
  syncPoint = last + 1;
  changed.notify_all();
  return {};
}

Result<bool> Preemption::Impl::reached(int64_t steps) {
  if (isAlone())
    return isRequested.load();
  std::unique_lock lock(mutex);
  done = steps;
  // The thread waits for each of the others as long as the deadline says.
  changed.wait(lock,
               [&] { return !hasAnswered || syncPoint || !failure.ok(); });
  if (!failure.ok())
    return failure;
  return syncPoint && done >= *syncPoint;
}

Preemption::Preemption(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Preemption::~Preemption() = default;

Result<std::unique_ptr<Preemption>>
Preemption::create(std::shared_ptr<Bootstrap> bootstrap,
                   std::chrono::nanoseconds deadline) {
  auto impl = std::make_unique<Impl>(std::move(bootstrap), deadline);
  WEFT_RETURN_IF_ERROR(impl->start());
  return std::unique_ptr<Preemption>(new Preemption(std::move(impl)));
}

void Preemption::request() noexcept { impl->request(); }

Result<bool> Preemption::reachedSyncPoint(int64_t done) {
  return impl->reached(done);
}

} // namespace weft::runtime
