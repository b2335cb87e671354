//===- WeftDialect.cpp - The weft dialect ---------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/WeftDialect.h"
#include "weft/IR/LocalFormOpInterface.h"
#include "weft/IR/WeftOps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft;

#include "weft/IR/WeftDialect.cpp.inc"

#include "weft/IR/DecompositionOpInterface.cpp.inc"
#include "weft/IR/LocalFormOpInterface.cpp.inc"
#include "weft/IR/ProductOpInterface.cpp.inc"
#include "weft/IR/ShardingRuleOpInterface.cpp.inc"
#include "weft/IR/VjpOpInterface.cpp.inc"

void WeftDialect::initialize() {
  registerAttributes();
  registerTypes();
  registerOps();
}
