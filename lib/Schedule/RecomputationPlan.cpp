//===- RecomputationPlan.cpp - What kernels recompute ---------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecomputationPlan.h"

#include "FusionGraph.h"

#include "weft/IR/InstructionOpInterface.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace weft;
using optimize::Availability;
using optimize::Cost;
using optimize::forbidden;

/// Less than this part of the peak is kept for nothing, such as the statistics
/// of a norm: kernels stay as they are.
static constexpr int64_t fractionThatCounts = 16384;

namespace {

/// What time is worth against memory, as bytes that are kept for the time in
/// which one is read or written.
struct Exchange {
  double computed, written;
};

class Planner {
public:
  Planner(const BlockGraph &graph, const cost::CostModel &model)
      : graph(graph), nodes(graph.nodes), model(model) {
    findUses();
    findSources();
    measure();
  }

  std::optional<RecomputationPlan> plan(double mostSeconds);

private:
  /// The levels at which a buffer is in memory.
  struct Life {
    unsigned birth = 0, last = 0;
    bool isStored = false;
  };
  /// A level, and the barrier before it that an op waits for.
  using Key = std::pair<unsigned, int>;

  void findUses();
  void findSources();
  void measure();
  std::map<unsigned, unsigned>
  findWritten(const RecomputationGroup &group) const;
  std::vector<int64_t> countAlive(const RecomputationPlan &plan) const;
  bool isEarly(unsigned number) const { return isOfFirstHalf[number]; }
  bool isAlias(unsigned number) const { return isView(graph.ops[number]); }
  bool isBarrier(unsigned number) const {
    return weft::isBarrier(nodes[number]);
  }
  bool isReturned(unsigned number) const;
  bool isStoredEarly(unsigned number) const;
  bool isRecomputable(unsigned number) const;
  bool needsStoredOperand(unsigned number) const;
  double secondsOf(unsigned number) const;

  void choose(const Exchange &exchange);
  RecomputationPlan formGroups();
  void addUse(RecomputationGroup &group, unsigned user, unsigned value);
  std::optional<Key> findCompany(unsigned user,
                                 const RecomputationGroup &alone) const;
  RecomputationGroup *findWriter(RecomputationPlan &plan, unsigned user,
                                 const RecomputationGroup &alone) const;
  double estimateSeconds(const RecomputationPlan &plan) const;

  const BlockGraph &graph;
  const std::vector<FusionOp> &nodes;
  const cost::CostModel &model;
  std::vector<unsigned> levels;
  /// Whether an op is of the first half: it runs there, or would but for the
  /// operands that it keeps, and can be recomputed.
  std::vector<char> isOfFirstHalf;
  /// What each op reads, without what it only waits for, and who reads it.
  std::vector<SmallVector<unsigned, 2>> operands, users;
  /// The barrier that an op waits for at its level, -1 if none.
  std::vector<int> sources;
  /// The last level of the first half.
  unsigned border = 0;
  int64_t peak = 0;
  std::vector<Availability> availability;
  /// Where kernels of the second half read a value, from memory or as what
  /// something is recomputed from.
  std::map<unsigned, std::set<Key>> readers;
};

} // namespace

//===----------------------------------------------------------------------===//
// Uses and lifetimes
//===----------------------------------------------------------------------===//

void Planner::findUses() {
  levels = computeFusionLevels(nodes);
  operands.resize(nodes.size());
  users.resize(nodes.size());
  for (unsigned number = 0; number < nodes.size(); ++number) {
    Operation *op = graph.ops[number];
    SmallVector<unsigned, 2> &own = operands[number];
    if (isa<BarrierOp>(op)) {
      auto found = graph.numbers.find(op->getOperand(0).getDefiningOp());
      if (found != graph.numbers.end())
        own.push_back(found->second);
    } else {
      own.assign(nodes[number].operands.begin(), nodes[number].operands.end());
      llvm::sort(own);
      own.erase(llvm::unique(own), own.end());
    }
    for (unsigned operand : own)
      users[operand].push_back(number);
  }
}

