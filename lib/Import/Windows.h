//===- Windows.h - Reductions of windows ------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The attributes of a reduce_window or select_and_scatter. Windows of several
// dimensions are reduced along one dimension after the other, the last one
// first: the first maximum in row-major order is then in the first row that has
// it.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IMPORT_WINDOWS_H
#define WEFT_LIB_IMPORT_WINDOWS_H

#include "Conversion.h"
#include "Reducer.h"

namespace weft::stablehlo {

struct WindowAttributes {
  Dims sizes, strides, low, high, baseDilations, windowDilations;

  /// None, and a problem, where they do not fit an operand of that rank.
  static std::optional<WindowAttributes> read(Conversion &c, size_t rank);
};

/// The windows of x combined, without the initial value; null, and a problem,
/// where a graph has no op for them.
mlir::Value reduceWindows(Conversion &c, std::optional<Reducer> reducer,
                          mlir::Value x);

} // namespace weft::stablehlo

#endif // WEFT_LIB_IMPORT_WINDOWS_H
