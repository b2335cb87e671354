//===- ObserveValues.cpp - Values of the graph become results -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One pass over each function in program order, once every value has the
// sharding that it will have and every movement of data is an op: a result is
// added to the function for each, in the sharding that it has anyway. So no
// data is moved for it.
//
//===----------------------------------------------------------------------===//

#include "weft/IR/ObservedValues.h"
#include "weft/IR/Origin.h"
#include "weft/IR/StagePipeline.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueName.h"
#include "weft/IR/ValueSharding.h"
#include "weft/Partition/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace weft {
#define GEN_PASS_DEF_OBSERVEVALUES
#include "weft/Partition/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

namespace {

class Observer {
public:
  explicit Observer(func::FuncOp function)
      : function(function), microbatches(function.getBody().front()) {}

  void run();

private:
  struct Entry {
    Value value;
    ObservedValue facts;
    /// Before dimensions were padded.
    RankedTensorType type;
    /// Each micro-batch has another value.
    MicrobatchesAttr loop;
  };

  void visit(Operation *op);
  void add(Value value, ObservedValue facts, RankedTensorType type);
  void stack(Entry &entry);
  void write();

  func::FuncOp function;
  Microbatches microbatches;
  SmallVector<Entry> entries;
  /// Of a value that is an observed one, or one with padding of another value,
  /// its entry.
  DenseMap<Value, int64_t> entryOf;
  /// The entries that a value is made of.
  DenseMap<Value, SmallVector<int64_t>> sources;
};

} // namespace

void Observer::add(Value value, ObservedValue facts, RankedTensorType type) {
  facts.order = entries.size();
  entryOf[value] = facts.order;
  sources[value] = {facts.order};
  // Partial sums of gradients may have a wider type than the graph says.
  Type element = typeOf(value).getElementType();
  entries.push_back({value, std::move(facts),
                     cast<RankedTensorType>(type.clone(element)),
                     microbatches.loopOf(value)});
}

/// The partial sums that were added up and then given the order in which the
/// program has them (--weft-interleave-weights); null if it has no sums.
static Value addedUp(RearrangeOp order) {
  Value value = order.getOperands().front();
  while (auto reshard = value.getDefiningOp<ReshardOp>())
    value = reshard->getOperand(0);
  const ShardingAttr sharding = getSharding(value);
  return sharding && !sharding.getUnreduced().empty() ? value : Value();
}

/// These sums in the order of the program, as `order` gives it.
static Value inOrder(RearrangeOp order, Value sums) {
  OpBuilder builder(order);
  IRMapping mapping;
  mapping.map(order.getOperands().front(), sums);
  Value ordered = builder.clone(*order, mapping)->getResult(0);
  ordered.setType(sums.getType());
  setSharding(ordered, getSharding(sums));
  return ordered;
}

void Observer::visit(Operation *op) {
  llvm::SetVector<int64_t> made;
  for (Value operand : op->getOperands())
    for (int64_t source : sources.lookup(operand))
      made.insert(source);
  SmallVector<int64_t> madeOf = llvm::to_vector(made);
  llvm::sort(madeOf);
  std::optional<NumberedOp> numbered = getNumbered(op);
  op->removeAttr(kNumberedAttrName);
  if (numbered && numbered->types.size() == op->getNumResults()) {
    if (auto order = dyn_cast<RearrangeOp>(op))
      if (Value terms = addedUp(order)) {
        add(inOrder(order, terms),
            {0, numbered->number, numbered->kind, numbered->terms, nameOf(op),
             madeOf},
            numbered->types.front());
        add(order.getResult(),
            {0,
             numbered->number,
             ObservedKind::Moved,
             0,
             nameOf(op),
             {int64_t(entries.size()) - 1}},
            numbered->types.front());
        return;
      }
    for (OpResult result : op->getResults()) {
      unsigned index = result.getResultNumber();
      add(result,
          {0, numbered->number + index, numbered->kind, numbered->terms,
           nameOf(op), madeOf},
          numbered->types[index]);
    }
    return;
  }
  auto known =
      op->getNumOperands() ? entryOf.find(op->getOperand(0)) : entryOf.end();
  bool isMoved = known != entryOf.end() && isa<ReshardOp>(op);
  if (isMoved) {
    const Entry &source = entries[known->second];
    auto cause = op->getAttrOfType<StringAttr>("cause");
    ObservedValue facts{0,
                        source.facts.number,
                        ObservedKind::Moved,
                        0,
                        cause ? cause.str() : nameOf(op),
                        {known->second}};
    add(op->getResult(0), std::move(facts), source.type);
    return;
  }
  bool isSame = known != entryOf.end() && isa<MaskPaddingOp>(op);
  for (Value result : op->getResults()) {
    sources[result] = madeOf;
    if (isSame)
      entryOf[result] = known->second;
  }
}

