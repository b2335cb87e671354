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

enum class Rule { AxesDivide, EveryShardHasElements };

class Checker {
public:
  Checker(const Mesh &mesh, Rule rule) : mesh(mesh), rule(rule) {}

  void check(Location loc, StringRef what, Type type, ShardingAttr attr);
  bool hasPassed() const { return passed; }

private:
  void report(Location loc, StringRef what, size_t dim, int64_t size,
              ArrayRef<AxisRef> axes);

  const Mesh &mesh;
  Rule rule;
  bool passed = true;
};

} // namespace

void Checker::report(Location loc, StringRef what, size_t dim, int64_t size,
                     ArrayRef<AxisRef> axes) {
  passed = false;
  std::string nearest;
  for (const AxisList &legal : nearestLegalAxes(axes, size))
    nearest += (nearest.empty() ? "" : ", ") + mesh.print(legal);
  emitError(loc) << "dim " << dim << " of " << what << " has size " << size
                 << (rule == Rule::AxesDivide ? ", not divisible by "
                                              : ", fewer than its ")
                 << numShards(axes) << " shards of " << mesh.print(axes)
                 << "; nearest legal: " << nearest
                 << (axes.size() == 1
                         ? "; or an axis size that divides "
                         : "; or axis sizes whose product divides ")
                 << size;
}

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
    if (rule == Rule::AxesDivide ? size % shards != 0
                                 : size < shards && size != 0)
      report(loc, what, number, size, dim.axes);
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

static LogicalResult check(ModuleOp module, Checker checker) {
  for (auto function : module.getOps<func::FuncOp>())
    checkFunction(function, checker);
  return success(checker.hasPassed());
}

LogicalResult weft::checkDivisibility(ModuleOp module, const Mesh &mesh) {
  return check(module, Checker(mesh, Rule::AxesDivide));
}

LogicalResult weft::checkEveryShardHasElements(ModuleOp module,
                                               const Mesh &mesh) {
  return check(module, Checker(mesh, Rule::EveryShardHasElements));
}
