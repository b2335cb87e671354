//===- LoopCaptures.h - Loops that carry all that they use ------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loop over a ring of devices uses values of the function that it stands
// in. To cut the function into segments is to know what each op needs: while it
// is cut, loops carry these values, which do not change, as operands, and say
// what stage they are of, as their ops do.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PIPELINING_LOOPCAPTURES_H
#define WEFT_LIB_PIPELINING_LOOPCAPTURES_H

#include "mlir/IR/BuiltinOps.h"

namespace weft {

/// Makes operands of the values that loops at the top of functions use, and
/// gives loops the stage of their ops. Constants are made within.
void carryCaptures(mlir::ModuleOp module);

/// Lets loops use what they carry unchanged, and takes their stage away.
void captureInvariants(mlir::ModuleOp module);

} // namespace weft

#endif // WEFT_LIB_PIPELINING_LOOPCAPTURES_H
