//===- LaneIndex.h - Indices, lane by lane ----------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Indices of elements, lane by lane, and the arithmetic on them.
//
// The builder remembers what it has computed. Equal computations give equal
// values, and splitting an index by a divisor and joining the parts again gives
// the index itself. That is how a kernel sees that a row of tensor<2x3x8xf32>
// and the same row of its reshape to tensor<6x8xf32> are one.

#ifndef WEFT_LIB_CODEGEN_LANEINDEX_H
#define WEFT_LIB_CODEGEN_LANEINDEX_H

#include "LaneOps.h"

#include "mlir/IR/AffineExpr.h"

#include <map>
#include <tuple>
#include <vector>

namespace weft {

/// The index that lane l uses is `base + l * stride`, or, if `lanes` is set,
/// its element l.
struct LaneIndex {
  mlir::Value base;
  int64_t stride = 0;
  mlir::Value lanes;
  /// A number that divides `base`; 0 if the base is 0.
  int64_t divisor = 1;

  bool isUniform() const { return !lanes && stride == 0; }
  bool operator==(const LaneIndex &other) const {
    return base == other.base && stride == other.stride && lanes == other.lanes;
  }
};

class IndexBuilder {
public:
  /// Constants are placed at the start of `entry`, everything else at the
  /// insertion point of `builder`.
  IndexBuilder(mlir::OpBuilder &builder, LaneOps &ops, mlir::Block *entry)
      : b(builder), ops(ops), entry(entry), scopes(1) {}

  /// What is computed in a scope is forgotten at its end. A scope belongs to a
  /// region of the program.
  void enterScope() { scopes.emplace_back(); }
  void leaveScope() { scopes.pop_back(); }

  LaneIndex constant(int64_t value);
  LaneIndex uniform(mlir::Value value, int64_t divisor = 1) {
    return {value, 0, {}, divisor};
  }
  LaneIndex add(LaneIndex x, LaneIndex y);
  LaneIndex multiply(LaneIndex x, int64_t factor);
  /// Quotient and remainder of a non-negative index.
  std::pair<LaneIndex, LaneIndex> split(LaneIndex x, int64_t divisor);
  /// Lets `whole`, of which more may be known, stand for the index whose parts
  /// these are.
  void declareJoin(LaneIndex major, LaneIndex minor, int64_t divisor,
                   LaneIndex whole);
  /// major * divisor + minor.
  LaneIndex join(LaneIndex major, LaneIndex minor, int64_t divisor);

  /// The row-major number of an element, and back.
  LaneIndex linearise(llvm::ArrayRef<LaneIndex> index,
                      llvm::ArrayRef<int64_t> shape);
  llvm::SmallVector<LaneIndex> delinearise(LaneIndex x,
                                           llvm::ArrayRef<int64_t> shape);

  /// The value of an affine expression of these dimensions.
  LaneIndex evaluate(mlir::AffineExpr expr, llvm::ArrayRef<LaneIndex> dims);

  /// Whether all lanes have the same quotient by `divisor`, as far as is known.
  bool lanesStayInBlock(const LaneIndex &x, int64_t divisor) const;

  /// The index as one i64 (uniform) or as a vector of them.
  mlir::Value materialise(LaneIndex x);

private:
  /// Operation, operand or operands, constant.
  using Key = std::tuple<int, std::vector<const void *>, int64_t>;
  LaneIndex remember(Key key, llvm::function_ref<LaneIndex()> compute);
  static std::vector<const void *> identity(llvm::ArrayRef<LaneIndex> indices);
  const LaneIndex *findJoin(LaneIndex major, LaneIndex minor,
                            int64_t divisor) const;
  LaneIndex splitPart(LaneIndex x, int64_t divisor, bool quotient);

  mlir::OpBuilder &b;
  LaneOps &ops;
  mlir::Block *entry;
  std::map<int64_t, mlir::Value> constants;
  /// Looked up only; never iterated over its keys.
  std::vector<std::map<Key, LaneIndex>> scopes;
};

} // namespace weft

#endif // WEFT_LIB_CODEGEN_LANEINDEX_H
