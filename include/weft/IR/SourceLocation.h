//===- SourceLocation.h - Where an op comes from ----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What users read of a location; nothing is decided by one. An op that a pass
// derives from another keeps the other's location under a phrase that says how:
//
//   derivedFrom(loc, "transpose of")   prints as   transpose of mlp.mlir:42
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_SOURCELOCATION_H
#define WEFT_IR_SOURCELOCATION_H

#include "mlir/IR/Location.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <string>

namespace weft {

/// What precedes the location of a forward op in those of its derivative and of
/// its recomputation.
inline constexpr llvm::StringLiteral kTransposeOf = "transpose of";
inline constexpr llvm::StringLiteral kRecomputationOf = "recomputation of";
/// What precedes the name of a parameter in the name of its gradient.
inline constexpr llvm::StringLiteral kGradientOf = "gradient of ";

/// The location of an op derived from the one at `loc`.
mlir::Location derivedFrom(mlir::Location loc, llvm::StringRef phrase);

/// The location `loc` under a name: `gradient of w, mlp.mlir:42`.
mlir::Location named(mlir::Location loc, llvm::StringRef name);
/// The location without the name of a gradient, for what serves to make it.
mlir::Location withoutGradientName(mlir::Location loc);
/// The name that the location gives the value; empty if it gives none.
llvm::StringRef nameIn(mlir::Location loc);

/// The location of an op that stands for several: `parts` are theirs, and
/// `results` those of the ops that make its results.
mlir::Location fusedLocation(llvm::ArrayRef<mlir::Location> parts,
                             llvm::ArrayRef<mlir::Location> results,
                             mlir::MLIRContext *context);
/// The location of what makes the value: of an op that stands for several, the
/// one that makes this result.
mlir::Location locationOf(mlir::Value value);

/// `mlp.mlir:42`; a name that the location gives comes before it, as in
/// `params['w1'], mlp.py:7`. Of an inlined op, the location in the function
/// that was called. Empty if the location says nothing.
std::string locationText(mlir::Location loc);
/// The same without names and phrases: `mlp.mlir:42`. Empty if there is no
/// line.
std::string lineOf(mlir::Location loc);

} // namespace weft

#endif // WEFT_IR_SOURCELOCATION_H
