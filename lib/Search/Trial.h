//===- Trial.h - Compile a copy to see what comes of it ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SEARCH_TRIAL_H
#define WEFT_LIB_SEARCH_TRIAL_H

#include "weft/Cost/CostModel.h"
#include "weft/Phases.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"

namespace weft {

/// Runs passes on a copy; null if they fail. Errors are reported, but no
/// warnings: they are for the program as it will be.
mlir::OwningOpRef<mlir::ModuleOp>
runOnCopy(mlir::ModuleOp module,
          llvm::function_ref<void(mlir::PassManager &)> build);

/// The bytes of the largest arena of its entries.
int64_t arenaBytes(mlir::ModuleOp schedule);

/// How long its entries take in the order of the schedule.
double predictedSeconds(mlir::ModuleOp schedule, const cost::CostModel &model);

/// How long it takes to send `bytes` to the next rank along the axis of the
/// pipeline. Errors are reported.
class TransferTimes {
public:
  static mlir::FailureOr<TransferTimes> load(mlir::ModuleOp module,
                                             const PipelineOptions &options);
  const cost::CostModel &costs() const { return model; }
  double seconds(double bytes) const { return model.send(bytes, level); }

private:
  TransferTimes(cost::CostModel model, size_t level)
      : model(std::move(model)), level(level) {}

  cost::CostModel model;
  size_t level;
};

/// The entry with the loop that is cut; the first one if there is no loop.
mlir::func::FuncOp findCutEntry(mlir::ModuleOp graph);

/// The devices along the axis of a pipeline. Errors are reported.
mlir::FailureOr<int64_t> countRanks(mlir::ModuleOp module,
                                    llvm::StringRef axis);

} // namespace weft

#endif // WEFT_LIB_SEARCH_TRIAL_H
