//===- HostRounds.cpp - Rounds of processes that share memory -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostRounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace weft::runtime {

// Zeros are one that nobody has used, in each of the processes.
static_assert(std::atomic<uint64_t>::is_always_lock_free);

static constexpr size_t cacheLine = 64;

struct alignas(cacheLine) HostRounds::Outbox {
  static constexpr uint32_t mostPieces = 64, leftToMpi = mostPieces + 1;
  struct Entry {
    uint32_t process, begin, bytes;
  };
  struct Side {
    /// The word, and then the pieces; those of the same memory once.
    uint32_t wordBytes, pieces;
    Entry table[mostPieces];
    alignas(cacheLine) std::byte bytes[outboxBytes];
  };

  std::atomic<uint64_t> round;
  std::atomic<bool> hasFailed;
  int32_t code;
  uint32_t textBytes;
  char text[2048];
  Side sides[2];
};

static constexpr size_t eventBytes = cacheLine;

size_t HostRounds::bytesFor(size_t processes) {
  static_assert(sizeof(EventCount) <= eventBytes);
  return eventBytes + processes * sizeof(Outbox);
}

HostRounds::HostRounds(std::byte *memory, size_t processes, size_t own)
    : memory(memory), processes(processes), own(own),
      changed(reinterpret_cast<EventCount *>(memory)), next(processes) {}

HostRounds::Outbox &HostRounds::outbox(size_t process) const {
  return reinterpret_cast<Outbox *>(memory + eventBytes)[process];
}

bool HostRounds::put(std::span<const std::byte> word,
                     std::span<const Piece> pieces) {
  Outbox &box = outbox(own);
  Outbox::Side &side = box.sides[++round % 2];
  std::ranges::fill(next, 0);
  side.wordBytes = static_cast<uint32_t>(word.size());
  std::ranges::copy(word, side.bytes);
  size_t end = word.size();
  side.pieces = 0;
  const Piece *last = nullptr;
  for (const Piece &piece : pieces) {
    const bool isSame =
        last && piece.memory == last->memory && piece.bytes == last->bytes;
    if (side.pieces == Outbox::mostPieces ||
        (!isSame && piece.bytes > outboxBytes - end)) {
      side.pieces = Outbox::leftToMpi;
      break;
    }
    if (!isSame) {
      std::memcpy(side.bytes + end, piece.memory, piece.bytes);
      end += piece.bytes;
    }
    side.table[side.pieces++] = {static_cast<uint32_t>(piece.process),
                                 static_cast<uint32_t>(end - piece.bytes),
                                 static_cast<uint32_t>(piece.bytes)};
    last = &piece;
  }
  box.round.store(round);
  changed->notifyAll();
  return side.pieces != Outbox::leftToMpi;
}

bool HostRounds::isHere(size_t process) const {
  return outbox(process).round.load() >= round;
}

bool HostRounds::areAllHere() const {
  for (size_t p = 0; p < processes; ++p)
    if (!isHere(p))
      return false;
  return true;
}

std::span<const std::byte> HostRounds::wordOf(size_t process) const {
  const Outbox::Side &side = outbox(process).sides[round % 2];
  return {side.bytes, side.wordBytes};
}

Result<bool> HostRounds::take(size_t process, void *to, size_t bytes) {
  const Outbox::Side &side = outbox(process).sides[round % 2];
  if (side.pieces == Outbox::leftToMpi)
    return false;
  uint32_t &at = next[process];
  while (at < side.pieces && side.table[at].process != own)
    ++at;
  const size_t found = at < side.pieces ? side.table[at].bytes : 0;
  if (found != bytes)
    return internalError(fmt::format(
        "a message of {} bytes came where {} were expected", found, bytes));
  std::memcpy(to, side.bytes + side.table[at++].begin, bytes);
  return true;
}

void HostRounds::fail(const Status &reason) {
  Outbox &box = outbox(own);
  box.code = static_cast<int32_t>(reason.code());
  box.textBytes =
      static_cast<uint32_t>(std::min(reason.message().size(), sizeof box.text));
  std::memcpy(box.text, reason.message().data(), box.textBytes);
  box.hasFailed.store(true);
  wake();
}

Status HostRounds::failure() const {
  for (size_t p = 0; p < processes; ++p) {
    const Outbox &box = outbox(p);
    if (p != own && box.hasFailed.load())
      return {static_cast<StatusCode>(box.code),
              std::string(box.text, box.textBytes)};
  }
  return {};
}

} // namespace weft::runtime
