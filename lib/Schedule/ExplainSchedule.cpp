//===- ExplainSchedule.cpp - When collectives run -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/ExplainSchedule.h"

#include "PieceWriter.h"

#include "weft/Cost/Bytes.h"
#include "weft/IR/ClusterCost.h"
#include "weft/IR/InstructionOpInterface.h"
#include "weft/IR/SourceLocation.h"
#include "weft/IR/ValueSharding.h"
#include "weft/Schedule/EntryBuffers.h"
#include "weft/Schedule/OrderBound.h"
#include "weft/Schedule/ProgramStates.h"
#include "weft/Schedule/StepCost.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cmath>
#include <map>

using namespace mlir;

namespace weft {

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

namespace {

class Clock {
public:
  Clock(const cost::CostModel &model, AxesAttr only)
      : model(model), only(only) {}

  ScheduleTimes run(Block &block);

private:
  void start(StartOp op);
  void wait(WaitOp op);
  void compute(Operation *op);
  /// What the loop before still computes when it has made what `op` sends.
  double leftOfLoop(StartOp op) const;

  const cost::CostModel &model;
  AxesAttr only;
  ScheduleTimes times;
  double now = 0;
  /// By level: when the collectives on it are over.
  std::map<size_t, double> links;
  llvm::MapVector<Operation *, CollectiveTimes> underWay;
};

} // namespace

static double secondsOfBlock(Block &block, const cost::CostModel &model) {
  return predictTimes(block, model).whole;
}

double Clock::leftOfLoop(StartOp op) const {
  auto behind = op->getAttrOfType<IntegerAttr>(behindAttrName);
  RepeatOp loop = behind ? findLoopBefore(op) : RepeatOp();
  if (!loop)
    return 0;
  int64_t number = 0;
  double left = 0;
  for (Operation &inner : loop.getBlock().without_terminator())
    if (usesBuffers(&inner) && number++ > behind.getInt() &&
        !isa<StartOp>(inner))
      left += estimateSeconds(&inner, model);
  return std::min(left, now);
}

void Clock::start(StartOp op) {
  CollectiveTimes &collective = underWay[op];
  collective.start = op;
  collective.issued = now - leftOfLoop(op);
  if (only && op.getAxes() != only) {
    collective.begin = collective.end = collective.issued;
    return;
  }
  double &free = links[callOf(op, model).group.level];
  collective.begin = std::max(collective.issued, free);
  free = collective.end = collective.begin + estimateSeconds(op, model);
  if (collective.begin < now) // What it sends was there before the loop's end.
    collective.beside.push_back(findLoopBefore(op));
}

void Clock::wait(WaitOp op) {
  auto found = underWay.find(op.getPending().getDefiningOp());
  CollectiveTimes &collective = found->second;
  collective.reached = now;
  if (collective.exposed() > 0)
    for (Operation *next = op->getNextNode(); next && !collective.user;
         next = next->getNextNode())
      if (usesBuffers(next) && !isa<StartOp, WaitOp>(next))
        collective.user = next;
  for (auto &[start, other] : underWay)
    if (start != found->first)
      other.besideWaits += std::max(0.0, std::min(collective.end, other.end) -
                                             std::max(now, other.begin));
  now = std::max(now, collective.end);
  times.collectives.push_back(collective);
  underWay.erase(found);
}

void Clock::compute(Operation *op) {
  auto loop = dyn_cast<RepeatOp>(op);
  double seconds =
      loop ? double(loop.getCount()) * secondsOfBlock(loop.getBlock(), model)
           : estimateSeconds(op, model);
  for (auto &[start, collective] : underWay)
    if (now < collective.end && now + seconds > collective.begin)
      collective.beside.push_back(op);
  now += seconds;
  times.computing += seconds;
}

ScheduleTimes Clock::run(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (auto begun = dyn_cast<StartOp>(op))
      start(begun);
    else if (auto end = dyn_cast<WaitOp>(op))
      wait(end);
    else if (usesBuffers(&op))
      compute(&op);
  }
  times.whole = now;
  return std::move(times);
}

ScheduleTimes predictTimes(Block &block, const cost::CostModel &model,
                           AxesAttr only) {
  return Clock(model, only).run(block);
}

