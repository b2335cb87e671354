//===- KernelPlan.cpp - The loops of a kernel -----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelPlan.h"
#include "ExpandMath.h"
#include "KernelBody.h"
#include "LaneOps.h"

#include "weft/IR/NarrowFloats.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <functional>

using namespace mlir;
using namespace weft;

/// Bytes of stack that the kept values of one kernel may use.
static constexpr int64_t keptBytesLimit = 64 * 1024;

/// Shorter rows would cost element-wise results more than they save by being
/// written together.
static constexpr int64_t leastColumns = 64;

std::optional<unsigned> weft::splitShape(ArrayRef<int64_t> shape, int64_t rows,
                                         int64_t columns) {
  for (unsigned split = 0; split <= shape.size(); ++split)
    if (llvm::product_of(shape.take_front(split)) == rows &&
        llvm::product_of(shape.drop_front(split)) == columns)
      return split;
  return std::nullopt;
}

Operation *weft::getCombiner(linalg::GenericOp reduction) {
  // A sum in 16 bits rounds at every step; it is left to the general loop.
  if (reduction.getNumResults() != 1 ||
      isNarrowFloat(getElementTypeOrSelf(reduction->getResult(0))))
    return nullptr;
  SmallVector<Operation *> combiners;
  if (!matchReduction(reduction.getRegionOutputArgs(), 0, combiners) ||
      combiners.size() != 1 || combiners.front()->getNumOperands() != 2 ||
      !arith::getNeutralElement(combiners.front()))
    return nullptr;
  return combiners.front();
}

/// What an operation computes its results from: its operands, and the tensors
/// that the region of a loop nest looks elements up in.
static SmallVector<Value> inputsOf(Operation *op) {
  SmallVector<Value> inputs(op->getOperands());
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    for (auto extract : generic.getBody()->getOps<tensor::ExtractOp>())
      inputs.push_back(extract.getTensor());
  return inputs;
}

namespace {

/// A reduction whose reduced dimensions are all at the end, or all at the
/// start, of its iteration space.
struct ReductionShape {
  bool trailing, leading;
  int64_t keptElements, reducedElements;
};

/// Rows, and the elements of element-wise nests, which are 0 for others.
using NestKey = std::pair<int64_t, int64_t>;
using Nests = llvm::MapVector<NestKey, std::vector<KernelRoot>>;

class Planner {
public:
  explicit Planner(func::FuncOp kernel) : kernel(kernel) {}
  KernelPlan plan();

private:
  void collectRoots();
  void collectProducers(Value value, SetVector<Operation *> &producers);
  SetVector<Operation *> producersOf(Value value);
  int64_t rowsOf(const KernelRoot &root);
  int64_t flatRows(Value value);
  bool isAccumulation(const KernelRoot &root, int64_t rows);
  bool joins(const KernelRoot &root, int64_t rows);
  SetVector<Value> readsOf(ArrayRef<KernelRoot> members);
  void joinFlatNests(Nests &nests);
  KernelNest makeNest(int64_t rows, ArrayRef<KernelRoot> roots);
  unsigned passOf(Operation *op, const KernelNest &nest,
                  DenseMap<Operation *, unsigned> &known);
  void keepCostlyValues(KernelNest &nest);

  func::FuncOp kernel;
  SmallVector<KernelRoot> roots;
  int64_t keptBytes = 0;
};

} // namespace

