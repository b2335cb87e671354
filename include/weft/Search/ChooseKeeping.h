//===- ChooseKeeping.h - Gather again or keep -------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether parameters that loops over micro-batches gather are gathered once for
// all (--weft-keep-gathered). How long a program takes, and how much it holds,
// is known once it is in order, so it is compiled both ways, without machine
// code.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SEARCH_CHOOSEKEEPING_H
#define WEFT_SEARCH_CHOOSEKEEPING_H

#include "weft/Phases.h"

#include "mlir/IR/BuiltinOps.h"

namespace weft {

/// `options` that keep what loops gather if the schedule of the graph is
/// predicted to take less time with it, and holds at most `limit` bytes (0: any
/// number); and that gather again otherwise. Errors are reported.
mlir::FailureOr<PipelineOptions> chooseKeeping(mlir::ModuleOp graph,
                                               const PipelineOptions &options,
                                               int64_t limit);

} // namespace weft

#endif // WEFT_SEARCH_CHOOSEKEEPING_H
