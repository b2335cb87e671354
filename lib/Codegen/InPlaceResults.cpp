//===- InPlaceResults.cpp - Results in buffers of operands ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InPlaceResults.h"
#include "KernelBody.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace weft;

FailureOr<std::vector<int64_t>> weft::checkInPlace(const KernelRequest &request,
                                                   NestOrder order) {
  func::FuncOp kernel = request.kernel;
  std::vector<int64_t> inPlace = request.inPlace;
  if (inPlace.empty())
    inPlace.assign(kernel.getNumResults(), -1);
  if (inPlace.size() != kernel.getNumResults())
    return kernel.emitOpError("has ")
           << kernel.getNumResults() << " results, but in_place lists "
           << inPlace.size();
  if (llvm::all_of(inPlace, [](int64_t operand) { return operand == -1; }))
    return inPlace;
  auto sharing = BufferSharing::analyze(kernel, order);
  if (failed(sharing))
    return failure();
  int64_t operands = countBufferArguments(kernel);
  llvm::SmallDenseSet<int64_t> taken;
  for (auto [result, operand] : llvm::enumerate(inPlace)) {
    if (operand == -1)
      continue;
    if (operand < -1 || operand >= operands ||
        !sharing->mayShare(operand, result))
      return kernel.emitOpError("result ")
             << result << " cannot take the buffer of operand " << operand;
    if (!taken.insert(operand).second)
      return kernel.emitOpError("operand ")
             << operand << " gives its buffer to two results";
  }
  return inPlace;
}
