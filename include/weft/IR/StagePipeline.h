//===- StagePipeline.h - The pipeline of a program --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module of form 1 or 2 that is to be a pipeline says all that the phases
// behind it need, beside the stages and micro-batches of its ops:
//
//   module attributes {weft.pipeline = {axis = "pipe", schedule = "1f1b"},
//                      weft.stages = 4 : i64}
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_STAGEPIPELINE_H
#define WEFT_IR_STAGEPIPELINE_H

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>

namespace weft {

inline constexpr llvm::StringLiteral kPipelineAttrName = "weft.pipeline";

struct StagePipeline {
  /// The mesh axis along which there are stages.
  std::string axis;
  /// Of a published schedule, or "auto": the compiler chose the table. Empty
  /// for a table of the user's.
  std::string schedule;
  /// As CSV, in place of a published schedule, and what messages call it.
  std::string table;
  std::string tableName = "the table";
  /// Whether roles may each update what they share; not under a memory limit.
  bool ownCopies = true;

  bool operator==(const StagePipeline &) const = default;
};

/// None of a module that is to be no pipeline, and of an attribute that is not
/// well-formed.
std::optional<StagePipeline> getPipeline(mlir::ModuleOp module);
void setPipeline(mlir::ModuleOp module, const StagePipeline &pipeline);

/// Forgets which stage computes each op of a module that is to be no pipeline.
void removeStages(mlir::ModuleOp module);

} // namespace weft

#endif // WEFT_IR_STAGEPIPELINE_H
