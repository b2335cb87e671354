//===- VisitInstruction.h - One case for each instruction -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   visitInstruction(op, [&](auto instruction) { write(instruction); });
//
// calls `write` with the op as what it is: a GemmOp, a LaunchOp, ... It does
// not compile until there is a `write` for every op of the dialect with the
// InstructionOpInterface.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_VISITINSTRUCTION_H
#define WEFT_IR_VISITINSTRUCTION_H

#include "weft/IR/GroupedOps.h"
#include "weft/IR/OrderOps.h"
#include "weft/IR/WeftOps.h"

#include <type_traits>

namespace weft {

template <typename Op, typename Visitor>
void visitIfInstruction(mlir::Operation *op, Visitor &&visitor) {
  if constexpr (std::is_base_of_v<InstructionOpInterface::Trait<Op>, Op>)
    if (auto instruction = mlir::dyn_cast<Op>(op))
      visitor(instruction);
}

template <typename... Ops> struct OpList {
  template <typename Visitor>
  static void visitInstruction(mlir::Operation *op, Visitor &&visitor) {
    (visitIfInstruction<Ops>(op, visitor), ...);
  }
};

template <typename Visitor>
void visitInstruction(mlir::Operation *op, Visitor &&visitor) {
  OpList<
#define GET_OP_LIST
#include "weft/IR/WeftOps.cpp.inc"
      >::visitInstruction(op, visitor);
  OpList<
#define GET_OP_LIST
#include "weft/IR/GroupedOps.cpp.inc"
      >::visitInstruction(op, visitor);
  OpList<
#define GET_OP_LIST
#include "weft/IR/OrderOps.cpp.inc"
      >::visitInstruction(op, visitor);
}

} // namespace weft

#endif // WEFT_IR_VISITINSTRUCTION_H
