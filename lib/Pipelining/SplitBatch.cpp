//===- SplitBatch.cpp - Make micro-batches of a whole batch ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BatchRows.h"
#include "Stages.h"

#include "weft/Pipelining/Passes.h"

#include "weft/IR/Origin.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueSharding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/MapVector.h"

namespace weft {
#define GEN_PASS_DEF_SPLITBATCH
#include "weft/Pipelining/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;
using sharding::ShardingRule;

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

namespace {

/// Writes the loop beside the ops on the whole batch, and erases those of them
/// that nothing needs any more.
class BatchSplitter {
public:
  BatchSplitter(func::FuncOp entry, const BatchRows &rows, int64_t count)
      : block(entry.front()), rows(rows),
        loop(MicrobatchesAttr::get(entry.getContext(),
                                   StringAttr::get(entry.getContext(), "batch"),
                                   count)),
        count(count) {}

  LogicalResult run();

private:
  Value inLoop(Value value, std::optional<Rows> wanted);
  Value rowsOfWhole(Value value, Rows wanted);
  Value computeRows(Value whole, Rows wanted);
  Value sliceRows(OpBuilder &b, Value whole, Rows wanted);
  Value countRows(OpBuilder &b, IotaOp iota, Rows wanted);
  Value use(Value whole);
  SmallVector<Value> cloneInLoop(OpBuilder &b, Operation *op,
                                 const ShardingRule *rule,
                                 std::optional<RowFactor> factor);
  LogicalResult writeLoop(Operation *op);
  Value outside(Value value);
  Value stack(Value whole, Rows rows);
  SmallVector<int64_t> splitShape(RankedTensorType whole, Rows rows) const;
  RankedTensorType typeOfRows(RankedTensorType whole,
                              std::optional<Rows> rows) const;

