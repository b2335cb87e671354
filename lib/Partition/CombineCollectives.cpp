//===- CombineCollectives.cpp - One collective for several small ones -----===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A collective can stand anywhere between the op that makes its operand and the
// first user of its result, so several can be one where these intervals have a
// place in common. One scan over the collectives of a kind finds such places.
//
// What is computed of the result, such as a transpose or the sum of two losses,
// *follows* the collective: it moves down with it, and counts as no user. What
// is computed of arguments alone, as the labels' part of a gradient, is
// *early*: it moves up. Before, what is done to a partial sum is raised
// (RaiseSummed.h), and branches with small sums at their ends (BranchOrder.h).
//
//===----------------------------------------------------------------------===//

#include "BlockTimes.h"
#include "BranchOrder.h"
#include "CollectiveBuckets.h"
#include "CollectiveRows.h"
#include "RaiseSummed.h"
#include "StoredValues.h"

#include "weft/Cost/Bytes.h"
#include "weft/IR/ClusterCost.h"
#include "weft/IR/Origin.h"
#include "weft/IR/SavedTime.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"
#include "weft/Partition/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

namespace weft {
#define GEN_PASS_DEF_COMBINECOLLECTIVES
#include "weft/Partition/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

static bool isCandidate(Operation *op) {
  auto collective = dyn_cast_if_present<CommunicationOpInterface>(op);
  return collective && collective.canCombine();
}

namespace {

/// What collectives have in common that can be one.
using Key = std::tuple<Attribute, Attribute, Type, Attribute, unsigned>;

class Combiner {
public:
  Combiner(Block &block, const cost::CostModel &model, int64_t latencies,
           int64_t &combined)
      : block(block), model(model), times(block, model), links(model.links()),
        nearest(links.link(1)),
        smallBytes(nearest.latencySeconds / nearest.secondsPerByte),
        latencies(latencies), combined(combined) {}

  void run();

private:
  /// Before the op of a number; of what stands before the same op, the last
  /// that came is the first. Ops that have not moved have a one.
  using Position = std::pair<size_t, int64_t>;

  bool isEarly(Operation *op) const;
  Operation *sourceOf(Operation *op) const;
  void addFollower(Operation *op);
  void findWhatMoves();
  bool moves(Operation *op) const {
    return isCandidate(op) || followers.contains(op);
  }
  std::optional<Candidate> describe(Operation *op, size_t number);
  Position positionOf(Operation *op) const;
  void moveTo(Operation *op, Operation *place, Position position);
  void addEarly(Operation *op, Position position,
                SetVector<Operation *> &added) const;
  void moveFollowers(SmallVector<Value> results, Operation *place,
                     Position position);
  void findSoonest();
  HeldSpan heldBy(Operation *op, size_t earliest) const;
  void combine(const Bucket &bucket);

