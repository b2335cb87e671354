//===- FlightRecorder.cpp - The last things a rank did ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "watch/FlightRecorder.h"

#include <fmt/format.h>

#include <map>

namespace weft::runtime {

static std::string_view name(FlightEvent event) {
  switch (event) {
  case FlightEvent::Attach:
    return "attach";
  case FlightEvent::RunBegins:
    return "begins";
  case FlightEvent::Enqueued:
    return "enqueued";
  case FlightEvent::Waits:
    return "waits";
  case FlightEvent::RunEnds:
    return "ends";
  case FlightEvent::Detach:
    return "detach";
  }
  return "unknown";
}

void FlightRecorder::record(FlightEvent event, uint32_t run, uint32_t entry,
                            uint32_t instruction) {
  Slot &slot = slots[next % capacity];
  slot.sequence.store(0);
  slot.microseconds.store(static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(
          std::chrono::steady_clock::now() - start)
          .count()));
  slot.what.store(static_cast<uint64_t>(run) << 32 | (entry & 0xffffffu) << 8 |
                  static_cast<uint8_t>(event));
  slot.instruction.store(instruction);
  slot.sequence.store(++next);
}

std::string FlightRecorder::toString() const {
  std::map<uint64_t, std::string> lines;
  for (const Slot &slot : slots) {
    const uint64_t sequence = slot.sequence.load();
    const uint64_t what = slot.what.load();
    const auto event = static_cast<FlightEvent>(what & 0xff);
    std::string line =
        fmt::format("{} {:.6f} s run {} entry {}", sequence,
                    static_cast<double>(slot.microseconds.load()) * 1e-6,
                    what >> 32, what >> 8 & 0xffffffu);
    if (event == FlightEvent::Enqueued || event == FlightEvent::Waits)
      line += fmt::format(" step {}", slot.instruction.load());
    line += fmt::format(" {}\n", name(event));
    // One that is being replaced now is left out.
    if (sequence != 0 && slot.sequence.load() == sequence)
      lines[sequence] = std::move(line);
  }
  std::string text;
  for (const auto &[sequence, line] : lines)
    text += line;
  return text;
}

} // namespace weft::runtime
