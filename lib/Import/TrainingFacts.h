//===- TrainingFacts.h - Parameters and gradients of a program --*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// StableHLO does not say what was differentiated. A step that donates what it
// updates shows it all the same: an optimizer computes the next value of a
// parameter element by element of the parameter itself, of other states and of
// the gradient, and the gradient is the one that depends on the parameter.
//
//   def step(w, m, x):                  # w and m are donated
//       m = 0.9 * m + grad(loss)(w, x)  # depends on w, not on m: w is a
//       return w - 0.1 * m, m           # parameter, m is none
//
// docs/Import.md says which programs this does not understand.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IMPORT_TRAININGFACTS_H
#define WEFT_LIB_IMPORT_TRAININGFACTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft::stablehlo {

/// Marks the parameters among the arguments of an imported function
/// (`weft.parameter`) and the ops that make their gradients (`weft.origin`).
void markTrainingFacts(mlir::func::FuncOp function);

} // namespace weft::stablehlo

#endif // WEFT_LIB_IMPORT_TRAININGFACTS_H