static std::optional<ReductionShape> getReductionShape(Operation *op) {
  auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
  if (!generic || generic.getNumReductionLoops() == 0 || !getCombiner(generic))
    return std::nullopt;
  auto sizes = generic.getStaticLoopRanges();
  ReductionShape shape{true, true, 1, 1};
  bool seenReduced = false, seenKept = false;
  SmallVector<unsigned> keptDims;
  for (auto [dim, iterator] :
       llvm::enumerate(generic.getIteratorTypesArray())) {
    bool reduced = iterator == utils::IteratorType::reduction;
    (reduced ? shape.reducedElements : shape.keptElements) *= sizes[dim];
    if (reduced)
      shape.leading &= !seenKept;
    else {
      // What only dimensions of size 1 follow is contiguous.
      shape.trailing &= !seenReduced || sizes[dim] == 1;
      keptDims.push_back(dim);
    }
    (reduced ? seenReduced : seenKept) = true;
  }
  // The result must list the kept dimensions in order.
  AffineMap map = generic.getIndexingMapMatchingResult(generic->getResult(0));
  if (map != AffineMap::getMultiDimMapWithTargets(map.getNumDims(), keptDims,
                                                  map.getContext()))
    return std::nullopt;
  return shape;
}

/// The value that an element-wise operation computes its result from, element
/// by element, beside arguments and constants; null if it is none or several.
static Value findOnlyComputedOperand(linalg::GenericOp op) {
  bool isElementwise =
      op.getNumReductionLoops() == 0 && op->getNumResults() == 1 &&
      op.getRegionOutputArgs().front().use_empty() &&
      op.getBody()->getOps<tensor::ExtractOp>().empty() &&
      llvm::all_of(op.getIndexingMapsArray(),
                   [](AffineMap map) { return map.isIdentity(); });
  if (!isElementwise)
    return {};
  Value computed;
  for (Value input : op.getDpsInputs()) {
    if (!isa<RankedTensorType>(input.getType()))
      return {};
    if (isa<BlockArgument>(input) || input.getDefiningOp<arith::ConstantOp>())
      continue;
    if (computed && computed != input)
      return {};
    computed = input;
  }
  return computed;
}

/// The sum over rows that `value` is computed from, element by element, and
/// from nothing else that is computed; null if there is none.
static Value findFinishedSum(Value value) {
  while (auto generic =
             value ? value.getDefiningOp<linalg::GenericOp>() : nullptr) {
    if (auto shape = getReductionShape(generic))
      return shape->leading ? value : Value();
    value = findOnlyComputedOperand(generic);
  }
  return {};
}

void Planner::collectRoots() {
  auto terminator = kernel.getBody().front().getTerminator();
  for (auto [number, value] : llvm::enumerate(terminator->getOperands())) {
    while (Operation *op = value.getDefiningOp()) {
      if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
        break;
      value = op->getOperand(0);
    }
    roots.push_back({unsigned(number), value});
    Value sum = findFinishedSum(value);
    if (!sum || sum == value)
      continue;
    KernelRoot finished{unsigned(number), sum, value};
    if (isAccumulation(finished, rowsOf(finished)))
      roots.back() = finished;
  }
}

void Planner::collectProducers(Value value, SetVector<Operation *> &producers) {
  Operation *op = value.getDefiningOp();
  if (!op || producers.contains(op))
    return;
  for (Value input : inputsOf(op))
    collectProducers(input, producers);
  producers.insert(op);
}

SetVector<Operation *> Planner::producersOf(Value value) {
  SetVector<Operation *> producers;
  collectProducers(value, producers);
  return producers;
}

/// The rows of the row reductions that a root needs, or 0 if it needs none and
/// accumulates over no rows.
int64_t Planner::rowsOf(const KernelRoot &root) {
  int64_t inner = 0;
  for (Operation *op : producersOf(root.value))
    if (auto shape = getReductionShape(op))
      if (shape->trailing && op != root.value.getDefiningOp())
        inner = std::max(inner, shape->keptElements);
  auto own = getReductionShape(root.value.getDefiningOp());
  if (!own)
    return inner;
  // A reduction of everything is a row of its own, unless it sums up the rows
  // of reductions before it.
  if (own->trailing && !(own->leading && inner > 1))
    return own->keptElements;
  return own->leading ? own->reducedElements : inner;
}

