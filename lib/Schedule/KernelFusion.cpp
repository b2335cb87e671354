//===- KernelFusion.cpp - Which ops share a kernel ------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FusionGraph.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <optional>

using namespace llvm;
using namespace weft;

namespace {

enum class ReductionKind { Trailing, Leading, Full, Other };

class Grouping {
public:
  explicit Grouping(ArrayRef<FusionOp> ops)
      : ops(ops), users(collectUsers(ops)), levels(computeFusionLevels(ops)),
        leader(ops.size()), members(ops.size()) {
    for (unsigned number = 0; number < ops.size(); ++number) {
      leader[number] = number;
      members[number] = {number};
    }
  }

  void joinProducers();
  void joinReadersOfOneValue();
  std::vector<int> result();

private:
  bool tryJoin(unsigned x, unsigned y);
  bool isLegal(ArrayRef<unsigned> group) const;
  std::optional<int64_t> findRows(ArrayRef<unsigned> group, bool &legal) const;
  bool isLegalEdge(unsigned producer, unsigned user, bool hasReduction,
                   std::optional<int64_t> rows) const;
  bool endsGroup(unsigned number, std::optional<int64_t> rows) const;
  std::optional<SmallVector<unsigned>>
  findFinishing(ArrayRef<unsigned> group, std::optional<int64_t> rows) const;
  bool onlyFinishes(ArrayRef<unsigned> part, ArrayRef<unsigned> group) const;
  bool holdsUpCollective(unsigned from, unsigned with) const;
  bool areOfTwoPieces(unsigned x, unsigned y) const;
  bool hasDetour(unsigned from, unsigned to) const;
  bool isFusible(unsigned number) const;
  bool inGroup(unsigned number, ArrayRef<unsigned> group) const {
    return std::binary_search(group.begin(), group.end(), number);
  }
  void releaseReshapes(std::vector<int> &group) const;

  ArrayRef<FusionOp> ops;
  std::vector<std::vector<unsigned>> users;
  /// From here on no op has been joined with another, so that no path leads
  /// back to the ops before.
  unsigned firstSingle = 0;
  std::vector<unsigned> levels;
  /// The first op of the group of each op, and, for it, the group, sorted.
  std::vector<unsigned> leader;
  std::vector<std::vector<unsigned>> members;
};

} // namespace

static ReductionKind kindOf(const FusionOp &op) {
  int64_t end = op.operandShape.size(), reduced = op.reducedDims.size();
  // What only dimensions of size 1 follow is contiguous.
  while (end > 0 && op.operandShape[end - 1] == 1 &&
         !is_contained(op.reducedDims, end - 1))
    --end;
  if (reduced == end)
    return ReductionKind::Full;
  auto isRun = [&](int64_t first) {
    for (auto [i, dim] : enumerate(op.reducedDims))
      if (dim != first + int64_t(i))
        return false;
    return true;
  };
  if (isRun(end - reduced))
    return ReductionKind::Trailing;
  return isRun(0) ? ReductionKind::Leading : ReductionKind::Other;
}

static int64_t lastDimension(ArrayRef<int64_t> shape) {
  auto it = find_if(reverse(shape), [](int64_t size) { return size != 1; });
  return it == shape.rend() ? 1 : *it;
}

/// Whether the leading dimensions of a shape make up `rows` rows.
static bool hasRows(ArrayRef<int64_t> shape, int64_t rows) {
  for (size_t split = 0; split <= shape.size(); ++split)
    if (llvm::product_of(shape.take_front(split)) == rows)
      return true;
  return false;
}

/// Ops in one kernel. Building one takes time in the square of its ops, and
/// beyond this many a value stored and loaded once costs next to nothing.
static constexpr size_t maxOpsOfKernel = 256;

/// Elements of a row that a kernel walks more than once for the price of one
/// walk: it stays in a cache. A sum of a longer one is worth a kernel of its
/// own; what uses the sum can then be computed by several threads.
static constexpr int64_t largestRow = 256 * 1024;

/// Columns of a sum over rows that can be made beside reductions of these rows:
/// all of its partial sums are on the stack of a thread.
static constexpr int64_t mostColumnsBesideRows = 32 * 1024;

