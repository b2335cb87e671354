//===- WeftOps.cpp - Generated parts of the op classes --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/WeftOps.h"
#include "Directives.h"
#include "ScheduleDirectives.h"
#include "weft/IR/GroupedOps.h"
#include "weft/IR/OrderOps.h"
#include "weft/IR/WindowOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace weft;

#define GET_OP_CLASSES
#include "weft/IR/WeftOps.cpp.inc"

void WeftDialect::registerOps() {
  addOperations<
#define GET_OP_LIST
#include "weft/IR/WeftOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "weft/IR/GroupedOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "weft/IR/OrderOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "weft/IR/WindowOps.cpp.inc"
      >();
}
