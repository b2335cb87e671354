//===- ElementEmitter.h - Elements on demand --------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes elements of the tensors of a kernel, on demand.
//
// To emit the value of an element, its producer's region is cloned and the
// elements that it reads are emitted first, down to loads from buffers. A value
// that two consumers need at the same index is emitted once; a value needed at
// different indices is recomputed, so that no intermediate tensor exists.

#ifndef WEFT_LIB_CODEGEN_ELEMENTEMITTER_H
#define WEFT_LIB_CODEGEN_ELEMENTEMITTER_H

#include "KernelPlan.h"
#include "LaneIndex.h"
#include "LaneOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <functional>

namespace weft {

class ElementEmitter {
public:
  /// `arguments`: a pointer for each buffer argument, an i64 for each position.
  /// Lanes are `width` numbers.
  ElementEmitter(mlir::OpBuilder &builder, mlir::func::FuncOp kernel,
                 mlir::LLVM::LLVMFuncOp target,
                 llvm::ArrayRef<mlir::Value> arguments,
                 int64_t width = laneCount);

  /// The elements of `tensor` at `index`: one number if the index is uniform, a
  /// number or a vector otherwise.
  mlir::Value emit(mlir::Value tensor, llvm::ArrayRef<LaneIndex> index);

  /// The results of the region of `generic` at a point of its iteration space,
  /// with `accumulators` in place of its outputs.
  llvm::SmallVector<mlir::Value> emitRegion(mlir::linalg::GenericOp generic,
                                            llvm::ArrayRef<LaneIndex> point,
                                            mlir::ValueRange accumulators);

  mlir::Value load(mlir::Value pointer, mlir::Type element, LaneIndex offset,
                   bool isInvariant = false);
  void store(mlir::Value value, mlir::Value pointer, LaneIndex offset);

  void enterScope() {
    values.emplace_back();
    indices.enterScope();
  }
  void leaveScope() {
    values.pop_back();
    indices.leaveScope();
  }

  mlir::OpBuilder &b;
  mlir::Location loc;
  LaneOps ops;
  IndexBuilder indices;

  /// The lanes that are on; null if all are.
  mlir::Value mask;
  /// Bytes that every buffer is aligned to and that a load of lanes may count
  /// on where its offset allows it; 0: only elements are aligned.
  unsigned vectorAlignment = 0;
  /// For each argument whether loads may say that nothing writes to its buffer
  /// while the kernel runs; none may if it is empty.
  llvm::SmallVector<bool> isReadOnly;
  /// What the names of tables of constants begin with.
  std::string tablePrefix;
  /// The loops around the insertion point. `ownElement` is row * columns +
  /// column.
  int64_t columns = 0;
  LaneIndex row, column, ownElement;
  /// Where in the row buffers of kept values the position is.
  LaneIndex keptAt;
  const KernelNest *nest = nullptr;
  /// Results of the nest's row reductions for the current row.
  llvm::DenseMap<mlir::Operation *, mlir::Value> rowValues;
  /// Sums over rows that are complete, at the current column.
  llvm::DenseMap<mlir::Operation *, mlir::Value> columnValues;
  /// Row buffers of kept values, of which the first pass that has them fills
  /// theirs, and those that the current row has filled.
  llvm::DenseMap<mlir::Value, mlir::Value> keptBuffers;
  llvm::DenseSet<mlir::Value> filled, filling;
  /// Number of open scopes in the body of the current loop: only there is a
  /// value computed for all columns.
  size_t bodyDepth = 0;
  size_t depth() const { return values.size(); }

  /// Asked, if set, before the element of an operand of an element-wise
  /// operation is emitted: gives the element, which `emitElement` emits.
  std::function<mlir::Value(mlir::linalg::GenericOp, mlir::OpOperand &,
                            llvm::function_ref<mlir::Value()> emitElement)>
      readOperand;

private:
  using Index = llvm::ArrayRef<LaneIndex>;
  mlir::Value compute(mlir::Value tensor, Index index);
  mlir::Value emitArgument(mlir::BlockArgument argument, LaneIndex offset);
  mlir::Value emitConstant(mlir::arith::ConstantOp op, Index index);
  mlir::Value emitGeneric(mlir::OpResult result, Index index);
  mlir::Value emitReduction(mlir::OpResult result, Index index);
  mlir::Value emitSlice(mlir::tensor::ExtractSliceOp op, Index index);
  mlir::Value emitConcat(mlir::tensor::ConcatOp op, Index index);
  mlir::Value emitPieceAtNumber(mlir::tensor::ConcatOp op, Index index,
                                unsigned piece, int64_t start);
  mlir::Value emitReshape(mlir::Operation *op, Index index);
  mlir::Value emitScalar(mlir::Value value);
  mlir::Value remember(mlir::Value tensor, Index index, mlir::Value value);
  mlir::Value rowBufferOf(mlir::Value tensor, bool isOwn);
  void keep(mlir::Value tensor, mlir::Value value, mlir::Value buffer);
  bool isOwnElement(mlir::Value tensor, Index index);
  mlir::Value elementPointer(mlir::Value pointer, mlir::Type storage,
                             LaneIndex offset);
  unsigned alignmentAt(LaneIndex offset, mlir::Type storage) const;
  bool liesInOnePiece(mlir::tensor::ConcatOp op, LaneIndex index) const;

  mlir::func::FuncOp kernel;
  mlir::LLVM::LLVMFuncOp target;
  llvm::SmallVector<mlir::Value> arguments;
  struct Known {
    std::vector<LaneIndex> index;
    mlir::Value value;
  };
  std::vector<llvm::DenseMap<mlir::Value, std::vector<Known>>> values;
  llvm::DenseMap<mlir::Operation *, mlir::LLVM::GlobalOp> tables;
};

/// The type that an element has in memory: one byte for a predicate, an integer
/// for bf16, itself otherwise.
mlir::Type getStorageType(mlir::Type element);

} // namespace weft

#endif // WEFT_LIB_CODEGEN_ELEMENTEMITTER_H