void Planner::findSources() {
  sources.assign(nodes.size(), -1);
  for (unsigned number = 0; number < nodes.size(); ++number)
    for (unsigned operand : nodes[number].operands) {
      int found = -1;
      if (isBarrier(operand) && levels[operand] + 1 == levels[number])
        found = int(operand);
      else if (!isBarrier(operand) && levels[operand] == levels[number])
        found = sources[operand];
      sources[number] = std::max(sources[number], found);
    }
}

bool Planner::isReturned(unsigned number) const {
  return llvm::any_of(users[number], [&](unsigned user) {
    return nodes[user].kind == FusionKind::End;
  });
}

/// What a group writes for GEMMs, and the level of the last.
std::map<unsigned, unsigned>
Planner::findWritten(const RecomputationGroup &group) const {
  std::map<unsigned, unsigned> written;
  for (const auto &[user, values] : group.uses)
    if (isBarrier(user))
      for (unsigned value : values) {
        unsigned &last = written[value];
        last = std::max(last, levels[user]);
      }
  return written;
}

/// The bytes alive between each level and the next, with what a plan leaves.
std::vector<int64_t> Planner::countAlive(const RecomputationPlan &plan) const {
  std::set<std::pair<unsigned, unsigned>> redirected;
  for (const RecomputationGroup &group : plan.groups)
    for (const auto &[user, values] : group.uses)
      for (unsigned value : values)
        redirected.insert({user, value});
  std::vector<char> isDead(nodes.size());
  for (unsigned number = nodes.size(); number-- > 0;)
    isDead[number] = isRecomputable(number) &&
                     llvm::all_of(users[number], [&](unsigned user) {
                       return isDead[user] || redirected.count({user, number});
                     });
  std::vector<int> roots(nodes.size());
  std::vector<Life> lives(nodes.size());
  auto use = [&](unsigned value, unsigned level, bool stores) {
    if (roots[value] < 0)
      return;
    Life &life = lives[roots[value]];
    life.last = std::max(life.last, level);
    life.isStored |= stores || level != life.birth;
  };
  unsigned end = 0;
  for (unsigned number = 0; number < nodes.size(); ++number) {
    roots[number] = int(number);
    if (isAlias(number))
      roots[number] =
          operands[number].empty() ? -1 : roots[operands[number][0]];
    lives[number] = {levels[number], levels[number], isBarrier(number)};
    if (nodes[number].kind == FusionKind::End)
      continue;
    end = std::max(end, levels[number]);
    if (!isAlias(number) && !isDead[number])
      for (unsigned operand : operands[number])
        if (!redirected.count({number, operand}))
          use(operand, levels[number], isBarrier(number));
  }
  for (const RecomputationGroup &group : plan.groups)
    for (unsigned leaf : group.leaves)
      use(leaf, group.level, true);
  std::vector<int64_t> change(end + 2);
  for (const RecomputationGroup &group : plan.groups)
    for (const auto &[value, last] : findWritten(group)) {
      change[group.level] += nodes[value].bytes;
      change[std::max(last, group.level)] -= nodes[value].bytes;
    }
  for (unsigned number = 0; number < nodes.size(); ++number) {
    Life life = lives[number];
    if (roots[number] != int(number) || !life.isStored)
      continue;
    // What is gathered comes when it is needed.
    if (nodes[number].isCollective && !users[number].empty()) {
      unsigned first = life.last;
      for (unsigned user : users[number])
        first = std::min(first, levels[user]);
      life.birth = std::max(life.birth, first ? first - 1 : 0);
    }
    change[life.birth] += nodes[number].bytes;
    change[std::max(life.last, life.birth)] -= nodes[number].bytes;
  }
  for (size_t level = 1; level < change.size(); ++level)
    change[level] += change[level - 1];
  return change;
}

