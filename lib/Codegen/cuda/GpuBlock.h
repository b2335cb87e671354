//===- GpuBlock.h - Threads that work together ------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the threads of a block do together: know their numbers, exchange
// numbers by shuffles and shared memory, and find out which block is the last.
//
// Sums are formed in an order that the numbers of threads and blocks alone
// decide: a butterfly in a warp gives every thread the same bits, and nothing
// is added by an atomic operation.

#ifndef WEFT_LIB_CODEGEN_CUDA_GPUBLOCK_H
#define WEFT_LIB_CODEGEN_CUDA_GPUBLOCK_H

#include "GridPlan.h"

#include "../CompensatedSum.h"
#include "../ElementEmitter.h"

namespace weft {

/// The shared memory of a kernel. Each job takes what it needs from the start;
/// the kernel has the most that one takes.
class SharedMemory {
public:
  /// Declares it before `kernel`.
  SharedMemory(mlir::OpBuilder &b, mlir::LLVM::LLVMFuncOp kernel);

  void startJob() { used = 0; }
  mlir::Value allocate(mlir::OpBuilder &b, int64_t bytes);
  /// A byte of what the launch adds, of which there may be more.
  mlir::Value launchMemoryAt(mlir::OpBuilder &b, int64_t byte);
  /// Gives the declaration its size, or removes it.
  int64_t finish();

private:
  mlir::LLVM::GlobalOp declare(mlir::OpBuilder &b, llvm::Twine name,
                               mlir::LLVM::Linkage linkage);

  mlir::LLVM::LLVMFuncOp kernel;
  mlir::LLVM::GlobalOp global, ofLaunch;
  int64_t used = 0, most = 0;
};

class GpuBlock {
public:
  GpuBlock(ElementEmitter &e, SharedMemory &shared, const GridPlan &plan,
           const GridJob &job, mlir::Value block, mlir::Value workspace);

  /// i64: the thread in its block and in its warp, the warp in its block, and
  /// the block in its job.
  mlir::Value thread, lane, warp, block;
  const int64_t threads;

  void barrier();
  void warpBarrier();
  mlir::Value number(int64_t value) { return e.ops.i64(value); }
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value subtract(mlir::Value x, mlir::Value y);
  mlir::Value multiply(mlir::Value x, int64_t factor);
  mlir::Value divide(mlir::Value x, int64_t divisor);
  mlir::Value remainder(mlir::Value x, int64_t divisor);
  mlir::Value less(mlir::Value x, mlir::Value y);
  mlir::Value equals(mlir::Value x, int64_t value);
  mlir::Value smaller(mlir::Value x, int64_t value);
  mlir::Value both(mlir::Value x, mlir::Value y);

  /// Runs `body` where `condition` holds, in a scope of its own; everywhere if
  /// there is no condition.
  void when(mlir::Value condition, llvm::function_ref<void()> body);
  /// for (at = begin; at < end; at += step), with values that go from one
  /// iteration to the next.
  void
  loop(mlir::Value begin, mlir::Value end, int64_t step,
       llvm::MutableArrayRef<mlir::Value> carried,
       llvm::function_ref<void(mlir::Value, llvm::MutableArrayRef<mlir::Value>)>
           body);
  /// The vector of columns that begins at `base`, a multiple of the lanes.
  LaneIndex columnsAt(mlir::Value base);

  /// The same with sums.
  void loopSums(mlir::Value begin, mlir::Value end, int64_t step,
                llvm::MutableArrayRef<CompensatedSum> carried,
                llvm::function_ref<void(mlir::Value,
                                        llvm::MutableArrayRef<CompensatedSum>)>
                    body);

  struct Sum {
    mlir::linalg::GenericOp reduction;
    /// Of one thread, then of all; without an error unless it is compensated.
    CompensatedSum value;
  };
  /// What a sum begins with: neutral, a vector if lanes are asked for.
  CompensatedSum neutral(mlir::linalg::GenericOp reduction, bool lanes);
  CompensatedSum combine(mlir::linalg::GenericOp reduction, CompensatedSum x,
                         CompensatedSum y);
  /// The sum with what a reduction reads at the emitter's position.
  CompensatedSum addPlace(mlir::linalg::GenericOp reduction,
                          CompensatedSum sum);
  /// mask ? x : y; x if mask is null.
  CompensatedSum select(mlir::Value mask, CompensatedSum x, CompensatedSum y);
  /// `init` with what a sum has come to.
  mlir::Value finish(mlir::linalg::GenericOp reduction, mlir::Value init,
                     CompensatedSum sum);
  /// A sum in memory of `bytes`; what is lost in its second half, if it is
  /// compensated.
  void store(CompensatedSum sum, mlir::Value pointer, int64_t bytes,
             LaneIndex at);
  CompensatedSum load(mlir::linalg::GenericOp reduction, mlir::Value pointer,
                      int64_t bytes, LaneIndex at);
  /// Reduces sums of neighbouring threads of a warp, `together` (a power of
  /// two) at a time, or of the block; every thread has the results.
  void reduceWarps(llvm::MutableArrayRef<Sum> sums,
                   int64_t together = warpThreads);
  void reduceBlock(llvm::MutableArrayRef<Sum> sums);

  mlir::Value allocateShared(int64_t bytes) {
    return shared.allocate(e.b, bytes);
  }
  mlir::Value launchMemoryAt(int64_t byte) {
    return shared.launchMemoryAt(e.b, byte);
  }
  /// The workspace from a byte on.
  mlir::Value workspaceAt(mlir::Value byte);

  /// i1, the same in the whole block: whether it is the last of `count` blocks
  /// to arrive at `counter` (i64). What the others have written is visible
  /// then.
  mlir::Value arriveLast(mlir::Value counter, int64_t count);

  /// The 32 bits of a condition in the lanes of the warp.
  mlir::Value ballot(mlir::Value condition);

  /// The lanes of the warp that are where code is emitted (i32); null if all
  /// are. Shuffles and barriers of the warp wait for these.
  mlir::Value lanesHere;

private:
  mlir::Value shuffle(mlir::Value x, int distance);
  mlir::Value warpMask() { return lanesHere ? lanesHere : i32(-1); }
  mlir::Value i32(int64_t value);
  mlir::Value toI64(mlir::Value x);

  ElementEmitter &e;
  mlir::OpBuilder &b;
  mlir::Location loc;
  SharedMemory &shared;
  mlir::Value workspace;
};

} // namespace weft

#endif // WEFT_LIB_CODEGEN_CUDA_GPUBLOCK_H
