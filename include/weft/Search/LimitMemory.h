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
//===----------------------------------------------------------------------===//

#ifndef WEFT_SEARCH_LIMITMEMORY_H
#define WEFT_SEARCH_LIMITMEMORY_H

#include "weft/Phases.h"

#include "mlir/IR/BuiltinOps.h"

namespace weft {

/// The ranges of regions (option `ranges` of --weft-checkpoint-regions) with
/// which the arena of the graph has at most `limit` bytes; none
/// if it has without. Fails with a diagnostic that names what takes the memory
/// if no choice was found.
mlir::FailureOr<std::vector<std::string>>
chooseRecomputation(mlir::ModuleOp graph, const PipelineOptions &options,
                    int64_t limit);

} // namespace weft

#endif // WEFT_SEARCH_LIMITMEMORY_H
