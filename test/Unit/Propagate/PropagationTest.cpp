//===- PropagationTest.cpp - Shardings spread over a graph ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Propagate/Propagation.h"

#include "gmock/gmock.h"

#include <random>

using namespace weft::propagation;
using namespace weft::sharding;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

namespace {

const Mesh mesh({{"a", 2}, {"b", 2}, {"c", 4}, {"d", 3}});
const AxisRef a{0, 1, 2}, b{1, 1, 2}, c{2, 1, 4}, d{3, 1, 3};

Sharding open(std::initializer_list<AxisList> dims) {
  Sharding sharding = Sharding::open(dims.size());
  for (auto [dim, axes] : llvm::zip(sharding.dims, dims))
    dim.axes = axes;
  return sharding;
}

Sharding closed(std::initializer_list<AxisList> dims) {
  Sharding sharding = open(dims);
  for (DimSharding &dim : sharding.dims)
    dim.closed = true;
  return sharding;
}

/// A graph with words for the usual nodes. Nodes count as having single uses.
struct Program : Graph {
  ValueId input(Shape shape, std::optional<Sharding> sharding = std::nullopt) {
    return addValue(shape, sharding);
  }

  ValueId elementwise(std::initializer_list<ValueId> operands) {
    Shape shape = values[*operands.begin()].shape;
    ValueId result = addValue(shape);
    llvm::SmallVector<size_t> ranks(operands.size(), shape.size());
    addNode(addRule(elementwiseRule(shape, ranks, 1)), operands, result, true);
    return result;
  }

  /// [i, k] x [k, j] -> [i, j]
  ValueId dot(ValueId lhs, ValueId rhs) {
    int64_t m = values[lhs].shape[0], k = values[lhs].shape[1],
            n = values[rhs].shape[1];
    ShardingRule rule;
    rule.addFactor(m);
    rule.addFactor(n);
    rule.addFactor(k, FactorKind::Reduction);
    rule.operands = {{{0}, {2}}, {{2}, {1}}};
    rule.results = {{{0}, {1}}};
    ValueId result = addValue({m, n});
    addNode(addRule(rule), {lhs, rhs}, result, true);
    return result;
  }

  /// [j] -> [i, j]
  ValueId broadcast(ValueId operand, int64_t rows) {
    int64_t n = values[operand].shape[0];
    ShardingRule rule;
    rule.category = OpCategory::Broadcast;
    rule.addFactor(rows);
    rule.addFactor(n);
    rule.operands = {{{1}}};
    rule.results = {{{0}, {1}}};
    ValueId result = addValue({rows, n});
    addNode(addRule(rule), operand, result, true);
    return result;
  }

  ValueId reshape(ValueId operand, Shape shape) {
    ValueId result = addValue(shape);
    addNode(addRule(reshapeRule(values[operand].shape, shape)), operand, result,
            true);
    return result;
  }