//===----------------------------------------------------------------------===//
// The bound
//===----------------------------------------------------------------------===//

/// The steps of a block whose collectives have been started; with `only`, those
/// over other axes take no time, but in loops, which are as predicted. Of a
/// loop, what is computed behind the first sum that a collective begins with is
/// a step of its own.
static std::vector<Step> stepsOf(Block &block, const cost::CostModel &model,
                                 AxesAttr only) {
  llvm::DenseMap<Operation *, int32_t> indices, firstParts;
  std::vector<Step> steps;
  auto toPicoseconds = [](double seconds) {
    return int64_t(std::llround(seconds * 1e12));
  };
  for (Operation &op : block.without_terminator()) {
    if (auto wait = dyn_cast<WaitOp>(op)) {
      indices[&op] = indices.at(wait.getPending().getDefiningOp());
      continue;
    }
    Step step;
    auto start = dyn_cast<StartOp>(op);
    RepeatOp before = start && start->hasAttr(behindAttrName)
                          ? findLoopBefore(start)
                          : RepeatOp();
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (auto found = indices.find(operand.getDefiningOp());
            found != indices.end())
          step.operands.push_back(before ? firstParts.at(before)
                                         : found->second);
    });
    double seconds = 0;
    if (auto loop = dyn_cast<RepeatOp>(op)) {
      const double iteration = only ? secondsOfBlock(loop.getBlock(), model)
                                    : leastSeconds(loop.getBlock(), model);
      firstParts[&op] = int32_t(steps.size());
      step.picoseconds = toPicoseconds(double(loop.getCount() - 1) * iteration);
      steps.push_back(step);
      step.operands = {firstParts[&op]};
      seconds = iteration;
    } else if (start ? !only || start.getAxes() == only : usesBuffers(&op)) {
      seconds = estimateSeconds(&op, model);
    }
    step.picoseconds = toPicoseconds(seconds);
    step.isCollective = start && hides(start, model);
    if (step.isCollective)
      step.link = int32_t(callOf(start, model).group.level);
    indices[&op] = int32_t(steps.size());
    steps.push_back(std::move(step));
  }
  return steps;
}

