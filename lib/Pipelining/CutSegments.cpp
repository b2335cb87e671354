//===- CutSegments.cpp - Functions of the segments of an entry ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CutSegments.h"

#include "PassGathers.h"
#include "Stages.h"

#include "weft/IR/MicrobatchExits.h"
#include "weft/IR/ObservedValues.h"
#include "weft/IR/Origin.h"
#include "weft/IR/Segments.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueSharding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace weft;
using timeline::ActionKind;

namespace {

/// A segment while it is filled.
struct Draft {
  func::FuncOp function;
  IRMapping values;
  /// By name.
  llvm::StringMap<Value> arguments;
  SmallVector<NamedAttrList> argumentAttrs, resultAttrs;
  SmallVector<Value> results;
};

/// A result of the entry, and the segment that leaves it in its role.
struct Written {
  unsigned number;
  Value value;
  SegmentKey owner;
  /// Whether another role leaves it for those that compute none.
  bool isCopy = false;
};

class Cutter {
public:
  Cutter(func::FuncOp entry, const PipelineSchedule &schedule,
         llvm::StringSet<> &taken, const StateHolders &holders,
         const ResultCopies &copies)
      : entry(entry), block(entry.front()), schedule(schedule),
        plan(block, schedule), gathers(block, plan),
        builder(entry.getContext()), taken(taken), holders(holders),
        resultCopies(copies) {}

  CutEntry run();

private:
  void nameSignature();
  Draft &draftOf(const SegmentKey &key);
  int64_t roleOf(const SegmentKey &key) const {
    return schedule.roleOf(key.stage);
  }
  SegmentKey once(int64_t stage, ActionKind kind, int64_t level) const {
    return {schedule.firstOfRole(stage), kind, level};
  }
  SegmentState &state(const SegmentKey &key, StringRef name) {
    return cut.states[{roleOf(key), name.str()}];
  }

  // Values in the function of a segment.
  Value argument(const SegmentKey &to, StringRef name, Type type, Location loc,
                 DictionaryAttr attrs = {});
  Value index(const SegmentKey &to, Location loc);
  Value resolve(Value value, const SegmentKey &to);
  Value copy(Operation *op, Value value, const SegmentKey &to);
  void addAwaited(Operation *op, const SegmentKey &to,
                  SmallVectorImpl<Value> &operands);
  Value cross(Value value, const SegmentKey &from, const SegmentKey &to);
  Value gather(Value value, const SegmentKey &from, const SegmentKey &to);
  void setResult(const SegmentKey &key, StringRef name, Value value,
                 DictionaryAttr attrs = {});

  void compute(Operation &op);
  void accumulate(Operation &exit);
  SegmentKey ownerOf(Value value, const std::string &name) const;
  int64_t lastReader(int64_t role, const std::string &name) const;
  std::vector<Written> findWritten();
  void addResult(const Written &written);
  SmallVector<int64_t> findReaders(const std::string &name) const;
  int64_t firstStageOf(int64_t role) const {
    return llvm::find(schedule.placement, role) - schedule.placement.begin();
  }
  void addCrossing();
  void addMessages();
  void addEmpty();
  void finish();

  std::string nameOf(Value value);
  std::string uniqueName(std::string name);

  func::FuncOp entry;
  Block &block;
  const PipelineSchedule &schedule;
  const SegmentPlan plan;
  const PassGathers gathers;
  OpBuilder builder;
  CutEntry cut;
  std::map<SegmentKey, Draft> drafts;
  llvm::StringSet<> &taken;
  const StateHolders &holders;
  const ResultCopies &resultCopies;
  llvm::StringSet<> argumentNames;
  /// Of the state that holds the numbers of the micro-batches.
  std::string numberName;
  llvm::StringMap<int64_t> counts, gradientCounts;
  /// What one segment leaves for others, and under which name.
  llvm::MapVector<Value, std::string> names;
  /// What a segment gathers for a pass, and under which name.
  std::map<SegmentKey, llvm::MapVector<Value, std::string>> gathered;
  /// By value and role that receives it: who needs it there.
  llvm::MapVector<std::pair<Value, int64_t>, std::set<SegmentKey>> received;
  /// New values of states that several roles have: after which segment.
  std::vector<SegmentMessage> updates;
};

} // namespace

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// States are told apart by name.
void Cutter::nameSignature() {
  auto nameAttr = builder.getStringAttr(WeftDialect::kNameAttrName);
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    std::string name = getArgumentName(entry, i);
    entry.setArgAttr(i, nameAttr, builder.getStringAttr(name));
    taken.insert(name);
    argumentNames.insert(name);
  }
  for (unsigned i = 0; i < entry.getNumResults(); ++i) {
    std::string name = getResultName(entry, i);
    entry.setResultAttr(i, nameAttr, builder.getStringAttr(name));
    taken.insert(name);
  }
}

