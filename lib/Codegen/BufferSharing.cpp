//===- BufferSharing.cpp - Which buffers may be one -----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelAccesses.h"
#include "KernelBody.h"

using namespace mlir;
using namespace weft;

/// Whether a read can come before, or together with, the write of its element.
/// That of an own element does on a GPU, too: one thread does both.
static bool isBefore(const KernelAccess &read, const AccessTime &write,
                     NestOrder order) {
  if (read.time.nest != write.nest)
    return order == NestOrder::InTurn && read.time.nest < write.nest;
  return read.ownElement && read.time.columns == write.columns &&
         read.time.pass <= write.pass;
}

FailureOr<BufferSharing> BufferSharing::analyze(func::FuncOp kernel,
                                                NestOrder order) {
  FailureOr<KernelPlan> plan = planKernel(kernel);
  if (failed(plan))
    return failure();
  KernelAccesses accesses = findAccesses(kernel, *plan, order);
  BufferSharing sharing;
  for (unsigned operand = 0; operand < countBufferArguments(kernel);
       ++operand) {
    auto &row = sharing.allowed.emplace_back(kernel.getNumResults());
    for (unsigned result = 0; result < kernel.getNumResults(); ++result) {
      auto from = cast<RankedTensorType>(kernel.getArgumentTypes()[operand]);
      auto to = cast<RankedTensorType>(kernel.getResultTypes()[result]);
      const std::optional<AccessTime> &write = accesses.writes[result];
      row[result] =
          write && from.getElementType() == to.getElementType() &&
          from.getNumElements() == to.getNumElements() &&
          llvm::all_of(accesses.reads[operand], [&](const KernelAccess &read) {
            return isBefore(read, *write, order);
          });
    }
  }
  return sharing;
}

bool weft::mayShareBuffer(func::FuncOp kernel, unsigned operand,
                          unsigned result, NestOrder order) {
  auto sharing = BufferSharing::analyze(kernel, order);
  return succeeded(sharing) && sharing->mayShare(operand, result);
}
