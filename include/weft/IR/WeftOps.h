//===- WeftOps.h - Every op of the dialect ----------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_WEFTOPS_H
#define WEFT_IR_WEFTOPS_H

#include "weft/IR/CommunicationOpInterface.h"
#include "weft/IR/DecompositionOpInterface.h"
#include "weft/IR/GatherDims.h"
#include "weft/IR/InstructionOpInterface.h"
#include "weft/IR/ProductOpInterface.h"
#include "weft/IR/ScheduleTypes.h"
#include "weft/IR/ShardingRuleOpInterface.h"
#include "weft/IR/VjpOpInterface.h"
#include "weft/IR/WeftAttrs.h"
#include "weft/IR/WeftDialect.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "weft/IR/WeftOps.h.inc"

#endif // WEFT_IR_WEFTOPS_H
