//===- OrderOps.cpp - Generated parts of the ops on orders ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/OrderOps.h"
#include "Directives.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace weft;

#define GET_OP_CLASSES
#include "weft/IR/OrderOps.cpp.inc"