std::string Cutter::uniqueName(std::string name) {
  std::string unique = name;
  for (int64_t i = 2; !taken.insert(unique).second; ++i)
    unique = name + " " + std::to_string(i);
  return unique;
}

/// Gradients are named by their parameters (and stages, where several have a
/// part of one), other values by the segment that computes them.
std::string Cutter::nameOf(Value value) {
  auto [found, isNew] = names.insert({value, std::string()});
  if (!isNew)
    return found->second;
  Operation *op = value.getDefiningOp();
  // A sum over devices takes the place of the sum over micro-batches.
  auto collective = dyn_cast<CommunicationOpInterface>(op);
  if (Value sum =
          collective && collective.isAllReduce() ? op->getOperand(0) : Value();
      sum && sum.hasOneUse() && sum.getDefiningOp() &&
      leavesMicrobatches(sum.getDefiningOp())) {
    std::string name = nameOf(sum);
    return names[value] = name;
  }
  StringRef parameter = gradientOf(getValueOrigin(value));
  if (leavesMicrobatches(op) && !parameter.empty()) {
    std::string name = "gradient of " + parameter.str();
    if (gradientCounts.lookup(parameter) > 1)
      name += ", stage " + std::to_string(plan.of(op).stage);
    return found->second = uniqueName(std::move(name));
  }
  std::string segment = plan.of(op).name();
  return found->second =
             uniqueName(segment + ":" + std::to_string(counts[segment]++));
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Draft &Cutter::draftOf(const SegmentKey &key) {
  auto [found, isNew] = drafts.try_emplace(key);
  Draft &draft = found->second;
  if (!isNew)
    return draft;
  draft.function = func::FuncOp::create(
      entry.getLoc(), (entry.getSymName() + "." + key.name()).str(),
      builder.getFunctionType({}, {}));
  draft.function.getBody().emplaceBlock();
  return draft;
}

Value Cutter::argument(const SegmentKey &to, StringRef name, Type type,
                       Location loc, DictionaryAttr attrs) {
  Draft &draft = draftOf(to);
  Value &value = draft.arguments[name];
  if (value)
    return value;
  value = draft.function.front().addArgument(type, loc);
  NamedAttrList all(attrs);
  all.set(WeftDialect::kNameAttrName, builder.getStringAttr(name));
  draft.argumentAttrs.push_back(all);
  state(to, name).readers.insert(to);
  return value;
}

void Cutter::setResult(const SegmentKey &key, StringRef name, Value value,
                       DictionaryAttr attrs) {
  Draft &draft = draftOf(key);
  draft.results.push_back(value);
  NamedAttrList all(attrs);
  all.set(WeftDialect::kNameAttrName, builder.getStringAttr(name));
  draft.resultAttrs.push_back(all);
  SegmentState &written = state(key, name);
  written.writers.insert(key);
  written.bytes = byteSize(cast<RankedTensorType>(value.getType()));
}

/// The number of the micro-batch.
Value Cutter::index(const SegmentKey &to, Location loc) {
  NamedAttrList attrs;
  attrs.set(kCountsAttrName, builder.getUnitAttr());
  if (numberName.empty())
    numberName = uniqueName("micro-batch");
  state(to, numberName).isNumber = true;
  return argument(to, numberName,
                  RankedTensorType::get({}, builder.getI32Type()), loc,
                  attrs.getDictionary(builder.getContext()));
}

/// The value of another segment, which stays on its role or is sent.
Value Cutter::cross(Value value, const SegmentKey &from, const SegmentKey &to) {
  std::string name = nameOf(value);
  bool isOfMicrobatch = !from.isOnce();
  if (roleOf(from) != roleOf(to))
    received[{value, roleOf(to)}].insert(to);
  for (const SegmentKey &key : {from, to})
    state(key, name).isOfMicrobatch = isOfMicrobatch;
  return argument(to, name, value.getType(), value.getLoc());
}

/// What is gathered ahead of a pass.
Value Cutter::gather(Value value, const SegmentKey &from,
                     const SegmentKey &to) {
  (void)resolve(value, from);
  std::string &name = gathered[from][value];
  if (name.empty())
    name =
        uniqueName(from.name() + ":" + std::to_string(counts[from.name()]++));
  state(from, name).isOfMicrobatch = true;
  return argument(to, name, value.getType(), value.getLoc());
}

/// A segment is of one stage, which its ops need not say.
static Operation *cloneWithoutStage(OpBuilder &builder, Operation *op) {
  Operation *copy = builder.clone(*op);
  copy->walk([](Operation *each) {
    if (OriginAttr origin = getOrigin(each))
      setOrigin(each, withoutStage(origin));
  });
  return copy;
}

/// Segments run one after the other: no barrier waits for another one.
void Cutter::addAwaited(Operation *op, const SegmentKey &to,
                        SmallVectorImpl<Value> &operands) {
  for (Value awaited : op->getOperands().drop_front(operands.size()))
    if (Value here = draftOf(to).values.lookupOrNull(awaited))
      operands.push_back(here);
}

/// What every segment computes for itself.
Value Cutter::copy(Operation *op, Value value, const SegmentKey &to) {
  if (isa<MicrobatchUseOp>(op))
    return resolve(op->getOperand(0), to);
  SmallVector<Value> operands;
  for (Value operand : computedFrom(op))
    operands.push_back(resolve(operand, to));
  addAwaited(op, to, operands);
  if (isa<BarrierOp>(op) && operands.size() == 1)
    return operands[0];
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&draftOf(to).function.front());
  if (auto slice = dyn_cast<MicrobatchSliceOp>(op)) {
    Value number = index(to, op->getLoc());
    auto gather = GatherOp::create(builder, op->getLoc(), slice.getType(),
                                   operands[0], number, slice.getDim(),
                                   ArrayRef<int64_t>(), ArrayRef<int64_t>());
    return gather;
  }
  Operation *copied = cloneWithoutStage(builder, op);
  copied->setOperands(operands);
  return copied->getResult(cast<OpResult>(value).getResultNumber());
}

