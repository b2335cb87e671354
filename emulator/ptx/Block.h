//===- Block.h - A block of threads that runs -------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Warps take turns of random length, and the lanes of a warp that stand at the
// same operation execute it together. Of the groups into which a branch has
// split a warp, the one that is furthest behind goes first, so that they meet
// again where the branches join.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_PTX_BLOCK_H
#define WEFT_EMULATOR_PTX_BLOCK_H

#include "AccessChecker.h"
#include "Grid.h"
#include "Warp.h"

#include <memory>
#include <random>
#include <vector>

namespace weft::emulator {

class Block {
public:
  /// The answers of bar.red.
  struct Votes {
    uint32_t yes = 0, all = 0;
  };

  /// Memory for blocks of `launch`, which run one after the other. `checker`
  /// and `traffic` may be null.
  Block(const Launch &launch, AccessChecker *checker, TrafficCounter *traffic);
  Block(const Block &) = delete;

  /// Runs the block with this index; returns the number of operations that
  /// its threads executed. Throws Fault.
  uint64_t run(uint32_t index, uint64_t seed);

  const Launch &launch() const { return theLaunch; }
  const Votes &votes() const { return theVotes; }
  void fence() { fenced = true; }

  /// What accesses need: memory of the block, and who is asking.
  Range shared() const;
  Range local(uint32_t thread) const;
  AccessChecker *checker() const { return theChecker; }
  TrafficCounter *traffic() const { return theTraffic; }
  Actor actor(const Warp &warp, uint32_t lane) const;

  [[noreturn]] void fault(uint32_t line, uint32_t thread, FaultKind kind,
                          const std::string &what) const;

private:
  struct Barrier {
    uint32_t arrived = 0, expected = 0, line = 0;
    Votes votes;
  };

  void fill(Warp &warp);
  void fillBlockIndex(Warp &warp);
  uint64_t preloadValue(const Preload &preload, const Warp &warp,
                        uint32_t lane) const;
  void runWarp(Warp &warp, uint32_t turns);
  uint32_t runGroup(Warp &warp, uint32_t position, Mask group, uint32_t limit,
                    uint32_t turns);
  void branch(Warp &warp, const Op &op, uint32_t position, Mask group,
              Mask active);
  void exit(Warp &warp, Mask lanes);
  void syncWarp(Warp &warp, uint32_t position, Mask lanes);
  bool passWarpSync(Warp &warp, uint32_t position);
  void arrive(Warp &warp, const Op &op, uint32_t position, Mask lanes);
  void releaseFull();
  void release(uint32_t id);
  [[noreturn]] void reportStuck() const;
  bool isRunnable(const Warp &warp) const {
    return (warp.live & ~warp.inWarpSync & ~warp.atBarrier) != 0;
  }

  const Launch &theLaunch;
  const Program &program;
  AccessChecker *theChecker;
  TrafficCounter *theTraffic;
  uint32_t threads;
  std::vector<std::byte> registers, sharedStorage, localStorage;
  std::vector<Warp> warps;
  std::array<Barrier, 16> barriers;
  /// Which barrier each thread waits at.
  std::vector<uint8_t> barrierOf;
  Votes theVotes;
  bool fenced = false;
  /// Barriers that all threads have passed.
  uint32_t epoch = 0;
  uint32_t index = 0;
  uint64_t executed = 0;
  std::minstd_rand random;
};

} // namespace weft::emulator

#endif // WEFT_EMULATOR_PTX_BLOCK_H
