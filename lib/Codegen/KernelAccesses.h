//===- KernelAccesses.h - What a kernel reads and writes where --*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which element of which buffer the loops of a kernel read and write, told from
// its plan, before any code is emitted: what decides which buffers may be one.
//
// An element has the number row * columns + column in its loops. The analysis
// follows this number through maps, slices and reshapes to the arguments, as
// sums of its digits: a read whose index is the number itself is one of the
// element that the loops are at.
//
// Example: softmax of x: tensor<4x8xf32> reads x at the own element in the
// passes 0 (maximum) and 1 (exponentials, which are kept), and writes the
// result in pass 2: it may take the buffer of x.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_CODEGEN_KERNELACCESSES_H
#define WEFT_LIB_CODEGEN_KERNELACCESSES_H

#include "KernelPlan.h"

#include "weft/Codegen/CompileKernels.h"

namespace weft {

/// When in the loops an element is read or written. The order of fields is the
/// order of time.
struct AccessTime {
  unsigned nest = 0, pass = 0;
  int64_t columns = 0;
};

/// One kind of access to a buffer.
struct KernelAccess {
  AccessTime time;
  /// The element is the one at the loops' own row and column.
  bool ownElement;
};

struct KernelAccesses {
  /// For each argument its reads, in no particular order.
  std::vector<std::vector<KernelAccess>> reads;
  /// For each result where it is written, element by element; nothing for a
  /// sum over rows that is stored as it is, or a result without elements.
  std::vector<std::optional<AccessTime>> writes;
};

/// The accesses of a kernel that runs in this order. What a nest keeps of a row
/// is read again where nests run at once: a GPU keeps what it has room for.
KernelAccesses findAccesses(mlir::func::FuncOp kernel, const KernelPlan &plan,
                            NestOrder order);

} // namespace weft

#endif // WEFT_LIB_CODEGEN_KERNELACCESSES_H
