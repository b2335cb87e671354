//===- GridPlanner.h - How jobs share a grid --------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes the jobs of a GridPlan, in two rounds: `add...` decides the kind and
// the vectors of a job and may ask for threads; `lay...` deals out blocks, once
// the threads of a block are known. Each kind of job has a file.

#ifndef WEFT_LIB_CODEGEN_CUDA_GRIDPLANNER_H
#define WEFT_LIB_CODEGEN_CUDA_GRIDPLANNER_H

#include "GridPlan.h"

#include "weft/IR/WeftOps.h"

namespace weft {

/// Bytes of one access of a thread.
inline constexpr int64_t vectorBytes = 16;
/// The most blocks that several of are of use: some for each multiprocessor.
inline constexpr int64_t manyBlocks = 528;
/// Threads that keep the memory of a large GPU busy, if each has a vector.
inline constexpr int64_t manyThreads = 132 * 1536;

//===----------------------------------------------------------------------===//
// Vectors (GridLanes.cpp)
//===----------------------------------------------------------------------===//

/// Bytes of an element in memory.
int64_t elementBytes(mlir::Value tensor);

/// The bytes of the widest element among the tensors of at least `elements`
/// elements that are read to compute `value`, and at least `atLeast`.
int64_t widestBytes(mlir::Value value, int64_t elements, int64_t atLeast);

/// The numbers of 16 bytes, of the widest that memory has one for each row and
/// column of.
int64_t wideLanes(int64_t rows, llvm::ArrayRef<const ColumnLoop *> loops);

/// The numbers of the widest vectors that divide the columns of all loops.
int64_t chooseLanes(int64_t rows, llvm::ArrayRef<const ColumnLoop *> loops);

/// Whether rows of this number of columns are worth code of their own to have
/// wide vectors: all loops have them, and nothing is added up by columns.
bool wantsEdges(const KernelNest &nest, int64_t lanes, int64_t wide);

llvm::SmallVector<const ColumnLoop *> loopsOf(const KernelNest &nest);
int64_t longestRow(const KernelNest &nest);

//===----------------------------------------------------------------------===//
// Jobs
//===----------------------------------------------------------------------===//

class GridPlanner {
public:
  GridPlanner(GridPlan &plan, int64_t sharedBytes)
      : plan(plan), sharedBytes(sharedBytes) {}
  void run();

private:
  bool hasCounters(int64_t count) { return counters + count <= counterCount; }
  /// Takes counters and bytes of partial sums from the workspace.
  void reserve(GridJob &job, int64_t count, int64_t bytes);

  // GridElements.cpp: Elements and Tiles
  void addLoops(const KernelNest &nest);
  void layElements(GridJob &job);
  // GridColumnSums.cpp
  void layColumnSums(GridJob &job);
  // GridRows.cpp
  void addRows(const KernelNest &nest);
  void layRows(GridJob &job);
  void layRowSums(GridJob &job);
  void keepRow(GridJob &job);
  // GridSplitRows.cpp
  bool canSplitRows(const KernelNest &nest);
  void laySplitRows(GridJob &job);
  // GridScatter.cpp
  void addScatter(const KernelNest &nest);
  void layScatter(GridJob &job);

  GridPlan &plan;
  const int64_t sharedBytes;
  int64_t wantedThreads = 0, counters = 0;
};

} // namespace weft

#endif // WEFT_LIB_CODEGEN_CUDA_GRIDPLANNER_H