Value Cutter::resolve(Value value, const SegmentKey &to) {
  if (Value own = draftOf(to).values.lookupOrNull(value))
    return own;
  if (auto own = dyn_cast<BlockArgument>(value))
    return argument(to, getArgumentName(entry, own.getArgNumber()),
                    own.getType(), own.getLoc(),
                    entry.getArgAttrDict(own.getArgNumber()));
  Operation *op = value.getDefiningOp();
  Value own;
  if (auto ahead = gathers.segmentOf(op, to))
    own = gather(value, *ahead, to);
  else if (plan.isCopied(op))
    own = copy(op, value, to);
  else if (leavesMicrobatches(op))
    own = cross(value, once(plan.of(op).stage, ActionKind::Update, 0), to);
  else
    own = cross(value, plan.of(op), to);
  draftOf(to).values.map(value, own);
  return own;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

void Cutter::compute(Operation &op) {
  const SegmentKey &key = plan.of(&op);
  Draft &draft = draftOf(key);
  SmallVector<Value> operands;
  for (Value operand : computedFrom(&op))
    operands.push_back(resolve(operand, key));
  builder.setInsertionPointToEnd(&draft.function.front());
  Operation *own = cloneWithoutStage(builder, &op);
  own->setOperands(operands);
  for (auto [before, after] :
       llvm::zip_equal(op.getResults(), own->getResults()))
    draft.values.map(before, after);
}

void Cutter::accumulate(Operation &exit) {
  setOrigin(&exit, withoutStage(getOrigin(&exit)));
  Value total = exit.getResult(0);
  SegmentKey key = plan.of(&exit),
             first = once(key.stage, ActionKind::Prologue, 0);
  std::string name = nameOf(total);
  builder.setInsertionPointToEnd(&draftOf(first).function.front());
  setResult(first, name, makeInit(builder, &exit));
  Value carried = argument(key, name, total.getType(), exit.getLoc());
  Value value = resolve(exit.getOperand(0), key);
  Value number =
      isa<MicrobatchStackOp>(exit) ? index(key, exit.getLoc()) : Value();
  builder.setInsertionPointToEnd(&draftOf(key).function.front());
  setResult(key, name, addMicrobatch(builder, &exit, carried, value, number));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// The segment that leaves a result of the entry: the one that computes it, but
/// none before the end of the loop.
SegmentKey Cutter::ownerOf(Value value, const std::string &name) const {
  SmallVector<Operation *> sources = plan.findSources(value);
  if (auto own = dyn_cast<BlockArgument>(value))
    if (auto readers = findReaders(getArgumentName(entry, own.getArgNumber()));
        !readers.empty())
      return {firstStageOf(readers[0]), ActionKind::Update, 0};
  if (sources.empty()) {
    auto held = holders.find(name);
    return once(held == holders.end() ? 0 : firstStageOf(*held->second.begin()),
                ActionKind::Update, 0);
  }
  SegmentKey key = plan.of(sources.front());
  return key.kind == ActionKind::Update
             ? key
             : once(key.stage, ActionKind::Update, 0);
}

/// The last level of the update at which a role reads a state.
int64_t Cutter::lastReader(int64_t role, const std::string &name) const {
  int64_t last = 0;
  if (auto found = cut.states.find({role, name}); found != cut.states.end())
    for (const SegmentKey &reader : found->second.readers)
      if (reader.kind == ActionKind::Update)
        last = std::max(last, reader.level);
  return last;
}

/// The segments that leave the results; none for a state that nobody writes.
/// All of them read before the first writes, and a state is written over what
/// others of the role still read, which may be such a result in turn.
std::vector<Written> Cutter::findWritten() {
  std::vector<Written> all;
  for (OpOperand &result : block.getTerminator()->getOpOperands()) {
    Value value = result.get();
    unsigned number = result.getOperandNumber();
    std::string name = getResultName(entry, number);
    auto own = dyn_cast<BlockArgument>(value);
    if (own && getArgumentName(entry, own.getArgNumber()) == name)
      continue;
    all.push_back({number, value, ownerOf(value, name)});
    if (auto found = resultCopies.find(number); found != resultCopies.end())
      for (auto [role, copy] : found->second)
        all.push_back({number, copy, ownerOf(copy, name), /*isCopy=*/true});
  }
  for (const Written &written : all)
    (void)resolve(written.value, written.owner);
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    for (Written &written : all) {
      int64_t last = lastReader(roleOf(written.owner),
                                getResultName(entry, written.number));
      if (last <= written.owner.level)
        continue;
      written.owner.level = last;
      (void)resolve(written.value, written.owner);
      isChanged = true;
    }
  }
  return all;
}

void Cutter::addResult(const Written &written) {
  const auto &[number, value, owner, isCopy] = written;
  std::string name = getResultName(entry, number);
  // Which value of the graph it is, the entry says.
  NamedAttrList attrs(entry.getResultAttrDict(number));
  attrs.erase(kObservedAttrName);
  setResult(owner, name, resolve(value, owner),
            attrs.getDictionary(entry.getContext()));
  if (isCopy)
    return;
  std::set<int64_t> roles;
  if (auto held = holders.find(name); held != holders.end())
    roles = held->second;
  if (argumentNames.contains(name))
    for (int64_t role : findReaders(name))
      roles.insert(role);
  auto copied = resultCopies.find(number);
  for (int64_t role : roles) {
    if (role == roleOf(owner) ||
        (copied != resultCopies.end() && copied->second.contains(role)))
      continue;
    SegmentKey after = owner;
    after.level = std::max(after.level, lastReader(role, name));
    updates.push_back({after, firstStageOf(role), {name}});
  }
}

/// Lets the segments that compute what others need leave it for them.
void Cutter::addCrossing() {
  for (const auto &[value, name] : names) {
    Operation *op = value.getDefiningOp();
    if (!leavesMicrobatches(op))
      setResult(plan.of(op), name, draftOf(plan.of(op)).values.lookup(value));
  }
  for (const auto &[key, values] : gathered)
    for (const auto &[value, name] : values)
      setResult(key, name, draftOf(key).values.lookup(value));
}

void Cutter::addMessages() {
  std::map<std::pair<SegmentKey, int64_t>, std::vector<std::string>> messages;
  for (const auto &[place, users] : received) {
    Value value = place.first;
    Operation *op = value.getDefiningOp();
    SegmentKey from = leavesMicrobatches(op)
                          ? once(plan.of(op).stage, ActionKind::Update, 0)
                          : plan.of(op);
    // The stage that needs it first: forward the earliest, backward the latest.
    bool isForward = from.kind == ActionKind::Forward;
    int64_t destination = users.begin()->stage;
    for (const SegmentKey &user : users)
      destination = isForward ? std::min(destination, user.stage)
                              : std::max(destination, user.stage);
    if (from.isOnce())
      destination = schedule.firstOfRole(destination);
    messages[{from, destination}].push_back(names[value]);
  }
  for (const SegmentMessage &update : updates)
    llvm::append_range(messages[{update.after, update.destination}],
                       update.values);
  for (auto &[place, values] : messages)
    cut.messages.push_back({place.first, place.second, std::move(values)});
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// A timeline has all actions of its schedule and all levels below the last,
/// also those that do nothing.
void Cutter::addEmpty() {
  for (const timeline::Row &row : schedule.table.rows)
    for (const timeline::Action &action : row)
      draftOf({action.stage, action.kind, 0});
  for (const SegmentMessage &message : cut.messages)
    draftOf(message.after);
  SmallVector<SegmentKey> keys;
  for (const auto &[key, draft] : drafts)
    keys.push_back(key);
  for (SegmentKey key : keys)
    while (key.level > 0) {
      --key.level;
      draftOf(key);
    }
}

void Cutter::finish() {
  Operation *previous = entry;
  for (auto &[key, draft] : drafts) {
    func::FuncOp function = draft.function;
    builder.setInsertionPointToEnd(&function.front());
    func::ReturnOp::create(builder, entry.getLoc(), draft.results);
    function.setFunctionType(
        builder.getFunctionType(function.front().getArgumentTypes(),
                                ValueRange(draft.results).getTypes()));
    auto dictionaries = [&](ArrayRef<NamedAttrList> lists) {
      return llvm::map_to_vector(lists, [&](const NamedAttrList &list) {
        return list.getDictionary(builder.getContext());
      });
    };
    function.setAllArgAttrs(dictionaries(draft.argumentAttrs));
    function.setAllResultAttrs(dictionaries(draft.resultAttrs));
    function->setAttr(
        WeftDialect::kSegmentAttrName,
        SegmentAttr::get(builder.getContext(), entry.getSymNameAttr(),
                         builder.getStringAttr(key.name()), roleOf(key)));
    builder.setInsertionPointAfter(previous);
    builder.insert(function);
    previous = function;
    cut.segments[key] = function;
  }
  block.dropAllReferences();
  entry.getBody().getBlocks().clear();
  entry.setPrivate();
}

/// The roles whose segments read a state.
SmallVector<int64_t> Cutter::findReaders(const std::string &name) const {
  SmallVector<int64_t> roles;
  for (int64_t role = 0; role < schedule.table.ranks(); ++role)
    if (auto found = cut.states.find({role, name});
        found != cut.states.end() && !found->second.readers.empty())
      roles.push_back(role);
  return roles;
}

CutEntry Cutter::run() {
  nameSignature();
  for (Operation &op : block.without_terminator())
    if (leavesMicrobatches(&op))
      ++gradientCounts[gradientOf(getOrigin(&op))];
  for (Operation &op : block.without_terminator()) {
    if (leavesMicrobatches(&op))
      accumulate(op);
    else if (!plan.isCopied(&op))
      compute(op);
  }
  for (const Written &written : findWritten())
    addResult(written);
  // The first role keeps what no one reads, here or elsewhere.
  for (BlockArgument argument : block.getArguments()) {
    std::string name = getArgumentName(entry, argument.getArgNumber());
    auto held = holders.find(name);
    if (findReaders(name).empty())
      (void)resolve(
          argument,
          once(held == holders.end() ? 0 : firstStageOf(*held->second.begin()),
               ActionKind::Update, 0));
  }
  addCrossing();
  addMessages();
  addEmpty();
  finish();
  return std::move(cut);
}

CutEntry weft::cutSegments(func::FuncOp entry, const PipelineSchedule &schedule,
                           llvm::StringSet<> &taken,
                           const StateHolders &holders,
                           const ResultCopies &copies) {
  return Cutter(entry, schedule, taken, holders, copies).run();
}