/// Uses from which on a number ties ops together that have nothing else in
/// common, such as the updates of all parameters by one learning rate.
static constexpr size_t manyUses = 8;

/// A reshape within a kernel must leave the last dimension alone; any other is
/// free only between kernels.
bool Grouping::isFusible(unsigned number) const {
  const FusionOp &op = ops[number];
  if (!isComputed(op))
    return false;
  return op.kind != FusionKind::Reshape ||
         lastDimension(op.shape) == lastDimension(op.operandShape);
}

/// The rows on which the reductions of a group agree; nothing if it has none.
std::optional<int64_t> Grouping::findRows(ArrayRef<unsigned> group,
                                          bool &legal) const {
  std::optional<int64_t> rows;
  SmallVector<unsigned> full;
  auto agree = [&](int64_t own) {
    legal &= !rows || *rows == own;
    rows = own;
  };
  for (unsigned number : group) {
    const FusionOp &op = ops[number];
    if (op.kind != FusionKind::Reduction)
      continue;
    int64_t kept = llvm::product_of(op.shape);
    switch (kindOf(op)) {
    case ReductionKind::Trailing:
      agree(kept);
      break;
    case ReductionKind::Leading:
      agree(kept == 0 ? 0 : llvm::product_of(op.operandShape) / kept);
      break;
    case ReductionKind::Full:
      full.push_back(number);
      break;
    case ReductionKind::Other:
      break;
    }
  }
  // A reduction of everything sums up the rows of others, or is one row.
  for (unsigned number : full)
    if (!rows || *rows != llvm::product_of(ops[number].operandShape))
      agree(1);
  return rows;
}

/// Sums whose result is complete only when all rows have been walked.
bool Grouping::endsGroup(unsigned number, std::optional<int64_t> rows) const {
  const FusionOp &op = ops[number];
  if (op.kind == FusionKind::ScatterAdd)
    return true;
  if (op.kind != FusionKind::Reduction)
    return false;
  switch (kindOf(op)) {
  case ReductionKind::Trailing:
    return false;
  case ReductionKind::Full:
    return rows != 1 || llvm::product_of(op.operandShape) > largestRow;
  default:
    return true;
  }
}

/// The ops that finish sums over rows: element-wise, of one such sum or of what
/// finishes it, of which they are the only users, and of values of other
/// kernels. The kernel computes them when it stores the sum. Nothing if another
/// op of the group uses a sum over rows.
std::optional<SmallVector<unsigned>>
Grouping::findFinishing(ArrayRef<unsigned> group,
                        std::optional<int64_t> rows) const {
  SmallVector<unsigned> finishing;
  auto isUnfinished = [&](unsigned number) {
    return is_contained(finishing, number) || endsGroup(number, rows);
  };
  for (unsigned user : group) {
    const FusionOp &op = ops[user];
    SmallVector<unsigned> inside;
    for (unsigned producer : op.operands)
      if (inGroup(producer, group))
        inside.push_back(producer);
    if (none_of(inside, isUnfinished))
      continue;
    unsigned sum = inside.front();
    bool isOfSumOverRows = is_contained(finishing, sum) ||
                           (ops[sum].kind == FusionKind::Reduction &&
                            kindOf(ops[sum]) == ReductionKind::Leading);
    if (inside.size() != 1 || op.kind != FusionKind::Elementwise ||
        !isOfSumOverRows || users[sum].size() != 1)
      return std::nullopt;
    finishing.push_back(user);
  }
  return finishing;
}

