//===- EarlyParts.cpp - Parts that are written long before others ---------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All bytes of a buffer are held from the first writer of a part on. The loss,
// say, is there before the backward pass, and the gradients that are sent with
// it are not: better four bytes are copied when these are there.
//
//===----------------------------------------------------------------------===//

#include "ResultPlacement.h"

#include "weft/IR/Origin.h"
#include "weft/IR/TensorTypes.h"
#include "weft/Schedule/ArenaPlanner.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace weft;

/// The share of the peak that copies must save to be worth their launches.
static constexpr double leastPeakSaved = 0.005;
/// The most that is copied, of the bytes that are saved, unless memory is
/// limited: copies take time.
static constexpr double mostCopied = 0.25;

namespace {

/// A buffer that is put together of parts.
struct Whole {
  ConcatOp concat;
  /// By the instruction that first writes them; the first of these are copied.
  SmallVector<std::pair<int64_t, unsigned>> parts;
  size_t copied = 0;
};

class EarlyParts {
public:
  EarlyParts(func::FuncOp entry, const ProgramStates &states);

  void run(bool copiesLarge);

private:
  std::vector<ArenaBuffer> findLifetimes() const;
  size_t countBefore(const Whole &whole, int64_t step) const;
  int64_t bytesOfParts(const Whole &whole, size_t from, size_t to) const;
  int64_t bytesOfCopies() const;
  Whole *findHeld(int64_t step);
  void shiftStarts();

  func::FuncOp entry;
  EntryBuffers buffers;
  /// By index of the buffer.
  llvm::MapVector<int32_t, Whole> wholes;
};

} // namespace

EarlyParts::EarlyParts(func::FuncOp entry, const ProgramStates &states)
    : entry(entry), buffers(entry, states, ResultBinding::Bound) {
  entry.walk([&](ConcatOp concat) {
    // What begins in a loop is made of nothing else.
    if (llvm::any_of(concat->getUsers(), [](Operation *user) {
          return user->hasAttr(behindAttrName);
        }))
      return;
    Whole whole = {concat, {}};
    for (auto [number, part] : llvm::enumerate(concat.getOperands()))
      whole.parts.push_back({buffers.bufferFor(part).first, number});
    llvm::sort(whole.parts);
    wholes.insert({buffers.bufferOf(concat), whole});
  });
}

int64_t EarlyParts::bytesOfParts(const Whole &whole, size_t from,
                                 size_t to) const {
  ConcatOp concat = whole.concat;
  int64_t bytes = 0;
  for (size_t i = from; i < to; ++i)
    bytes += bytesOf(concat.getOperand(whole.parts[i].second));
  return bytes;
}

int64_t EarlyParts::bytesOfCopies() const {
  int64_t bytes = 0;
  for (const auto &[index, whole] : wholes)
    bytes += bytesOfParts(whole, 0, whole.copied);
  return bytes;
}

std::vector<ArenaBuffer> EarlyParts::findLifetimes() const {
  std::vector<ArenaBuffer> lifetimes;
  for (auto [index, buffer] : llvm::enumerate(buffers.buffers())) {
    if (!buffer.isLaidOut() || buffer.kind == BufferKind::State ||
        buffer.kind == BufferKind::Constant)
      continue;
    lifetimes.push_back({buffer.first, buffer.last, buffer.bytes});
    auto found = wholes.find(index);
    if (found == wholes.end())
      continue;
    const Whole &whole = found->second;
    int64_t time = buffers.timeOf(whole.concat);
    for (size_t i = 0; i < whole.copied; ++i)
      lifetimes.push_back(
          {whole.parts[i].first, time, bytesOfParts(whole, i, i + 1)});
    size_t place = lifetimes.size() - 1 - whole.copied;
    lifetimes[place].first = whole.copied < whole.parts.size()
                                 ? whole.parts[whole.copied].first
                                 : time;
  }
  return lifetimes;
}

size_t EarlyParts::countBefore(const Whole &whole, int64_t step) const {
  return llvm::count_if(whole.parts,
                        [&](const auto &part) { return part.first <= step; });
}

/// The buffer most of whose bytes are held at a step for the sake of few.
Whole *EarlyParts::findHeld(int64_t step) {
  Whole *best = nullptr;
  int64_t most = 0;
  for (auto &[index, whole] : wholes) {
    size_t there = countBefore(whole, step), all = whole.parts.size();
    if (there <= whole.copied || there == all)
      continue;
    int64_t gain = bytesOfParts(whole, there, all);
    if (gain > most) {
      best = &whole;
      most = gain;
    }
  }
  return best;
}

/// Instructions of a loop are counted where collectives begin behind them: the
/// copies before them count as well.
void EarlyParts::shiftStarts() {
  for (auto start : entry.front().getOps<StartOp>()) {
    auto behind = start->getAttrOfType<IntegerAttr>(behindAttrName);
    RepeatOp loop = findLoopBefore(start);
    if (!behind || !loop)
      continue;
    int64_t time = buffers.timeOf(loop) + 1 + behind.getInt(), copies = 0;
    for (const auto &[index, whole] : wholes)
      if (loop->isAncestor(whole.concat) &&
          buffers.timeOf(whole.concat) <= time)
        copies += whole.copied;
    start->setAttr(behindAttrName, IntegerAttr::get(behind.getType(),
                                                    behind.getInt() + copies));
  }
}

void EarlyParts::run(bool copiesLarge) {
  ArenaPeak peak = findPeak(findLifetimes());
  auto best = wholes;
  int64_t least = peak.bytes, copied = 0;
  // The peak may be at several instructions, so that one step gains nothing.
  while (Whole *whole = findHeld(peak.step)) {
    whole->copied = countBefore(*whole, peak.step);
    peak = findPeak(findLifetimes());
    const auto saved = double(least - peak.bytes);
    const int64_t bytes = bytesOfCopies();
    if (saved > leastPeakSaved * double(least) &&
        (copiesLarge || double(bytes - copied) <= mostCopied * saved)) {
      least = peak.bytes;
      copied = bytes;
      best = wholes;
    }
  }
  wholes = std::move(best);
  shiftStarts();
  for (auto &[index, whole] : wholes)
    for (size_t i = 0; i < whole.copied; ++i) {
      OpOperand &part = whole.concat->getOpOperand(whole.parts[i].second);
      OriginListener listener(getOrigin(whole.concat));
      OpBuilder builder(whole.concat, &listener);
      part.set(CopyOp::create(builder, whole.concat.getLoc(),
                              part.get().getType(), part.get()));
    }
}

void weft::copyEarlyParts(func::FuncOp entry, const ProgramStates &states,
                          bool copiesLarge) {
  if (!entry.getBody().getOps<ConcatOp>().empty() ||
      !entry.getBody().getOps<RepeatOp>().empty())
    EarlyParts(entry, states).run(copiesLarge);
}
