//===- OperandShardings.cpp - In which shardings ops take operands --------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/OperandShardings.h"

using namespace mlir;
using namespace weft;

ArrayAttr weft::getOperandShardings(Operation *op) {
  return op->getAttrOfType<ArrayAttr>(kOperandShardingsAttrName);
}

ShardingAttr weft::getOperandSharding(Operation *op, unsigned index) {
  ArrayAttr shardings = getOperandShardings(op);
  return shardings && index < shardings.size()
             ? dyn_cast<ShardingAttr>(shardings[index])
             : ShardingAttr();
}

void weft::setOperandShardings(Operation *op, ArrayRef<Attribute> shardings) {
  op->setAttr(kOperandShardingsAttrName,
              ArrayAttr::get(op->getContext(), shardings));
}

void weft::removeOperandShardings(Operation *op) {
  op->removeAttr(kOperandShardingsAttrName);
}