/// Whether the kernel can compute `user` from an element of `producer` at the
/// point where it needs it, at no cost beyond computing it once.
bool Grouping::isLegalEdge(unsigned producer, unsigned user, bool hasReduction,
                           std::optional<int64_t> rows) const {
  if (ops[producer].operands.empty())
    return true; // a counter or a constant, computed anywhere
  if (llvm::product_of(ops[producer].shape) == 1 &&
      llvm::product_of(ops[user].shape) > 1 &&
      users[producer].size() >= manyUses)
    return false;
  switch (ops[user].kind) {
  case FusionKind::RowBroadcast: {
    int64_t elements = llvm::product_of(ops[producer].shape);
    return rows ? elements == *rows : elements > 1;
  }
  case FusionKind::Gather:
    // An index is computed anew for each row that is taken at it.
    if (ops[user].indices == producer &&
        llvm::product_of(ops[producer].shape) <=
            llvm::product_of(ops[user].shape))
      return true;
    [[fallthrough]];
  case FusionKind::Movement:
  case FusionKind::Transpose:
  case FusionKind::ScatterAdd:
    return !hasReduction && users[producer].size() == 1;
  default:
    return true;
  }
}

bool Grouping::isLegal(ArrayRef<unsigned> group) const {
  bool legal = true;
  std::optional<int64_t> rows = findRows(group, legal);
  bool hasReduction = false, hasOther = false, hasTranspose = false;
  bool hasRowReduction = false, hasWideSum = false;
  unsigned reductions = 0;
  std::optional<SmallVector<unsigned>> finishing = findFinishing(group, rows);
  if (!finishing)
    return false;
  for (unsigned number : group) {
    if (is_contained(*finishing, number))
      continue;
    const FusionOp &op = ops[number];
    hasTranspose |= op.kind == FusionKind::Transpose;
    if (op.kind == FusionKind::Reduction) {
      hasReduction = true;
      ++reductions;
      ReductionKind kind = kindOf(op);
      hasOther |= kind == ReductionKind::Other;
      hasRowReduction |= kind == ReductionKind::Trailing;
      hasWideSum |= kind == ReductionKind::Leading &&
                    llvm::product_of(op.shape) > mostColumnsBesideRows;
      legal &= !rows || hasRows(op.operandShape, *rows);
    } else if (rows) {
      legal &= hasRows(op.shape, *rows);
    }
  }
  if (!legal || (hasTranspose && hasReduction) ||
      (hasOther && reductions > 1) || (hasRowReduction && hasWideSum))
    return false;
  for (unsigned user : group)
    for (unsigned producer : ops[user].operands)
      if (inGroup(producer, group) && !is_contained(*finishing, user) &&
          !isLegalEdge(producer, user, hasReduction, rows))
        return false;
  return true;
}

/// Whether `part` of a legal group is nothing but what finishes its sums, from
/// operands that need no other op: no work that another op could wait for.
bool Grouping::onlyFinishes(ArrayRef<unsigned> part,
                            ArrayRef<unsigned> group) const {
  bool legal = true;
  std::optional<int64_t> rows = findRows(group, legal);
  SmallVector<unsigned> finishing = *findFinishing(group, rows);
  return all_of(part, [&](unsigned number) {
    return is_contained(finishing, number) &&
           all_of(ops[number].operands,
                  [&](unsigned operand) { return inGroup(operand, group); });
  });
}

/// Whether a collective would wait for ops of `with` that it does not need,
/// for the sake of a value that is no larger than what it sends.
bool Grouping::holdsUpCollective(unsigned from, unsigned with) const {
  for (unsigned number : members[from]) {
    bool feeds = any_of(users[number],
                        [&](unsigned user) { return ops[user].isCollective; });
    if (feeds && any_of(members[with], [&](unsigned other) {
          return ops[other].bytes <= ops[number].bytes;
        }))
      return true;
  }
  return false;
}

bool Grouping::areOfTwoPieces(unsigned x, unsigned y) const {
  auto pieceOf = [&](unsigned group) {
    for (unsigned number : members[group])
      if (ops[number].piece)
        return ops[number].piece;
    return std::optional<int64_t>();
  };
  auto a = pieceOf(x), b = pieceOf(y);
  return a && b && *a != *b;
}

/// Whether a path between two groups passes through a third.
bool Grouping::hasDetour(unsigned from, unsigned to) const {
  std::vector<unsigned> pending{from};
  llvm::SmallDenseSet<unsigned, 16> seen{from};
  while (!pending.empty()) {
    unsigned group = pending.back();
    pending.pop_back();
    for (unsigned number : members[group])
      for (unsigned user : users[number]) {
        unsigned next = leader[user];
        if (next == to && group != from)
          return true;
        if (user >= firstSingle || isBarrier(ops[user]) ||
            levels[user] != levels[from] || next == to ||
            !seen.insert(next).second)
          continue;
        pending.push_back(next);
      }
  }
  return false;
}

