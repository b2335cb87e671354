//===- SharedUpdates.cpp - Who updates what several roles have ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedUpdates.h"

#include "Stages.h"

#include "weft/IR/ClusterCost.h"
#include "weft/IR/Origin.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueSharding.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

#include <set>

using namespace mlir;
using namespace weft;
using timeline::ActionKind;

namespace {

/// What a role would have to do to update a state itself.
struct Update {
  /// Once a step, by the owner now; in their order.
  SmallVector<Operation *> ops;
  /// What it would receive for that, and what the owner receives of it.
  llvm::SetVector<Value> received, given;
  llvm::SetVector<BlockArgument> arguments;
};

/// The next value of a state, the role that computes it, and those that read
/// the state.
struct SharedState {
  Value value;
  int64_t owner;
  std::set<int64_t> roles;
};

class UpdateCopier {
public:
  UpdateCopier(func::FuncOp entry, const PipelineSchedule &schedule,
               StringRef axis, const cost::CostModel &model);

  ResultCopies run();

private:
  std::vector<SharedState> findShared() const;
  std::set<int64_t> rolesOf(Value value) const;
  int64_t ownerOf(Value value) const;
  bool isOfArguments(Operation *op);
  Update findUpdate(Value value, int64_t owner, int64_t role);
  double send(ArrayRef<Value> values) const;
  double secondsOf(const Update &update) const;
  void copy(const Update &update, int64_t role);

  func::FuncOp entry;
  Block &block;
  const SegmentPlan plan;
  const PipelineSchedule &schedule;
  const cost::CostModel &model;
  size_t level = 0;
  llvm::StringMap<BlockArgument> argumentOf;
  llvm::DenseMap<Operation *, bool> ofArguments;
  /// By role, what it computes in place of a value.
  std::map<int64_t, IRMapping> copies;
};

} // namespace

UpdateCopier::UpdateCopier(func::FuncOp entry, const PipelineSchedule &schedule,
                           StringRef axis, const cost::CostModel &model)
    : entry(entry), block(entry.front()), plan(block, schedule),
      schedule(schedule), model(model) {
  for (BlockArgument argument : block.getArguments())
    argumentOf.try_emplace(getArgumentName(entry, argument.getArgNumber()),
                           argument);
  MeshOp meshOp = findMesh(entry);
  sharding::Mesh mesh = meshOp.getMesh().toMesh();
  level = placeGroups(model, meshOp, mesh.fullAxis(*mesh.find(axis))).level;
}

/// The roles that use a value, through what each segment computes for itself.
std::set<int64_t> UpdateCopier::rolesOf(Value value) const {
  std::set<int64_t> roles;
  for (Operation *user : value.getUsers())
    if (plan.isCopied(user))
      roles.merge(rolesOf(user->getResult(0)));
    else if (!user->hasTrait<OpTrait::IsTerminator>())
      roles.insert(schedule.roleOf(plan.of(user).stage));
  return roles;
}

/// The role that computes a value once a step, behind the micro-batches; -1 if
/// it is none.
int64_t UpdateCopier::ownerOf(Value value) const {
  SmallVector<Operation *> sources = plan.findSources(value);
  if (sources.size() != 1 || leavesMicrobatches(sources[0]) ||
      plan.of(sources[0]).kind != ActionKind::Update)
    return -1;
  return schedule.roleOf(plan.of(sources[0]).stage);
}

/// Whether an op once a step depends on nothing but arguments, as the step
/// counter does.
bool UpdateCopier::isOfArguments(Operation *op) {
  if (!op)
    return true;
  if (plan.microbatches.loopOf(op) || leavesMicrobatches(op))
    return false;
  if (auto found = ofArguments.find(op); found != ofArguments.end())
    return found->second;
  bool all = llvm::all_of(op->getOperands(), [&](Value operand) {
    return isOfArguments(operand.getDefiningOp());
  });
  return ofArguments[op] = all;
}

