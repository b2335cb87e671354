//===- Block.cpp - A block of threads that runs ---------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace weft::emulator {

/// Shared memory starts with this, so that what depends on it differs from run
/// to run.
static constexpr int sharedPattern = 0xff;
/// Where the dynamic part begins after the static one.
static constexpr uint32_t sharedAlignment = 128;

static uint32_t roundUp(uint32_t value, uint32_t to) {
  return (value + to - 1) / to * to;
}

static uint32_t dynamicBegin(const Program &program) {
  return roundUp(program.sharedBytes, sharedAlignment);
}

static std::byte *alignedBegin(std::vector<std::byte> &storage) {
  auto address = reinterpret_cast<uint64_t>(storage.data());
  return storage.data() + (-address & (sharedAlignment - 1));
}

Block::Block(const Launch &launch, AccessChecker *checker,
             TrafficCounter *traffic)
    : theLaunch(launch), program(*launch.program), theChecker(checker),
      theTraffic(traffic), threads(launch.block.count()) {
  uint32_t count = (threads + warpSize - 1) / warpSize;
  uint32_t localStride = roundUp(program.localBytes, 16);
  registers.resize(size_t(count) * program.registerBytes + sharedAlignment);
  sharedStorage.resize(dynamicBegin(program) + launch.dynamicShared +
                       sharedAlignment);
  localStorage.resize(size_t(localStride) * threads + sharedAlignment);
  barrierOf.resize(size_t(count) * warpSize);
  warps.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    Warp &warp = warps.emplace_back(*this, i);
    warp.file = alignedBegin(registers) + size_t(i) * program.registerBytes;
    fill(warp);
  }
}

Range Block::shared() const {
  std::byte *begin =
      alignedBegin(const_cast<std::vector<std::byte> &>(sharedStorage));
  Range range;
  range.begin = reinterpret_cast<uint64_t>(begin);
  range.end = range.begin + dynamicBegin(program) + theLaunch.dynamicShared;
  range.storage = begin;
  return range;
}

Range Block::local(uint32_t thread) const {
  std::byte *begin =
      alignedBegin(const_cast<std::vector<std::byte> &>(localStorage)) +
      size_t(roundUp(program.localBytes, 16)) * thread;
  Range range;
  range.begin = reinterpret_cast<uint64_t>(begin);
  range.end = range.begin + program.localBytes;
  range.storage = begin;
  return range;
}

Actor Block::actor(const Warp &warp, uint32_t lane) const {
  const Op &op = program.code[warp.position[lane]];
  return {index, warp.thread(lane), epoch, warp.syncs, op.line, fenced};
}

void Block::fault(uint32_t line, uint32_t thread, FaultKind kind,
                  const std::string &what) const {
  Extent block = theLaunch.grid.at(index), at = theLaunch.block.at(thread);
  auto text = [](const Extent &extent) {
    return "(" + std::to_string(extent.x) + ", " + std::to_string(extent.y) +
           ", " + std::to_string(extent.z) + ")";
  };
  throw Fault(kind, "kernel '" + program.name + "', block " + text(block) +
                        ", thread " + text(at) + ", PTX line " +
                        std::to_string(line) + ": " + what);
}

uint64_t Block::preloadValue(const Preload &preload, const Warp &warp,
                             uint32_t lane) const {
  using Kind = Preload::Kind;
  uint64_t self = uint64_t(1) << lane;
  switch (preload.kind) {
  case Kind::Value:
    return preload.value;
  case Kind::ThreadIndex:
    return theLaunch.block.at(warp.thread(lane))[preload.value];
  case Kind::BlockSize:
    return theLaunch.block[preload.value];
  case Kind::BlockIndex:
    return theLaunch.grid.at(index)[preload.value];
  case Kind::GridSize:
    return theLaunch.grid[preload.value];
  case Kind::Lane:
    return lane;
  case Kind::WarpIndex:
    return warp.index;
  case Kind::WarpCount:
    return warps.size();
  case Kind::LanesBelow:
    return self - 1;
  case Kind::LanesUpTo:
    return self * 2 - 1;
  case Kind::LaneItself:
    return self;
  case Kind::LanesFrom:
    return ~(self - 1);
  case Kind::LanesAbove:
    return ~(self * 2 - 1);
  case Kind::Parameter:
    return reinterpret_cast<uint64_t>(theLaunch.parameters) + preload.value;
  case Kind::DynamicShared:
    return theLaunch.dynamicShared;
  case Kind::AllShared:
    return dynamicBegin(program) + theLaunch.dynamicShared;
  case Kind::DynamicSharedBegin:
    return dynamicBegin(program) + preload.value;
  }
  return 0;
}

