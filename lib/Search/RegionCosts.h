//===- RegionCosts.h - What the regions of a chain take ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bytes and the work of each region of what is differentiated, read from a
// schedule in which nothing is recomputed: sizes are those of a rank, and
// only what kernels write to memory counts. The locations of ops say which
// region they belong to (--weft-checkpoint-regions).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SEARCH_REGIONCOSTS_H
#define WEFT_LIB_SEARCH_REGIONCOSTS_H

#include "weft/Cost/CostModel.h"
#include "weft/Search/RankRecomputation.h"

#include "mlir/IR/BuiltinOps.h"

namespace weft {

/// The chains of a schedule with planned memory, in the order in which their
/// regions are numbered. Fails, with diagnostics, where the plan writer would.
mlir::FailureOr<std::vector<std::vector<ChainRegion>>>
measureChains(mlir::ModuleOp schedule);

/// What each rank of a pipeline holds, and the seconds that its regions take;
/// empty without one.
std::vector<RankMemory> measureRanks(mlir::ModuleOp schedule,
                                     const cost::CostModel &model);

} // namespace weft

#endif // WEFT_LIB_SEARCH_REGIONCOSTS_H
