//===- Bootstrap.h - The ranks of a job meet --------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the processes of a job agree on before there are communicators: who is
// there, that all have the same plan and libraries, the address of the library
// that carries the data; and later, which rank is where when one fails.
//
//   WEFT_ASSIGN_OR_RETURN(Launch launch, detectLaunch());
//   WEFT_ASSIGN_OR_RETURN(auto bootstrap, Bootstrap::connect(launch, 300s));
//   WEFT_ASSIGN_OR_RETURN(std::string id, bootstrap->broadcast("id", mine,
//   30s));
//
// Each rank says now and then that it lives. One that is stopped, or whose host
// is gone, is a failure for the others after some seconds, however long they
// would wait for one that computes.
//
// All ranks make the same calls of broadcast, gather and barrier in the same
// order, in one thread. The store may be used by any thread.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_BOOTSTRAP_H
#define WEFT_RUNTIME_BOOTSTRAP_H

#include "weft/runtime/Launch.h"
#include "weft/runtime/Status.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace weft::runtime {

class Heartbeat;
class Store;

/// How long a process may be silent before the others take it for stopped.
inline constexpr std::chrono::nanoseconds defaultHeartbeat =
    std::chrono::seconds(3);
/// The same of an option: seconds, or 0 for however long.
Result<std::chrono::nanoseconds> heartbeatOf(double seconds);

class Bootstrap {
public:
  /// Returns when all ranks have arrived. The failure says who was waited for,
  /// where, how long, and who came. With a `heartbeat` of 0 a rank that is
  /// stopped is no failure for the others.
  static Result<std::unique_ptr<Bootstrap>>
  connect(Launch launch, std::chrono::nanoseconds timeout,
          std::chrono::nanoseconds heartbeat = defaultHeartbeat);
  /// Leaves.
  ~Bootstrap();

  /// With the local rank filled in.
  const Launch &launch() const { return theLaunch; }
  /// " on node7", of a rank of this launch; "" where all are on one host.
  std::string onHost(int rank) const;
  /// The first rank of those on the host of `rank`.
  int firstOnHost(int rank) const;
  /// Private to the runtime; safe from any thread.
  Store &store() const { return *theStore; }

  /// Rank 0's value on all ranks. `what` is for messages: "the id of NCCL".
  Result<std::string> broadcast(const std::string &what,
                                const std::string &value,
                                std::chrono::nanoseconds timeout);

  /// The values of all ranks, in their order, on all ranks.
  Result<std::vector<std::string>> gather(const std::string &what,
                                          const std::string &value,
                                          std::chrono::nanoseconds timeout);

  /// Returns when all ranks have called it.
  Status barrier(const std::string &what, std::chrono::nanoseconds timeout);

  /// Says that this rank has come to the end of its program, after which nobody
  /// need wait for it. Whether all ranks have: to be called until they have, or
  /// one has failed.
  Result<bool> end();
  /// Says that this rank asks nothing any more, and lets rank 0, which may hold
  /// the store, wait a little for the others to say so. For those that end
  /// without `end`; they may still read why the job has failed.
  void leave();
  /// The ranks that have come to the end of their programs, or some of them
  /// where several do so at once. Safe from any thread.
  std::set<int> ended();
  /// Whether `rank` says nothing any more: it is lost, or has come to the end
  /// of its program. To be asked before a look for what it may have said, which
  /// holds. Safe from any thread.
  Result<bool> isGone(int rank);

  /// Tells all ranks why the job cannot go on; the first reason stays. Safe
  /// from any thread.
  void fail(const std::string &message);
  /// The same for what is wrong in this process, which is named.
  void failHere(const std::string &message);

  /// Success, or the first reason that a rank gave, or that the store noticed:
  /// a rank that is gone, which `nameOf` names where it is given. Safe from any
  /// thread.
  Status failure(const std::function<std::string(int)> &nameOf = nullptr);

private:
  Bootstrap(Launch launch, std::unique_ptr<Store> store);
  Status findLocalRank(std::chrono::nanoseconds timeout);
  void sayEnded();
  Result<bool> have(std::string (*keyOf)(int));
  Status endOf(int rank) const;
  std::string nextKey();
  Result<std::vector<std::string>> collect(const std::string &key,
                                           const std::string &value,
                                           std::chrono::nanoseconds timeout);
  /// What `key` is set to; nothing after the timeout.
  Result<std::optional<std::string>> await(const std::string &key,
                                           std::chrono::nanoseconds timeout);
  Status missing(const std::string &key, std::chrono::nanoseconds timeout);

  Launch theLaunch;
  std::unique_ptr<Store> theStore;
  std::unique_ptr<Heartbeat> heartbeat;
  const uint32_t depth;
  /// Of each rank.
  std::vector<std::string> hosts;
  /// Number of exchanges so far: the same on all ranks.
  int exchanges = 0;
  /// Keys of this rank that nobody needs after this gather, and after the next.
  std::vector<std::string> takenKeys, readKeys;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_BOOTSTRAP_H
