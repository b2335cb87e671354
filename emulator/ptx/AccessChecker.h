//===- AccessChecker.h - Finds races and reads of nothing -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Remembers for every four bytes who wrote and who read them last. Two
// accesses, one of them a write, are a race unless
//   - they are of one thread, or both atomic,
//   - a barrier of the block, or of the warp, is between them, or
//   - they are of two blocks, and the first did a fence and an atomic that the
//     second saw by an atomic of the same address.
// Of two threads of a block, any of them may have done the fence: a race that
// only the missing fence of one of them makes is not seen.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_PTX_ACCESSCHECKER_H
#define WEFT_EMULATOR_PTX_ACCESSCHECKER_H

#include "Warp.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

namespace weft::emulator {

/// Who accesses, and when.
struct Actor {
  uint32_t block, thread;
  /// Barriers of the block and of the warp that it has passed.
  uint32_t epoch, warpEpoch;
  uint32_t line;
  bool hasFence;
};

/// For blocks that run one after the other.
class AccessChecker {
public:
  AccessChecker(bool races, bool uninitialized)
      : races(races), uninitialized(uninitialized) {}

  struct Report {
    FaultKind kind;
    std::string what;
  };
  /// What is wrong with an access to shared or to global memory.
  std::optional<Report> shared(uint64_t offset, uint32_t bytes, Access kind,
                               const Actor &actor);
  std::optional<Report> global(uint64_t address, uint32_t bytes, Access kind,
                               const Actor &actor);

private:
  struct Record {
    Actor actor{};
    Access kind = Access::Read;
    /// Which of the four bytes, and the clock of the block.
    uint8_t bytes = 0;
    uint32_t clock = 0;
  };
  struct Cell {
    Record write, read, otherRead;
  };
  /// Of 64 adjacent words: most accesses are near the one before.
  using Page = std::array<Cell, 64>;
  using Clocks = std::unordered_map<uint32_t, uint32_t>;

  /// Of a block and an address; global memory is of block ~0.
  Cell &cellAt(uint32_t block, uint64_t address);
  std::optional<Report> check(Cell &cell, const Record &now);
  bool isOrdered(const Record &before, const Record &now);
  void synchronize(uint64_t address, const Actor &actor);

  bool races, uninitialized;
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages;
  uint64_t lastKey = ~uint64_t(0);
  Page *lastPage = nullptr;
  /// What each block, and each atomic, knows of the clocks of blocks.
  std::unordered_map<uint32_t, Clocks> known;
  std::unordered_map<uint32_t, uint32_t> clocks;
  std::unordered_map<uint64_t, Clocks> published;
};

} // namespace weft::emulator

#endif // WEFT_EMULATOR_PTX_ACCESSCHECKER_H