  Block &block;
  const BatchRows &rows;
  MicrobatchesAttr loop;
  int64_t count;
  /// The values of a micro-batch.
  llvm::DenseMap<Value, Value> ofLoop;
  /// Of what is there before the loop: the rows of a micro-batch, and the value
  /// that all use.
  llvm::DenseMap<std::tuple<Value, int64_t, int64_t>, Value> ofWhole;
  llvm::DenseMap<Value, Value> used;
  /// What is there behind it.
  llvm::DenseMap<Value, Value> behind;
};

} // namespace

RankedTensorType BatchSplitter::typeOfRows(RankedTensorType whole,
                                           std::optional<Rows> rows) const {
  SmallVector<int64_t> shape(whole.getShape());
  if (rows)
    shape[rows->dim] /= count;
  return whole.clone(shape);
}

/// The shape with a dimension of its own for micro-batches, behind that of the
/// rows: row r is in micro-batch r % count, so that every shard of a batch has
/// as many rows of each.
SmallVector<int64_t> BatchSplitter::splitShape(RankedTensorType whole,
                                               Rows rows) const {
  SmallVector<int64_t> shape(whole.getShape());
  int64_t size = shape[rows.dim] / rows.inner / count;
  shape[rows.dim] = size;
  shape.insert(shape.begin() + rows.dim + 1, count);
  if (rows.inner != 1)
    shape.insert(shape.begin() + rows.dim + 2, rows.inner);
  return shape;
}

static Value reshape(OpBuilder &b, Location loc, RankedTensorType type,
                     Value value) {
  return value.getType() == type ? value
                                 : ReshapeOp::create(b, loc, type, value);
}

Value BatchSplitter::sliceRows(OpBuilder &b, Value whole, Rows wanted) {
  RankedTensorType type = typeOf(whole);
  SmallVector<int64_t> shape = splitShape(type, wanted);
  Value split = reshape(b, whole.getLoc(), type.clone(shape), whole);
  shape.erase(shape.begin() + wanted.dim + 1);
  Value part = MicrobatchSliceOp::create(b, whole.getLoc(), type.clone(shape),
                                         split, wanted.dim + 1, loop);
  return reshape(b, whole.getLoc(), typeOfRows(type, wanted), part);
}

/// The numbers along the rows, of which only one for each is sliced.
Value BatchSplitter::countRows(OpBuilder &b, IotaOp iota, Rows wanted) {
  RankedTensorType type = typeOfRows(iota.getType(), wanted);
  auto line = type.clone({iota.getType().getDimSize(wanted.dim)});
  Value numbers = IotaOp::create(b, iota.getLoc(), line, 0);
  Value part = sliceRows(b, numbers, {0, wanted.inner});
  return BroadcastOp::create(b, iota.getLoc(), type, part,
                             ArrayRef<int64_t>{wanted.dim});
}

/// Ops that keep rows are computed for those of a micro-batch; what they are
/// computed from in the end is sliced.
Value BatchSplitter::computeRows(Value whole, Rows wanted) {
  OpBuilder b(whole.getContext());
  b.setInsertionPointAfterValue(whole);
  Operation *op = whole.getDefiningOp();
  std::optional<ShardingRule> rule = op ? ruleOf(op) : std::nullopt;
  std::optional<RowFactor> factor;
  if (rule)
    factor = findRowFactor(
        *rule, rule->results[cast<OpResult>(whole).getResultNumber()], wanted,
        rows.getBatch());
  if (factor && keepsRows(op, *rule, *factor))
    return cloneInLoop(b, op, &*rule,
                       factor)[cast<OpResult>(whole).getResultNumber()];
  if (auto iota = dyn_cast_if_present<IotaOp>(op);
      iota && wanted.dim == int64_t(iota.getDim()))
    return countRows(b, iota, wanted);
  return sliceRows(b, outside(whole), wanted);
}

Value BatchSplitter::rowsOfWhole(Value value, Rows wanted) {
  auto key = std::tuple(value, wanted.dim, wanted.inner);
  if (Value known = ofWhole.lookup(key))
    return known;
  Value result = computeRows(value, wanted);
  return ofWhole[key] = result;
}

Value BatchSplitter::use(Value whole) {
  if (matchPattern(whole, m_Constant()))
    return whole;
  Value &known = used[whole];
  if (!known) {
    OpBuilder b(whole.getContext());
    b.setInsertionPointAfterValue(whole);
    known = MicrobatchUseOp::create(b, whole.getLoc(), whole, loop);
  }
  return known;
}

/// A value as an op of the loop takes it.
Value BatchSplitter::inLoop(Value value, std::optional<Rows> wanted) {
  Share share = rows.of(value).share;
  if (wanted && (share == Share::Whole || share == Share::Same))
    return rowsOfWhole(value, *wanted);
  return share == Share::Whole ? use(value) : ofLoop.at(value);
}

/// The results of the op for the rows of a micro-batch, if it has any.
SmallVector<Value> BatchSplitter::cloneInLoop(OpBuilder &b, Operation *op,
                                              const ShardingRule *rule,
                                              std::optional<RowFactor> factor) {
  auto rowsIn = [&](const sharding::TensorFactors &tensor) {
    return factor ? findRows(*rule, tensor, *factor) : std::nullopt;
  };
  size_t numComputed = computedFrom(op).size();
  SmallVector<Value> operands;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    // Nothing waits for what is there before the loop, or only behind it.
    if (index >= numComputed && !ofLoop.contains(operand))
      continue;
    operands.push_back(
        inLoop(operand, factor ? rowsIn(rule->operands[index]) : std::nullopt));
  }
  if (isa<BarrierOp>(op) && operands.size() == 1)
    return operands;
  OperationState state(op->getLoc(), op->getName(), operands, TypeRange(),
                       op->getAttrs());
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    state.addTypes(typeOfRows(
        typeOf(result), factor ? rowsIn(rule->results[index]) : std::nullopt));
  Operation *clone = b.create(state);
  if (auto constant = dyn_cast<arith::ConstantOp>(clone))
    constant.setValueAttr(
        cast<SplatElementsAttr>(constant.getValue())
            .resizeSplat(cast<ShapedType>(clone->getResult(0).getType())));
  if (auto slice = dyn_cast<SliceOp>(clone); slice && factor) {
    Rows whole = *rowsIn(rule->operands.front());
    SmallVector<int64_t> limits(slice.getLimits());
    limits[whole.dim] = slice.getOperand().getType().getDimSize(whole.dim);
    slice.setLimits(limits);
  }
  return SmallVector<Value>(clone->getResults());
}

