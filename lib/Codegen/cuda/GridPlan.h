//===- GridPlan.h - How a kernel is laid out on a GPU -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Who of a grid computes what, decided before one instruction is emitted.
//
// The nests of a kernel become jobs, each with blocks of its own: those of the
// first job come first. Blocks run in any order, so jobs must not depend on one
// another; nests do not, for each computes what it needs from the operands, and
// results in place are restricted accordingly (BufferSharing).
//
// Example: layer norm of tensor<8192x768xf32> is one job of rows. 768 numbers
// are 192 vectors of 4, so a warp walks a row in 6 steps, and keeps it in
// registers: 8 rows a block of 256 threads, 1024 blocks.

#ifndef WEFT_LIB_CODEGEN_CUDA_GRIDPLAN_H
#define WEFT_LIB_CODEGEN_CUDA_GRIDPLAN_H

#include "../KernelPlan.h"

namespace weft {

inline constexpr int64_t warpThreads = 32;

/// Numbers of a row that one thread may hold in registers.
inline constexpr int64_t heldNumbers = 32;

/// Blocks whose partial sums one block adds up.
inline constexpr int64_t sumFanIn = 32;

/// The most such groups of blocks, whose sums one block adds up in turn.
inline constexpr int64_t mostSumGroups = 2 * sumFanIn;

/// Counters of blocks that have arrived are at the start of the workspace, at
/// the same offset for all kernels: each leaves them zero for the next.
inline constexpr int64_t counterCount = 16384;
inline constexpr int64_t counterBytes = 4;

enum class JobKind {
  /// A thread computes a vector of elements.
  Elements,
  /// A block computes a square of elements, some of which are read transposed,
  /// with a vector for each lane on its sides.
  Tiles,
  /// Sums over rows: a block adds up some rows of a tile of columns.
  ColumnSums,
  /// Row reductions: a warp or a block walks rows.
  Rows,
  /// Reductions of few long rows: several blocks walk a row.
  SplitRows,
  /// A warp owns some rows of the table, and adds what is for them in order.
  Scatter,
};

struct GridJob {
  JobKind kind;
  const KernelNest *nest;
  /// Elements, Tiles, ColumnSums: the one loop of the nest that this job is.
  const ColumnLoop *loop = nullptr;
  /// Elements of a vector: contiguous columns of one thread.
  int64_t lanes = 1;
  /// Rows, SplitRows: vectors do not divide the columns, so that they begin at
  /// another column in each row, and a thread takes a number before or behind
  /// them beside its vectors.
  bool hasEdges = false;
  int64_t firstBlock = 0, blocks = 1;
  /// Rows: threads that walk a row together, of a warp or all of the block. A
  /// warp has several rows where they are short.
  /// ColumnSums: threads side by side.
  int64_t rowThreads = warpThreads;
  /// ColumnSums: tiles of columns. Scatter: tiles of a row of the table.
  int64_t tiles = 1;
  /// ColumnSums, SplitRows: blocks that add up one result. Rows: blocks that
  /// add up the sums over rows.
  int64_t sharers = 1;
  /// Scatter: rows of the table that a warp owns.
  int64_t ownedRows = 1;
  /// The first of its counters, and where its partial sums are, in bytes.
  int64_t counter = 0, partials = 0;

  struct KeptOperand {
    mlir::BlockArgument argument;
    /// In bytes, in the shared memory that the launch adds.
    int64_t offset;
  };
  /// Rows: operands that several passes read, whose row the first of them keeps
  /// in shared memory.
  std::vector<KeptOperand> kept;

  bool hasAccumulations() const;
};

struct GridPlan {
  KernelPlan kernel;
  std::vector<GridJob> jobs;
  int64_t threads = 256;
  int64_t blocks = 0;
  int64_t workspaceBytes = 0;
  /// Of shared memory that the launch adds to what the kernel declares.
  int64_t launchSharedBytes = 0;
};

/// Steps that `threads` threads take to walk the columns.
int64_t countSteps(int64_t columns, int64_t threads, int64_t lanes);

/// All sums over rows of a nest, in the order of its loops.
std::vector<std::pair<const ColumnLoop *, KernelRoot>>
accumulationsOf(const KernelNest &nest);

/// Bytes of the widest sum of one number: of f64, with what it has lost.
inline constexpr int64_t sumBytes = 16;

/// Bytes of a partial sum of `columns` columns, aligned; twice as many if it is
/// compensated.
int64_t partialBytes(const KernelRoot &accumulation, int64_t columns);

/// How a scatter_add walks its updates: dimensions of what is taken up to the
/// last one that an index depends on are rows, the others columns.
int64_t countScatterRowDims(mlir::Operation *scatterAdd);

/// Decides the jobs of a kernel for a processor that has so much shared memory.
/// Numbers depend on shapes only.
GridPlan planGrid(KernelPlan kernel, int64_t sharedBytes);

} // namespace weft

#endif // WEFT_LIB_CODEGEN_CUDA_GRIDPLAN_H
