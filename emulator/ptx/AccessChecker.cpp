//===- AccessChecker.cpp - Finds races and reads of nothing ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AccessChecker.h"

namespace weft::emulator {

static const char *verb(Access kind) {
  switch (kind) {
  case Access::Read:
    return "reads";
  case Access::Write:
    return "writes";
  case Access::Atomic:
    return "updates";
  }
  return "";
}

bool AccessChecker::isOrdered(const Record &before, const Record &now) {
  const Actor &a = before.actor, &b = now.actor;
  if (a.block != b.block) {
    Clocks &clocksOfNow = known[b.block];
    auto found = clocksOfNow.find(a.block);
    return found != clocksOfNow.end() && found->second >= before.clock;
  }
  if (a.thread == b.thread || a.epoch != b.epoch)
    return true;
  return a.thread / warpSize == b.thread / warpSize &&
         a.warpEpoch != b.warpEpoch;
}

AccessChecker::Cell &AccessChecker::cellAt(uint32_t block, uint64_t address) {
  const uint64_t word = address / 4, number = word / std::tuple_size_v<Page>;
  // Addresses have 48 bits.
  const uint64_t key = uint64_t(block + 1) << 40 | number;
  if (key != lastKey) {
    std::unique_ptr<Page> &page = pages[key];
    if (!page)
      page = std::make_unique<Page>();
    lastKey = key;
    lastPage = page.get();
  }
  return (*lastPage)[word % std::tuple_size_v<Page>];
}

std::optional<AccessChecker::Report> AccessChecker::check(Cell &cell,
                                                          const Record &now) {
  for (const Record *before : {&cell.write, &cell.read, &cell.otherRead}) {
    bool conflict =
        (before->bytes & now.bytes) != 0 &&
        (before->kind != Access::Read || now.kind != Access::Read) &&
        !(before->kind == Access::Atomic && now.kind == Access::Atomic);
    if (races && conflict && !isOrdered(*before, now))
      return Report{FaultKind::Race,
                    std::string(verb(now.kind)) + " what thread " +
                        std::to_string(before->actor.thread) + " of block " +
                        std::to_string(before->actor.block) + " " +
                        verb(before->kind) + " in line " +
                        std::to_string(before->actor.line) +
                        ", and nothing orders the two"};
  }
  if (now.kind != Access::Read) {
    cell.write = now;
  } else {
    bool isOther =
        cell.read.bytes && (cell.read.actor.block != now.actor.block ||
                            cell.read.actor.thread != now.actor.thread);
    if (isOther)
      cell.otherRead = cell.read;
    cell.read = now;
  }
  return std::nullopt;
}

/// An atomic tells what its block knows, and learns what others told.
void AccessChecker::synchronize(uint64_t address, const Actor &actor) {
  Clocks &place = published[address], &own = known[actor.block];
  for (auto [block, clock] : place)
    own[block] = std::max(own[block], clock);
  if (!actor.hasFence)
    return;
  for (auto [block, clock] : own)
    place[block] = std::max(place[block], clock);
  place[actor.block] = ++clocks[actor.block];
}

std::optional<AccessChecker::Report> AccessChecker::shared(uint64_t offset,
                                                           uint32_t bytes,
                                                           Access kind,
                                                           const Actor &actor) {
  for (uint32_t byte = 0; byte < bytes;) {
    uint64_t place = offset + byte;
    uint32_t first = place % 4, count = std::min(4 - first, bytes - byte);
    Record now{actor, kind, static_cast<uint8_t>(((1 << count) - 1) << first),
               0};
    Cell &cell = cellAt(actor.block, place);
    if (uninitialized && kind != Access::Write && !cell.write.bytes)
      return Report{FaultKind::Uninitialized,
                    "reads byte " + std::to_string(place) +
                        " of shared memory, which nobody has written"};
    if (auto report = check(cell, now))
      return report;
    byte += count;
  }
  return std::nullopt;
}

std::optional<AccessChecker::Report> AccessChecker::global(uint64_t address,
                                                           uint32_t bytes,
                                                           Access kind,
                                                           const Actor &actor) {
  if (!races)
    return std::nullopt;
  if (kind == Access::Atomic)
    synchronize(address, actor);
  for (uint32_t byte = 0; byte < bytes;) {
    uint64_t place = address + byte;
    uint32_t first = place % 4, count = std::min(4 - first, bytes - byte);
    Record now{actor, kind, static_cast<uint8_t>(((1 << count) - 1) << first),
               clocks[actor.block] + 1};
    if (auto report = check(cellAt(~0u, place), now))
      return report;
    byte += count;
  }
  return std::nullopt;
}

} // namespace weft::emulator
