//===- Progress.h - Where a rank is in its program --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_WATCH_PROGRESS_H
#define WEFT_RUNTIME_SRC_WATCH_PROGRESS_H

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::runtime {

enum class RankState : uint8_t {
  /// It has not come yet.
  Absent,
  /// It creates communicators.
  Attaching,
  /// Its device executes an entry.
  Running,
  /// Between two runs.
  Idle,
  /// It destroys communicators; it has done so.
  Detaching,
  Gone,
};

/// For each queue the last communication that the device has begun, or 0. In
/// queues of collectives (CollectiveQueues.h), which come first, 1 is the first
/// collective that the run executes, in whichever of them, and those of a loop
/// count in each iteration. In the queues of a pipeline 1 is the first message,
/// at both ends.
using Begun = std::vector<uint32_t>;

struct Progress {
  RankState state = RankState::Absent;
  /// Number of the run, from 1, and the entry that it runs.
  uint32_t run = 0;
  uint32_t entry = 0;
  /// Running.
  Begun begun;

  uint32_t begunIn(size_t queue) const {
    return queue < begun.size() ? begun[queue] : 0;
  }

  friend bool operator==(const Progress &, const Progress &) = default;
};

/// The order of the progress of ranks, in one queue: whoever has the
/// lesser has not come as far.
inline std::strong_ordering compare(const Progress &a, const Progress &b,
                                    size_t queue) {
  const auto key = [queue](const Progress &progress) {
    return std::pair(progress.run,
                     std::pair(progress.state, progress.begunIn(queue)));
  };
  return key(a) <=> key(b);
}

/// The progress and when it was reported, in milliseconds of the system's
/// clock.
struct ReportedProgress {
  Progress progress;
  int64_t when = 0;
};

std::string encode(const ReportedProgress &reported);
std::optional<ReportedProgress> decodeProgress(std::string_view text);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_WATCH_PROGRESS_H