/// Joins the groups led by `x`, the earlier one, and `y`.
bool Grouping::tryJoin(unsigned x, unsigned y) {
  if (x == y || levels[x] != levels[y] ||
      members[x].size() + members[y].size() > maxOpsOfKernel)
    return false;
  std::vector<unsigned> joined;
  std::merge(members[x].begin(), members[x].end(), members[y].begin(),
             members[y].end(), std::back_inserter(joined));
  auto countPieces = [&](ArrayRef<unsigned> group) {
    size_t sum = 0;
    for (unsigned number : group)
      sum += ops[number].pieces;
    return sum;
  };
  if (countPieces(joined) > mostPiecesOfKernel)
    return false;
  if (areOfTwoPieces(x, y) || !isLegal(joined) ||
      (holdsUpCollective(x, y) && !onlyFinishes(members[y], joined)) ||
      hasDetour(x, y) || hasDetour(y, x))
    return false;
  unsigned first = joined.front(), other = first == x ? y : x;
  for (unsigned number : members[other])
    leader[number] = first;
  members[other].clear();
  members[first] = std::move(joined);
  return true;
}

void Grouping::joinProducers() {
  for (unsigned number = 0; number < ops.size(); ++number) {
    firstSingle = number + 1;
    if (!isFusible(number))
      continue;
    for (unsigned operand : ops[number].operands)
      if (isFusible(operand))
        tryJoin(leader[operand], leader[number]);
  }
}

void Grouping::joinReadersOfOneValue() {
  firstSingle = ops.size();
  auto readsOwnElement = [&](unsigned user, unsigned value) {
    const FusionOp &op = ops[user];
    return isFusible(user) &&
           (op.kind == FusionKind::Elementwise ||
            op.kind == FusionKind::Reduction) &&
           llvm::product_of(ops[value].shape) > 1;
  };
  for (unsigned value = 0; value < ops.size(); ++value) {
    std::optional<unsigned> first;
    for (unsigned user : users[value]) {
      if (!readsOwnElement(user, value))
        continue;
      if (!first)
        first = user;
      else if (!holdsUpCollective(leader[user], leader[*first]))
        tryJoin(leader[*first], leader[user]);
    }
  }
}

/// Reshapes at the border of a group are free outside of it.
void Grouping::releaseReshapes(std::vector<int> &group) const {
  auto outside = [&](unsigned number, ArrayRef<unsigned> others) {
    return none_of(
        others, [&](unsigned other) { return group[other] == group[number]; });
  };
  auto release = [&](unsigned number) {
    if (ops[number].kind == FusionKind::Reshape && group[number] != -1 &&
        (outside(number, ops[number].operands) ||
         outside(number, users[number])))
      group[number] = -1;
  };
  for (unsigned number = 0; number < ops.size(); ++number)
    release(number);
  for (unsigned number = ops.size(); number-- > 0;)
    release(number);
}

std::vector<int> Grouping::result() {
  std::vector<int> group(ops.size(), -1);
  for (unsigned number = 0; number < ops.size(); ++number)
    if (isComputed(ops[number]))
      group[number] = leader[number];
  releaseReshapes(group);
  // Number the groups in the order of their last ops.
  std::vector<int> names(ops.size(), -1);
  int next = 0;
  std::vector<unsigned> lasts;
  for (unsigned number = ops.size(); number-- > 0;)
    if (group[number] != -1 && names[group[number]] == -1) {
      names[group[number]] = 0;
      lasts.push_back(number);
    }
  for (unsigned number : reverse(lasts))
    names[group[number]] = next++;
  for (int &name : group)
    name = name == -1 ? -1 : names[name];
  return group;
}

std::vector<int> weft::groupIntoKernels(ArrayRef<FusionOp> ops) {
  Grouping grouping(ops);
  grouping.joinProducers();
  grouping.joinReadersOfOneValue();
  return grouping.result();
}