/// What the owner computes a value from; small values and what other roles or
/// the loop make are received.
Update UpdateCopier::findUpdate(Value value, int64_t owner, int64_t role) {
  Update update;
  llvm::DenseSet<Operation *> seen;
  auto isOwn = [&](Operation *op) {
    const SegmentKey &key = plan.of(op);
    return !leavesMicrobatches(op) &&
           (key.kind == ActionKind::Update ||
            key.kind == ActionKind::ReduceGradient) &&
           schedule.roleOf(key.stage) == owner &&
           (isOfArguments(op) ||
            llvm::any_of(op->getResults(), [](Value result) {
              return bytesOf(result) > mostSmallBytes;
            }));
  };
  auto visit = [&](auto &visit, Value value) -> void {
    Operation *op = value.getDefiningOp();
    if (auto argument = dyn_cast<BlockArgument>(value))
      update.arguments.insert(argument);
    if (!op || copies[role].contains(value))
      return;
    if (!plan.isCopied(op) && !isOwn(op)) {
      int64_t from = schedule.roleOf(plan.of(op).stage);
      if (from != role)
        update.received.insert(value);
      if (from != owner && from == role)
        update.given.insert(value);
      return;
    }
    if (!seen.insert(op).second)
      return;
    for (Value operand : op->getOperands())
      visit(visit, operand);
    update.ops.push_back(op);
  };
  visit(visit, value);
  return update;
}

double UpdateCopier::send(ArrayRef<Value> values) const {
  double bytes = 0;
  for (Value value : values)
    bytes += bytesOf(value);
  return bytes > 0 ? model.send(bytes, level) : 0;
}

/// The time of an update: what it reads and writes in memory, and its matmuls
/// and collectives.
double UpdateCopier::secondsOf(const Update &update) const {
  cost::MemoryTraffic traffic;
  for (Value argument : update.arguments) {
    traffic.readBytes += bytesOf(argument);
    // States are written again.
    traffic.writtenBytes += bytesOf(argument);
  }
  for (Value received : update.received)
    traffic.readBytes += bytesOf(received);
  for (Value given : update.given)
    traffic.readBytes += bytesOf(given);
  double seconds = model.memoryKernel(traffic);
  for (Operation *op : update.ops) {
    if (auto collective = dyn_cast<CommunicationOpInterface>(op))
      seconds += model.collective(callOf(collective, model)).seconds;
    if (auto product = dyn_cast<ProductOpInterface>(op))
      seconds += model.gemm(product.getGemm());
  }
  return seconds;
}

void UpdateCopier::copy(const Update &update, int64_t role) {
  int64_t stage =
      llvm::find(schedule.placement, role) - schedule.placement.begin();
  IRMapping &values = copies[role];
  for (Operation *op : update.ops) {
    bool isChanged = !plan.isCopied(op) ||
                     llvm::any_of(op->getOperands(), [&](Value operand) {
                       return values.contains(operand);
                     });
    if (!isChanged)
      continue;
    OpBuilder b(op);
    b.setInsertionPointAfter(op);
    Operation *own = b.clone(*op, values);
    OriginAttr origin = getOrigin(own);
    if (stageOf(origin) >= 0)
      setOrigin(
          own, withStage(origin, stage, stagePassOf(origin), op->getContext()));
  }
}

std::vector<SharedState> UpdateCopier::findShared() const {
  std::vector<SharedState> shared;
  for (OpOperand &result : block.getTerminator()->getOpOperands()) {
    Value value = result.get();
    BlockArgument argument =
        argumentOf.lookup(getResultName(entry, result.getOperandNumber()));
    int64_t owner = isa<BlockArgument>(value) ? -1 : ownerOf(value);
    if (argument && owner >= 0)
      shared.push_back({value, owner, rolesOf(argument)});
  }
  return shared;
}

ResultCopies UpdateCopier::run() {
  // By role, the states that copies of updates read.
  std::map<int64_t, llvm::SetVector<BlockArgument>> used;
  // Found before there are copies, which the plan does not know.
  for (const auto &[value, owner, roles] : findShared())
    for (int64_t role : roles) {
      if (role == owner)
        continue;
      Update update = findUpdate(value, owner, role);
      double exchanged = send(update.received.getArrayRef()) -
                         send(update.given.getArrayRef());
      if (secondsOf(update) + std::max(exchanged, 0.) >= send(value))
        continue;
      copy(update, role);
      for (BlockArgument each : update.arguments)
        used[role].insert(each);
    }
  // The next values of what copies read.
  ResultCopies results;
  for (OpOperand &result : block.getTerminator()->getOpOperands()) {
    BlockArgument argument =
        argumentOf.lookup(getResultName(entry, result.getOperandNumber()));
    for (auto &[role, arguments] : used)
      if (argument && arguments.contains(argument))
        if (Value own = copies[role].lookupOrNull(result.get()))
          results[result.getOperandNumber()][role] = own;
  }
  return results;
}

ResultCopies weft::copySharedUpdates(func::FuncOp entry,
                                     const PipelineSchedule &schedule,
                                     StringRef axis,
                                     const cost::CostModel &model) {
  return UpdateCopier(entry, schedule, axis, model).run();
}
