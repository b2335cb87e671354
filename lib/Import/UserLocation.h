//===- UserLocation.h - Locations in the user's source files ----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A location of JAX nests the label of an op, its stack of names, the names of
// Python functions and a stack of calls. What users want of it is one line of
// their code, and where in the program that line was traced.
//
// Example:
//
//   loc("jit(step)/transpose(jvp())/dot_general"(
//       callsite("loss"("gpt.py":12:4 to :20) at ...)))
//   names "transpose(jvp())/dot_general", file gpt.py:12:4
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IMPORT_USERLOCATION_H
#define WEFT_LIB_IMPORT_USERLOCATION_H

#include "mlir/IR/Location.h"

#include <string>

namespace weft::stablehlo {

struct UserLocation {
  std::string names;
  /// Null if it is unknown.
  mlir::LocationAttr file;

  static UserLocation of(mlir::Location loc);
  /// The location of `inner`, an op of a function that is called here.
  UserLocation within(const UserLocation &inner) const;
  mlir::Location toLocation(mlir::MLIRContext *context) const;
};

} // namespace weft::stablehlo

#endif // WEFT_LIB_IMPORT_USERLOCATION_H