LogicalResult BatchSplitter::writeLoop(Operation *op) {
  OpBuilder b(op);
  std::optional<ShardingRule> rule = ruleOf(op);
  std::optional<RowFactor> factor = rows.factorOf(op);
  SmallVector<Value> results =
      cloneInLoop(b, op, rule ? &*rule : nullptr, factor);
  for (auto [old, own] : llvm::zip_equal(op->getResults(), results))
    ofLoop[old] = own;
  return verify(results.front().getDefiningOp());
}

/// The rows of all micro-batches.
Value BatchSplitter::stack(Value whole, Rows wanted) {
  Value part = ofLoop.at(whole);
  OpBuilder b(whole.getContext());
  b.setInsertionPointAfterValue(part);
  RankedTensorType type = typeOf(whole);
  SmallVector<int64_t> split = splitShape(type, wanted), shape(split);
  shape.erase(shape.begin() + wanted.dim + 1);
  part = reshape(b, whole.getLoc(), type.clone(shape), part);
  Value all = MicrobatchStackOp::create(b, whole.getLoc(), type.clone(split),
                                        part, wanted.dim + 1, loop);
  return reshape(b, whole.getLoc(), type, all);
}

/// The origin of a sum: also of what is computed from pieces of a gradient
/// behind the loop (as of the rows of a table that all micro-batches read).
static OriginAttr originOfSum(Value whole) {
  SmallVector<Operation *> pending = {whole.getDefiningOp()};
  llvm::DenseSet<Operation *> seen;
  OriginAttr own = getOrigin(pending.front());
  for (size_t i = 0; i < pending.size(); ++i) {
    if (StringRef name = gradientOf(getOrigin(pending[i])); !name.empty())
      return withGradientOf(own, StringAttr::get(whole.getContext(), name));
    for (Operation *user : pending[i]->getUsers())
      if (seen.insert(user).second)
        pending.push_back(user);
  }
  return own;
}

/// A value of the loop as ops behind it take it.
Value BatchSplitter::outside(Value value) {
  Part part = rows.of(value);
  if (part.share == Share::Whole || part.share == Share::Total)
    return value;
  if (Value known = behind.lookup(value))
    return known;
  Operation *op = value.getDefiningOp();
  Value result;
  if (part.share == Share::Rows) {
    result = stack(value, *part.rows);
  } else if (part.share == Share::Term) {
    Value term = ofLoop.at(value);
    OpBuilder b(value.getContext());
    b.setInsertionPointAfterValue(term);
    result = MicrobatchSumOp::create(b, value.getLoc(), term, loop);
    setOrigin(result.getDefiningOp(), originOfSum(value));
  } else if (isa<BarrierOp>(op)) {
    result = outside(op->getOperand(0));
  } else {
    OpBuilder b(op);
    Operation *own = b.clone(*op);
    for (OpOperand &operand : own->getOpOperands())
      operand.set(outside(operand.get()));
    result = own->getResult(cast<OpResult>(value).getResultNumber());
  }
  return behind[value] = result;
}

LogicalResult BatchSplitter::run() {
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  for (Operation *op : ArrayRef(ops).drop_back()) {
    Share share = rows.of(op->getResult(0)).share;
    if (share != Share::Whole && share != Share::Total && failed(writeLoop(op)))
      return failure();
  }
  for (Operation *op : ops) {
    if (op != ops.back() && rows.of(op->getResult(0)).share != Share::Total)
      continue;
    // Only the loop has what a barrier waits for.
    if (isa<BarrierOp>(op)) {
      op->replaceAllUsesWith(ValueRange(op->getOperand(0)));
      continue;
    }
    for (OpOperand &operand : op->getOpOperands())
      operand.set(outside(operand.get()));
  }
  ops.clear();
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops))
    if (op->use_empty())
      op->erase();
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// The arguments that may be the batch: those with as many elements along the
/// first dimension, of more dimensions first. A state is none.
static SmallVector<SmallVector<BlockArgument>> findBatches(func::FuncOp entry,
                                                           int64_t count) {
  llvm::DenseSet<Value> states = findStates(entry);
  llvm::MapVector<int64_t, SmallVector<BlockArgument>> bySize;
  for (BlockArgument argument : entry.getArguments()) {
    RankedTensorType type = typeOf(argument);
    if (type.getRank() > 0 && type.getDimSize(0) % count == 0 &&
        !states.contains(argument))
      bySize[type.getDimSize(0)].push_back(argument);
  }
  auto rankOf = [](ArrayRef<BlockArgument> arguments) {
    int64_t most = 0;
    for (BlockArgument argument : arguments)
      most = std::max(most, typeOf(argument).getRank());
    return most;
  };
  auto batches = llvm::map_to_vector(bySize.takeVector(),
                                     [](auto &each) { return each.second; });
  llvm::stable_sort(batches, [&](const auto &a, const auto &b) {
    return std::pair(rankOf(a), a.size()) > std::pair(rankOf(b), b.size());
  });
  return batches;
}

