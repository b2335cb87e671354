//===- MpiEngine.cpp - The thread of a process that calls MPI -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MpiEngine.h"

#include "comm/Call.h"
#include "comm/StartThread.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>

namespace weft::runtime {

using namespace std::chrono_literals;

/// How long a process that is done waits for the others, and after a failure.
static constexpr std::chrono::nanoseconds mostEnding = 30s;
static constexpr std::chrono::nanoseconds mostEndingOfFailed = 1s;

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

/// The folder of the program or module that this code is in.
static std::filesystem::path folderOfRuntime() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void *>(&folderOfRuntime), &info) == 0 ||
      !info.dli_fname)
    return {};
  std::error_code error;
  // Of a program that was found in PATH, dladdr may know the name only.
  std::filesystem::path file =
      std::filesystem::weakly_canonical(info.dli_fname, error);
  if (!std::filesystem::exists(file, error))
    file = std::filesystem::read_symlink("/proc/self/exe", error);
  return file.parent_path();
}

static Result<MpiLibrary *> loadLibrary(const std::string &name) {
  const std::string file = fmt::format("libweft_mpi_{}.so", name);
  const std::filesystem::path folder = folderOfRuntime();
  std::string reason;
  for (const std::filesystem::path &path :
       {folder / file, folder / ".." / "lib" / file}) {
    std::error_code error;
    if (!std::filesystem::exists(path, error))
      continue;
    // Its plugins want the symbols of the library itself.
    void *module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    void *function = module ? ::dlsym(module, mpiLibraryFunction) : nullptr;
    if (function)
      return reinterpret_cast<MpiLibraryFunction *>(function)();
    const char *problem = ::dlerror();
    reason = problem ? problem : "unknown error";
    break;
  }
  if (reason.empty())
    reason = fmt::format("{} is not in {}", file, folder.string());
  return failedPrecondition(fmt::format(
      "this process was started by {}, for which Weft was built without "
      "support, or its library is missing: {}",
      name == "mpich" ? "MPICH" : "Open MPI", reason));
}

//===----------------------------------------------------------------------===//
// Starting and stopping
//===----------------------------------------------------------------------===//

Result<MpiEngine *> MpiEngine::ofProcess(Bootstrap &bootstrap) {
  static std::mutex creation;
  static MpiEngine *engine = nullptr;
  const std::lock_guard lock(creation);
  if (engine)
    return engine;
  const Launch &launch = bootstrap.launch();
  if (launch.mpi.empty())
    return failedPrecondition(fmt::format(
        "the processes were started by {}, which does not start MPI; start "
        "them with mpirun, srun --mpi=pmix (Open MPI) or srun --mpi=pmi2 "
        "(MPICH)",
        launch.launcher));
  WEFT_ASSIGN_OR_RETURN(MpiLibrary *const library, loadLibrary(launch.mpi));
  std::unique_ptr<MpiEngine> created(new MpiEngine());
  created->library = library;
  WEFT_RETURN_IF_ERROR(
      startThread(created->thread, "that calls MPI",
                  [engine = created.get(), neighbours = launch.localWorld] {
                    engine->begin(neighbours);
                  }));
  // MPI itself waits for all processes, also for those that have ended.
  while (true) {
    WaitBudget budget(100ms);
    if (waitUntil(created->finished, SpinPolicy(), budget,
                  [&] { return created->isReady.load(); }))
      break;
    Status failed = bootstrap.failure();
    if (const std::set<int> ended = bootstrap.ended();
        failed.ok() && !ended.empty())
      failed = unavailable(fmt::format(
          "process {}{} has come to the end of its program, but process {} "
          "waits for it to start MPI",
          *ended.begin(), bootstrap.onHost(*ended.begin()), launch.rank));
    if (!failed.ok()) {
      (void)created.release(); // its thread may never come back
      return failed;
    }
  }
  if (!created->problem.empty()) {
    created->thread.join();
    return unavailable(created->problem);
  }
  created->haveEnded = std::vector<std::atomic<bool>>(created->theProcesses);
  engine = created.release();
  std::atexit([] { engine->finalize(); });
  return engine;
}

/// In the thread, which owns the library from its first call to its last.
void MpiEngine::begin(int neighbours) {
  problem = library->initialize(theProcess, theProcesses, isForAllThreads);
  const bool isInitialized = problem.empty();
  if (isInitialized) {
    theVersion = library->version();
    theMostTag = library->mostTag();
    spin = SpinPolicy::forRanks(
        2 * std::max(1, neighbours > 0 ? neighbours : theProcesses));
  }
  isReady.store(true);
  finished.notifyAll();
  if (isInitialized)
    loop();
}

/// At the end of the process, which waits for the others if all went well.
void MpiEngine::finalize() {
  if (isGivenUp.load())
    return;
  isStopping.store(true);
  work.notifyAll();
  const bool hasFailed = jobHasFailed.load();
  if (waitUntil(finished, spin, hasFailed ? mostEndingOfFailed : mostEnding,
                [&] { return isEnded.load(); }))
    return thread.join();
  if (hasFailed)
    ::_exit(1); // which has been said
  const std::string line = fmt::format(
      "error: process {} of {} is done, but another one has not ended within "
      "{}\n",
      theProcess, theProcesses, describeDuration(mostEnding));
  std::fputs(line.c_str(), stderr);
  ::_exit(1);
}

void MpiEngine::noteEnded(const std::set<int> &ended) {
  for (int process : ended)
    haveEnded[process].store(true);
  someHaveEnded.store(!ended.empty());
}

void MpiEngine::giveUp(const Status &reason) {
  {
    const std::lock_guard lock(mutex);
    if (whyGivenUp.ok())
      whyGivenUp = reason;
  }
  isGivenUp.store(true);
  work.notifyAll();
}

