//===- StatusError.h - A failure as an exception ----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A Status that failed becomes a `weft.ExecutionError`, whose `code` is the
// name of the status code.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PYTHON_SRC_RUNTIME_STATUSERROR_H
#define WEFT_PYTHON_SRC_RUNTIME_STATUSERROR_H

#include "weft/runtime/Status.h"

namespace weft::runtime {

/// Raises the exception, if `status` is a failure.
void raiseIfFailed(const Status &status);

/// The value, or the exception.
template <typename T> T valueOrRaise(Result<T> result) {
  raiseIfFailed(result.status());
  return *std::move(result);
}

} // namespace weft::runtime

#endif // WEFT_PYTHON_SRC_RUNTIME_STATUSERROR_H