namespace {

struct SplitBatch : weft::impl::SplitBatchBase<SplitBatch> {
  using SplitBatchBase::SplitBatchBase;

  void runOnInput() override {
    // A form that was printed and read again.
    if (getOperation()->hasAttr(kStagesAttrName))
      return;
    SmallVector<func::FuncOp> entries;
    for (auto entry : getOperation().getOps<func::FuncOp>())
      if (entry.isPublic() && entry.getBody().hasOneBlock())
        entries.push_back(entry);
    auto trains = [](func::FuncOp entry) { return !findStates(entry).empty(); };
    bool anyTrains = llvm::any_of(entries, trains);
    for (func::FuncOp entry : entries) {
      // Beside a step, what changes no state is none.
      if (Microbatches(entry.front()).any() || (anyTrains && !trains(entry)))
        continue;
      if (failed(split(entry)))
        return signalPassFailure();
    }
  }

private:
  LogicalResult split(func::FuncOp entry) {
    int64_t count = microbatches;
    SmallVector<SmallVector<BlockArgument>> batches = findBatches(entry, count);
    // The batch is what most of the work is done for; of what is none, the
    // problems of the one that comes nearest are reported.
    std::optional<BatchRows> best;
    for (ArrayRef<BlockArgument> batch : batches) {
      BatchRows rows(entry, batch);
      auto rank = [](const BatchRows &rows) {
        return std::tuple(rows.isLegal() && rows.formsLoop(), !rows.isLegal(),
                          rows.countHeavy());
      };
      if (!best || rank(rows) > rank(*best))
        best.emplace(std::move(rows));
    }
    if (best && best->isLegal() && best->formsLoop())
      return BatchSplitter(entry, *best, count).run();
    if (best && !best->isLegal()) {
      best->report(count);
      return failure();
    }
    return reportNone(entry, count, best ? &*best : nullptr);
  }

  static LogicalResult reportNone(func::FuncOp entry, int64_t count,
                                  const BatchRows *nearest) {
    auto error = emitError(entry.getLoc())
                 << "no argument of @" << entry.getSymName()
                 << " is a batch that can be split into " << count
                 << " micro-batches: its first dimension must be a multiple of "
                    "them, and the model be computed from it";
    llvm::DenseSet<Value> states = findStates(entry);
    auto printDivisors = [&](int64_t rows) {
      std::string text;
      // Another number would help no more.
      if (rows % count == 0)
        return text;
      for (int64_t step : {-1, 1})
        for (int64_t n = std::min(count, rows);
             n > 0 && n <= rows && n < 2 * count; n += step)
          if (rows % n == 0 && n != count && (step < 0 || n > count)) {
            text += (text.empty() ? ", which is a multiple of " : " and ") +
                    std::to_string(n);
            break;
          }
      return text;
    };
    for (BlockArgument argument : entry.getArguments())
      if (!states.contains(argument) && typeOf(argument).getRank() > 0)
        error.attachNote(argument.getLoc())
            << "\"" << weft::getArgumentName(entry, argument.getArgNumber())
            << "\" has " << typeOf(argument).getDimSize(0)
            << printDivisors(typeOf(argument).getDimSize(0));
    if (nearest)
      for (Operation *boundary : nearest->getBoundariesOutside())
        error.attachNote(boundary->getLoc())
            << "if " << nearest->nameBatch()
            << " is the batch, this stage boundary is on what is the same for "
               "all micro-batches; put it between two layers of the model";
    return error;
  }
};

} // namespace