  std::string at(ValueId id) const {
    return values[id].sharding ? print(mesh, *values[id].sharding) : "none";
  }
};

PropagationOptions with(Strategy strategy) {
  PropagationOptions options;
  options.strategy = strategy;
  return options;
}

TEST(Propagation, RulesAreStoredOnce) {
  Program program;
  ValueId x = program.input({8, 8});
  for (int i = 0; i < 5; ++i)
    x = program.elementwise({x});
  EXPECT_THAT(program.rules, SizeIs(1));
  program.dot(x, x);
  EXPECT_THAT(program.rules, SizeIs(2));
}

TEST(Propagation, NothingAnnotatedStaysUntouched) {
  Program program;
  ValueId x = program.input({8, 8});
  ValueId y = program.dot(x, x);
  PropagationStatistics statistics = propagate(mesh, program);
  EXPECT_EQ(program.at(y), "none");
  EXPECT_EQ(statistics.visits, 0);
  EXPECT_EQ(statistics.updates, 0);
}

TEST(Propagation, DotTakesRowsAndColumns) {
  Program program;
  ValueId x = program.input({8, 16}, closed({{a}, {}}));
  ValueId w = program.input({16, 32}, closed({{}, {b}}));
  ValueId y = program.dot(x, w);
  propagate(mesh, program);
  EXPECT_EQ(program.at(y), R"([{"a", ?}, {"b", ?}])");
}

TEST(Propagation, ContractionSpreadsBetweenOperandsAlone) {
  Program program;
  ValueId x = program.input({8, 16}, open({{}, {a}}));
  ValueId w = program.input({16, 32});
  ValueId y = program.dot(x, w);
  propagate(mesh, program);
  EXPECT_EQ(program.at(w), R"([{"a", ?}, {?}])");
  EXPECT_EQ(program.at(y), "none");
}

TEST(Propagation, ClosedDimensionsDoNotGrow) {
  Program program;
  ValueId x = program.input({8, 8}, open({{a}, {b}}));
  ValueId y = program.input({8, 8}, closed({{}, {b}}));
  ValueId z = program.elementwise({x, y});
  propagate(mesh, program);
  EXPECT_EQ(program.at(y), R"([{}, {"b"}])");
  EXPECT_EQ(program.at(z), R"([{"a", ?}, {"b", ?}])");
}

TEST(Propagation, ReplicatedAxesAreNotUsed) {
  Program program;
  ValueId x = program.input({8, 8}, open({{a}, {b}}));
  Sharding reserved = open({{}, {}});
  reserved.replicated = {a};
  ValueId y = program.input({8, 8}, reserved);
  program.elementwise({x, y});
  propagate(mesh, program);
  EXPECT_EQ(program.at(y), R"([{?}, {"b", ?}], replicated={"a"})");
}

TEST(Propagation, UnreducedAxesAreKeptAndNotUsed) {
  Program program;
  Sharding partial = open({{}, {}});
  partial.unreduced = {a};
  ValueId x = program.input({8, 8}, partial);
  ValueId y = program.input({8, 8}, open({{a}, {b}}));
  program.elementwise({x, y});
  propagate(mesh, program);
  EXPECT_EQ(program.at(x), R"([{?}, {"b", ?}], unreduced={"a"})");
  EXPECT_EQ(print(mesh, closedSharding(program.values[x])),
            R"([{}, {"b"}], unreduced={"a"})");
}

TEST(Propagation, BasicGivesAllTensorsOneOutcomeAggressiveEachItsOwn) {
  for (Strategy strategy : {Strategy::Basic, Strategy::Aggressive}) {
    Program program;
    ValueId x = program.input({8, 8}, open({{a}, {}}));
    ValueId w = program.input({8, 32}, open({{}, {a}}));
    ValueId y = program.dot(x, w);
    propagate(mesh, program, with(strategy));
    // Both want "a" in the result; the larger tensor wins if each takes its
    // own, the first factor if all are to agree.
    EXPECT_EQ(program.at(y),
              strategy == Strategy::Basic ? "none" : R"([{?}, {"a", ?}])");
  }
}

TEST(Propagation, BasicThenAggressiveDoesNoLessThanEach) {
  Program program;
  ValueId x = program.input({8, 8}, open({{a}, {}}));
  ValueId w = program.input({8, 32}, open({{}, {a}}));
  ValueId y = program.dot(x, w);
  propagate(mesh, program, with(Strategy::BasicThenAggressive));
  EXPECT_EQ(program.at(y), R"([{?}, {"a", ?}])");
}

TEST(Propagation, ElementwiseOperandsDoNotOutgrowTheResult) {
  Program program;
  ValueId x = program.input({8, 8}, open({{a, b}, {}}));
  ValueId y = program.input({8, 8});
  ValueId z = program.elementwise({x, y});
  program.values[z].sharding = closed({{a}, {}});
  propagate(mesh, program);
  EXPECT_EQ(program.at(y), R"([{"a", ?}, {?}])");
}

TEST(Propagation, ElementwiseComesBeforeDot) {
  // The result of the dot could take "a" along either dimension.
  Program program;
  ValueId x = program.input({8, 8}, open({{a}, {}}));
  ValueId w = program.input({8, 8});
  ValueId y = program.dot(x, w);
  ValueId z = program.elementwise({y});
  program.values[z].sharding = open({{}, {a}});
  propagate(mesh, program);
  EXPECT_EQ(program.at(y), R"([{?}, {"a", ?}])");
  EXPECT_EQ(program.at(w), R"([{?}, {"a", ?}])");
}

TEST(Propagation, BroadcastForwardComesLast) {
  Program program;
  ValueId bias = program.input({8}, open({{a}}));
  ValueId x = program.input({4, 8}, open({{a}, {}}));
  ValueId rows = program.broadcast(bias, 4);
  ValueId y = program.elementwise({x, rows});
  propagate(mesh, program);
  EXPECT_EQ(program.at(rows), R"([{"a", ?}, {?}])");
  EXPECT_EQ(program.at(y), R"([{"a", ?}, {?}])");
}

TEST(Propagation, UserPrioritiesAreServedInOrder) {
  for (int64_t first : {0, 1}) {
    Program program;
    Sharding rows = open({{a}, {}}), columns = open({{}, {a}});
    rows.dims[0].priority = first;
    columns.dims[1].priority = 1 - first;
    ValueId x = program.input({8, 8}, rows);
    ValueId w = program.input({8, 8}, columns);
    ValueId y = program.dot(x, w);
    propagate(mesh, program);
    EXPECT_EQ(program.at(y),
              first == 0 ? R"([{"a", ?}, {?}])" : R"([{?}, {"a", ?}])");
    EXPECT_EQ(program.at(x), R"([{"a", ?}, {?}])");
    EXPECT_EQ(program.at(w), R"([{?}, {"a", ?}])");
  }
}

TEST(Propagation, AxesOfWaitingDimensionsAreReserved) {
  Program program;
  Sharding waiting = open({{}, {a}});
  waiting.dims[1].priority = 2;
  ValueId x = program.input({8, 8}, waiting);
  ValueId y = program.input({8, 8}, open({{a}, {}}));
  program.elementwise({x, y});
  propagate(mesh, program);
  EXPECT_EQ(program.at(x), R"([{?}, {"a", ?}])");
}

TEST(Propagation, OpenDimensionsOfAPriorityOpenInTheirTurn) {
  Program program;
  Sharding waiting = open({{}, {}});
  waiting.dims[0].priority = 1;
  ValueId x = program.input({8, 8}, waiting);
  ValueId y = program.input({8, 8}, open({{a}, {}}));
  program.elementwise({x, y});
  propagate(mesh, program);
  EXPECT_EQ(program.at(x), R"([{"a", ?}, {?}])");
}

TEST(Propagation, ReshapeCutsAxes) {
  Program program;
  ValueId x = program.input({8, 4}, open({{a}, {c}}));
  ValueId y = program.reshape(x, {2, 4, 4});
  ValueId z = program.input({32}, open({{a, c}}));
  ValueId w = program.reshape(z, {4, 8});
  propagate(mesh, program);
  EXPECT_EQ(program.at(y), R"([{"a", ?}, {?}, {"c", ?}])");
  EXPECT_EQ(program.at(w), R"([{"a", "c":(1)2, ?}, {"c":(2)2, ?}])");
}

TEST(Propagation, ConservativeNeverCutsAxes) {
  Program program;
  ValueId z = program.input({32}, open({{a, c}}));
  ValueId w = program.reshape(z, {4, 8});
  PropagationOptions options;
  options.conservative = true;
  propagate(mesh, program, options);
  EXPECT_EQ(program.at(w), R"([{"a", ?}, {?}])");
}

/// A slice keeps its factor but not its size.
Program sliced(ValueId &result) {
  Program program;
  ValueId x = program.input({8}, open({{c}}));
  ShardingRule rule;
  rule.addFactor(8);
  rule.operands = {{{0}}};
  rule.results = {{{0}}};
  result = program.addValue({6});
  program.addNode(program.addRule(rule), x, result, true);
  return program;
}

TEST(Propagation, AxesSpreadOnlyWhereTheyDivide) {
  ValueId y;
  Program program = sliced(y);
  propagate(mesh, program);
  EXPECT_EQ(program.at(y), R"([{"c":(1)2, ?}])");
  program = sliced(y);
  PropagationOptions options;
  options.allowUneven = true;
  propagate(mesh, program, options);
  EXPECT_EQ(program.at(y), R"([{"c", ?}])");
}

TEST(Propagation, BlockedFactorsDoNotSpread) {
  Program program;
  ValueId x = program.input({8}, open({{a}}));
  ShardingRule rule;
  rule.addFactor(8, FactorKind::PassThrough, /*blocked=*/true);
  rule.operands = {{{0}}};
  rule.results = {{{0}}};
  ValueId y = program.addValue({8});
  program.addNode(program.addRule(rule), x, y, true);
  propagate(mesh, program);
  EXPECT_EQ(program.at(y), "none");
}

TEST(Propagation, TiesCarryShardingsBothWays) {
  Program program;
  ValueId x = program.input({8, 8}, open({{a}, {}}));
  ValueId y = program.input({8, 8}, open({{}, {b}}));
  program.addTie(x, y);
  propagate(mesh, program);
  EXPECT_EQ(program.at(x), R"([{"a", ?}, {"b", ?}])");
  EXPECT_EQ(program.at(y), program.at(x));
}

TEST(Propagation, TiesCarrySubAxesEvenIfConservative) {
  Program program;
  AxisRef part{2, 1, 2};
  ValueId x = program.input({8}, open({{part}}));
  ValueId tied = program.input({8});
  program.addTie(x, tied);
  ValueId y = program.elementwise({x});
  PropagationOptions options;
  options.conservative = true;
  propagate(mesh, program, options);
  EXPECT_EQ(program.at(tied), R"([{"c":(1)2, ?}])");
  EXPECT_EQ(program.at(y), "none");
}

TEST(Propagation, AValueThatANodeHasTwiceSettles) {
  Program program;
  ValueId x = program.input({8, 8}, open({{a}, {}}));
  ValueId y = program.dot(x, x);
  propagate(mesh, program);
  EXPECT_EQ(program.at(x), R"([{"a", ?}, {?}])");
  EXPECT_EQ(program.at(y), R"([{"a", ?}, {?}])");
}

TEST(Propagation, ClosingReplicatesWhatNothingReached) {
  Program program;
  ValueId x = program.input({8, 8});
  EXPECT_EQ(print(mesh, closedSharding(program.values[x])), "[{}, {}]");
  Sharding sharding = open({{a}, {}});
  sharding.replicated = {b};
  ValueId y = program.input({8, 8}, sharding);
  EXPECT_EQ(print(mesh, closedSharding(program.values[y])), R"([{"a"}, {}])");
}

TEST(Provenance, LeadsBackToTheAnnotation) {
  Program program;
  ValueId x = program.input({8, 16}, closed({{a}, {}}));
  ValueId w = program.input({16, 32}, closed({{}, {b}}));
  ValueId y = program.dot(x, w);
  ValueId z = program.elementwise({y});
  propagate(mesh, program);
  ASSERT_THAT(program.values[z].origins, SizeIs(2));
  const AxisOrigin &rows = program.values[z].origins[0];
  EXPECT_EQ(rows.dim, 0);
  EXPECT_EQ(rows.axis, a);
  EXPECT_EQ(rows.annotation, x);
  EXPECT_EQ(rows.from, y);
  EXPECT_EQ(rows.node, 1);
  EXPECT_EQ(rows.round, 2);
  const AxisOrigin &columns = program.values[z].origins[1];
  EXPECT_EQ(columns.annotation, w);
  const AxisOrigin &annotated = program.values[x].origins[0];
  EXPECT_EQ(annotated.annotation, x);
  EXPECT_EQ(annotated.node, -1);
}

TEST(Provenance, KnowsThePriority) {
  Program program;
  Sharding later = open({{a}});
  later.dims[0].priority = 3;
  ValueId x = program.input({8}, later);
  ValueId y = program.elementwise({x});
  propagate(mesh, program);
  EXPECT_EQ(program.values[y].origins[0].priority, 3);
  EXPECT_EQ(program.values[x].origins[0].priority, 3);
}

//===----------------------------------------------------------------------===//
// Laws on random programs
//===----------------------------------------------------------------------===//

Sharding randomSharding(std::mt19937 &random, const Shape &shape) {
  Sharding sharding = Sharding::open(shape.size());
  std::vector<AxisRef> axes = {a, b, c, d};
  std::shuffle(axes.begin(), axes.end(), random);
  for (AxisRef ref : axes) {
    DimSharding &dim = sharding.dims[random() % shape.size()];
    int64_t size = shape[&dim - sharding.dims.begin()];
    if (random() % 2 && size % (numShards(dim.axes) * ref.size) == 0)
      dim.axes.push_back(ref);
  }
  for (DimSharding &dim : sharding.dims) {
    dim.closed = random() % 3 == 0;
    if (random() % 6 == 0 && !(dim.closed && dim.axes.empty()))
      dim.priority = random() % 3;
  }
  return sharding;
}

Program randomProgram(uint32_t seed) {
  std::mt19937 random(seed);
  Program program;
  const int64_t sizes[] = {4, 6, 8, 12};
  std::vector<ValueId> matrices;
  for (int i = 0; i < 3; ++i) {
    Shape shape = {sizes[random() % 4], sizes[random() % 4]};
    matrices.push_back(program.input(shape, randomSharding(random, shape)));
  }
  for (int i = 0; i < 12; ++i) {
    ValueId x = matrices[random() % matrices.size()];
    ValueId y = matrices[random() % matrices.size()];
    const Shape &xs = program.values[x].shape, &ys = program.values[y].shape;
    int64_t elements = xs[0] * xs[1];
    if (random() % 4 == 0 && elements % 8 == 0)
      matrices.push_back(program.reshape(x, {8, elements / 8}));
    else if (xs == ys)
      matrices.push_back(program.elementwise({x, y}));
    else if (xs[1] == ys[0])
      matrices.push_back(program.dot(x, y));
    else
      matrices.push_back(program.elementwise({x}));
    program.nodes.back().singleUse = random() % 2;
  }
  return program;
}

const Strategy strategies[] = {Strategy::Basic, Strategy::Aggressive,
                               Strategy::BasicThenAggressive};

TEST(PropagationLaws, OutcomesAreLegalEvenAndOnlyGrow) {
  for (uint32_t seed = 0; seed < 500; ++seed)
    for (Strategy strategy : strategies) {
      Program program = randomProgram(seed), before = program;
      propagate(mesh, program, with(strategy));
      for (size_t id = 0; id < program.values.size(); ++id) {
        const Value &value = program.values[id];
        if (!value.sharding)
          continue;
        SCOPED_TRACE(testing::Message() << "seed " << seed << " value " << id
                                        << " " << print(mesh, *value.sharding));
        EXPECT_THAT(checkSharding(mesh, *value.sharding, value.shape.size()),
                    IsEmpty());
        EXPECT_TRUE(localShape(value.shape, *value.sharding).has_value());
        if (!before.values[id].sharding)
          continue;
        for (auto [was, is] : llvm::zip(before.values[id].sharding->dims,
                                        value.sharding->dims)) {
          EXPECT_TRUE(isPrefix(was.axes, is.axes));
          EXPECT_TRUE(!was.closed || was.axes == is.axes);
        }
      }
    }
}

TEST(PropagationLaws, RunningAgainChangesNothing) {
  for (uint32_t seed = 0; seed < 500; ++seed)
    for (Strategy strategy : {Strategy::Basic, Strategy::Aggressive}) {
      Program program = randomProgram(seed);
      propagate(mesh, program, with(strategy));
      EXPECT_EQ(propagate(mesh, program, with(strategy)).updates, 0)
          << "seed " << seed;
    }
}

TEST(PropagationLaws, TheSameGraphGivesTheSameOutcome) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    Program first = randomProgram(seed), second = randomProgram(seed);
    propagate(mesh, first);
    propagate(mesh, second);
    for (size_t id = 0; id < first.values.size(); ++id)
      EXPECT_EQ(first.values[id].sharding, second.values[id].sharding);
  }
}

