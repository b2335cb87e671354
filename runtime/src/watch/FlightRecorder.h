//===- FlightRecorder.h - The last things a rank did ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A ring of events, written by the thread of a rank and read by another thread
// when something went wrong. Recording allocates nothing and waits for nobody.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_WATCH_FLIGHTRECORDER_H
#define WEFT_RUNTIME_SRC_WATCH_FLIGHTRECORDER_H

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace weft::runtime {

enum class FlightEvent : uint8_t {
  Attach,
  RunBegins,
  /// A collective or message was put on the stream, or into a graph; or handed
  /// to who carries it, or begun.
  Enqueued,
  /// The rank waits for one.
  Waits,
  RunEnds,
  Detach,
};

class FlightRecorder {
public:
  static constexpr size_t capacity = 1024;

  /// `instruction` is the index in the entry.
  void record(FlightEvent event, uint32_t run, uint32_t entry,
              uint32_t instruction);

  /// The events that the ring holds, one a line, the oldest first:
  /// "1703 12.350 s run 17 entry 1 step 4 enqueued".
  std::string toString() const;

private:
  struct Slot {
    /// Number of the event plus one; 0 while it is written.
    std::atomic<uint64_t> sequence{0};
    std::atomic<uint64_t> microseconds{0};
    /// run, then entry (24 bits) and event (8 bits).
    std::atomic<uint64_t> what{0};
    std::atomic<uint32_t> instruction{0};
  };

  const std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
  std::array<Slot, capacity> slots;
  uint64_t next = 0;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_WATCH_FLIGHTRECORDER_H
