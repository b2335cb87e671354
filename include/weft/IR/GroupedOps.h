//===- GroupedOps.h - Matmuls of groups of rows -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_GROUPEDOPS_H
#define WEFT_IR_GROUPEDOPS_H

#include "weft/IR/WeftOps.h"

#define GET_OP_CLASSES
#include "weft/IR/GroupedOps.h.inc"

#endif // WEFT_IR_GROUPEDOPS_H
