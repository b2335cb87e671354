//===- NestingCheck.h - Text that a parser can recurse into -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_NESTINGCHECK_H
#define WEFT_LIB_NESTINGCHECK_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringRef.h"

namespace weft {

/// Refuses text whose brackets are nested so deeply that MLIR's parser, which
/// recurses, would run out of stack. `name` is the file's, for the message.
mlir::LogicalResult checkNesting(llvm::StringRef text, llvm::StringRef name,
                                 mlir::MLIRContext &context);

} // namespace weft

#endif // WEFT_LIB_NESTINGCHECK_H
