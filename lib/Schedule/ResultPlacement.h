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

/// Whether a launch may write a result over an operand.
using MayShare = llvm::function_ref<bool(LaunchOp launch, unsigned operand,
                                         unsigned result)>;

/// A kernel's operands are different buffers; where a launch is given two views
/// of one, the second becomes a copy. Returns the number of copies inserted.
int64_t separateOperands(mlir::func::FuncOp entry, const ProgramStates &states);

/// Returns the number of copies inserted.
int64_t placeResults(mlir::func::FuncOp entry, const ProgramStates &states,
                     MayShare mayShare);

/// Lets launches and all-reduces whose operand dies with them write in place,
/// where both are temporary or the result is an output. Merges the buffers.
void shareTemporaries(EntryBuffers &buffers, MayShare mayShare);

} // namespace weft

#endif // WEFT_LIB_SCHEDULE_RESULTPLACEMENT_H
