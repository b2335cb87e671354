//===- ChooseStages.h - Where a model is cut into stages --------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SEARCH_CHOOSESTAGES_H
#define WEFT_SEARCH_CHOOSESTAGES_H

#include "weft/Phases.h"

#include "mlir/IR/BuiltinOps.h"

namespace weft {

/// The regions (of --weft-checkpoint-regions) with which the stages of a
/// pipeline begin, all but the first, so that a step takes the least time that
/// is predicted for the schedule. The program is compiled without a pipeline,
/// and its regions are measured. Fails with a diagnostic.
mlir::FailureOr<std::vector<int64_t>>
chooseStages(mlir::ModuleOp graph, const PipelineOptions &options);

} // namespace weft

#endif // WEFT_SEARCH_CHOOSESTAGES_H