/// Dimensions that every operand reads together, from the last one on, are the
/// columns of an element-wise nest.
int64_t Planner::flatRows(Value value) {
  ArrayRef<int64_t> shape = shapeOf(value);
  unsigned rank = shape.size();
  auto together = [&](unsigned dim) { // dim and dim + 1
    if (shape[dim] == 1 || shape[dim + 1] == 1)
      return true;
    for (Operation *op : producersOf(value)) {
      if (isa<tensor::EmptyOp, arith::ConstantOp>(op))
        continue;
      auto generic = dyn_cast<linalg::GenericOp>(op);
      if (!generic ||
          generic.getStaticLoopRanges() != SmallVector<int64_t>(shape))
        return false;
      for (AffineMap map : generic.getIndexingMapsArray()) {
        auto at =
            map.getResultPosition(getAffineDimExpr(dim, op->getContext()));
        auto next =
            map.getResultPosition(getAffineDimExpr(dim + 1, op->getContext()));
        if (at.has_value() != next.has_value() || (at && *next != *at + 1))
          return false;
      }
    }
    return true;
  };
  unsigned split = rank;
  while (split > 0 && (split == rank || together(split - 1)))
    --split;
  return llvm::product_of(shape.take_front(split));
}

bool Planner::isAccumulation(const KernelRoot &root, int64_t rows) {
  auto shape = getReductionShape(root.value.getDefiningOp());
  return shape && shape->leading && shape->reducedElements == rows &&
         rows > 1 && !(shape->trailing && shape->keptElements == rows);
}

/// Whether the root can be written, or added to, row by row.
bool Planner::joins(const KernelRoot &root, int64_t rows) {
  if (isAccumulation(root, rows))
    return true;
  int64_t elements = llvm::product_of(shapeOf(root.value));
  return rows != 0 && elements % rows == 0 &&
         splitShape(shapeOf(root.value), rows, elements / rows);
}

/// The first pass in which the value of `op` can be computed.
unsigned Planner::passOf(Operation *op, const KernelNest &nest,
                         DenseMap<Operation *, unsigned> &known) {
  if (!op)
    return 0;
  if (auto it = known.find(op); it != known.end())
    return it->second;
  unsigned pass = 0;
  for (Value input : inputsOf(op)) {
    Operation *producer = input.getDefiningOp();
    unsigned ready = passOf(producer, nest, known);
    if (producer && nest.reductions.contains(producer))
      ++ready;
    pass = std::max(pass, ready);
  }
  return known[op] = pass;
}

static ColumnLoop &loopAt(KernelNest &nest, unsigned pass, int64_t columns) {
  if (nest.passes.size() <= pass)
    nest.passes.resize(pass + 1);
  for (ColumnLoop &loop : nest.passes[pass])
    if (loop.columns == columns)
      return loop;
  return nest.passes[pass].emplace_back(ColumnLoop{columns, {}, {}, {}});
}

bool weft::readsAcrossRows(linalg::GenericOp op, OpOperand &operand) {
  if (op.getNumLoops() < 2)
    return false;
  AffineExpr last = getAffineDimExpr(op.getNumLoops() - 1, op->getContext());
  AffineMap map = op.getMatchingIndexingMap(&operand);
  auto position = map.getResultPosition(last);
  return position && *position + 1 != map.getNumResults();
}

static bool readsAcrossRows(ArrayRef<Operation *> producers) {
  return llvm::any_of(producers, [](Operation *op) {
    auto generic = dyn_cast<linalg::GenericOp>(op);
    return generic &&
           llvm::any_of(generic.getDpsInputOperands(), [&](OpOperand *input) {
             return weft::readsAcrossRows(generic, *input);
           });
  });
}

/// The arguments that are read, but for those with one element.
SetVector<Value> Planner::readsOf(ArrayRef<KernelRoot> members) {
  SetVector<Value> reads;
  for (const KernelRoot &root : members)
    for (Operation *op : producersOf(root.value))
      for (Value operand : op->getOperands())
        if (isa<BlockArgument>(operand) &&
            llvm::product_of(shapeOf(operand)) > 1)
          reads.insert(operand);
  return reads;
}

