//===- FormRules.h - What a form promises -----------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A form is checked by a table of rules. A rule is a function that looks at the
// whole module and reports what breaks it; the tables are in
// lib/Forms/VerifyForm.cpp, the rules in FormRules.cpp (several forms) and in
// the file of their subject. Rules that need what a phase knows are of that
// phase: weft/Schedule/ScheduleRules.h.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_FORMRULES_H
#define WEFT_IR_FORMRULES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"

namespace weft {

/// Collects the errors of the rules of one form.
class FormCheck {
public:
  /// `when` starts the messages: `after <phase>` that promises the form, or
  /// `before <pass>` that needs it.
  explicit FormCheck(std::string when) : when(std::move(when)) {}

  mlir::InFlightDiagnostic error(mlir::Location loc) {
    passed = false;
    return mlir::emitError(loc) << when << ": ";
  }
  bool hasPassed() const { return passed; }

private:
  std::string when;
  bool passed = true;
};

/// On a module: names of what a loss was differentiated by that is no argument
/// of an entry, as a parameter after a cast.
inline constexpr llvm::StringLiteral kDifferentiatedAttrName =
    "weft.differentiated";

using FormRule = void (*)(mlir::ModuleOp, FormCheck &);

// Rules of every form.
void checkOneMesh(mlir::ModuleOp module, FormCheck &check);
void checkModuleOps(mlir::ModuleOp module, FormCheck &check);
void checkBodies(mlir::ModuleOp module, FormCheck &check);
void checkOneBlock(mlir::ModuleOp module, FormCheck &check);
void checkNames(mlir::ModuleOp module, FormCheck &check);

// Rules of forms 1 to 3.
/// A gradient is one of a parameter, or of what else was differentiated.
void checkGradients(mlir::ModuleOp module, FormCheck &check);
void checkTensorTypes(mlir::ModuleOp module, FormCheck &check);
void checkNoKernels(mlir::ModuleOp module, FormCheck &check);
/// Types of arguments and results, padded or not, are no parts of their global
/// types: those of forms 1 and 2.
void checkGlobalTypes(mlir::ModuleOp module, FormCheck &check);
/// Ops of arith, math and weft that state a sharding rule.
void checkGraphOps(mlir::ModuleOp module, FormCheck &check);
/// What is computed for each micro-batch leaves the loop in sums and stacks.
void checkMicrobatches(mlir::ModuleOp module, FormCheck &check);

/// Each op of a program cut into stages is of one, and values go forward from
/// stage to stage, and cotangents back.
void checkStages(mlir::ModuleOp module, FormCheck &check);

// Rules of form 2.
void checkEveryValueHasSharding(mlir::ModuleOp module, FormCheck &check);
void checkStateShardings(mlir::ModuleOp module, FormCheck &check);
void checkUnreduced(mlir::ModuleOp module, FormCheck &check);

// Rules of form 3.
void checkLocalOps(mlir::ModuleOp module, FormCheck &check);
void checkLocalTypes(mlir::ModuleOp module, FormCheck &check);
/// A loop over micro-batches, of form 3 or 4, runs once for each.
void checkMicrobatchLoops(mlir::ModuleOp module, FormCheck &check);

// Rules between forms 3 and 4.
/// As form 3, with GEMMs in place of matmuls.
void checkGemmOps(mlir::ModuleOp module, FormCheck &check);
/// As form 4, with tensor ops and collectives in place of starts and waits.
void checkInstructionOps(mlir::ModuleOp module, FormCheck &check);
void checkKernelTypes(mlir::ModuleOp module, FormCheck &check);

// Rules of form 4.
void checkScheduleOps(mlir::ModuleOp module, FormCheck &check);
void checkWaits(mlir::ModuleOp module, FormCheck &check);

/// The functions with a body that are no kernels.
llvm::SmallVector<mlir::func::FuncOp> findPrograms(mlir::ModuleOp module);
/// Whether `op` is of a dialect that computes in forms 1 to 3.
bool isOfProgramDialect(mlir::Operation *op);

} // namespace weft

#endif // WEFT_IR_FORMRULES_H
