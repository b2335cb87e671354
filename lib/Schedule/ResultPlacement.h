//===- ResultPlacement.h - Results into their buffers -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first half of memory planning: decides which results of an entry are
// written straight into the buffer they must end in, and inserts copies for the
// others. Afterwards every result that is a state can share the state's buffer
// without changing what any op reads.
//
// A result goes straight into the state's buffer if its producer runs after
// every reader of the old contents, or is the last reader and may write in
// place. Other results get copies at the end of the entry, in an order in which
// no copy overwrites what a later one reads; a cycle (two states that swap) is
// broken by one more copy.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SCHEDULE_RESULTPLACEMENT_H
#define WEFT_LIB_SCHEDULE_RESULTPLACEMENT_H

#include "weft/IR/WeftOps.h"
#include "weft/Schedule/EntryBuffers.h"

namespace weft {

/// What the kernels say of themselves: which operands a result may overwrite.
class InPlacePairs {
public:
  explicit InPlacePairs(mlir::ModuleOp module) : symbols(module) {}

  bool contain(LaunchOp launch, int64_t operand, int64_t result) const;

private:
  mlir::SymbolTable symbols;
};

/// Does all that. What a concat puts side by side and has a buffer already
/// becomes a copy. A kernel's operands are different buffers; where a launch is
/// given two views of one in a set of arguments, the second becomes a copy.
/// Launches and all-reduces whose operand dies with them write in place as
/// well, where both are temporary or the result is an output. Changes nothing
/// when it is done a second time.
void placeInBuffers(mlir::func::FuncOp entry, const ProgramStates &states,
                    const InPlacePairs &pairs);

/// Copies parts of a buffer that are written long before its other parts, where
/// holding the rest of its bytes until then makes the peak higher.
/// `copiesLarge`: however much is copied.
void copyEarlyParts(mlir::func::FuncOp entry, const ProgramStates &states,
                    bool copiesLarge);

} // namespace weft

#endif // WEFT_LIB_SCHEDULE_RESULTPLACEMENT_H