/// An element-wise result that takes a slice of an operand, or repeats a row of
/// it, is written row by row. Results that read some of the same operands are
/// written together with it: so these are read once, and each result can take
/// the place of one.
void Planner::joinFlatNests(Nests &nests) {
  for (auto &[key, members] : nests) {
    const auto [rows, elements] = key;
    if (rows < 2 || elements / rows < leastColumns)
      continue;
    for (auto &[otherKey, others] : nests) {
      const auto [otherRows, otherElements] = otherKey;
      auto canJoin = [&, rows = rows](const KernelRoot &root) {
        return joins(root, rows) &&
               !readsAcrossRows(producersOf(root.value).getArrayRef());
      };
      if (elements != otherElements || rows <= otherRows ||
          !llvm::all_of(members, canJoin) || !llvm::all_of(others, canJoin) ||
          llvm::none_of(readsOf(others),
                        [reads = readsOf(members)](Value each) {
                          return reads.contains(each);
                        }))
        continue;
      llvm::append_range(members, others);
      others.clear();
    }
  }
  nests.remove_if([](const auto &nest) { return nest.second.empty(); });
}

KernelNest Planner::makeNest(int64_t rows, ArrayRef<KernelRoot> members) {
  KernelNest nest;
  nest.rows = rows;
  SetVector<Operation *> producers;
  for (const KernelRoot &root : members)
    collectProducers(root.value, producers);
  for (Operation *op : producers) {
    auto shape = getReductionShape(op);
    if (!shape || !shape->trailing || shape->keptElements != rows)
      continue;
    bool accumulates = llvm::any_of(members, [&](const KernelRoot &root) {
      return root.value.getDefiningOp() == op && isAccumulation(root, rows);
    });
    if (!accumulates)
      nest.reductions.insert(op);
  }

  DenseMap<Operation *, unsigned> known;
  for (Operation *op : nest.reductions)
    loopAt(nest, passOf(op, nest, known),
           getReductionShape(op)->reducedElements)
        .reductions.push_back(cast<linalg::GenericOp>(op));
  for (const KernelRoot &root : members) {
    Operation *op = root.value.getDefiningOp();
    unsigned pass = passOf(op, nest, known);
    if (isAccumulation(root, rows)) {
      loopAt(nest, pass, getReductionShape(op)->keptElements)
          .accumulations.push_back(root);
      continue;
    }
    if (op && nest.reductions.contains(op))
      ++pass;
    loopAt(nest, pass, llvm::product_of(shapeOf(root.value)) / rows)
        .writes.push_back(root);
  }
  keepCostlyValues(nest);
  nest.blocked = nest.reductions.empty() && nest.passes.size() == 1 &&
                 readsAcrossRows(producers.getArrayRef());
  return nest;
}

/// Rows from which on they are enough for all threads.
static constexpr int64_t manyRows = 64;

NestCut KernelNest::cut() const {
  if (scatter)
    return NestCut::None;
  bool accumulates = llvm::any_of(passes, [](const auto &loops) {
    return llvm::any_of(loops, [](const ColumnLoop &loop) {
      return !loop.accumulations.empty();
    });
  });
  if (!accumulates && rows >= manyRows)
    return NestCut::Rows;
  // Of one loop, so that what a part reads of a buffer that it writes over is
  // its own.
  if (reductions.empty() && passes.size() == 1 && passes.front().size() == 1 &&
      passes.front().front().columns >= laneCount && !blocked)
    return NestCut::Columns;
  return accumulates || rows == 1 ? NestCut::None : NestCut::Rows;
}

int64_t KernelNest::maxParts() const {
  switch (cut()) {
  case NestCut::Rows:
    return blocked ? llvm::divideCeil(rows, blockedRows) : rows;
  case NestCut::Columns:
    return passes.front().front().columns / laneCount;
  case NestCut::None:
    return 1;
  }
  llvm_unreachable("three cuts");
}

