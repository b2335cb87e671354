//===- LargeTensors.cpp - Warnings of costly shardings --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LargeTensors.h"
#include "ReshardPrices.h"

#include "weft/Cost/Bytes.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueName.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Interfaces/CastInterfaces.h"

using namespace mlir;
using namespace weft;
using sharding::Sharding;

static bool isWhole(const Sharding &sharding) {
  return llvm::all_of(sharding.dims, [](const sharding::DimSharding &dim) {
    return dim.axes.empty();
  });
}

bool LargeTensorWarnings::isLarge(Value value) const {
  return bytes > 0 && bytesOf(value) >= bytes;
}

void LargeTensorWarnings::expectCast(Operation *op) {
  if (isa<CastOpInterface>(op) && op->getNumOperands() == 1 &&
      op->getOperand(0).getDefiningOp<ConstraintOp>())
    expected.insert(op->getResult(0));
}

void LargeTensorWarnings::check(OpOperand &use, Value source,
                                const Sharding &from, const Sharding &to) {
  // `use` still holds the value as the program names it.
  if (!isLarge(source) || isWhole(from) || !isWhole(to) ||
      use.get().getDefiningOp<ConstraintOp>() || expected.contains(use.get()))
    return;
  note(use.getOwner()->getLoc(), source,
       " is all-gathered on every device, from " + print(mesh, from),
       "; to keep it, write a constraint without axes, else shard " +
           nameOf(use) + " alike");
}

void LargeTensorWarnings::checkResult(Value value, const Sharding &sharding) {
  if (!isLarge(value) || !isWhole(sharding) || !sharding.unreduced.empty())
    return;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  for (auto [dim, size] : llvm::enumerate(shape))
    for (const sharding::MeshAxis &axis : mesh.axes()) {
      if (axis.size == 1 || size % axis.size != 0)
        continue;
      note(value.getLoc(), value,
           " is replicated on every device, although \"" + axis.name +
               "\" divides its dim " + std::to_string(dim),
           "; annotate it, or a value that it is computed from or used with");
      return;
    }
}

void LargeTensorWarnings::note(Location loc, Value value,
                               const std::string &fact,
                               const std::string &remedy) {
  std::string alike = std::to_string(bytesOf(value)) + fact;
  if (auto line = loc->findInstanceOf<FileLineColLoc>())
    alike += line.getFilename().str() + ":" + std::to_string(line.getLine());
  Warning &warning = warnings[alike];
  if (warning.count++ == 0)
    warning = {loc, nameOf(value) + " of " + printBytes(bytesOf(value)) + fact,
               remedy, 1};
}

void LargeTensorWarnings::report() const {
  for (const auto &[key, warning] : warnings) {
    InFlightDiagnostic diagnostic = mlir::emitWarning(*warning.loc);
    diagnostic << warning.fact;
    if (warning.count > 1)
      diagnostic << " (and " << warning.count - 1
                 << " more alike on this line)";
    diagnostic << warning.remedy;
  }
}
