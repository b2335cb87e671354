//===- ElementIndex.h - Indices as sums of digits ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An index that loops compute from the number of their element, as a sum of
// digits of it. The digits of a number are its remainders in a mixed radix:
//
//   number of 6 * 8, in rows of 8: row = number / 8, column = number mod 8
//   transposed:                    column * 6 + row
//
// An index that is no such sum, because it is read from memory or divided
// between digits, is unknown.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_CODEGEN_ELEMENTINDEX_H
#define WEFT_LIB_CODEGEN_ELEMENTINDEX_H

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <utility>

namespace weft {

class ElementIndex {
public:
  /// An unknown one.
  ElementIndex() = default;
  static ElementIndex constant(int64_t value);
  /// (number / weight) mod extent.
  static ElementIndex digit(int64_t weight, int64_t extent);

  bool isKnown() const { return known; }
  bool operator==(const ElementIndex &) const = default;

  ElementIndex operator+(const ElementIndex &other) const;
  ElementIndex operator*(int64_t factor) const;
  /// Quotient and remainder.
  std::pair<ElementIndex, ElementIndex> split(int64_t divisor) const;

private:
  struct Term {
    int64_t weight, extent, factor;
    bool operator==(const Term &) const = default;
  };

  void normalize();
  bool add(const Term &term);

  bool known = false;
  int64_t offset = 0;
  /// From the most significant digit to the least.
  llvm::SmallVector<Term, 4> terms;
};

using ElementPoint = llvm::SmallVector<ElementIndex, 4>;

/// The row-major number of an element, and back.
ElementIndex linearise(llvm::ArrayRef<ElementIndex> index,
                       llvm::ArrayRef<int64_t> shape);
ElementPoint delinearise(ElementIndex x, llvm::ArrayRef<int64_t> shape);

/// The value of an affine expression of these dimensions.
ElementIndex evaluate(mlir::AffineExpr expr, llvm::ArrayRef<ElementIndex> dims);

} // namespace weft

#endif // WEFT_LIB_CODEGEN_ELEMENTINDEX_H