double leastSeconds(Block &block, const cost::CostModel &model, AxesAttr only) {
  return double(leastTime(stepsOf(block, model, only))) * 1e-12;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string nameOf(Operation *op) {
  std::string name = op->getName().stripDialect().str();
  if (auto launch = dyn_cast<LaunchOp>(op))
    name += " @" + launch.getKernel().str();
  std::string location = locationText(op->getLoc());
  return location.empty() ? name : name + " (" + location + ")";
}

static std::string printHidden(const CollectiveTimes &collective,
                               const cost::CostModel &model) {
  const double hidden =
      std::min(collective.end, collective.reached) - collective.begin;
  const double behind =
      collective.beside.empty() ? 0 : hidden - collective.besideWaits;
  std::string waits;
  if (collective.besideWaits > 0)
    waits = printSeconds(std::min(hidden, collective.besideWaits)) +
            " while others are waited for";
  if (behind <= 0)
    return waits.empty() ? "" : "      hidden: " + waits + "\n";
  Operation *longest =
      *llvm::max_element(collective.beside, [&](Operation *a, Operation *b) {
        return estimateSeconds(a, model) < estimateSeconds(b, model);
      });
  const size_t count = collective.beside.size();
  return "      hidden: " + printSeconds(behind) + " behind " +
         (count == 1 ? ""
                     : std::to_string(count) + " instructions, the longest ") +
         nameOf(longest) + (waits.empty() ? "" : "; " + waits) + "\n";
}

/// Why the rank waits: nothing can run beside it, the links are busy, or the
/// rank has nothing else to do.
static std::string printExposed(const CollectiveTimes &collective,
                                const cost::CostModel &model) {
  if (collective.exposed() <= 0)
    return "";
  std::string text =
      "      exposed: " + printSeconds(collective.exposed()) + ", ";
  if (!hides(StartOp(collective.start), model))
    return text + "it takes the cores that compute\n";
  if (collective.begin > collective.issued)
    text += "its links are busy for " +
            printSeconds(collective.begin - collective.issued) +
            " when it could begin; ";
  if (!collective.user)
    return text + "nothing is left to compute\n";
  return text + nameOf(collective.user) +
         (collective.beside.empty()
              ? " needs it, and there is nothing else to compute\n"
              : " needs it, and there is no more to compute before\n");
}

static std::string print(const CollectiveTimes &collective,
                         const cost::CostModel &model) {
  StartOp start = collective.start;
  const cost::CollectiveCall call = callOf(start, model);
  std::string text = "    " + std::string(nameOf(call.kind));
  if (auto piece = start->getAttrOfType<DenseI64ArrayAttr>(kPieceAttrName))
    text += ", piece " + std::to_string(piece[0] + 1) + " of " +
            std::to_string(piece[1]) + ",";
  text += " of " + printBytes(uint64_t(call.bytes)) + " from " +
          printSeconds(collective.begin) + " to " +
          printSeconds(collective.end);
  if (auto cause = start->getAttrOfType<StringAttr>("cause"))
    text += ": " + cause.getValue().split('\n').first.str();
  return text + "\n" + printHidden(collective, model) +
         printExposed(collective, model);
}

/// Of the collectives over each of several lists of axes, what is exposed, and
/// what would be if all others took no time, in this order and in any. That may
/// be more: some run while the rank waits for others.
static std::string printByAxes(const ScheduleTimes &times, Block &block,
                               const cost::CostModel &model) {
  struct Sum {
    size_t count = 0;
    double all = 0, exposed = 0;
  };
  llvm::MapVector<AxesAttr, Sum> sums;
  for (const CollectiveTimes &each : times.collectives) {
    Sum &sum = sums[StartOp(each.start).getAxes()];
    ++sum.count;
    sum.all += each.end - each.begin;
    sum.exposed += each.exposed();
  }
  auto behindComputing = [&](double seconds) {
    return printSeconds(std::max(0.0, seconds - times.computing));
  };
  std::string text;
  for (const auto &[axes, sum] : sums) {
    if (sums.size() == 1)
      break;
    sharding::Mesh mesh =
        findMesh(block.getParentOp(), axes.getMesh()).getMesh().toMesh();
    text += "    over " + mesh.print(*axes.toAxes(mesh)) + ": " +
            std::to_string(sum.count) +
            (sum.count == 1 ? " collective, " : " collectives, ") +
            printSeconds(sum.all) + ", exposed " + printSeconds(sum.exposed) +
            " (by themselves " +
            behindComputing(predictTimes(block, model, axes).whole) +
            ", in any order at least " +
            behindComputing(leastSeconds(block, model, axes)) + ")\n";
  }
  return text;
}

static std::string print(llvm::StringRef title, Block &block,
                         const cost::CostModel &model) {
  const ScheduleTimes times = predictTimes(block, model);
  double communicating = 0, exposed = 0;
  for (const CollectiveTimes &each : times.collectives) {
    communicating += each.end - each.begin;
    exposed += each.exposed();
  }
  const size_t count = times.collectives.size();
  std::string text =
      "  " + title.str() + ": " + printSeconds(times.whole) +
      " (in any order at least " + printSeconds(leastSeconds(block, model)) +
      "), computing " + printSeconds(times.computing) + "; " +
      std::to_string(count) +
      (count == 1 ? " collective, " : " collectives, ") +
      printSeconds(communicating) + ", exposed " + printSeconds(exposed) +
      "\n" + printByAxes(times, block, model);
  for (const CollectiveTimes &each : times.collectives)
    text += print(each, model);
  for (auto loop : block.getOps<RepeatOp>())
    text += print("each of " + std::to_string(loop.getCount()) +
                      " iterations of a loop",
                  loop.getBlock(), model);
  return text;
}

std::string explainSchedule(ModuleOp schedule, const cost::CostModel &model) {
  std::string text = "schedule, estimated for " + model.cluster().name + ":\n";
  for (func::FuncOp entry : findEntries(schedule))
    text += print(entry.getName(), entry.front(), model);
  return text;
}

} // namespace weft
