//===- GpuRows.h - Reductions of rows, and sums over them -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The emitters behind the jobs of rows: one walks the passes of a row, the
// other adds up, over the rows of a block and then over the blocks, what the
// passes contribute to sums over rows (the gradients of a norm's scale).

#ifndef WEFT_LIB_CODEGEN_CUDA_GPUROWS_H
#define WEFT_LIB_CODEGEN_CUDA_GPUROWS_H

#include "RowColumns.h"

#include <map>

namespace weft {

class RowSums;

class RowsEmitter {
public:
  explicit RowsEmitter(GpuJob &job);

  void emit();
  void emitSplit();
  /// All passes over one row. `sums`, which may be null, takes part in them.
  void emitRow(mlir::Value row, RowSums *sums);

  bool isHeld(const ColumnLoop &loop) const;
  /// What the thread has of a held loop, the same in all passes.
  const std::vector<RowColumns::Part> &partsOf(const ColumnLoop &loop) const {
    return held.at(loop.columns);
  }

private:
  struct OpenSum {
    mlir::linalg::GenericOp reduction;
    /// What the row begins with, and the thread's share without it: of vectors,
    /// and of edges.
    mlir::Value init;
    CompensatedSum value, edge;
  };
  void setRow(mlir::Value row);
  void placeColumns(mlir::Value row);
  void emitPass(unsigned number, RowSums *sums);
  llvm::MutableArrayRef<OpenSum> openSums(const ColumnLoop &loop,
                                          std::vector<OpenSum> &open);
  void addThreads(llvm::MutableArrayRef<OpenSum> open);
  void closeSums(llvm::ArrayRef<OpenSum> open);
  void waitToOverwrite(const ColumnLoop &loop);
  void emitSingle(const ColumnLoop &loop, RowSums *sums);
  void emitHeld(const ColumnLoop &loop, std::vector<OpenSum> &open,
                RowSums *sums);
  void emitParts(const ColumnLoop &loop, llvm::ArrayRef<RowColumns::Part> parts,
                 llvm::MutableArrayRef<OpenSum> own, RowSums *sums, size_t step,
                 bool waits);
  void emitWalk(const ColumnLoop &loop, std::vector<OpenSum> &open,
                RowSums *sums);

  GpuJob &job;
  ElementEmitter &e;
  GpuBlock &g;
  const KernelNest &nest;
  /// Threads that walk a row, whether they are of one warp of several, and
  /// which of them this is.
  int64_t together;
  bool isWarp;
  mlir::Value member;
  /// By number of columns.
  std::map<int64_t, RowColumns> columnsOf;
  std::map<int64_t, std::vector<RowColumns::Part>> held;
  /// Numbers of the row that the current pass gives to the next ones.
  llvm::SmallVector<std::pair<mlir::Operation *, mlir::Value>> known;
};

class RowSums {
public:
  RowSums(GpuJob &job, RowsEmitter &rows);

  void emit();
  /// Adds what the emitter's position contributes to the sums of a loop: where
  /// they are held in registers, to those of a step.
  void add(const ColumnLoop &loop, size_t step, mlir::Value valid);

private:
  struct Entry {
    const ColumnLoop *loop;
    KernelRoot root;
    /// Bytes in the partial sums of a block.
    int64_t offset;
    /// Its numbers among those that go from row to row; none if they are in the
    /// workspace.
    size_t first, count;

    mlir::linalg::GenericOp op() const;
    int64_t bytes() const { return partialBytes(root, loop->columns); }
  };
  void addInMemory(const Entry &entry, mlir::Value valid);
  void finish(llvm::ArrayRef<CompensatedSum> sums);
  void leave(const Entry &entry, llvm::ArrayRef<CompensatedSum> sums);
  void addPartials(mlir::Value first, int64_t count, mlir::Value target);
  void addPartials(const Entry &entry, LaneIndex column, mlir::Value first,
                   int64_t count, mlir::Value target);
  mlir::Value partialOf(mlir::Value part, const Entry &entry);

  GpuJob &job;
  ElementEmitter &e;
  GpuBlock &g;
  RowsEmitter &rows;
  std::vector<Entry> entries;
  /// Bytes of all partial sums of a block.
  int64_t bytes = 0;
  /// In the loop over rows: its values, and whether it is at its first row.
  llvm::MutableArrayRef<CompensatedSum> current;
  mlir::Value isFirst;
};

} // namespace weft

#endif // WEFT_LIB_CODEGEN_CUDA_GPUROWS_H
