//===- PrintStatus.h - How gtest prints a status ----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_TEST_PRINTSTATUS_H
#define WEFT_RUNTIME_TEST_PRINTSTATUS_H

#include "weft/runtime/Status.h"

#include <ostream>

namespace weft::runtime {

inline void PrintTo(const Status &status, std::ostream *stream) {
  *stream << status.toString();
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_TEST_PRINTSTATUS_H
