//===- PlanMemory.cpp - Give every value an offset in the arena -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ResultPlacement.h"

#include "weft/IR/Segments.h"
#include "weft/IR/TensorTypes.h"
#include "weft/Schedule/ArenaPlanner.h"
#include "weft/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace weft {
#define GEN_PASS_DEF_PLANMEMORY
#include "weft/Schedule/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

namespace {

struct PlanMemory : weft::impl::PlanMemoryBase<PlanMemory> {
  using PlanMemoryBase::PlanMemoryBase;

  void runOnInput() override;

private:
  void placeConstants(func::FuncOp entry);
  void placeConstants(ArrayRef<func::FuncOp> entries,
                      const ProgramStates &states);
  void layOut(func::FuncOp entry, const EntryBuffers &buffers,
              const ProgramStates &states);
  int64_t countInPlace(func::FuncOp entry);

  /// Where the constants of each role are. Equal ones share an offset.
  llvm::MapVector<std::pair<int64_t, Attribute>, int64_t> constants;
  /// By role, end of the states and constants, and of all memory so far.
  std::map<int64_t, int64_t> bases, ends;
  int64_t highest = 0, highestBound = 0;
};

} // namespace

void PlanMemory::placeConstants(func::FuncOp entry) {
  int64_t role = roleOf(entry), &base = bases[role];
  entry.walk([&](arith::ConstantOp constant) {
    auto type = cast<ShapedType>(constant.getType());
    if (constants.insert({std::pair(role, constant.getValue()), base}).second)
      base += alignedBytes(byteSize(type));
  });
}

/// Behind the states; those of what all ranks execute first, whose other memory
/// is behind the constants of every role.
void PlanMemory::placeConstants(ArrayRef<func::FuncOp> entries,
                                const ProgramStates &states) {
  for (func::FuncOp entry : entries)
    if (roleOf(entry) < 0) {
      bases.try_emplace(-1, states.bytes());
      placeConstants(entry);
    }
  auto common = bases.find(-1);
  for (func::FuncOp entry : entries)
    if (int64_t role = roleOf(entry); role >= 0) {
      bases.try_emplace(role, common == bases.end() ? states.bytes(role)
                                                    : common->second);
      placeConstants(entry);
    }
  for (auto [role, base] : bases)
    highest = std::max(highest, base);
  bases[-1] = highestBound = highest;
}

void PlanMemory::layOut(func::FuncOp entry, const EntryBuffers &buffers,
                        const ProgramStates &states) {
  std::vector<ArenaBuffer> shared;
  for (const EntryBuffer &buffer : buffers.buffers()) {
    bool moves = buffer.isLaidOut() && buffer.kind != BufferKind::State &&
                 buffer.kind != BufferKind::Constant;
    shared.push_back({buffer.first, buffer.last, moves ? buffer.bytes : 0});
  }
  ArenaLayout layout = planArena(shared);
  // What goes on beside other segments of its role shares no memory with them.
  int64_t role = roleOf(entry), &end = ends[role];
  int64_t base =
      canBeDeferred(entry) && layout.bytes > 0 ? end : bases.at(role);
  SmallVector<std::pair<Value, int64_t>> offsets;
  for (auto [index, buffer] : llvm::enumerate(buffers.buffers()))
    for (Value value : buffer.values) {
      int64_t offset = base + layout.offsets[index];
      if (buffer.whole)
        offset = base + buffer.offsetInWhole +
                 layout.offsets[buffers.bufferOf(buffer.whole)];
      else if (buffer.kind == BufferKind::State)
        offset = states.states()[buffer.state].offset;
      else if (buffer.kind == BufferKind::Constant)
        offset = constants.lookup({role, buffer.values.front()
                                             .getDefiningOp<arith::ConstantOp>()
                                             .getValue()});
      offsets.push_back({value, offset});
    }
  setOffsets(entry, offsets);

  Builder builder(entry.getContext());
  int64_t arena = base + layout.bytes, bound = base + livenessBound(shared);
  entry->setAttr(arenaBytesAttrName, builder.getI64IntegerAttr(arena));
  entry->setAttr(livenessBytesAttrName, builder.getI64IntegerAttr(bound));
  end = std::max(end, arena);
  highest = std::max(highest, arena);
  highestBound = std::max(highestBound, bound);
}

int64_t PlanMemory::countInPlace(func::FuncOp entry) {
  int64_t count = 0;
  entry.walk([&](InstructionOpInterface op) {
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      count += op.getInPlaceOperand(i) >= 0;
  });
  return count;
}

void PlanMemory::runOnInput() {
  ModuleOp module = getOperation();
  FailureOr<ProgramStates> states = ProgramStates::collect(module);
  if (failed(states))
    return signalPassFailure();
  SmallVector<func::FuncOp> entries = findEntries(module);
  placeConstants(entries, *states);
  llvm::stable_sort(entries, [](func::FuncOp a, func::FuncOp b) {
    return !canBeDeferred(a) && canBeDeferred(b);
  });

  int64_t copies = 0, inPlace = 0;
  InPlacePairs pairs(module);
  for (func::FuncOp entry : entries) {
    placeInBuffers(entry, *states, pairs);
    copyEarlyParts(entry, *states, copyLarge);
    layOut(entry, EntryBuffers(entry, *states, ResultBinding::Bound), *states);
    entry.walk([&](CopyOp) { ++copies; });
    inPlace += countInPlace(entry);
  }
  // MLIR's own statistics are compiled out of an LLVM that is built for speed.
  if (remarkStatistics)
    module.emitRemark("the arena has ")
        << highest << " bytes, "
        << llvm::formatv("{0:f3}",
                         double(highest) / std::max<int64_t>(highestBound, 1))
        << "x the liveness lower bound of " << highestBound << "; " << copies
        << (copies == 1 ? " copy, " : " copies, ") << inPlace
        << (inPlace == 1 ? " result" : " results") << " in place";
}
