//===- LocalFormModels.h - How ops are computed on shards -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PARTITION_LOCALFORMMODELS_H
#define WEFT_PARTITION_LOCALFORMMODELS_H

namespace mlir {
class DialectRegistry;
}

namespace weft {

/// Models of LocalFormOpInterface for ops of this dialect and of arith.
void registerLocalFormModels(mlir::DialectRegistry &registry);

} // namespace weft

#endif // WEFT_PARTITION_LOCALFORMMODELS_H
