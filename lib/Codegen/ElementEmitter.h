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

#include "BufferMap.h"
#include "KeptRows.h"
#include "KernelPlan.h"
#include "LoopPosition.h"
#include "ValueCache.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <functional>

namespace weft {

struct EmitterOptions {
  /// Numbers of the lanes.
  int64_t width = laneCount;
  /// What the names of tables of constants begin with.
  std::string tablePrefix;
  BufferTraits buffers = {};
};

class ElementEmitter {
public:
  /// `arguments`: a pointer for each buffer argument, an i64 for each position.
  ElementEmitter(mlir::OpBuilder &builder, mlir::func::FuncOp kernel,
                 mlir::LLVM::LLVMFuncOp target,
                 llvm::ArrayRef<mlir::Value> arguments, EmitterOptions options);

  /// The elements of `tensor` at `index`: one number if the index is uniform, a
  /// number or a vector otherwise.
  mlir::Value emit(mlir::Value tensor, llvm::ArrayRef<LaneIndex> index);

  /// The results of the region of `generic` at a point of its iteration space,
  /// with `accumulators` in place of its outputs.
  llvm::SmallVector<mlir::Value> emitRegion(mlir::linalg::GenericOp generic,
                                            llvm::ArrayRef<LaneIndex> point,
                                            mlir::ValueRange accumulators);

  mlir::Value load(mlir::Value pointer, mlir::Type element, LaneIndex offset) {
    return buffers.load(pointer, element, offset);
  }
  void store(mlir::Value value, mlir::Value pointer, LaneIndex offset) {
    buffers.store(value, pointer, offset);
  }

  void enterScope() {
    cache.enterScope();
    indices.enterScope();
  }
  void leaveScope() {
    cache.leaveScope();
    indices.leaveScope();
  }
  /// The insertion point is in the body of the position's loop: only in the
  /// scope that is open now is a value computed for all columns.
  void startBody() { bodyDepth = cache.depth(); }

  /// Lets a row reduction of the nest be a number, until all are forgotten.
  void knowRow(mlir::Operation *reduction, mlir::Value value) {
    rowValues[reduction] = value;
  }
  void forgetRows() { rowValues.clear(); }
  /// Lets a sum over rows, at the current column, be what is complete.
  void knowColumn(mlir::Operation *sum, mlir::Value value) {
    columnValues[sum] = value;
  }
  void forgetColumn(mlir::Operation *sum) { columnValues.erase(sum); }

  /// Asked before the element of an operand of an element-wise operation is
  /// emitted: gives the element, which `emitElement` emits.
  using OperandReader =
      std::function<mlir::Value(mlir::linalg::GenericOp, mlir::OpOperand &,
                                llvm::function_ref<mlir::Value()> emitElement)>;
  /// Null for none.
  void setOperandReader(OperandReader reader) {
    readOperand = std::move(reader);
  }

  mlir::OpBuilder &b;
  const mlir::Location loc;
  LaneOps ops;
  IndexBuilder indices;
  BufferMap buffers;
  KeptRows kept;
  /// The loops around the insertion point.
  LoopPosition position;

private:
  using Index = llvm::ArrayRef<LaneIndex>;
  using ValueEmitter = llvm::function_ref<mlir::Value()>;
  mlir::Value compute(mlir::Value tensor, Index index);
  mlir::Value emitArgument(mlir::BlockArgument argument, LaneIndex offset);
  mlir::Value emitConstant(mlir::arith::ConstantOp op, Index index);
  mlir::Value emitGeneric(mlir::OpResult result, Index index);
  mlir::Value emitReduction(mlir::OpResult result, Index index);
  mlir::Value emitSlice(mlir::tensor::ExtractSliceOp op, Index index);
  mlir::Value emitConcat(mlir::tensor::ConcatOp op, Index index);
  mlir::Value emitLanesOfPieces(mlir::tensor::ConcatOp op, Index index);
  mlir::Value emitPieceOf(mlir::tensor::ConcatOp op, Index index,
                          mlir::Value x);
  mlir::Value
  emitInPiece(llvm::ArrayRef<int64_t> limits, mlir::Value at,
              llvm::function_ref<mlir::Value(unsigned piece)> emitPiece,
              unsigned first = 0);
  mlir::Value emitEither(mlir::Value condition, ValueEmitter emitThen,
                         ValueEmitter emitElse);
  mlir::Value emitReshape(mlir::Operation *op, Index index);
  mlir::Value emitScalar(mlir::Value value);
  mlir::Value rowBufferOf(mlir::Value tensor, bool isOwn);
  void keep(mlir::Value tensor, mlir::Value value, mlir::Value buffer);
  bool isOwnElement(mlir::Value tensor, Index index);
  bool liesInOnePiece(mlir::tensor::ConcatOp op, LaneIndex index) const;

  mlir::func::FuncOp kernel;
  mlir::LLVM::LLVMFuncOp target;
  const std::string tablePrefix;
  ValueCache cache;
  size_t bodyDepth = 0;
  llvm::DenseMap<mlir::Operation *, mlir::Value> rowValues, columnValues;
  OperandReader readOperand;
  llvm::DenseMap<mlir::Operation *, mlir::LLVM::GlobalOp> tables;
};

} // namespace weft

#endif // WEFT_LIB_CODEGEN_ELEMENTEMITTER_H