/// No axis splits the dimension of the micro-batches. In a pipeline the stage
/// that has the value keeps all of them.
void Observer::stack(Entry &entry) {
  OpBuilder builder = OpBuilder::atBlockTerminator(&function.getBody().front());
  const ShardingAttr sharding = getSharding(entry.value);
  const OriginAttr stage = onlyStage(getOrigin(entry.value.getDefiningOp()));
  entry.value = stackAll(builder, entry.value, entry.loop);
  if (stage)
    setOrigin(entry.value.getDefiningOp(), stage);
  entry.type = typeOfAll(entry.type, entry.loop);
  if (!sharding)
    return;
  SmallVector<DimShardingAttr> dims(
      ShardingAttr::getClosed(sharding.getMesh(), 1).getDims());
  llvm::append_range(dims, sharding.getDims());
  setSharding(entry.value,
              ShardingAttr::get(sharding.getContext(), sharding.getMesh(), dims,
                                sharding.getReplicated(),
                                sharding.getUnreduced(),
                                sharding.getUnreducedKind()));
}

/// What is padded in dimensions that no axis splits, without the padding.
static Value withoutPadding(Value value, RankedTensorType type) {
  const ShardingAttr sharding = getSharding(value);
  SmallVector<int64_t> limits(typeOf(value).getShape());
  for (auto [dim, limit] : llvm::enumerate(limits))
    if (!sharding || sharding.getDims()[dim].getAxes().empty())
      limit = std::min(limit, type.getDimSize(dim));
  if (ArrayRef(limits) == typeOf(value).getShape())
    return value;
  OpBuilder builder = OpBuilder::atBlockTerminator(value.getParentBlock());
  const SmallVector<int64_t> starts(limits.size(), 0),
      strides(limits.size(), 1);
  Value cut =
      SliceOp::create(builder, value.getLoc(), value, starts, limits, strides);
  setOrigin(cut.getDefiningOp(), getValueOrigin(value));
  if (sharding)
    setSharding(cut, sharding);
  return cut;
}

void Observer::write() {
  MLIRContext *context = function.getContext();
  Operation *ret = function.getBody().front().getTerminator();
  for (Entry &entry : entries)
    if (entry.loop)
      stack(entry);
  for (Entry &entry : entries)
    entry.value = withoutPadding(entry.value, entry.type);
  SmallVector<Value> operands(ret->getOperands());
  SmallVector<NamedAttrList> attrs;
  for (unsigned index = 0; index < function.getNumResults(); ++index)
    attrs.emplace_back(function.getResultAttrDict(index));
  unsigned own = operands.size();
  for (const Entry &entry : entries) {
    ShardingAttr sharding = getSharding(entry.value);
    Attribute observed = toAttr(entry.facts, context);
    // What the function returns anyway is not written twice.
    auto returned = llvm::find(ArrayRef(operands).take_front(own), entry.value);
    if (size_t index = returned - operands.begin(); index < own) {
      attrs[index].set(kObservedAttrName, observed);
      continue;
    }
    operands.push_back(entry.value);
    NamedAttrList &added = attrs.emplace_back();
    added.set(WeftDialect::kNameAttrName,
              StringAttr::get(context, observedName(entry.facts.order)));
    if (sharding)
      added.set(WeftDialect::kShardingAttrName, sharding);
    if (entry.type != entry.value.getType())
      added.set(WeftDialect::kGlobalTypeAttrName, TypeAttr::get(entry.type));
    added.set(kObservedAttrName, observed);
  }
  ret->setOperands(operands);
  function.setType(
      FunctionType::get(context, function.getBody().front().getArgumentTypes(),
                        ret->getOperandTypes()));
  function.setAllResultAttrs(llvm::map_to_vector(
      attrs, [&](NamedAttrList &list) { return list.getDictionary(context); }));
}

void Observer::run() {
  for (Operation &op : function.getBody().front())
    visit(&op);
  if (!entries.empty())
    write();
}

namespace {
struct ObserveValues : weft::impl::ObserveValuesBase<ObserveValues> {
  void runOnInput() override {
    // Of a module that is no pipeline: what is added for the results is of no
    // stage.
    removeStages(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        Observer(function).run();
  }
};
} // namespace