Status MpiEngine::status() {
  const std::lock_guard lock(mutex);
  return whyGivenUp;
}

//===----------------------------------------------------------------------===//
// The thread
//===----------------------------------------------------------------------===//

void MpiEngine::submit(MpiTask &task) {
  unfinished.fetch_add(1);
  {
    const std::lock_guard lock(mutex);
    submitted.push_back(&task);
  }
  waiting.fetch_add(1);
}

void MpiEngine::start(MpiTask &task) {
  submit(task);
  work.notifyAll();
}

void MpiEngine::run(MpiTask &task, const SpinPolicy &spin) {
  submit(task);
  if (!isForAllThreads)
    work.notifyAll();
  waitFor(task, spin);
}

/// Every active task once, but of those that may wait inside MPI only if
/// `mayWait`.
MpiEngine::Progress MpiEngine::step(bool mayWait) {
  if (waiting.load() != 0) {
    const std::lock_guard lock(mutex);
    waiting.fetch_sub(static_cast<uint32_t>(submitted.size()));
    active.insert(active.end(), submitted.begin(), submitted.end());
    submitted.clear();
  }
  Progress progress;
  bool hasFinished = false;
  for (MpiTask *&task : active) {
    if (isGivenUp.load())
      task->abandon(status());
    else if (mayWait || !task->mayWait())
      progress.hasMoved |= task->progress(*library);
    if (!task->isOver) {
      progress.isMoving |= task->isMoving();
      continue;
    }
    unfinished.fetch_sub(1);
    std::exchange(task, nullptr)->isDone.store(true);
    hasFinished = true;
  }
  if (hasFinished) {
    std::erase(active, nullptr);
    finished.notifyAll();
  }
  return progress;
}

/// How long MPI is called again and again while nothing has ended: by a rank,
/// before it leaves that to the thread of the engine, and by that before it
/// sleeps in between. A peer may be long in coming, and data only be as long on
/// its way as a process is kept from its core.
static std::chrono::nanoseconds mostStill(bool isMoving) {
  return isMoving ? 20ms : 200us;
}

/// In the thread of a rank, which waits for the task.
void MpiEngine::drive(const MpiTask &task, const SpinPolicy &policy) {
  if (!isForAllThreads || task.isFinished())
    return;
  drivers.fetch_add(1);
  Clock::time_point lastMove = Clock::now(), now = lastMove;
  Progress last;
  for (; !task.isFinished() && now - lastMove < mostStill(last.isMoving);
       now = Clock::now()) {
    last.hasMoved = false;
    if (const std::unique_lock lock(calling, std::try_to_lock); lock)
      last = step(false);
    if (last.hasMoved)
      lastMove = now;
    else if (now - lastMove < policy.limit)
      pauseCpu();
    else
      std::this_thread::yield();
  }
  if (drivers.fetch_sub(1) == 1 && unfinished.load() != 0)
    work.notifyAll();
}

void MpiEngine::loop() {
  Clock::time_point lastMove = Clock::now();
  const auto isIdle = [&] { return unfinished.load() == 0; };
  const auto isAwaiting = [&] { return othersAwaited.load() != 0; };
  Progress last;
  while (!isStopping.load() || !isIdle()) {
    if (isIdle() && isAwaiting()) {
      waitUntil(work, spin, 1ms, [&] {
        return isStopping.load() || !isIdle() || !isAwaiting();
      });
      if (const std::unique_lock lock(calling, std::try_to_lock);
          lock && !isGivenUp.load())
        library->moveOn();
      lastMove = Clock::now();
    } else if (isIdle() || drivers.load() != 0) {
      // While a rank calls MPI, what it must not do is seen to now and then.
      waitUntil(work, spin, isIdle() ? noTimeout : 1ms, [&] {
        return isStopping.load() || (isIdle() && isAwaiting()) ||
               (!isIdle() && drivers.load() == 0);
      });
      lastMove = Clock::now();
    }
    last.hasMoved = false;
    if (const std::unique_lock lock(calling, std::try_to_lock); lock)
      last = step(true);
    if (last.hasMoved)
      lastMove = Clock::now();
    if (isIdle())
      continue;
    // What arrives soon is seen at once; a peer that computes for long, or that
    // wants this core, is not disturbed.
    const auto still = Clock::now() - lastMove;
    if (still < spin.limit)
      pauseCpu();
    else if (still < mostStill(last.isMoving))
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(still < 20ms ? 20us : 200us);
  }
  if (!isGivenUp.load())
    library->finalize();
  isEnded.store(true);
  finished.notifyAll();
}

namespace {

class LibraryCall final : public MpiTask {
public:
  explicit LibraryCall(std::function<std::string(MpiLibrary &)> function)
      : function(std::move(function)) {
    begin();
  }
  bool progress(MpiLibrary &library) override {
    problem = function(library);
    finish();
    return true;
  }

  void abandon(const Status &reason) override {
    problem = reason.message();
    finish();
  }
  bool mayWait() const override { return true; }

  std::string problem;

private:
  const std::function<std::string(MpiLibrary &)> function;
};

} // namespace

Status MpiEngine::call(std::function<std::string(MpiLibrary &)> function,
                       const std::function<Status()> &mayWait) {
  WEFT_RETURN_IF_ERROR(status());
  auto call = std::make_unique<LibraryCall>(std::move(function));
  start(*call);
  while (true) {
    WaitBudget budget(100ms);
    if (waitFor(*call, spin, budget))
      return call->problem.empty() ? Status() : unavailable(call->problem);
    if (Status reason = mayWait(); !reason.ok()) {
      giveUp(reason);
      (void)call.release(); // the thread may never come back from it
      return reason;
    }
  }
}

} // namespace weft::runtime
