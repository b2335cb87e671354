//===- DivisibilityCheck.cpp - Do axes divide dimensions? -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DivisibilityCheck.h"
#include "ValueName.h"

#include "weft/IR/ValueSharding.h"

#include <numeric>

using namespace mlir;
using namespace weft;
using namespace weft::sharding;

SmallVector<AxisList, 2> weft::nearestLegalAxes(ArrayRef<AxisRef> axes,
                                                int64_t size) {
  AxisList prefix;
  for (const AxisRef &ref : axes) {
    int64_t common = std::gcd(size, ref.size);
    if (common != ref.size) {
      SmallVector<AxisList, 2> nearest = {prefix};
      if (common > 1) {
        appendMerging(prefix, {ref.axis, ref.pre, common});
        nearest.push_back(prefix);
      }
      return nearest;
    }
    size /= common;
    prefix.push_back(ref);
  }
  return {prefix};
}

namespace {

class Checker {
public:
  explicit Checker(const Mesh &mesh) : mesh(mesh) {}

  void check(Location loc, StringRef what, Type type, ShardingAttr attr);
  bool hasPassed() const { return passed; }

private:
  const Mesh &mesh;
  bool passed = true;
};

} // namespace

void Checker::check(Location loc, StringRef what, Type type,
                    ShardingAttr attr) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!attr || !tensor)
    return;
  FailureOr<Sharding> sharding = attr.toSharding(mesh);
  if (failed(sharding))
    return;
  for (auto [number, dim] : llvm::enumerate(sharding->dims)) {
    int64_t size = tensor.getDimSize(number), shards = numShards(dim.axes);
    if (size % shards == 0)
      continue;
    passed = false;
    std::string nearest;
    for (const AxisList &axes : nearestLegalAxes(dim.axes, size))
      nearest += (nearest.empty() ? "" : ", ") + mesh.print(axes);
    emitError(loc) << "dim " << number << " of " << what << " has size " << size
                   << ", not divisible by " << shards << " shards of "
                   << mesh.print(dim.axes) << "; nearest legal: " << nearest
                   << (dim.axes.size() == 1
                           ? "; or an axis size that divides "
                           : "; or axis sizes whose product divides ")
                   << size;
  }
}

static void checkFunction(func::FuncOp function, Checker &checker) {
  for (BlockArgument argument : function.getArguments())
    checker.check(argument.getLoc(), nameOf(argument), argument.getType(),
                  getSharding(argument));
  function.walk([&](Operation *op) {
    if (auto constraint = dyn_cast<ConstraintOp>(op))
      checker.check(op->getLoc(), "a constraint", constraint.getType(),
                    constraint.getSharding());
    else
      for (OpResult result : op->getResults())
        checker.check(op->getLoc(), nameOf(result), result.getType(),
                      getSharding(result));
  });
  for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
    checker.check(function.getLoc(), nameOfResult(function, index), type,
                  getResultSharding(function, index));
}

LogicalResult weft::checkDivisibility(ModuleOp module, const Mesh &mesh) {
  Checker checker(mesh);
  for (auto function : module.getOps<func::FuncOp>())
    checkFunction(function, checker);
  return success(checker.hasPassed());
}
