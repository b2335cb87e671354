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
// What is computed of the result alone, such as a transpose or a quotient by a
// constant, *follows* the collective: it moves with it, and counts as no user.
// Nothing else moves, so no order of ops is ever in doubt.
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/Bytes.h"
#include "weft/Cost/CollectiveCost.h"
#include "weft/IR/Origin.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"
#include "weft/Partition/Passes.h"

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

/// The share of a combined collective above which one stays by itself: it has
/// little latency to save, and its bytes would be held twice.
static constexpr double largestShare = 0.25;

static bool isCandidate(Operation *op) {
  return isa_and_present<AllReduceOp, AllGatherOp, ReduceScatterOp>(op);
}

namespace {

/// A collective that may become part of another one.
struct Candidate {
  CommunicationOpInterface op;
  /// Of the op in the block; it can stand before any op from the second to the
  /// third number.
  size_t number, earliest, latest;
  int64_t wireBytes;
};

/// What collectives have in common that can be one.
using Key = std::tuple<Attribute, Attribute, Type, Attribute, unsigned>;

/// Collectives that become one, before the op of a number.
struct Bucket {
  SmallVector<Candidate> members;
  size_t earliest = 0, latest = SIZE_MAX;
  int64_t wireBytes = 0;
};

class Combiner {
public:
  Combiner(Block &block, int64_t latencies, int64_t &combined)
      : block(block), latencies(latencies), combined(combined) {}

  void run();

private:
  void findFollowers();
  bool moves(Operation *op) const {
    return isCandidate(op) || followers.contains(op);
  }
  std::optional<Candidate> describe(Operation *op, size_t number) const;
  void moveFollowers(Value result, size_t number, Operation *place);
  void fill(SmallVectorImpl<Candidate> &candidates);
  void combine(const Bucket &bucket);

  Block &block;
  int64_t latencies;
  int64_t &combined;
  std::vector<Operation *> ops;
  DenseMap<Operation *, size_t> numbers;
  DenseSet<Operation *> followers;
  /// Of collectives and what follows them: the number of the last op before
  /// which it can stand.
  DenseMap<Operation *, size_t> latest;
};

} // namespace

//===----------------------------------------------------------------------===//
// What can be combined
//===----------------------------------------------------------------------===//

static Attribute reductionOf(Operation *op) {
  if (auto allReduce = dyn_cast<AllReduceOp>(op))
    return allReduce.getKindAttr();
  if (auto reduceScatter = dyn_cast<ReduceScatterOp>(op))
    return reduceScatter.getKindAttr();
  return {};
}

static Key keyOf(CommunicationOpInterface op) {
  return {op->getName().getIdentifier(), reductionOf(op),
          typeOf(op->getResult(0)).getElementType(), op.getAxes(),
          isRecomputed(getOrigin(op))};
}

/// The value of which, with constants, an op computes a result that is no
/// larger; null for other ops.
static Value onlyOperand(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 || !isPure(op) ||
      isa<CommunicationOpInterface, BarrierOp>(op))
    return {};
  Value only;
  for (Value operand : op->getOperands()) {
    if (matchPattern(operand, m_Constant()))
      continue;
    if (only && only != operand)
      return {};
    only = operand;
  }
  if (!only || !isa<RankedTensorType>(only.getType()) ||
      !isa<RankedTensorType>(op->getResult(0).getType()))
    return {};
  return bytesOf(op->getResult(0)) <= bytesOf(only) ? only : Value();
}

