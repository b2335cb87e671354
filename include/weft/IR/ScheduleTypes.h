//===- ScheduleTypes.h - Types and enums of the schedule --------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `!weft.pending<tensor<...>>`, a tensor that a collective is still writing,
// and the kinds of collectives. Used by the ops of form 4 (ScheduleOps.td).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_SCHEDULETYPES_H
#define WEFT_IR_SCHEDULETYPES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include "weft/IR/WeftAttrs.h"

#define GET_TYPEDEF_CLASSES
#include "weft/IR/ScheduleTypes.h.inc"

#endif // WEFT_IR_SCHEDULETYPES_H
