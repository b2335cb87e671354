//===- KernelFusion.h - Which ops share a kernel ----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Groups the ops of a program into kernels.
//
// Ops are numbered in program order. Barriers (GEMMs, collectives, the end) are
// never grouped. Every other op gets a level: the number of barriers that come
// before it. What only says that one value comes after another has its
// operands' level, and no group spans it. An op that is cheap to delay and is
// needed late only (the momentum term of an update) gets the level of its use.
// Groups are made of one level, so no group can wait for a barrier that waits
// for the group.
//
// Within a level an op joins the groups of its operands, in order, where
//  - no path leaves the joined group and comes back to it;
//  - the ops agree on the rows of the reductions among them, see `FusionOp`;
//  - a value that a collective waits for is not held up by its other users.
// At last, groups of one level that read the same large value are joined, so
// that it is read once. What is left to be stored for other groups is stored as
// what a conversion widens or a constant scales, and each converts or scales
// it.
//
// Example, rows 64: %m = max(x), %d = x - broadcast(%m), %e = exp(%d),
// %s = sum(%e), %y = %e / broadcast(%s) is one group. A sum of %y over its
// leading dimension may end the group; in it, this sum may only be finished:
// rounded, or added to values of other kernels, before it is stored.

#ifndef WEFT_SCHEDULE_KERNELFUSION_H
#define WEFT_SCHEDULE_KERNELFUSION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace weft {

enum class FusionKind {
  /// Not part of any kernel.
  Barrier,
  /// Not part of any kernel, and at the end of the program.
  End,
  /// Not part of any kernel, and nothing to wait for: its users come after its
  /// operands, but for that they need no level of their own.
  Order,
  Elementwise,
  /// Repeats its operand along trailing dimensions only: the operand is one
  /// number a row.
  RowBroadcast,
  /// Reads its operand at other indices: other broadcasts, slices, concats.
  Movement,
  /// Movement to indices, which are its second operand.
  Gather,
  /// Adds elements up at the indices that are its second operand: complete
  /// only when all elements have been walked.
  ScatterAdd,
  /// Movement that exchanges the last dimension (a transpose).
  Transpose,
  /// The same elements in another shape.
  Reshape,
  /// Sum, maximum or minimum.
  Reduction,
};

struct FusionOp {
  FusionKind kind = FusionKind::Elementwise;
  /// Operations that produce the operands; arguments of the program are left
  /// out, constants too.
  std::vector<unsigned> operands;
  /// Shape and bytes of the result.
  llvm::SmallVector<int64_t> shape;
  int64_t bytes = 0;
  /// A barrier that other devices wait for.
  bool isCollective = false;
  /// Element-wise, and no more work for a kernel than to load the result: a
  /// conversion to a type of more bits, a value in memory times a constant.
  bool isCheap = false;
  /// Gather: the operation that produces the indices, if one does.
  std::optional<unsigned> indices = {};
  /// Concats: how many pieces there are.
  unsigned pieces = 0;
  /// Which piece of a tensor it computes, that no other piece shall wait for.
  std::optional<int64_t> piece = {};
  /// Reductions: shape of the operand, and the dimensions reduced.
  llvm::SmallVector<int64_t> operandShape;
  llvm::SmallVector<int64_t> reducedDims;
};

/// The most pieces of the concats of a kernel.
inline constexpr size_t mostPiecesOfKernel = 64;

/// The group of each op: numbered from 0 in the order of their last ops, -1 for
/// barriers.
std::vector<int> groupIntoKernels(llvm::ArrayRef<FusionOp> ops);

/// An op that a group computes for itself instead of reading its result.
struct KernelCopy {
  unsigned op;
  int group;
};

/// The cheap ops whose results need not be stored, since each group that uses
/// one can read what it is made of: less to write, no more to read, and nothing
/// to wait for that the group does not wait for anyway.
std::vector<KernelCopy> findCheapCopies(llvm::ArrayRef<FusionOp> ops,
                                        llvm::ArrayRef<int> group);

/// The level of each op (barriers: the number of barriers on the longest path
/// to it).
std::vector<unsigned> computeFusionLevels(llvm::ArrayRef<FusionOp> ops);

} // namespace weft

#endif // WEFT_SCHEDULE_KERNELFUSION_H
