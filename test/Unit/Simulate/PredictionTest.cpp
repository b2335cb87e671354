//===- PredictionTest.cpp - Tests of predicted steps ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Simulate/Prediction.h"

#include "PlanBuilder.h"

#include "weft/Cost/ClusterFile.h"
#include "weft/Timeline/Extent.h"
#include "weft/Timeline/Schedules.h"
#include "weft/Timeline/StepRows.h"
#include "weft/Timeline/Transfers.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <ctime>
#include <random>

using namespace weft;
using namespace weft::simulate;
using plan::CollectiveKind;
using testing::ElementsAre;
using testing::IsEmpty;

static const cost::CostModel &h100() {
  static const cost::CostModel model(*cost::loadCluster("dgx-h100").cluster);
  return model;
}

static Prediction predictStep(PlanBuilder &builder,
                              const PredictionOptions &options = {},
                              const cost::CostModel &cost = h100()) {
  const plan::Plan &plan = builder.build();
  for (const plan::Entry *entry : *plan.entries())
    if (entry->name()->str() == "step")
      return predict(plan, *entry, cost, options);
  return {};
}

//===----------------------------------------------------------------------===//
// Bounds of any program
//===----------------------------------------------------------------------===//

namespace {

/// Kernels and collectives in random order, in loops too. With the same seed
/// the same ones, whether they overlap or not.
class RandomProgram {
public:
  RandomProgram(PlanBuilder &builder, unsigned seed, bool overlaps)
      : builder(builder), step(builder.entry("step")), random(seed),
        overlaps(overlaps) {}

  void make() {
    for (int part = 0; part < 4; ++part) {
      const bool isLoop = draw(2) == 0;
      const uint32_t count = 1 + draw(7);
      plan::EntryT body;
      std::swap(body.instructions, step.instructions);
      makeInstructions();
      std::swap(body.instructions, step.instructions);
      if (isLoop)
        builder.repeat(step, count, body.instructions.size());
      for (auto &each : body.instructions)
        step.instructions.push_back(std::move(each));
    }
  }

private:
  unsigned draw(unsigned below) { return random() % below; }

  void makeInstructions() {
    std::vector<uint32_t> inFlight;
    for (unsigned i = 0, size = 3 + draw(10); i < size; ++i) {
      switch (draw(4)) {
      case 0:
        builder.gemm(step, 256 << draw(6));
        break;
      case 1:
        builder.kernel(step, 4096 << draw(16));
        break;
      case 2: {
        const auto kind = static_cast<CollectiveKind>(draw(4));
        builder.start(step, kind, draw(2), 1024 << draw(18));
        step.instructions.back()->operation.AsCollectiveStart()->id = nextId;
        inFlight.push_back(nextId++);
        if (!overlaps)
          finish(inFlight, 0);
        break;
      }
      default:
        if (const unsigned which = draw(4); which < inFlight.size())
          finish(inFlight, which);
      }
    }
    while (!inFlight.empty())
      finish(inFlight, 0);
  }
  void finish(std::vector<uint32_t> &inFlight, size_t which) {
    builder.wait(step, inFlight[which]);
    inFlight.erase(inFlight.begin() + which);
  }