static bool isCostly(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return generic && generic.getNumReductionLoops() == 0 &&
         llvm::any_of(generic.getBody()->without_terminator(),
                      [](Operation &inner) {
                        return needsMathExpansion(&inner) ||
                               isa<arith::DivFOp, math::SqrtOp>(inner);
                      });
}

void Planner::keepCostlyValues(KernelNest &nest) {
  // For each value the passes that need it, not counting those that only need
  // it for a value which an earlier pass has kept.
  llvm::MapVector<Value, std::pair<unsigned, int64_t>> seen;
  std::function<void(Value, unsigned, int64_t, DenseSet<Operation *> &)> visit =
      [&](Value value, unsigned pass, int64_t columns,
          DenseSet<Operation *> &visited) {
        Operation *op = value.getDefiningOp();
        if (!op || nest.reductions.contains(op))
          return;
        if (isCostly(op) && splitShape(shapeOf(value), nest.rows, columns)) {
          auto [it, isNew] = seen.insert({value, {pass, columns}});
          if (!isNew && it->second.first < pass &&
              it->second.second == columns) {
            Type element = getElementTypeOrSelf(value.getType());
            int64_t padded = llvm::alignTo(columns, laneCount);
            int64_t bytes =
                padded * llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
            if (nest.kept.contains(value))
              return;
            if (keptBytes + bytes <= keptBytesLimit) {
              keptBytes += bytes;
              nest.kept.insert({value, padded});
              return;
            }
          }
        }
        if (!visited.insert(op).second)
          return;
        for (Value input : inputsOf(op))
          visit(input, pass, columns, visited);
      };
  for (auto [pass, loops] : llvm::enumerate(nest.passes))
    for (ColumnLoop &loop : loops) {
      DenseSet<Operation *> visited;
      for (linalg::GenericOp reduction : loop.reductions)
        for (Value input : reduction.getDpsInputs())
          visit(input, pass, loop.columns, visited);
      for (const KernelRoot &root : loop.writes)
        visit(root.value, pass, loop.columns, visited);
      for (const KernelRoot &root : loop.accumulations)
        for (Value input :
             root.value.getDefiningOp<linalg::GenericOp>().getDpsInputs())
          visit(input, pass, loop.columns, visited);
    }
}

KernelPlan Planner::plan() {
  collectRoots();
  // Roots that reduce decide the rows of a nest; the others join one if they
  // can, so that what they share is read once.
  KernelPlan plan;
  Nests nests;
  std::vector<KernelRoot> order;
  for (const KernelRoot &root : roots) {
    if (root.value.getDefiningOp<ScatterAddOp>())
      plan.nests.emplace_back().scatter = root;
    else
      order.push_back(root);
  }
  std::stable_partition(
      order.begin(), order.end(),
      [&](const KernelRoot &root) { return rowsOf(root) != 0; });
  for (const KernelRoot &root : order) {
    int64_t elements = llvm::product_of(shapeOf(root.value));
    if (elements == 0)
      continue;
    if (int64_t rows = rowsOf(root); joins(root, rows)) {
      nests[{rows, 0}].push_back(root);
      continue;
    }
    auto host = llvm::find_if(nests, [&](auto &nest) {
      return nest.first.second == 0 && nest.first.first > 1 &&
             rowsOf(root) == 0 && joins(root, nest.first.first) &&
             !readsAcrossRows(producersOf(root.value).getArrayRef());
    });
    if (host != nests.end())
      host->second.push_back(root);
    else
      nests[{flatRows(root.value), elements}].push_back(root);
  }
  joinFlatNests(nests);
  for (auto &[key, members] : nests)
    plan.nests.push_back(makeNest(key.first, members));
  return plan;
}

FailureOr<KernelPlan> weft::planKernel(func::FuncOp kernel) {
  if (failed(checkKernelBody(kernel)))
    return failure();
  return Planner(kernel).plan();
}
