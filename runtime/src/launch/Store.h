//===- Store.h - Keys and values that all ranks see -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the ranks of a job exchange before they can communicate, and about ranks
// that no longer do: small values by name. A store belongs to one start of one
// job; nothing of another one is ever seen in it. Safe from any thread.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_LAUNCH_STORE_H
#define WEFT_RUNTIME_SRC_LAUNCH_STORE_H

#include "comm/EventCount.h"
#include "weft/runtime/Status.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace weft::runtime {

class Store {
public:
  virtual ~Store() = default;

  /// Sets or replaces a value. Keys are lower-case words, digits, "-" and "/".
  virtual Status set(const std::string &key, const std::string &value) = 0;

  /// The value, or nothing when nobody has set it yet.
  virtual Result<std::optional<std::string>> find(const std::string &key) = 0;

  /// Waits until somebody has set the value; nothing when `budget` is spent.
  Result<std::optional<std::string>> wait(const std::string &key,
                                          WaitBudget &budget);

  /// Where it is, for messages: "tcp://node1:29500".
  virtual std::string address() const = 0;

  /// Says that this rank lives. One that has said so and then says nothing for
  /// `silence` is stopped, or its host is gone.
  virtual void sayAlive(std::chrono::nanoseconds) {}

  /// Says that this rank has ended well: its absence is no failure.
  virtual void leave() {}
};

/// The store of a job of one rank, and what a server keeps.
class MemoryStore final : public Store {
public:
  Status set(const std::string &key, const std::string &value) override;
  Result<std::optional<std::string>> find(const std::string &key) override;
  std::string address() const override { return "this process"; }

private:
  std::mutex mutex;
  std::map<std::string, std::string> values;
};

/// The key under which a store that notices it tells that a rank has ended
/// without leaving, or is silent.
std::string lostKey(int rank);
/// The key under which a rank says that it asks nothing any more: it may then
/// be gone at any time.
std::string leftKey(int rank);

/// The key of the reason why the job cannot go on; of a rank that is gone, it
/// begins with `lostRank`.
inline constexpr const char *failureKey = "failure";

/// "rank 1".
std::string lostRank(int rank);
/// "has not answered for 3 s; it is stopped or its machine hangs".
std::string describeSilence(std::chrono::nanoseconds silence);

/// How often something is tried: often at first, then every 20 ms.
class Backoff {
public:
  void sleep(const WaitBudget &budget);

private:
  std::chrono::microseconds next{200};
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_LAUNCH_STORE_H