static void fillRegister(Warp &warp, const Preload &preload, uint32_t lane,
                         uint64_t value) {
  switch (preload.size) {
  case 0:
    warp.predicate(preload.offset) = static_cast<Mask>(value);
    break;
  case 2:
    warp.lanes<uint16_t>(preload.offset)[lane] = static_cast<uint16_t>(value);
    break;
  case 4:
    warp.lanes<uint32_t>(preload.offset)[lane] = static_cast<uint32_t>(value);
    break;
  default:
    warp.lanes<uint64_t>(preload.offset)[lane] = value;
  }
}

void Block::fill(Warp &warp) {
  for (const Preload &preload : program.preloads)
    for (uint32_t lane = 0; lane < warpSize; ++lane)
      fillRegister(warp, preload, lane, preloadValue(preload, warp, lane));
}

void Block::fillBlockIndex(Warp &warp) {
  for (const Preload &preload : program.preloads)
    if (preload.kind == Preload::Kind::BlockIndex)
      for (uint32_t lane = 0; lane < warpSize; ++lane)
        fillRegister(warp, preload, lane, preloadValue(preload, warp, lane));
}

uint64_t Block::run(uint32_t block, uint64_t seed) {
  index = block;
  random.seed(static_cast<uint32_t>(seed ^ (seed >> 32) ^ block) | 1);
  fenced = false;
  epoch = 0;
  executed = 0;
  barriers = {};
  std::memset(sharedStorage.data(), sharedPattern, sharedStorage.size());
  for (Warp &warp : warps) {
    fillBlockIndex(warp);
    uint32_t lanes = std::min(threads - warp.index * warpSize, warpSize);
    warp.live = lanes == warpSize ? ~Mask(0) : (Mask(1) << lanes) - 1;
    warp.inWarpSync = warp.atBarrier = 0;
    warp.syncs = 0;
    warp.position.fill(0);
  }
  std::vector<Warp *> runnable;
  while (true) {
    runnable.clear();
    for (Warp &warp : warps)
      if (isRunnable(warp))
        runnable.push_back(&warp);
    if (runnable.empty())
      break;
    Warp &next = *runnable[random() % runnable.size()];
    runWarp(next, runnable.size() > 1 ? 16 + random() % 512 : ~0u);
  }
  for (const Warp &warp : warps)
    if (warp.live)
      reportStuck();
  return executed;
}

/// Runs the warp until nothing of it can go on, or for about `turns`
/// operations.
void Block::runWarp(Warp &warp, uint32_t turns) {
  uint32_t spins = 0;
  while (isRunnable(warp)) {
    Mask ready = warp.live & ~warp.inWarpSync & ~warp.atBarrier;
    uint32_t least = ~0u, second = ~0u;
    // Lanes that spin until another one does something would keep the others
    // from it if they always went first.
    bool pickAny = ++spins % 256 == 0;
    uint32_t chosen = random() % std::popcount(ready);
    Mask group = 0;
    for (Mask rest = ready; rest; rest &= rest - 1, --chosen) {
      uint32_t at = warp.position[std::countr_zero(rest)];
      if (pickAny && chosen == 0)
        least = at;
      else if (!pickAny)
        least = std::min(least, at);
    }
    for (Mask rest = ready; rest; rest &= rest - 1) {
      uint32_t lane = std::countr_zero(rest), at = warp.position[lane];
      if (at == least)
        group |= Mask(1) << lane;
      else if (at > least)
        second = std::min(second, at);
    }
    uint32_t used =
        runGroup(warp, least, group, second, std::min(turns, 1024u));
    if (turns != ~0u) {
      if (used >= turns)
        return;
      turns -= used;
    }
  }
}