  PlanBuilder &builder;
  plan::EntryT &step;
  std::mt19937 random;
  bool overlaps;
  uint32_t nextId = 0;
};

class RandomPlans : public testing::TestWithParam<unsigned> {
protected:
  Prediction predicted(bool overlaps, const PredictionOptions &options = {},
                       const cost::CostModel &cost = h100()) {
    PlanBuilder builder({{"data", 16}, {"model", 4}});
    RandomProgram(builder, GetParam(), overlaps).make();
    return predictStep(builder, options, cost);
  }
};

/// The longest time that one stream is busy.
Picoseconds busiest(const Prediction &prediction, size_t stream) {
  Picoseconds busy = 0;
  for (const Prediction::Event &each : prediction.events(0))
    if (each.event.stream == stream && !each.event.isExposed)
      busy += each.event.end - each.event.begin;
  return busy;
}

TEST_P(RandomPlans, AreWithinTheirBounds) {
  const Prediction step = predicted(true, {{}, true});
  ASSERT_THAT(step.problems, IsEmpty());
  const RolePrediction &role = step.roles[0];
  for (size_t stream = 0; stream < 3; ++stream)
    EXPECT_LE(busiest(step, stream), step.step);
  EXPECT_EQ(role.sum(), step.step);
  EXPECT_EQ(busiest(step, 0), role.usage.busy());
  Picoseconds communicated = 0, waited = 0;
  for (const Communication &each : role.usage.communication) {
    EXPECT_GE(each.exposed, 0);
    EXPECT_GE(each.hidden(), 0);
    communicated += each.total;
  }
  EXPECT_EQ(busiest(step, 1) + busiest(step, 2), communicated);
  for (const Prediction::Event &each : step.events(0))
    if (each.event.isExposed)
      waited += each.event.end - each.event.begin;
  EXPECT_EQ(waited, role.usage.exposed());
  EXPECT_THAT(role.runs, testing::SizeIs(1));
  EXPECT_EQ(role.runs[0].end, step.step);
}

TEST_P(RandomPlans, AreNoSlowerThanOneAfterTheOther) {
  for (const char *name : {"dgx-h100", "dgx-a100"}) {
    const cost::CostModel cost(*cost::loadCluster(name).cluster);
    const Prediction beside = predicted(true, {}, cost),
                     behind = predicted(false, {}, cost);
    EXPECT_EQ(behind.roles[0].usage.contention, 0);
    EXPECT_EQ(beside.roles[0].usage.sentBytes, behind.roles[0].usage.sentBytes);
    EXPECT_LE(beside.step, behind.step);
  }
}

TEST_P(RandomPlans, AreTheSameInEveryRunAndRecordedOrNot) {
  const Prediction first = predicted(true), second = predicted(true),
                   recorded = predicted(true, {{}, true});
  EXPECT_EQ(first.step, second.step);
  EXPECT_EQ(first.step, recorded.step);
  EXPECT_EQ(first.roles[0].usage, second.roles[0].usage);
  EXPECT_EQ(first.roles[0].usage, recorded.roles[0].usage);
}

TEST_P(RandomPlans, DataParallelismChangesCollectivesOnly) {
  const Prediction small = predicted(false),
                   large = predicted(false, {{{"data", 512}}, false});
  const Usage &a = small.roles[0].usage, &b = large.roles[0].usage;
  EXPECT_EQ(a.kernels, b.kernels);
  EXPECT_EQ(a.host, b.host);
  EXPECT_EQ(a.executedFlops, b.executedFlops);
  // "model" is the axis of the nearest devices, wherever "data" ends.
  EXPECT_EQ(a.communication[1], b.communication[1]);
  EXPECT_LE(a.communication[0].total, b.communication[0].total);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPlans, testing::Range(0u, 40u));

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void addLayer(PlanBuilder &builder, plan::EntryT &step, uint32_t id) {
  builder.start(step, CollectiveKind::AllGather, 0, 64 << 20);
  step.instructions.back()->operation.AsCollectiveStart()->id = id;
  builder.gemm(step, 2048);
  builder.kernel(step, 1 << 20);
  builder.wait(step, id);
}

TEST(Prediction, ALoopTakesAsLongAsItsIterations) {
  PlanBuilder looped({{"data", 8}}), unrolled({{"data", 8}});
  // What is in flight before the loop ends in some iteration of it.
  plan::EntryT &loop = looped.entry("step"), &flat = unrolled.entry("step");
  for (auto *each : {&looped, &unrolled}) {
    plan::EntryT &step = *each->table.entries.back();
    each->start(step, CollectiveKind::AllReduce, 0, int64_t(1) << 30);
  }
  looped.repeat(loop, 100, 4);
  addLayer(looped, loop, 1);
  for (uint32_t i = 0; i < 100; ++i)
    addLayer(unrolled, flat, 1 + i);
  looped.wait(loop, 0);
  unrolled.wait(flat, 0);
  EXPECT_EQ(predictStep(looped).step, predictStep(unrolled).step);
  EXPECT_EQ(predictStep(looped).roles[0].usage,
            predictStep(unrolled).roles[0].usage);
}

TEST(Prediction, AMillionIterationsCostNoMoreThanTen) {
  PlanBuilder builder({{"data", 8}});
  plan::EntryT &step = builder.entry("step");
  builder.repeat(step, 1'000'000, 4);
  addLayer(builder, step, 0);
  const std::clock_t begin = std::clock();
  const Prediction million = predictStep(builder);
  EXPECT_LT(std::clock() - begin, CLOCKS_PER_SEC);
  step.instructions[0]->operation.AsRepeat()->count = 10;
  const Prediction ten = predictStep(builder);
  const Picoseconds launch = toPicoseconds(h100().launch());
  EXPECT_EQ(million.step - launch, (ten.step - launch) * 100'000);
}

TEST(Prediction, ACollectiveMayStartInTheLastIteration) {
  PlanBuilder builder({{"data", 8}});
  plan::EntryT &step = builder.entry("step");
  builder.repeat(step, 5, 2);
  const uint32_t anchor = builder.gemm(step, 1024);
  builder.gemm(step, 8192);
  const uint32_t id =
      builder.start(step, CollectiveKind::AllReduce, 0, 64 << 20);
  builder.wait(step, id);
  const Prediction late = predictStep(builder);
  for (auto &each : step.instructions)
    if (auto *start = each->operation.AsCollectiveStart())
      start->behind = anchor;
  const Prediction early = predictStep(builder);
  EXPECT_GT(late.roles[0].usage.communication[0].exposed, 0);
  EXPECT_EQ(early.roles[0].usage.communication[0].exposed, 0);
  EXPECT_EQ(early.roles[0].usage.communication[0].total,
            late.roles[0].usage.communication[0].total);
}

TEST(Prediction, StepsOfElevenDaysAreRefused) {
  PlanBuilder builder({{"data", 8}});
  plan::EntryT &step = builder.entry("step");
  for (int nested = 3; nested > 0; --nested)
    builder.repeat(step, 4'000'000'000, nested);
  builder.gemm(step, 1024);
  EXPECT_THAT(predictStep(builder).problems,
              ElementsAre("a step takes more than 1000000 s"));
}

//===----------------------------------------------------------------------===//
// What is counted
//===----------------------------------------------------------------------===//

TEST(Prediction, RecomputationIsNoWorkOfTheModel) {
  PlanBuilder builder({{"data", 8}});
  plan::EntryT &step = builder.entry("step");
  builder.gemm(step, 4096);
  builder.gemm(step, 4096);
  step.instructions.back()->recomputes = true;
  const Prediction prediction = predictStep(builder);
  EXPECT_DOUBLE_EQ(prediction.hardwareUtilization(),
                   2 * prediction.modelUtilization());
  const double peak =
      cost::peakFlopsPerSecond(h100().cluster().device, cost::Precision::BF16);
  EXPECT_NEAR(prediction.hardwareUtilization(),
              4 * 4096.0 * 4096 * 4096 / peak / toSeconds(prediction.step),
              1e-6);
}

TEST(Prediction, BytesAreThoseOfTheLevelsThatCarryThem) {
  PlanBuilder builder({{"data", 16}});
  plan::EntryT &step = builder.entry("step");
  const uint32_t id = builder.start(step, CollectiveKind::AllGather, 0, 16000);
  builder.wait(step, id);
  // 15 parts of 1000 from each rank; one rank of 8 passes on to another node.
  EXPECT_THAT(predictStep(builder).roles[0].usage.sentBytes,
              ElementsAre(15000 - 15000 / 8, 15000 / 8, 0, 0));
}

TEST(Prediction, RanksOfARoleMayLieDifferently) {
  // Nodes have eight devices: the second of two groups of six is on two of
  // them, and so are all but two groups of devices that are six apart.
  PlanBuilder builder({{"data", 2}, {"model", 6}});
  plan::EntryT &step = builder.entry("step");
  builder.wait(step,
               builder.start(step, CollectiveKind::AllReduce, 1, 1 << 20));
  const plan::Plan &plan = builder.build();
  const plan::Entry &entry = builder.built("step");
  const std::vector<RankRow> rows = predictRanks(plan, entry, h100(), 8);
  std::vector<int64_t> first, ranks, nodes;
  for (const RankRow &row : rows) {
    first.push_back(row.rank);
    ranks.push_back(row.ranks);
    nodes.push_back(row.placements[1].nodes);
  }
  ASSERT_THAT(first, ElementsAre(0, 2, 6, 8));
  EXPECT_THAT(ranks, ElementsAre(2, 4, 2, 4));
  EXPECT_THAT(nodes, ElementsAre(1, 1, 2, 2));
  EXPECT_EQ(rows[0].step, rows[1].step);
  EXPECT_LT(rows[1].step, rows[2].step);
  EXPECT_EQ(rows[2].step, rows[3].step);
  EXPECT_EQ(rows[3].step,
            predict(plan, entry, h100(), {.looksAtDevices = true}).step);
  EXPECT_EQ(predictRanks(plan, entry, h100(), 1).size(), 1u);
}

TEST(Prediction, CommunicationIsByAxesInWhateverOrder) {
  PlanBuilder builder({{"data", 8}, {"model", 4}});
  builder.table.groups[0]->axes = {plan::AxisRef(0, 1, 8),
                                   plan::AxisRef(1, 1, 4)};
  builder.table.groups[1]->axes = {plan::AxisRef(1, 1, 4),
                                   plan::AxisRef(0, 2, 4)};
  plan::EntryT &step = builder.entry("step");
  for (uint32_t group : {0, 1})
    builder.wait(
        step, builder.start(step, CollectiveKind::AllReduce, group, 1 << 20));
  EXPECT_THAT(predictStep(builder).axes, ElementsAre("data, model"));
}

TEST(Prediction, RecordsAsManyEventsAsAreWorthLookingAt) {
  PlanBuilder builder({{"data", 8}});
  plan::EntryT &step = builder.entry("step");
  builder.repeat(step, 2'000'000, 1);
  builder.gemm(step, 64);
  const Prediction all = predictStep(builder, {{}, true});
  EXPECT_FALSE(all.hasAllEvents(0));
  EXPECT_THAT(all.events(0), testing::SizeIs(1'000'000));
  EXPECT_EQ(all.step, predictStep(builder).step);
  step.instructions[0]->operation.AsRepeat()->count = 10;
  EXPECT_TRUE(predictStep(builder, {{}, true}).hasAllEvents(0));
}

TEST(Prediction, ACpuLaunchesEachKernelAndAGpuEachCall) {
  PlanBuilder builder({});
  plan::EntryT &step = builder.entry("step");
  builder.gemm(step, 512);
  builder.gemm(step, 512);
  const cost::CostModel cpu(*cost::loadCluster("cpu-2core").cluster);
  EXPECT_EQ(predictStep(builder, {}, cpu).roles[0].usage.host,
            2 * toPicoseconds(cpu.launch()));
  EXPECT_EQ(predictStep(builder).roles[0].usage.host,
            toPicoseconds(h100().launch()));
}

TEST(Prediction, SoftwareThatIssuesSlowlyMakesTheDeviceWait) {
  PlanBuilder builder({});
  plan::EntryT &step = builder.entry("step");
  for (int i = 0; i < 3; ++i)
    builder.gemm(step, 512);
  cost::Cluster cluster = h100().cluster();
  cluster.software.issueSeconds = 0.25;
  const Prediction slow =
      predictStep(builder, {}, cost::CostModel(std::move(cluster)));
  const Picoseconds kernel = predictStep(builder).roles[0].usage.kernels[0] / 3;
  EXPECT_EQ(slow.step,
            toPicoseconds(h100().launch()) + 3 * oneSecond / 4 + kernel);
  EXPECT_EQ(slow.roles[0].sum(), slow.step);
}

//===----------------------------------------------------------------------===//
// Problems
//===----------------------------------------------------------------------===//

TEST(Prediction, SizesOfAxesAreChecked) {
  PlanBuilder builder({{"data", 8}, {"pipe", 2}});
  builder.entry("step");
  const auto problemOf = [&](const std::string &axis, int64_t size) {
    const std::vector<std::string> problems =
        predictStep(builder, {{{axis, size}}, false}).problems;
    return problems.size() == 1 ? problems[0] : "";
  };
  EXPECT_EQ(problemOf("data", 16), "");
  EXPECT_EQ(problemOf("model", 2),
            "the mesh has no axis \"model\"; its axes are \"data\", \"pipe\"");
  EXPECT_EQ(problemOf("data", 1 << 20),
            "the mesh has 2097152 devices, DGX H100 has 16384: it needs a "
            "larger cluster");
  builder.table.groups[0]->axes[0] = plan::AxisRef(0, 1, 4);
  EXPECT_EQ(problemOf("data", 16),
            "the plan splits axis \"data\" into parts of fixed sizes");
  builder.table.pipeline = std::make_unique<plan::PipelineT>();
  builder.table.pipeline->axis = 1;
  EXPECT_EQ(problemOf("pipe", 4), "axis \"pipe\" is that of the pipeline, "
                                  "whose stages are fixed in the plan");
}

//===----------------------------------------------------------------------===//
// Pipelines
//===----------------------------------------------------------------------===//

/// A pipeline of 1F1B along the first axis.
void makePipeline(PlanBuilder &builder, timeline::ScheduleSize size,
                  int layers) {
  const timeline::Table table = timeline::generate("1f1b", size).table;
  const timeline::Extent extent = timeline::extentOf(table);
  const timeline::TransferredTable rows = timeline::addTransfers(
      table, extent.placement, timeline::neighbourEdges(extent.stages),
      timeline::Receives::OneAhead);
  for (const auto &[key, segment] :
       builder.pipeline(rows.table, size.microbatches, 16 << 20))
    for (int layer = 0; layer < layers; ++layer) {
      for (int i = 0; i < 6; ++i)
        builder.gemm(*segment, 4096);
      const uint32_t id =
          builder.start(*segment, CollectiveKind::AllReduce, 2, 32 << 20);
      builder.kernel(*segment, 1 << 22);
      builder.wait(*segment, id);
    }
}

TEST(Prediction, APipelineAddsUp) {
  PlanBuilder builder({{"pipe", 4}, {"data", 2}, {"model", 8}});
  makePipeline(builder, {4, 8}, 2);
  const Prediction step = predictStep(builder, {{}, true});
  ASSERT_THAT(step.problems, IsEmpty());
  ASSERT_EQ(step.roles.size(), 4u);
  EXPECT_EQ(step.axes[*step.pipelineAxes], "pipe");
  for (const RolePrediction &role : step.roles)
    EXPECT_EQ(role.sum(), step.step);
  // The same work everywhere, and the bubble of 1F1B.
  const Usage &first = step.roles[0].usage;
  const Picoseconds launch = toPicoseconds(h100().launch()),
                    work = first.busy() + first.communication[2].exposed;
  const Picoseconds idle = step.step - launch - work;
  EXPECT_GE(idle, work * 3 / 8);
  EXPECT_LE(idle, work * 3 / 8 + 20 * toPicoseconds(1e-3));
  EXPECT_EQ(step.transfers.size(), 2u * 3 * 8);
  EXPECT_EQ(first.sentBytes[2] + first.sentBytes[1], 8 * (16 << 20));
}

TEST(Prediction, AThousandDevicesTakeLessThanASecond) {
  PlanBuilder builder({{"pipe", 16}, {"data", 8}, {"model", 8}});
  makePipeline(builder, {16, 256}, 6);
  const plan::Plan &plan = builder.build();
  const std::clock_t begin = std::clock();
  const Prediction step = predict(
      plan, *plan.entries()->Get(plan.entries()->size() - 1), h100(), {});
  EXPECT_LT(std::clock() - begin, CLOCKS_PER_SEC);
  EXPECT_EQ(step.devices(), 1024);
  EXPECT_THAT(step.problems, IsEmpty());
}

TEST(Prediction, PipelinesOfElevenDaysAreRefused) {
  PlanBuilder builder({{"pipe", 2}});
  for (const auto &[key, segment] : builder.pipeline(
           timeline::parseCsv("0F0,0B0\n1F0,1B0\n", "").table, 1, 1000)) {
    builder.repeat(*segment, 4'000'000'000, 2);
    builder.repeat(*segment, 4'000'000'000, 1);
    builder.gemm(*segment, 1024);
  }
  EXPECT_THAT(predictStep(builder).problems,
              ElementsAre("a step takes more than 1000000 s"));
}

TEST(Prediction, ADeadlockIsAProblem) {
  const timeline::ParsedTable table = timeline::parseCsv(
      "0RECV_B0,0B0,0F0,0SEND_F0\n1RECV_F0,1F0,1B0,1SEND_B0\n", "");
  PlanBuilder builder({{"pipe", 2}});
  builder.pipeline(table.table, 1, 1000);
  EXPECT_THAT(predictStep(builder).problems,
              ElementsAre("the roles of the pipeline deadlock"));
}

/// Two stages a rank, whose gradients are reduced where their last micro-batch
/// is done, or in front of the update.
Prediction predictReductions(bool isEarly, bool isDeferred) {
  const timeline::Table table =
      timeline::generate("interleaved-1f1b", {2, 4, 2}).table;
  timeline::StepShape shape;
  shape.placement = timeline::extentOf(table).placement;
  shape.microbatches = 4;
  shape.edges = timeline::neighbourEdges(4);
  shape.updateLevels = {1, 1};
  shape.reducedStages = {2, 3};
  timeline::Table rows = timeline::makeStepRows(table, shape).table;
  for (timeline::Row &row : rows.rows) {
    const auto reduction = std::ranges::find(
        row, timeline::ActionKind::ReduceGradient, &timeline::Action::kind);
    const auto update = std::ranges::find(row, timeline::ActionKind::Update,
                                          &timeline::Action::kind);
    if (!isEarly)
      std::rotate(reduction, reduction + 1, update);
  }
  PlanBuilder builder({{"pipe", 2}, {"data", 8}});
  for (const auto &[key, segment] : builder.pipeline(rows, 4, 1 << 20)) {
    if (key.second == timeline::ActionKind::ReduceGradient) {
      builder.wait(*segment, builder.start(*segment, CollectiveKind::AllReduce,
                                           1, 1 << 28));
      if (isDeferred)
        segment->deferred_from = 1;
    } else {
      builder.gemm(*segment, 4096);
    }
  }
  return predictStep(builder, {{}, true});
}

TEST(Reductions, AreHiddenBesideOtherStages) {
  const Prediction early = predictReductions(true, true),
                   blocking = predictReductions(true, false),
                   late = predictReductions(false, true);
  for (const Prediction *step : {&early, &blocking, &late}) {
    ASSERT_THAT(step->problems, IsEmpty());
    for (const RolePrediction &role : step->roles)
      EXPECT_EQ(role.sum(), step->step);
  }
  EXPECT_LT(early.step, late.step);
  EXPECT_LT(early.step, blocking.step);
  const auto hidden = [](const Prediction &step) {
    Picoseconds sum = 0;
    for (const RolePrediction &role : step.roles)
      for (size_t axes = 0; axes < role.usage.communication.size(); ++axes)
        if (axes != *step.pipelineAxes)
          sum += role.usage.communication[axes].hidden();
    return sum;
  };
  EXPECT_GT(hidden(early), 0);
  EXPECT_EQ(hidden(late), 0);
  EXPECT_EQ(hidden(blocking), 0);
}

// Of a run beside a reduction there is a recording of its own.
TEST(Reductions, AreRecordedWhereTheyRun) {
  const Prediction step = predictReductions(true, true);
  for (size_t role = 0; role < 2; ++role) {
    Picoseconds busy = 0, waited = 0, reduced = 0;
    for (const Prediction::Event &each : step.events(role)) {
      const Picoseconds time = each.event.end - each.event.begin;
      EXPECT_GE(each.event.begin, 0);
      EXPECT_LE(each.event.end, step.step);
      (each.event.isExposed     ? waited
       : each.event.stream == 0 ? busy
                                : reduced) += time;
    }
    const Usage &usage = step.roles[role].usage;
    EXPECT_EQ(busy, usage.busy());
    Picoseconds total = 0, exposed = 0;
    for (size_t axes = 0; axes < usage.communication.size(); ++axes)
      if (axes != *step.pipelineAxes) {
        total += usage.communication[axes].total;
        exposed += usage.communication[axes].exposed;
      }
    EXPECT_EQ(reduced, total);
    EXPECT_EQ(waited, exposed);
  }
}

} // namespace
