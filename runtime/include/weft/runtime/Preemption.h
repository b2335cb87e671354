//===- Preemption.h - A job stops after the same step everywhere *- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scheduler that wants its machines back sends SIGTERM, to some processes of
// a job or to all, at different moments. The job then has to save a checkpoint,
// which all processes write after the same step:
//
//   WEFT_ASSIGN_OR_RETURN(auto preemption,
//                         Preemption::create(bootstrap, 30s));
//   for (int64_t done = 1; done <= steps; ++done) {
//     WEFT_RETURN_IF_ERROR(session->run("train_step"));
//     WEFT_ASSIGN_OR_RETURN(const bool isLast,
//                           preemption->reachedSyncPoint(done));
//     if (isLast)
//       return session->save(*writer, done);
//   }
//
// A thread of each process looks for requests in the store five times a second
// and says there which step its process is in. The sync point is the last of
// these, and no process has begun a later one: steps cost nothing until
// somebody asks.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_PREEMPTION_H
#define WEFT_RUNTIME_PREEMPTION_H

#include "weft/runtime/Bootstrap.h"
#include "weft/runtime/Status.h"

#include <chrono>
#include <cstdint>
#include <memory>

namespace weft::runtime {

class Preemption {
public:
  /// All processes of a job call it alike; `bootstrap` is null in a process
  /// that is alone. `deadline` is how long one waits for what the others say.
  static Result<std::unique_ptr<Preemption>>
  create(std::shared_ptr<Bootstrap> bootstrap,
         std::chrono::nanoseconds deadline);
  /// The others go on if this one has not reached the sync point: it is at the
  /// end of its steps.
  ~Preemption();
  Preemption(const Preemption &) = delete;
  Preemption &operator=(const Preemption &) = delete;

  /// Asks all processes to stop. Safe from any thread, and in the handler of a
  /// signal.
  void request() noexcept;

  /// Whether `done` steps, which have been made in all, are those after which
  /// the job stops. To be called after every step, by all processes; all get
  /// true after the same one.
  Result<bool> reachedSyncPoint(int64_t done);

private:
  class Impl;
  explicit Preemption(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PREEMPTION_H
