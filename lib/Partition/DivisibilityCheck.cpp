//===- DivisibilityCheck.cpp - Do axes divide dimensions? -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DivisibilityCheck.h"

#include "weft/IR/ValueName.h"
#include "weft/IR/ValueSharding.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

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

/// Where a sharding is from, those first that only a user writes.
enum class Source { Constraint, Argument, Result, Op };

/// A dimension that is split in a way that it cannot be.
struct Fault {
  Location loc;
  std::string what;
  Source source;
  size_t dim;
  int64_t size;
  AxisList axes;

  bool isLike(const Fault &other) const {
    return size == other.size && axes == other.axes;
  }
};

/// Faults of one function. One that an op passes on to other values is one
/// problem.
class Checker {
public:
  Checker(const Mesh &mesh, Rule rule) : mesh(mesh), rule(rule) {}

  bool check(func::FuncOp function);

private:
  using Numbers = SmallVector<unsigned, 1>;

  Numbers find(Location loc, const Twine &what, Source source, Type type,
               ShardingAttr attr);
  void findIn(func::FuncOp function);
  void join(ArrayRef<unsigned> numbers);
  void report(const Fault &fault, ArrayRef<unsigned> others);

  const Mesh &mesh;
  const Rule rule;
  std::vector<Fault> faults;
  DenseMap<Value, Numbers> faultsOf;
  llvm::EquivalenceClasses<unsigned> problems;
};

} // namespace

Checker::Numbers Checker::find(Location loc, const Twine &what, Source source,
                               Type type, ShardingAttr attr) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!attr || !tensor)
    return {};
  FailureOr<Sharding> sharding = attr.toSharding(mesh);
  if (failed(sharding))
    return {};
  Numbers found;
  for (auto [number, dim] : llvm::enumerate(sharding->dims)) {
    int64_t size = tensor.getDimSize(number), shards = numShards(dim.axes);
    bool isLegal = rule == Rule::AxesDivide ? size % shards == 0
                                            : size >= shards || size == 0;
    if (isLegal)
      continue;
    found.push_back(faults.size());
    problems.insert(faults.size());
    faults.push_back({loc, what.str(), source, number, size, dim.axes});
  }
  return found;
}

/// Makes the faults that are like each other one problem.
void Checker::join(ArrayRef<unsigned> numbers) {
  for (auto [index, number] : llvm::enumerate(numbers))
    for (unsigned other : numbers.take_front(index))
      if (faults[number].isLike(faults[other]))
        problems.unionSets(number, other);
}

void Checker::findIn(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments())
    faultsOf[argument] =
        find(argument.getLoc(), nameOf(argument), Source::Argument,
             argument.getType(), getSharding(argument));
  function.walk([&](Operation *op) {
    SmallVector<unsigned> numbers;
    for (Value operand : op->getOperands())
      llvm::append_range(numbers, faultsOf.lookup(operand));
    if (auto constraint = dyn_cast<ConstraintOp>(op))
      faultsOf[constraint] =
          find(op->getLoc(), "a constraint", Source::Constraint,
               constraint.getType(), constraint.getSharding());
    else
      for (OpResult result : op->getResults())
        faultsOf[result] = find(op->getLoc(), nameOf(result), Source::Op,
                                result.getType(), getSharding(result));
    for (Value result : op->getResults())
      llvm::append_range(numbers, faultsOf.lookup(result));
    if (isa<func::ReturnOp>(op))
      for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
        llvm::append_range(numbers,
                           find(function.getLoc(),
                                nameOfResult(function, index), Source::Result,
                                type, getResultSharding(function, index)));
    join(numbers);
  });
}

void Checker::report(const Fault &fault, ArrayRef<unsigned> others) {
  std::string nearest;
  for (const AxisList &legal : nearestLegalAxes(fault.axes, fault.size))
    nearest += (nearest.empty() ? "" : ", ") + mesh.print(legal);
  InFlightDiagnostic error = emitError(fault.loc)
                             << "dim " << fault.dim << " of " << fault.what
                             << " has size " << fault.size;
  error << (rule == Rule::AxesDivide ? ", not divisible by "
                                     : ", fewer than its ")
        << numShards(fault.axes) << " shards of " << mesh.print(fault.axes)
        << "; nearest legal: " << nearest;
  if (rule == Rule::EveryShardHasElements)
    error << "; or axes of at most " << fault.size
          << (fault.size == 1 ? " shard" : " shards");
  else
    error << (fault.axes.size() == 1 ? "; or an axis size that divides "
                                     : "; or axis sizes whose product divides ")
          << fault.size;
  if (others.empty())
    return;
  constexpr size_t shown = 3;
  std::string names;
  for (unsigned other : others.take_front(shown))
    names += (names.empty() ? "" : ", ") + faults[other].what;
  Diagnostic &note = error.attachNote() << "so have " << names;
  if (others.size() > shown)
    note << " and " << others.size() - shown << " more";
}

/// One error for each problem, where it most likely is from.
bool Checker::check(func::FuncOp function) {
  faults.clear();
  faultsOf.clear();
  problems = {};
  findIn(function);
  llvm::MapVector<unsigned, Numbers> members;
  for (unsigned number = 0; number < faults.size(); ++number)
    members[problems.getLeaderValue(number)].push_back(number);
  for (auto &[leader, numbers] : members) {
    llvm::stable_sort(numbers, [&](unsigned a, unsigned b) {
      return faults[a].source < faults[b].source;
    });
    report(faults[numbers.front()], ArrayRef(numbers).drop_front());
  }
  return faults.empty();
}

static LogicalResult check(ModuleOp module, Checker checker) {
  bool passed = true;
  for (auto function : module.getOps<func::FuncOp>())
    passed &= checker.check(function);
  return success(passed);
}

LogicalResult weft::checkDivisibility(ModuleOp module, const Mesh &mesh) {
  return check(module, Checker(mesh, Rule::AxesDivide));
}

LogicalResult weft::checkEveryShardHasElements(ModuleOp module,
                                               const Mesh &mesh) {
  return check(module, Checker(mesh, Rule::EveryShardHasElements));
}