/// Runs a group of lanes that stand at `position` until it parts, waits or
/// reaches `limit`, where others of the warp stand.
uint32_t Block::runGroup(Warp &warp, uint32_t position, Mask group,
                         uint32_t limit, uint32_t turns) {
  const Op *code = program.code.data();
  uint32_t used = 0;
  auto stop = [&](uint32_t at) {
    for (Mask rest = group; rest; rest &= rest - 1)
      warp.position[std::countr_zero(rest)] = at;
  };
  bool keepsPositions = theChecker != nullptr;
  for (; used < turns; ++used) {
    const Op &op = code[position];
    Mask active = group;
    if (op.guard != Op::noGuard) {
      Mask guard = warp.predicate(op.guard);
      active &= op.guardNegated ? ~guard : guard;
    }
    executed += std::popcount(active);
    if (op.flow == Op::Flow::Next) {
      if (keepsPositions)
        stop(position);
      if (active && op.run)
        op.run(warp, op, active);
      if (theTraffic)
        theTraffic->endAccess();
      ++position;
    } else if (op.flow == Op::Flow::Branch && (active == group || !active)) {
      position = active ? op.target : position + 1;
    } else {
      stop(position + 1);
      switch (op.flow) {
      case Op::Flow::Branch:
      case Op::Flow::BranchTable:
        branch(warp, op, position, group, active);
        break;
      case Op::Flow::Exit:
        exit(warp, active);
        break;
      case Op::Flow::WarpSync:
        syncWarp(warp, position, active);
        break;
      default:
        arrive(warp, op, position, active);
      }
      if (executed > theLaunch.operationLimit)
        fault(op.line, warp.thread(std::countr_zero(group)), FaultKind::Timeout,
              "the block executed " + std::to_string(executed) +
                  " operations: a loop without end?");
      return used + 1;
    }
    if (position >= limit)
      break;
  }
  stop(position);
  if (executed > theLaunch.operationLimit)
    fault(code[position].line, warp.thread(std::countr_zero(group)),
          FaultKind::Timeout,
          "the block executed " + std::to_string(executed) +
              " operations: a loop without end?");
  return used;
}

void Block::branch(Warp &warp, const Op &op, uint32_t position, Mask group,
                   Mask active) {
  for (Mask rest = group; rest; rest &= rest - 1) {
    uint32_t lane = std::countr_zero(rest);
    uint32_t target = op.target;
    if (op.flow == Op::Flow::BranchTable) {
      const auto &table = program.branchTables[op.immediate];
      uint32_t entry = warp.lanes<uint32_t>(op.operands[0])[lane];
      if (entry >= table.size())
        warp.fault(op, lane, FaultKind::Trap,
                   "the index " + std::to_string(entry) +
                       " is outside the table of " +
                       std::to_string(table.size()) + " targets");
      target = table[entry];
    }
    warp.position[lane] = active >> lane & 1 ? target : position + 1;
  }
}

void Block::exit(Warp &warp, Mask lanes) {
  warp.live &= ~lanes;
  // Those that wait may have waited for these.
  for (Mask rest = warp.inWarpSync; rest; rest &= rest - 1) {
    uint32_t at = warp.position[std::countr_zero(rest)];
    while (passWarpSync(warp, at))
      ;
  }
}

void Block::syncWarp(Warp &warp, uint32_t position, Mask lanes) {
  warp.inWarpSync |= lanes;
  for (Mask rest = lanes; rest; rest &= rest - 1)
    warp.position[std::countr_zero(rest)] = position;
  while (passWarpSync(warp, position))
    ;
}

/// Lets lanes that wait at `position` go on whose partners are all there.
bool Block::passWarpSync(Warp &warp, uint32_t position) {
  const Op &op = program.code[position];
  Mask there = 0;
  for (Mask rest = warp.inWarpSync; rest; rest &= rest - 1) {
    uint32_t lane = std::countr_zero(rest);
    there |= Mask(warp.position[lane] == position) << lane;
  }
  const uint32_t *members = warp.lanes<uint32_t>(op.operands[op.count - 1]);
  for (Mask rest = there; rest; rest &= rest - 1) {
    uint32_t lane = std::countr_zero(rest);
    if (!(members[lane] >> lane & 1))
      warp.fault(op, lane, FaultKind::Synchronization,
                 "the thread is not in the mask that it waits for");
    Mask partners = members[lane] & warp.live;
    if (partners & ~there)
      continue;
    ++warp.syncs;
    warp.inWarpSync &= ~partners;
    if (op.run)
      op.run(warp, op, partners);
    for (Mask done = partners; done; done &= done - 1)
      warp.position[std::countr_zero(done)] = position + 1;
    return true;
  }
  return false;
}

