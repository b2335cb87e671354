//===- GpuJobs.h - The code of each kind of job -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits what the blocks of a job do; one function for each JobKind. An element
// is read and written by one thread only where it is "own" (see
// ElementEmitter), so that results may take the buffers of operands as on a
// CPU.

#ifndef WEFT_LIB_CODEGEN_CUDA_GPUJOBS_H
#define WEFT_LIB_CODEGEN_CUDA_GPUJOBS_H

#include "GpuBlock.h"

#include "../EmitPosition.h"

namespace weft {

/// What the emission of a job works with. `inPlace` and `results` have an
/// element for each result of the kernel.
struct GpuJob {
  ElementEmitter &e;
  GpuBlock &g;
  const GridJob &grid;
  llvm::ArrayRef<int64_t> inPlace;
  llvm::ArrayRef<mlir::Value> results;
};

void emitElements(GpuJob &job);
void emitTiles(GpuJob &job);
void emitColumnSums(GpuJob &job);
void emitRows(GpuJob &job);
void emitSplitRows(GpuJob &job);
void emitScatter(GpuJob &job);

/// The results of a loop at the emitter's position, computed by all threads.
llvm::SmallVector<mlir::Value> computeWrites(GpuJob &job,
                                             const ColumnLoop &loop);
/// Stores them there, where `valid` holds or is null.
void storeWrites(GpuJob &job, const ColumnLoop &loop,
                 llvm::ArrayRef<mlir::Value> values, mlir::Value valid);
/// One after the other, everywhere.
void emitWrites(GpuJob &job, const ColumnLoop &loop);

} // namespace weft

#endif // WEFT_LIB_CODEGEN_CUDA_GPUJOBS_H