void Planner::measure() {
  std::vector<int64_t> alive = countAlive({});
  border = llvm::max_element(alive) - alive.begin();
  peak = alive[border];
  isOfFirstHalf.resize(nodes.size());
  std::vector<unsigned> earliest(nodes.size());
  for (unsigned number = 0; number < nodes.size(); ++number) {
    bool areEarly = true;
    for (unsigned operand : nodes[number].operands) {
      earliest[number] =
          std::max(earliest[number], earliest[operand] + isBarrier(operand));
      areEarly &= isOfFirstHalf[operand] != 0;
    }
    isOfFirstHalf[number] =
        levels[number] <= border ||
        (areEarly && earliest[number] <= border && isRecomputable(number));
  }
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

/// Whether a value is in memory in the first half even if it is not kept.
bool Planner::isStoredEarly(unsigned number) const {
  return isBarrier(number) || llvm::any_of(users[number], [&](unsigned user) {
           return isEarly(user) &&
                  (isBarrier(user) || levels[user] != levels[number]);
         });
}

bool Planner::isRecomputable(unsigned number) const {
  Operation *op = graph.ops[number];
  if (op->getNumResults() != 1 || op->getNumRegions() != 0)
    return false;
  switch (nodes[number].kind) {
  case FusionKind::Elementwise:
  case FusionKind::RowBroadcast:
  case FusionKind::Reshape:
    return true;
  case FusionKind::Movement:
    return isa<BroadcastOp>(op);
  default:
    return isAlias(number);
  }
}

/// Whether the op reads its operand at other indices than it writes at.
bool Planner::needsStoredOperand(unsigned number) const {
  const FusionOp &node = nodes[number];
  if (node.kind != FusionKind::Reshape)
    return node.kind == FusionKind::Movement;
  return node.shape.empty() || node.operandShape.empty() ||
         node.shape.back() != node.operandShape.back();
}

/// Of the arithmetic of an op.
double Planner::secondsOf(unsigned number) const {
  Operation *op = graph.ops[number];
  if (nodes[number].kind != FusionKind::Elementwise)
    return 0;
  double elements = double(typeOf(op->getResult(0)).getNumElements());
  cost::ElementWork work;
  work.flops = elements;
  if (isa<math::MathDialect>(op->getDialect()))
    work.addCalls(op->getName().stripDialect().str(), elements);
  return model.kernel({}, work) - model.kernel({}, {});
}

void Planner::choose(const Exchange &exchange) {
  constexpr Cost unit = 16;
  std::vector<uint32_t> indices(nodes.size());
  std::vector<unsigned> numbers;
  std::vector<char> isNeeded(nodes.size()), isFixed(nodes.size()),
      isWritten(nodes.size()), isSeen(nodes.size());
  for (unsigned user = 0; user < nodes.size(); ++user) {
    if (isEarly(user) || nodes[user].kind == FusionKind::End)
      continue;
    for (unsigned value : operands[user]) {
      if (!isEarly(value))
        continue;
      isNeeded[value] = true;
      // What waits for nothing in the second half could be anywhere.
      isFixed[value] |= isAlias(user) ||
                        graph.ops[user]->getNumRegions() != 0 ||
                        (!isBarrier(user) && sources[user] < 0);
      isWritten[value] |= isBarrier(user);
    }
  }
  // Users before what they use: what is needed of one is known then.
  for (unsigned number = nodes.size(); number-- > 0;) {
    isSeen[number] |= isNeeded[number];
    if (!isSeen[number])
      continue;
    numbers.push_back(number);
    if (!isRecomputable(number) || isFixed[number])
      continue;
    for (unsigned operand : operands[number]) {
      isSeen[operand] = true;
      isFixed[operand] |= needsStoredOperand(number);
      isWritten[operand] |= isWritten[number] && isAlias(number);
    }
  }
  std::reverse(numbers.begin(), numbers.end());
  std::vector<optimize::KeepableValue> values(numbers.size());
  const double perByte = model.secondsPerByte();
  for (auto [index, number] : llvm::enumerate(numbers)) {
    indices[number] = uint32_t(index);
    optimize::KeepableValue &value = values[index];
    value.isNeeded = isNeeded[number];
    const bool isFree =
        isReturned(number) || (isAlias(number) && operands[number].empty());
    const Cost bytes = nodes[number].bytes;
    if (!isFree && bytes * fractionThatCounts >= peak)
      value.keeping = unit * bytes + (isStoredEarly(number) ? 0 : 2 * bytes);
    value.recomputing = forbidden;
    if (isFixed[number] || !isRecomputable(number) ||
        (isWritten[number] && exchange.written < 0))
      continue;
    double seconds = exchange.computed * secondsOf(number);
    if (isWritten[number])
      seconds += exchange.written * perByte * double(bytes);
    value.recomputing = Cost(double(unit) * seconds / perByte);
    for (unsigned operand : operands[number])
      value.operands.push_back(indices[operand]);
  }
  std::vector<Availability> found = optimize::chooseKeptValues(values);
  availability.assign(nodes.size(), Availability::None);
  for (auto [index, number] : llvm::enumerate(numbers))
    availability[number] = found[index];
}

//===----------------------------------------------------------------------===//
// Who recomputes
//===----------------------------------------------------------------------===//

/// Lets `user` have its operand from a group, which recomputes it.
void Planner::addUse(RecomputationGroup &group, unsigned user, unsigned value) {
  group.uses[user].insert(value);
  SmallVector<unsigned> pending{value};
  while (!pending.empty()) {
    unsigned number = pending.pop_back_val();
    if (availability[number] != Availability::Recomputed) {
      group.leaves.insert(number);
      continue;
    }
    if (group.values.insert(number).second)
      pending.append(operands[number].begin(), operands[number].end());
  }
}

/// Whose kernel can write what a GEMM reads at little cost: it reads the
/// largest of what that is recomputed from, at the level of the GEMM or the
/// next one, which waits for nothing of what the GEMM gives.
std::optional<Planner::Key>
Planner::findCompany(unsigned user, const RecomputationGroup &alone) const {
  std::optional<unsigned> largest;
  for (unsigned leaf : alone.leaves)
    if (!largest || nodes[leaf].bytes > nodes[*largest].bytes)
      largest = leaf;
  auto found = largest ? readers.find(*largest) : readers.end();
  if (found != readers.end())
    for (Key key : found->second)
      if (key.first == levels[user] || key.first == levels[user] + 1)
        return key;
  return std::nullopt;
}

/// The kernel that writes the same for a GEMM a little earlier, if there is
/// one: what it has written is kept until then.
RecomputationGroup *Planner::findWriter(RecomputationPlan &plan, unsigned user,
                                        const RecomputationGroup &alone) const {
  constexpr unsigned fewLevels = 4;
  constexpr size_t fewGroups = 16;
  MutableArrayRef<RecomputationGroup> groups = plan.groups;
  for (RecomputationGroup &group :
       groups.take_back(std::min(groups.size(), fewGroups)))
    if (group.values == alone.values && group.level <= levels[user] &&
        group.level + fewLevels >= levels[user])
      return &group;
  return nullptr;
}

RecomputationPlan Planner::formGroups() {
  std::map<Key, RecomputationGroup> groups;
  readers.clear();
  auto groupOf = [&](Key key) -> RecomputationGroup & {
    auto [found, isNew] = groups.try_emplace(key);
    if (isNew) {
      found->second.level = key.first;
      found->second.source = unsigned(key.second);
    }
    return found->second;
  };
  for (unsigned user = 0; user < nodes.size(); ++user) {
    if (isEarly(user) || isBarrier(user) || isAlias(user) || sources[user] < 0)
      continue;
    Key key{levels[user], sources[user]};
    for (unsigned value : operands[user]) {
      if (!isEarly(value))
        continue;
      readers[value].insert(key);
      if (availability[value] != Availability::Recomputed)
        continue;
      RecomputationGroup &group = groupOf(key);
      addUse(group, user, value);
      for (unsigned leaf : group.leaves)
        readers[leaf].insert(key);
    }
  }
  RecomputationPlan plan;
  for (unsigned user = 0; user < nodes.size(); ++user) {
    if (isEarly(user) || nodes[user].kind != FusionKind::Barrier)
      continue;
    RecomputationGroup alone;
    for (unsigned value : operands[user])
      if (availability[value] == Availability::Recomputed)
        addUse(alone, user, value);
    if (alone.values.empty())
      continue;
    if (std::optional<Key> company = findCompany(user, alone)) {
      RecomputationGroup &group = groupOf(*company);
      for (unsigned value : alone.uses[user])
        addUse(group, user, value);
      continue;
    }
    if (RecomputationGroup *earlier = findWriter(plan, user, alone)) {
      earlier->uses[user] = alone.uses[user];
      continue;
    }
    alone.level = levels[user];
    if (sources[user] >= 0)
      alone.source = unsigned(sources[user]);
    alone.isAlone = true;
    plan.groups.push_back(std::move(alone));
  }
  for (auto &[key, group] : groups)
    plan.groups.push_back(std::move(group));
  return plan;
}

//===----------------------------------------------------------------------===//
// Its price
//===----------------------------------------------------------------------===//

/// What is written and read less and more, and computed more.
double Planner::estimateSeconds(const RecomputationPlan &plan) const {
  double bytes = 0, seconds = 0;
  std::set<unsigned> recomputed, leaves;
  for (const RecomputationGroup &group : plan.groups) {
    std::set<unsigned> readBefore, written;
    for (const auto &[user, values] : group.uses)
      for (unsigned value : values) {
        recomputed.insert(value);
        (isBarrier(user) ? written : readBefore).insert(value);
      }
    for (unsigned value : group.values)
      seconds += secondsOf(value);
    for (unsigned value : readBefore)
      bytes -= double(nodes[value].bytes);
    for (unsigned value : written)
      bytes += double(nodes[value].bytes);
    for (unsigned leaf : group.leaves) {
      leaves.insert(leaf);
      bool isRead = llvm::any_of(users[leaf], [&](unsigned user) {
        return !isEarly(user) && !isBarrier(user) &&
               levels[user] == group.level;
      });
      if (!isRead)
        bytes += double(nodes[leaf].bytes);
    }
    if (group.isAlone)
      seconds += model.launch();
  }
  for (unsigned value : recomputed)
    if (!isStoredEarly(value))
      bytes -= double(nodes[value].bytes);
  for (unsigned leaf : leaves)
    if (!isStoredEarly(leaf))
      bytes += double(nodes[leaf].bytes);
  return seconds + bytes * model.secondsPerByte();
}

std::optional<RecomputationPlan> Planner::plan(double mostSeconds) {
  /// From what saves most to what costs least.
  constexpr Exchange exchanges[] = {{0.125, 0.125}, {0.5, 0.5}, {1, -1}};
  constexpr double leastGain = 0.002;
  for (const Exchange &exchange : exchanges) {
    choose(exchange);
    RecomputationPlan plan = formGroups();
    if (plan.groups.empty())
      continue;
    plan.before = peak;
    std::vector<int64_t> alive = countAlive(plan);
    plan.after = *llvm::max_element(alive);
    plan.seconds = estimateSeconds(plan);
    if (double(plan.after) <= double(peak) * (1 - leastGain) &&
        plan.seconds <= mostSeconds)
      return plan;
  }
  return std::nullopt;
}

std::optional<RecomputationPlan>
weft::planRecomputation(const BlockGraph &graph, const cost::CostModel &model,
                        double mostSeconds) {
  return graph.nodes.empty() ? std::nullopt
                             : Planner(graph, model).plan(mostSeconds);
}
