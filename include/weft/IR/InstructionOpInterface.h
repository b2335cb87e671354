//===- InstructionOpInterface.h - A step of a schedule ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What passes ask about ops and buffers, of programs before and after they are
// schedules.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_INSTRUCTIONOPINTERFACE_H
#define WEFT_IR_INSTRUCTIONOPINTERFACE_H

#include "mlir/IR/OpDefinition.h"

#include "weft/IR/InstructionOpInterface.h.inc"

namespace weft {

/// Whether the op's result is its first operand, in the same buffer: a
/// reshape, a barrier, a wait. False for null.
bool isView(mlir::Operation *op);

/// Whether the value is not read, but waited for by a barrier.
bool isOnlyWaitedFor(mlir::OpOperand &use);

/// Whether the op takes its operands from buffers and leaves its results in
/// buffers, so that no kernel computes them on their way: an instruction, or
/// what will be one, but for launches.
bool usesBuffers(mlir::Operation *op);

/// Whether the op is an instruction that others run beside.
bool isStart(mlir::Operation *op);

} // namespace weft

#endif // WEFT_IR_INSTRUCTIONOPINTERFACE_H