  Block &block;
  const cost::CostModel &model;
  BlockTimes times;
  cost::CollectiveCost links;
  cost::Link nearest;
  /// Of what may be held longer for fewer calls: what is sent while a call
  /// begins.
  int64_t smallBytes;
  int64_t latencies;
  int64_t &combined;
  std::vector<Operation *> ops;
  DenseMap<Operation *, size_t> numbers;
  DenseSet<Operation *> early;
  /// With the collective that they follow, if it is one.
  DenseMap<Operation *, Operation *> followers;
  /// Of collectives and what follows them: the number of the last op before
  /// which it can stand.
  DenseMap<Operation *, size_t> latest;
  std::vector<size_t> soonest;
  /// Of ops that have moved.
  DenseMap<Operation *, Position> positions;
  int64_t numCombined = 0;
  /// What the calls take, each by itself and as they are combined.
  double secondsApart = 0, seconds = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// What can be combined
//===----------------------------------------------------------------------===//

static Key keyOf(CommunicationOpInterface op) {
  return {op->getName().getIdentifier(), op.getGroupReduction(),
          typeOf(op->getResult(0)).getElementType(), op.getAxes(),
          isRecomputed(getOrigin(op))};
}

/// Made of arguments and constants alone, and small.
bool Combiner::isEarly(Operation *op) const {
  if (op->hasTrait<OpTrait::ConstantLike>())
    return true;
  return canMove(op) && bytesOf(op->getResult(0)) <= smallBytes &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           Operation *producer = operand.getDefiningOp();
           return !producer || producer->getBlock() != &block ||
                  early.contains(producer);
         });
}

/// What an op holds of memory. What is converted to a wider type is converted
/// again where it is used.
static int64_t bytesHeld(Operation *op) {
  return bytesOf(isa<arith::ExtFOp>(op) ? op->getOperand(0) : op->getResult(0));
}

/// The collective that an op is or follows; none if there are several.
Operation *Combiner::sourceOf(Operation *op) const {
  return isCandidate(op) ? op : followers.lookup(op);
}

/// What is computed of one collective, and of arguments, which are held anyway,
/// is no larger than what it gives, what is computed of several or of other
/// values small: little is held longer.
void Combiner::addFollower(Operation *op) {
  if (!canMove(op))
    return;
  SetVector<Operation *> sources;
  SetVector<Value> operands;
  bool follows = false;
  for (Value operand : op->getOperands()) {
    if (isa<BlockArgument>(operand) || matchPattern(operand, m_Constant()))
      continue;
    Operation *producer = operand.getDefiningOp();
    const bool moving = producer->getBlock() == &block && moves(producer);
    follows |= moving;
    sources.insert(moving ? sourceOf(producer) : nullptr);
    operands.insert(operand);
  }
  Operation *source = sources.size() == 1 ? sources.front() : nullptr;
  int64_t most = source ? bytesOf(source->getResult(0)) : smallBytes;
  if (follows && bytesHeld(op) <= most &&
      llvm::all_of(operands,
                   [&](Value operand) { return bytesOf(operand) <= most; }))
    followers[op] = source;
}

/// What a collective needs of another one, itself or through what follows it,
/// is made before the place where the former stands; the former, if it moves,
/// moves behind that.
void Combiner::findWhatMoves() {
  for (Operation *op : ops)
    if (isEarly(op))
      early.insert(op);
    else
      addFollower(op);
  for (Operation *op : llvm::reverse(ops)) {
    if (!moves(op))
      continue;
    size_t last = ops.size() - 1;
    for (Operation *user : op->getUsers()) {
      user = block.findAncestorOpInBlock(*user);
      last = std::min(last, followers.contains(user)
                                ? latest.at(user)
                                : numbers.at(user) - isCandidate(user));
    }
    latest[op] = last;
  }
}

/// By number: behind how many ops each could stand at most if what is computed
/// element by element were computed as soon as it can be.
void Combiner::findSoonest() {
  auto floats = [](Operation *op) {
    return isCandidate(op) || (canMove(op) && !standsAlone(op));
  };
  for (auto [number, op] : llvm::enumerate(ops)) {
    size_t &place = soonest.emplace_back(floats(op) ? 0 : number);
    if (!floats(op))
      continue;
    for (Value operand : op->getOperands())
      if (auto found = numbers.find(operand.getDefiningOp());
          found != numbers.end())
        place = std::max(place, soonest[found->second] + !floats(found->first));
  }
}

/// What a collective holds from its operand's making to the last use of its
/// result, both as soon as they can be.
HeldSpan Combiner::heldBy(Operation *op, size_t earliest) const {
  HeldSpan held{earliest, earliest + 1, bytesOf(op->getResult(0))};
  for (Operation *user : op->getUsers()) {
    user = block.findAncestorOpInBlock(*user);
    held.end = std::max(held.end, soonest[numbers.at(user)] + 1);
  }
  return held;
}

std::optional<Candidate> Combiner::describe(Operation *op, size_t number) {
  if (!isCandidate(op) || bytesOf(op->getOperand(0)) == 0)
    return std::nullopt;
  auto communication = cast<CommunicationOpInterface>(op);
  GroupLayout groups = findGroups(communication);
  const cost::Link link = links.link(groups.span);
  int64_t bytes = countWireBytes(communication);
  if (groups.size == 1 || latencies == 0)
    return std::nullopt;
  const bool isLarge = double(bytes) * link.secondsPerByte >
                       largestShare * latencies * link.latencySeconds;
  if (isLarge && !communication.isAllReduce())
    return std::nullopt;
  Operation *producer = op->getOperand(0).getDefiningOp();
  size_t earliest = 0;
  if (auto found = numbers.find(producer);
      found != numbers.end() && !early.contains(producer))
    earliest = moves(producer) ? number + 1 : found->second + 1;
  if (earliest > latest.at(op))
    return std::nullopt;
  Candidate found = {communication,       number, earliest,
                     latest.at(op),       bytes,  callOf(communication, model),
                     heldBy(op, earliest)};
  found.ready = times.at(earliest);
  if (auto place = numbers.find(producer);
      place != numbers.end() && isa<RepeatOp>(producer))
    found.ready = times.ready(op->getOperand(0), place->second);
  found.needed = times.at(found.latest);
  found.canBeHidden = model.hides(found.call);
  // Where nothing is hidden, nobody computes while it waits for others.
  found.isExposed =
      isLarge && found.canBeHidden &&
      found.needed - found.ready < model.collective(found.call).seconds;
  return found;
}

//===----------------------------------------------------------------------===//
// Combined collectives
//===----------------------------------------------------------------------===//

/// `2 collectives in one`, and a line with bytes and cause for each.
static StringAttr causeOf(ArrayRef<Candidate> members) {
  std::string cause = std::to_string(members.size()) + " collectives in one:";
  for (const Candidate &member : members) {
    auto own = member.op->getAttrOfType<StringAttr>("cause");
    cause += "\n" + printBytes(member.wireBytes) + ": " +
             (own ? own.str() : "no cause");
  }
  return StringAttr::get(members.front().op->getContext(), cause);
}

/// That of all members; a gradient if most bytes are of gradients.
static OriginAttr originOf(ArrayRef<Candidate> members) {
  OriginAttr origin;
  int64_t gradients = 0, others = 0;
  for (const Candidate &member : members) {
    OriginAttr own = getOrigin(member.op);
    origin = joinOrigins(origin, own);
    (gradientOf(own).empty() ? others : gradients) += member.wireBytes;
  }
  return gradients > others ? origin : withoutGradient(origin);
}

Combiner::Position Combiner::positionOf(Operation *op) const {
  auto moved = positions.find(op);
  return moved == positions.end() ? Position(numbers.at(op), 1) : moved->second;
}

void Combiner::moveTo(Operation *op, Operation *place, Position position) {
  op->moveBefore(place);
  positions[op] = position;
}

/// Adds an early op that stands behind a position, after what it is made of.
void Combiner::addEarly(Operation *op, Position position,
                        SetVector<Operation *> &added) const {
  if (!op || !early.contains(op) || positionOf(op) <= position ||
      added.contains(op))
    return;
  for (Value operand : op->getOperands())
    addEarly(operand.getDefiningOp(), position, added);
  added.insert(op);
}

/// Moves what follows the results before `place`, in program order.
void Combiner::moveFollowers(SmallVector<Value> results, Operation *place,
                             Position position) {
  SetVector<Operation *> moved;
  while (!results.empty())
    for (Operation *user : results.pop_back_val().getUsers())
      if (followers.contains(user) && positionOf(user) < position &&
          moved.insert(user))
        results.push_back(user->getResult(0));
  SmallVector<Operation *> inOrder = moved.takeVector();
  llvm::sort(inOrder, [&](Operation *a, Operation *b) {
    return numbers.at(a) < numbers.at(b);
  });
  for (Operation *op : inOrder)
    moveTo(op, place, position);
}

void Combiner::combine(const Bucket &bucket) {
  CommunicationOpInterface first = bucket.members.front().op;
  bool gathers = first.isAllGather();
  // Behind an op that does not move.
  size_t number = gathers ? bucket.latest : bucket.earliest;
  while (number > 0 && (followers.contains(ops[number - 1]) ||
                        early.contains(ops[number - 1])))
    --number;
  // In front of what has come there before.
  Position position = {number, -++numCombined};
  SetVector<Operation *> rising;
  for (const Candidate &member : bucket.members)
    addEarly(member.op->getOperand(0).getDefiningOp(), position, rising);
  Operation *place = number ? ops[number - 1]->getNextNode() : &block.front();
  while (rising.contains(place))
    place = place->getNextNode();
  for (Operation *op : rising)
    moveTo(op, place, position);
  SmallVector<Value> parts;
  int64_t columns = 0;
  for (const Candidate &member : bucket.members) {
    OriginListener listener(withoutGradient(getOrigin(member.op)));
    OpBuilder b(place, &listener);
    parts.push_back(CollectiveRows(member.op).spread(b));
    columns += CollectiveRows(member.op).numColumns();
  }
  OriginAttr origin = originOf(bucket.members);
  OpBuilder b(place);
  int64_t lastDim = typeOf(parts.front()).getRank() - 1;
  Value together = ConcatOp::create(b, first->getLoc(), parts, lastDim);
  setOrigin(together.getDefiningOp(), withoutGradient(origin));
  Value result = first.buildCombined(
      b, together,
      typeOf(together).clone(CollectiveRows(first).resultShape(columns)),
      causeOf(bucket.members));
  setOrigin(result.getDefiningOp(), origin);
  seconds +=
      model
          .collective(callOf(
              cast<CommunicationOpInterface>(result.getDefiningOp()), model))
          .seconds;
  int64_t start = 0;
  SmallVector<Value> results;
  for (const Candidate &member : bucket.members) {
    OriginListener listener(getOrigin(member.op));
    OpBuilder inner(place, &listener);
    CollectiveRows rows(member.op);
    results.push_back(rows.take(inner, result, start));
    start += rows.numColumns();
    secondsApart += model.collective(member.call).seconds;
    member.op->getResult(0).replaceAllUsesWith(results.back());
  }
  moveFollowers(std::move(results), place, position);
  combined += bucket.members.size();
}

void Combiner::run() {
  for (auto [number, op] : llvm::enumerate(block)) {
    ops.push_back(&op);
    numbers[&op] = number;
  }
  findWhatMoves();
  findSoonest();
  llvm::MapVector<Key, SmallVector<Candidate>> byKey;
  for (auto [number, op] : llvm::enumerate(ops))
    if (std::optional<Candidate> candidate = describe(op, number))
      byKey[keyOf(candidate->op)].push_back(*candidate);
  // All are chosen before the block changes.
  std::vector<Bucket> buckets;
  for (auto &[key, candidates] : byKey)
    llvm::append_range(buckets, chooseBuckets(block, std::move(candidates),
                                              times, latencies, model));
  const int64_t before = combined;
  for (const Bucket &bucket : buckets)
    combine(bucket);
  if (numCombined)
    addSavedTime(block, {std::to_string(combined - before) +
                             " collectives in " + std::to_string(numCombined) +
                             (numCombined == 1 ? " call, which takes"
                                               : " calls, which take"),
                         secondsApart, seconds});
  for (Operation *op : llvm::reverse(ops))
    if (isCandidate(op) && op->use_empty())
      op->erase();
}

/// Brings sums of branches together that take a latency and little more. Those
/// of gradients wait for each other anyway.
static void raiseSmall(Block &block, const cost::CostModel &model) {
  const cost::CollectiveCost links = model.links();
  DenseMap<Key, unsigned> numbers;
  std::vector<BranchEnd> ends;
  for (Operation &op : block) {
    if (!isCandidate(&op) || !gradientOf(getOrigin(&op)).empty())
      continue;
    auto collective = cast<CommunicationOpInterface>(op);
    if (!collective.isAllReduce())
      continue;
    const cost::Link link = links.link(findGroups(collective).span);
    if (double(countWireBytes(collective)) * link.secondsPerByte <
        link.latencySeconds)
      ends.push_back(
          {&op,
           numbers.try_emplace(keyOf(collective), numbers.size()).first->second,
           1.5 * link.latencySeconds});
  }
  raiseBranches(block, ends, model);
}

namespace {

struct CombineCollectives
    : weft::impl::CombineCollectivesBase<CombineCollectives> {
  using CombineCollectivesBase::CombineCollectivesBase;

  void runOnInput() override {
    FailureOr<cost::CostModel> model = loadCostModel(getOperation(), cluster);
    if (failed(model))
      return signalPassFailure();
    int64_t count = 0;
    for (auto function : getOperation().getOps<func::FuncOp>())
      function.walk([&](Block *block) {
        if (latencies > 0) {
          raiseSummed(*block);
          raiseSmall(*block, *model);
        }
        Combiner(*block, *model, latencies, count).run();
      });
    combined += count;
  }
};

} // namespace