/// What a collective needs of another one, itself or through what follows it,
/// is made before the place where the former stands; the former, if it moves,
/// moves behind that.
void Combiner::findFollowers() {
  for (Operation *op : ops)
    if (Value operand = onlyOperand(op); operand &&
                                         operand.getParentBlock() == &block &&
                                         moves(operand.getDefiningOp()))
      followers.insert(op);
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

std::optional<Candidate> Combiner::describe(Operation *op,
                                            size_t number) const {
  if (!isCandidate(op) || bytesOf(op->getOperand(0)) == 0)
    return std::nullopt;
  auto communication = cast<CommunicationOpInterface>(op);
  GroupLayout groups = findGroups(communication);
  const cost::Link link = cost::CollectiveCost().link(groups.span);
  int64_t bytes = countWireBytes(communication);
  if (groups.size == 1 || double(bytes) * link.secondsPerByte >
                              largestShare * latencies * link.latencySeconds)
    return std::nullopt;
  Operation *producer = op->getOperand(0).getDefiningOp();
  size_t earliest = 0;
  if (auto found = numbers.find(producer); found != numbers.end())
    earliest = moves(producer) ? number + 1 : found->second + 1;
  if (earliest > latest.at(op))
    return std::nullopt;
  return Candidate{communication, number, earliest, latest.at(op), bytes};
}

//===----------------------------------------------------------------------===//
// Buckets
//===----------------------------------------------------------------------===//

/// Whether the calls saved take longer than copying to one tensor and back.
static bool isWorthIt(const Bucket &bucket, const cost::Link &link) {
  int64_t copied = 0;
  for (const Candidate &member : bucket.members)
    copied +=
        bytesOf(member.op->getOperand(0)) + bytesOf(member.op->getResult(0));
  // Each byte is read and written.
  return 2.0 * double(copied) / cost::memoryBytesPerSecond <
         double(bucket.members.size() - 1) * link.latencySeconds;
}

/// What reduces starts as soon as its last operand is there, so collectives are
/// taken in the order in which operands are made; gathered tensors are kept no
/// longer than needed, so all-gathers are taken in the order of their users.
void Combiner::fill(SmallVectorImpl<Candidate> &candidates) {
  if (candidates.size() < 2)
    return;
  bool gathers = isa<AllGatherOp>(candidates.front().op);
  llvm::sort(candidates, [&](const Candidate &a, const Candidate &b) {
    return std::pair(gathers ? a.latest : a.earliest, a.number) <
           std::pair(gathers ? b.latest : b.earliest, b.number);
  });
  const cost::Link link =
      cost::CollectiveCost().link(findGroups(candidates.front().op).span);
  Bucket bucket;
  auto close = [&] {
    if (bucket.members.size() > 1 && isWorthIt(bucket, link))
      combine(bucket);
    bucket = {};
  };
  for (const Candidate &candidate : candidates) {
    int64_t bytes = bucket.wireBytes + candidate.wireBytes;
    if (std::max(bucket.earliest, candidate.earliest) >
            std::min(bucket.latest, candidate.latest) ||
        double(bytes) * link.secondsPerByte > latencies * link.latencySeconds)
      close();
    bucket.members.push_back(candidate);
    bucket.earliest = std::max(bucket.earliest, candidate.earliest);
    bucket.latest = std::min(bucket.latest, candidate.latest);
    bucket.wireBytes += candidate.wireBytes;
  }
  close();
}

//===----------------------------------------------------------------------===//
// Tensors side by side
//===----------------------------------------------------------------------===//

static Value reshape(OpBuilder &b, Location loc, Value value,
                     ArrayRef<int64_t> shape) {
  RankedTensorType type = typeOf(value).clone(shape);
  if (type == value.getType())
    return value;
  return ReshapeOp::create(b, loc, type, value);
}

/// Swaps two neighbouring ranges of dimensions: [a, b, c] to [b, a, c].
static Value swapFront(OpBuilder &b, Location loc, Value value, int64_t first,
                       int64_t second, int64_t third) {
  if (first == 1 || second == 1)
    return value;
  value = reshape(b, loc, value, {first, second, third});
  return TransposeOp::create(b, loc, value, ArrayRef<int64_t>{1, 0, 2});
}

namespace {

/// A collective that gathers or scatters a dimension, as one of a tensor with
/// the shards of the group in front: of [parts, elements] each member has a
/// row. An all-reduce has the elements alone.
class Rows {
public:
  explicit Rows(Operation *op) : op(op) {
    int64_t dim = 0;
    if (auto gather = dyn_cast<AllGatherOp>(op))
      dim = gather.getDim();
    else if (auto scatter = dyn_cast<ReduceScatterOp>(op))
      dim = scatter.getDim();
    else
      return;
    ArrayRef<int64_t> from = typeOf(op->getOperand(0)).getShape(),
                      to = typeOf(op->getResult(0)).getShape();
    operandRows = std::max<int64_t>(from[dim] / to[dim], 1);
    resultRows = std::max<int64_t>(to[dim] / from[dim], 1);
    for (int64_t size : from.take_front(dim))
      before *= size;
  }

  /// The operand as rows.
  Value spread(OpBuilder &b) const {
    Value value = op->getOperand(0);
    int64_t elements = count(value);
    if (operandRows > 1)
      value = swapFront(b, op->getLoc(), value, before, operandRows,
                        elements / before / operandRows);
    return reshape(b, op->getLoc(), value, shape(operandRows, elements));
  }

  /// The result, of the columns from `start` of rows that hold several.
  Value take(OpBuilder &b, Value rows, int64_t start) const {
    int64_t elements = count(op->getResult(0));
    Location loc = op->getLoc();
    SmallVector<int64_t> limits = shape(resultRows, elements);
    SmallVector<int64_t> starts(limits.size(), 0), strides(limits.size(), 1);
    starts.back() = start;
    limits.back() += start;
    Value value = SliceOp::create(b, loc, rows, starts, limits, strides);
    if (resultRows > 1)
      value = swapFront(b, loc, value, resultRows, before,
                        elements / before / resultRows);
    return reshape(b, loc, value, typeOf(op->getResult(0)).getShape());
  }

  /// The shape of the result as rows of `columns`.
  SmallVector<int64_t> resultShape(int64_t columns) const {
    return shape(resultRows, resultRows * columns);
  }
  int64_t numColumns() const { return count(op->getOperand(0)) / operandRows; }

private:
  static int64_t count(Value value) { return typeOf(value).getNumElements(); }
  SmallVector<int64_t> shape(int64_t rows, int64_t elements) const {
    if (isa<AllReduceOp>(op))
      return {elements};
    return {rows, elements / rows};
  }

  Operation *op;
  int64_t operandRows = 1, resultRows = 1;
  /// Elements of the dimensions in front of the one that is gathered or
  /// scattered.
  int64_t before = 1;
};

} // namespace

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

static Value createCollective(OpBuilder &b, Operation *like, Value operand,
                              ArrayRef<int64_t> shape, StringAttr cause) {
  Location loc = like->getLoc();
  RankedTensorType type = typeOf(operand).clone(shape);
  if (auto op = dyn_cast<AllReduceOp>(like))
    return AllReduceOp::create(b, loc, type, op.getKind(), operand,
                               op.getAxes(), cause);
  if (auto op = dyn_cast<ReduceScatterOp>(like))
    return ReduceScatterOp::create(b, loc, type, op.getKind(), operand,
                                   /*dim=*/0, op.getAxes(), cause);
  return AllGatherOp::create(b, loc, type, operand, /*dim=*/0,
                             cast<AllGatherOp>(like).getAxes(), cause);
}

/// Moves what follows the collective before `place` and has a number below
/// `number`.
void Combiner::moveFollowers(Value result, size_t number, Operation *place) {
  for (Operation *user : result.getUsers())
    if (followers.contains(user) && numbers.at(user) < number) {
      user->moveBefore(place);
      moveFollowers(user->getResult(0), number, place);
    }
}

void Combiner::combine(const Bucket &bucket) {
  bool gathers = isa<AllGatherOp>(bucket.members.front().op);
  // Behind an op that does not move.
  size_t number = gathers ? bucket.latest : bucket.earliest;
  while (number > 0 && followers.contains(ops[number - 1]))
    --number;
  Operation *place = number ? ops[number - 1]->getNextNode() : &block.front();
  Operation *first = bucket.members.front().op;
  SmallVector<Value> parts;
  int64_t columns = 0;
  for (const Candidate &member : bucket.members) {
    OriginListener listener(withoutGradient(getOrigin(member.op)));
    OpBuilder b(place, &listener);
    parts.push_back(Rows(member.op).spread(b));
    columns += Rows(member.op).numColumns();
  }
  OriginAttr origin = originOf(bucket.members);
  OpBuilder b(place);
  int64_t lastDim = typeOf(parts.front()).getRank() - 1;
  Value together = ConcatOp::create(b, first->getLoc(), parts, lastDim);
  setOrigin(together.getDefiningOp(), withoutGradient(origin));
  Value result =
      createCollective(b, first, together, Rows(first).resultShape(columns),
                       causeOf(bucket.members));
  setOrigin(result.getDefiningOp(), origin);
  int64_t start = 0;
  for (const Candidate &member : bucket.members) {
    OriginListener listener(getOrigin(member.op));
    OpBuilder inner(place, &listener);
    Rows rows(member.op);
    Value own = rows.take(inner, result, start);
    start += rows.numColumns();
    member.op->getResult(0).replaceAllUsesWith(own);
    moveFollowers(own, number, place);
  }
  combined += bucket.members.size();
}

void Combiner::run() {
  for (auto [number, op] : llvm::enumerate(block)) {
    ops.push_back(&op);
    numbers[&op] = number;
  }
  findFollowers();
  llvm::MapVector<Key, SmallVector<Candidate>> byKey;
  for (auto [number, op] : llvm::enumerate(ops))
    if (std::optional<Candidate> candidate = describe(op, number))
      byKey[keyOf(candidate->op)].push_back(*candidate);
  for (auto &[key, candidates] : byKey)
    fill(candidates);
  for (Operation *op : llvm::reverse(ops))
    if (isCandidate(op) && op->use_empty())
      op->erase();
}

namespace {

struct CombineCollectives
    : weft::impl::CombineCollectivesBase<CombineCollectives> {
  using CombineCollectivesBase::CombineCollectivesBase;

  void runOnInput() override {
    int64_t count = 0;
    for (auto function : getOperation().getOps<func::FuncOp>())
      function.walk(
          [&](Block *block) { Combiner(*block, latencies, count).run(); });
    combined += count;
  }
};

} // namespace