void Block::arrive(Warp &warp, const Op &op, uint32_t position, Mask lanes) {
  bool waits = op.flow == Op::Flow::Barrier;
  const uint32_t *ids = warp.lanes<uint32_t>(op.operands[op.count - 2]),
                 *counts = warp.lanes<uint32_t>(op.operands[op.count - 1]);
  // bar.red has its predicate before these.
  Mask votes = op.run ? warp.predicate(op.operands[op.count - 3]) : 0;
  for (Mask rest = lanes; rest; rest &= rest - 1) {
    uint32_t lane = std::countr_zero(rest);
    if (ids[lane] >= barriers.size())
      warp.fault(op, lane, FaultKind::Synchronization,
                 "there is no barrier " + std::to_string(ids[lane]));
    Barrier &barrier = barriers[ids[lane]];
    barrier.expected = counts[lane] ? counts[lane] : threads;
    barrier.line = op.line;
    ++barrier.arrived;
    ++barrier.votes.all;
    barrier.votes.yes += votes >> lane & 1;
    if (waits) {
      warp.atBarrier |= Mask(1) << lane;
      warp.position[lane] = position;
      barrierOf[warp.thread(lane)] = static_cast<uint8_t>(ids[lane]);
    }
  }
  releaseFull();
}

void Block::releaseFull() {
  for (uint32_t id = 0; id < barriers.size(); ++id)
    if (barriers[id].arrived && barriers[id].arrived == barriers[id].expected)
      release(id);
}

void Block::release(uint32_t id) {
  theVotes = barriers[id].votes;
  ++epoch;
  for (Warp &warp : warps) {
    Mask lanes = 0;
    uint32_t position = ~0u;
    for (Mask rest = warp.atBarrier; rest; rest &= rest - 1) {
      uint32_t lane = std::countr_zero(rest);
      if (barrierOf[warp.thread(lane)] != id)
        continue;
      if (position != ~0u && warp.position[lane] != position)
        warp.fault(program.code[warp.position[lane]], lane,
                   FaultKind::Synchronization,
                   "threads of the warp are at the barriers of lines " +
                       std::to_string(program.code[position].line) + " and " +
                       std::to_string(program.code[warp.position[lane]].line));
      position = warp.position[lane];
      lanes |= Mask(1) << lane;
    }
    if (!lanes)
      continue;
    const Op &op = program.code[position];
    if (op.run)
      op.run(warp, op, lanes);
    for (Mask rest = lanes; rest; rest &= rest - 1)
      ++warp.position[std::countr_zero(rest)];
    warp.atBarrier &= ~lanes;
  }
  barriers[id] = {};
}

void Block::reportStuck() const {
  uint32_t exited = threads;
  for (const Warp &warp : warps)
    exited -= std::popcount(warp.live);
  for (const Barrier &barrier : barriers) {
    if (!barrier.arrived)
      continue;
    uint32_t waiting = 0;
    while (!(warps[waiting / warpSize].atBarrier >> waiting % warpSize & 1))
      ++waiting;
    fault(barrier.line, waiting, FaultKind::Synchronization,
          "the barrier is reached by " + std::to_string(barrier.arrived) +
              " of " + std::to_string(barrier.expected) + " threads; " +
              std::to_string(exited) + " have exited");
  }
  for (const Warp &warp : warps)
    if (warp.inWarpSync) {
      uint32_t lane = std::countr_zero(warp.inWarpSync);
      warp.fault(program.code[warp.position[lane]], lane,
                 FaultKind::Synchronization,
                 "waits for threads of its warp that do not come");
    }
  fault(0, 0, FaultKind::Synchronization, "the block does not end");
}

} // namespace weft::emulator