TEST(PropagationLaws, EveryAxisHasAnOriginThatIsAnAnnotation) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    Program program = randomProgram(seed), before = program;
    propagate(mesh, program);
    for (const Value &value : program.values) {
      if (!value.sharding)
        continue;
      std::vector<int64_t> covered(value.shape.size(), 1);
      for (const AxisOrigin &origin : value.origins) {
        covered[origin.dim] *= origin.axis.size;
        ASSERT_GE(origin.annotation, 0) << "seed " << seed;
        const auto &annotation = before.values[origin.annotation].sharding;
        ASSERT_TRUE(annotation.has_value());
        EXPECT_TRUE(annotation->mentions(origin.axis));
      }
      for (auto [dim, size] : llvm::zip(value.sharding->dims, covered))
        EXPECT_EQ(numShards(dim.axes), size) << "seed " << seed;
    }
  }
}

/// A multi-layer perceptron: dot, bias, activation; then ties of the weights.
Program mlp(int layers) {
  Program program;
  ValueId x = program.input({64, 128}, closed({{a}, {}}));
  for (int layer = 0; layer < layers; ++layer) {
    ValueId w = program.input({128, 128}, layer % 2 ? closed({{b}, {}})
                                                    : closed({{}, {b}}));
    ValueId bias = program.input({128});
    ValueId y = program.dot(x, w);
    ValueId rows = program.broadcast(bias, 64);
    x = program.elementwise({program.elementwise({y, rows})});
  }
  return program;
}

TEST(PropagationLaws, VisitsStayBelowOneAndAHalfANode) {
  for (int layers : {10, 100, 1000}) {
    Program program = mlp(layers);
    PropagationStatistics statistics = propagate(mesh, program);
    EXPECT_GT(statistics.updates, layers);
    EXPECT_LE(statistics.visits, 1.5 * program.nodes.size()) << layers;
  }
}

} // namespace
