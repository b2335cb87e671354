//===- LimitMemory.h - Recompute to stay under a limit ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which regions of a program to recompute so that a rank needs no more
// memory than allowed, with the least work. Sizes are known only when shapes
// are local and kernels made; so the program is compiled (without machine code)
// as it is, measured, and compiled again with what planChain chooses for the
// measured chains. The arena of that is the answer to the question; where the
// chains promised too much or too little, the next choice has another limit.
//
// Where nothing fits, shardings that are chosen by cost may be the reason: they
// hold more where that saves communication. Then the same is tried with those
// that propagation gives.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SEARCH_LIMITMEMORY_H
#define WEFT_SEARCH_LIMITMEMORY_H

#include "weft/Phases.h"

#include "mlir/IR/BuiltinOps.h"

namespace weft {

/// `options` with ranges of regions to recompute (option `ranges` of
/// --weft-checkpoint-regions), and with shardings by propagation alone where it
/// takes that, so that the arena of the graph has at most `limit` bytes. Fails
/// with a diagnostic that names what takes the memory if no choice was found.
mlir::FailureOr<PipelineOptions> limitMemory(mlir::ModuleOp graph,
                                             const PipelineOptions &options,
                                             int64_t limit);

} // namespace weft

#endif // WEFT_SEARCH_LIMITMEMORY_H
