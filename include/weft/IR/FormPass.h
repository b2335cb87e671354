//===- FormPass.h - Passes that check their input ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pass declares in its .td what it needs of a module, and runs only on
// modules that are so; on others it fails with diagnostics:
//
//   def Localize : FormPass<"weft-localize", "Graph"> { ... }
//
// What a pass needs is less than what the form before its phase promises
// (--weft-verify-form): only what the pass cannot do without. The rules of both
// are the same functions (FormRules.h).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_FORMPASS_H
#define WEFT_IR_FORMPASS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace weft {

/// What a pass needs, in the order in which the pipeline reaches it.
enum class PassInput {
  /// A graph with calls and gradients.
  Calls,
  /// A graph with gradients, without calls.
  Gradients,
  /// A graph with composites, without gradients.
  Composites,
  /// A graph (form 1 or 2), with or without shardings.
  Graph,
  /// A program with local types, in which loops over micro-batches may still
  /// be what their borders say.
  Localized,
  /// An SPMD program (form 3).
  Spmd,
  /// An SPMD program whose matmuls are GEMMs.
  Gemms,
  /// Launches, GEMMs, attention, views, constants and collectives.
  Instructions,
  /// Kernels of element-wise ops and tensor ops.
  Kernels,
  /// A schedule (form 4), with or without offsets of buffers.
  Schedule,
};

/// Reports what `pass` needs of the module and does not find.
mlir::LogicalResult verifyPassInput(mlir::ModuleOp module, PassInput input,
                                    llvm::StringRef pass);

/// Base of the passes that a .td declares as a FormPass.
template <PassInput input>
class FormPass : public mlir::OperationPass<mlir::ModuleOp> {
protected:
  using OperationPass::OperationPass;

  virtual void runOnInput() = 0;

private:
  void runOnOperation() final {
    if (mlir::failed(verifyPassInput(getOperation(), input, getArgument())))
      return signalPassFailure();
    runOnInput();
  }
};

} // namespace weft

#endif // WEFT_IR_FORMPASS_H
