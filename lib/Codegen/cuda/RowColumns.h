//===- RowColumns.h - The columns of a thread in a row ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which columns of a row a thread has. Of threads that walk a row together,
// thread t has vectors t, t + threads, ... A vector lies where memory is
// aligned to its size. Where vectors do not divide the columns, they begin at
// another column in each row, and what is before the first and behind the last
// of them are edges, of which a thread has at most one number.
//
// Example: rows of 1001 numbers of bf16. Row 3 begins at number 3003, which is
// 3 behind a multiple of 8: its vectors begin at column 5 and are 124, and the
// edges are columns 0 to 4 and 997 to 1000, of threads 0 to 8.

#ifndef WEFT_LIB_CODEGEN_CUDA_ROWCOLUMNS_H
#define WEFT_LIB_CODEGEN_CUDA_ROWCOLUMNS_H

#include "GpuJobs.h"

#include <optional>

namespace weft {

class RowColumns {
public:
  /// Columns that a thread computes at once: a vector, or a number of the
  /// edges.
  struct Part {
    LaneIndex column;
    /// Null if the thread has them; a thread that has not computes with others.
    mlir::Value valid;
    /// What more is known of the element's number; unset if nothing.
    LaneIndex own;
    /// Where a row that the block keeps has it: a vector is aligned there, and
    /// the edge of each thread is behind the vectors.
    LaneIndex kept;
    bool isEdge = false;
  };

  /// For row `row` (i64), or for all rows where there are no edges.
  RowColumns(GpuJob &job, int64_t columns, mlir::Value member, int64_t together,
             mlir::Value row);

  /// The number of the edges, if there are any.
  std::optional<Part> edge();
  /// Vector `vector` (i64) of the row, which it has.
  Part vector(mlir::Value vector);
  /// Vector `step` of the thread.
  Part vectorAt(int64_t step);
  /// How many vectors the row has (i64), and at least.
  mlir::Value vectors();
  int64_t leastVectors() const;

  /// Makes the part the emitter's position.
  void enter(const Part &part);

private:
  GpuJob &job;
  ElementEmitter &e;
  GpuBlock &g;
  int64_t columns, lanes;
  mlir::Value member;
  int64_t together;
  bool hasEdges;
  /// With edges: the number of the row's first element, and the column of its
  /// first vector.
  mlir::Value start, head;
};

} // namespace weft

#endif // WEFT_LIB_CODEGEN_CUDA_ROWCOLUMNS_H
