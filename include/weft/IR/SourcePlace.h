//===- SourcePlace.h - Where an op comes from -------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What users read of a location. An op that a pass derives from another keeps
// the other's location under a phrase that says how:
//
//   derivedFrom(loc, "transpose of")   prints as   transpose of mlp.mlir:42
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_SOURCEPLACE_H
#define WEFT_IR_SOURCEPLACE_H

#include "mlir/IR/Location.h"

#include <string>

namespace weft {

/// The location of an op derived from the one at `loc`.
mlir::Location derivedFrom(mlir::Location loc, llvm::StringRef phrase);
/// Whether derivedFrom made the location, with this phrase.
bool isDerived(mlir::Location loc, llvm::StringRef phrase);

/// `mlp.mlir:42`; a name that the location gives comes before it, as in
/// `params['w1'], mlp.py:7`. Of an inlined op, the place in the function that
/// was called. Empty if the location says nothing.
std::string placeOf(mlir::Location loc);

} // namespace weft

#endif // WEFT_IR_SOURCEPLACE_H
