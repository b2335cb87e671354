//===- KernelFusionTest.cpp - Which ops share a kernel --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/KernelFusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

using namespace weft;
using ::testing::ElementsAre;

namespace {

using Shape = llvm::SmallVector<int64_t>;

/// Builds a program op by op; each function returns the number of the op.
class Program {
public:
  unsigned add(FusionKind kind, std::vector<unsigned> operands, Shape shape) {
    FusionOp op;
    op.kind = kind;
    op.operands = std::move(operands);
    op.bytes = 4 * std::accumulate(shape.begin(), shape.end(), int64_t(1),
                                   std::multiplies<>());
    op.shape = std::move(shape);
    ops.push_back(op);
    return ops.size() - 1;
  }
  unsigned elementwise(std::vector<unsigned> operands, Shape shape) {
    return add(FusionKind::Elementwise, std::move(operands), std::move(shape));
  }
  unsigned barrier(std::vector<unsigned> operands, Shape shape) {
    return add(FusionKind::Barrier, std::move(operands), std::move(shape));
  }
  unsigned collective(std::vector<unsigned> operands, Shape shape) {
    unsigned op = barrier(std::move(operands), std::move(shape));
    ops[op].isCollective = true;
    return op;
  }
  unsigned reduce(unsigned operand, Shape from, Shape dims, Shape shape) {
    unsigned op = add(FusionKind::Reduction, {operand}, std::move(shape));
    ops[op].operandShape = std::move(from);
    ops[op].reducedDims = std::move(dims);
    return op;
  }
  std::vector<int> groups() const { return groupIntoKernels(ops); }

  std::vector<FusionOp> ops;
};

TEST(KernelFusion, ChainIsOneKernel) {
  Program p;
  unsigned a = p.elementwise({}, {4, 8});
  unsigned b = p.elementwise({a}, {4, 8});
  p.elementwise({a, b}, {4, 8});
  EXPECT_THAT(p.groups(), ElementsAre(0, 0, 0));
}

TEST(KernelFusion, LongChainIsCutIntoKernelsOfAFewHundredOps) {
  Program p;
  unsigned last = p.elementwise({}, {4, 8});
  for (int i = 1; i < 1500; ++i)
    last = p.elementwise({last}, {4, 8});
  std::vector<int> groups = p.groups();
  std::vector<int> sizes(groups.back() + 1);
  for (int group : groups)
    ++sizes[group];
  EXPECT_THAT(sizes, ::testing::SizeIs(::testing::Lt(10u)));
  EXPECT_THAT(sizes, ::testing::Each(::testing::Le(256)));
  EXPECT_TRUE(std::is_sorted(groups.begin(), groups.end()));
}

TEST(KernelFusion, NothingCrossesABarrier) {
  Program p;
  unsigned a = p.elementwise({}, {4, 8});
  unsigned gemm = p.barrier({a}, {4, 8});
  p.elementwise({a, gemm}, {4, 8});
  EXPECT_THAT(p.groups(), ElementsAre(0, -1, 1));
}

TEST(KernelFusion, NoPieceWaitsForAnother) {
  Program p;
  unsigned bias = p.elementwise({}, {8});
  unsigned x = p.barrier({}, {4, 8}), y = p.barrier({}, {4, 8});
  unsigned one = p.elementwise({x, bias}, {4, 8});
  unsigned other = p.elementwise({y, bias, x}, {4, 8});
  auto group = p.groups();
  EXPECT_EQ(group[one], group[other]);
  p.ops[one].piece = 0;
  p.ops[other].piece = 1;
  group = p.groups();
  EXPECT_NE(group[one], group[other]);
}

TEST(KernelFusion, RowsOfReductionsMustAgree) {
  Program p;
  unsigned x = p.elementwise({}, {4, 8, 16});
  unsigned rows = p.reduce(x, {4, 8, 16}, {2}, {4, 8});
  unsigned other = p.reduce(x, {4, 8, 16}, {1, 2}, {4});
  auto group = p.groups();
  EXPECT_EQ(group[x], group[rows]);
  EXPECT_NE(group[rows], group[other]);
}

TEST(KernelFusion, SumOverRowsEndsAKernel) {
  Program p;
  unsigned x = p.elementwise({}, {4, 8});
  unsigned sum = p.reduce(x, {4, 8}, {0}, {8});
  unsigned momentum = p.elementwise({sum}, {8});
  unsigned update = p.elementwise({sum, momentum}, {8});
  auto group = p.groups();
  EXPECT_EQ(group[x], group[sum]);
  EXPECT_NE(group[sum], group[momentum]);
  EXPECT_NE(group[sum], group[update]);
}

TEST(KernelFusion, SumOverRowsIsFinishedWhereItIsStored) {
  Program p;
  unsigned other = p.barrier({}, {8});
  unsigned x = p.barrier({}, {4, 8});
  unsigned y = p.elementwise({x}, {4, 8});
  p.collective({y}, {4, 8});
  unsigned sum = p.reduce(y, {4, 8}, {0}, {8});
  unsigned rounded = p.elementwise({sum}, {8});
  unsigned total = p.elementwise({other, rounded}, {8});
  auto group = p.groups();
  EXPECT_EQ(group[sum], group[rounded]);
  EXPECT_EQ(group[sum], group[total]);
}

/// Each would have to be complete where the other one is stored.
TEST(KernelFusion, SumsOverRowsAreNotAddedUp) {
  Program p;
  unsigned x = p.elementwise({}, {4, 8});
  unsigned sum = p.reduce(x, {4, 8}, {0}, {8});
  unsigned most = p.reduce(x, {4, 8}, {0}, {8});
  unsigned both = p.elementwise({sum, most}, {8});
  auto group = p.groups();
  EXPECT_EQ(group[sum], group[most]);
  EXPECT_NE(group[sum], group[both]);
}

TEST(KernelFusion, LossOverRowsJoinsTheSoftmax) {
  Program p;
  unsigned x = p.barrier({}, {4, 8});
  unsigned e = p.elementwise({x}, {4, 8});
  unsigned s = p.reduce(e, {4, 8}, {1}, {4});
  unsigned l = p.elementwise({s}, {4});
  unsigned loss = p.reduce(l, {4}, {0}, {});
  unsigned b = p.add(FusionKind::RowBroadcast, {s}, {4, 8});
  unsigned y = p.elementwise({e, b}, {4, 8});
  auto group = p.groups();
  for (unsigned op : {s, l, loss, b, y})
    EXPECT_EQ(group[e], group[op]) << op;
}

/// An index is cheap to compute again; the table is not.
TEST(KernelFusion, SumOfALongRowEndsAKernel) {
  for (int64_t size : {1024, 1024 * 1024}) {
    Program p;
    unsigned x = p.elementwise({}, {size});
    unsigned sum = p.reduce(x, {size}, {0}, {});
    unsigned y = p.add(FusionKind::RowBroadcast, {sum}, {size});
    p.elementwise({x, y}, {size});
    if (size == 1024)
      EXPECT_THAT(p.groups(), ElementsAre(0, 0, 0, 0));
    else
      EXPECT_THAT(p.groups(), ElementsAre(0, 0, 1, 1));
  }
}

TEST(KernelFusion, NumberOfManyUsesTiesNothingTogether) {
  for (unsigned uses : {2, 20}) {
    Program p;
    unsigned rate = p.reduce(p.barrier({}, {16}), {16}, {0}, {});
    for (unsigned i = 0; i < uses; ++i) {
      unsigned gradient = p.barrier({}, {64});
      unsigned all = p.add(FusionKind::RowBroadcast, {rate}, {64});
      p.elementwise({gradient, all}, {64});
    }
    std::vector<int> groups = p.groups();
    int kernels = *std::max_element(groups.begin(), groups.end()) + 1;
    EXPECT_EQ(kernels, uses == 2 ? 1 : 21);
  }
}

TEST(KernelFusion, GatherComputesIndicesButNotSharedTables) {
  Program p;
  unsigned index = p.elementwise({}, {4});
  unsigned at = p.elementwise({index}, {4});
  unsigned x = p.elementwise({}, {9, 8});
  unsigned table = p.elementwise({x}, {9, 8});
  unsigned rows = p.add(FusionKind::Gather, {table, at}, {4, 8});
  p.ops[rows].indices = at;
  unsigned mask = p.add(FusionKind::RowBroadcast, {at}, {4, 8});
  unsigned masked = p.elementwise({rows, mask}, {4, 8});
  unsigned other = p.elementwise({table}, {9, 8});
  auto group = p.groups();
  for (unsigned op : {at, mask, masked})
    EXPECT_EQ(group[rows], group[op]) << op;
  EXPECT_NE(group[rows], group[table]);
  EXPECT_EQ(group[table], group[other]);
}

TEST(KernelFusion, ScatterEndsAKernel) {
  Program p;
  unsigned x = p.elementwise({}, {4, 8});
  unsigned updates = p.elementwise({x}, {4, 8});
  unsigned sums = p.add(FusionKind::ScatterAdd, {updates}, {9, 8});
  unsigned update = p.elementwise({sums}, {9, 8});
  auto group = p.groups();
  EXPECT_EQ(group[updates], group[sums]);
  EXPECT_NE(group[sums], group[update]);
}

/// a -> b -> c with b in a kernel of its own: joining a and c would make each
/// wait for the other.
TEST(KernelFusion, NoDetour) {
  Program p;
  unsigned a = p.elementwise({}, {4, 8});
  unsigned b = p.reduce(a, {4, 8}, {0}, {8});
  unsigned back = p.add(FusionKind::Movement, {b}, {4, 8});
  unsigned c = p.elementwise({a, back}, {4, 8});
  auto group = p.groups();
  EXPECT_EQ(group[a], group[b]);
  EXPECT_EQ(group[back], group[c]);
  EXPECT_NE(group[a], group[c]);
}

TEST(KernelFusion, LateUseOfAnArgumentIsDelayed) {
  Program p;
  unsigned early = p.elementwise({}, {8, 8});
  unsigned gemm = p.barrier({}, {8, 8});
  unsigned use = p.elementwise({early, gemm}, {8, 8});
  auto group = p.groups();
  EXPECT_EQ(group[early], group[use]);
}

/// Delaying the reduction would keep its large operand alive.
TEST(KernelFusion, ReductionIsNotDelayed) {
  Program p;
  unsigned x = p.barrier({}, {64, 8});
  unsigned sum = p.reduce(x, {64, 8}, {0}, {8});
  unsigned gemm = p.barrier({x}, {8});
  unsigned use = p.elementwise({sum, gemm}, {8});
  auto levels = computeFusionLevels(p.ops);
  EXPECT_LT(levels[sum], levels[use]);
}

/// A norm's backward pass: what is computed again comes after the cotangent,
/// not a kernel after the sum of it.
TEST(KernelFusion, OrderNeedsNoLevel) {
  Program p;
  unsigned g = p.barrier({}, {64, 8});
  unsigned sum = p.reduce(g, {64, 8}, {0}, {8});
  unsigned x = p.add(FusionKind::Order, {g}, {64, 8});
  unsigned y = p.elementwise({x, g}, {64, 8});
  p.barrier({y}, {64, 8});
  auto group = p.groups();
  EXPECT_EQ(group[sum], group[y]);
  EXPECT_EQ(group[x], -1);
}

TEST(KernelFusion, NoGroupSpansAnOrder) {
  Program p;
  unsigned g = p.elementwise({}, {64, 8});
  unsigned x = p.add(FusionKind::Order, {g}, {64, 8});
  unsigned y = p.elementwise({x, g}, {64, 8});
  EXPECT_NE(p.groups()[g], p.groups()[y]);
}

/// %wide is stored for nobody: both others can widen %narrow.
TEST(KernelFusion, WidenedValuesAreNotStored) {
  Program p;
  unsigned narrow = p.barrier({}, {4, 8});
  unsigned wide = p.elementwise({narrow}, {4, 8});
  p.ops[wide].isCheap = true;
  unsigned squares = p.reduce(wide, {4, 8}, {0, 1}, {});
  unsigned gemm = p.barrier({squares}, {4, 8});
  unsigned use = p.elementwise({wide, gemm}, {4, 8});
  std::vector<int> group = p.groups();
  ASSERT_EQ(group[wide], group[squares]);
  std::vector<KernelCopy> copies = findCheapCopies(p.ops, group);
  ASSERT_THAT(copies, ::testing::SizeIs(1));
  EXPECT_EQ(copies[0].op, wide);
  EXPECT_EQ(copies[0].group, group[use]);
}

/// A product reads %wide from memory, so there it is for everybody.
TEST(KernelFusion, WidenedValuesOfProductsAreStored) {
  Program p;
  unsigned narrow = p.barrier({}, {4, 8});
  unsigned wide = p.elementwise({narrow}, {4, 8});
  p.ops[wide].isCheap = true;
  unsigned gemm = p.barrier({wide}, {4, 8});
  p.elementwise({wide, gemm}, {4, 8});
  EXPECT_THAT(findCheapCopies(p.ops, p.groups()), ::testing::IsEmpty());
}

TEST(KernelFusion, WidenedValuesAreNotMovedBesideReductions) {
  for (bool reduces : {false, true}) {
    Program p;
    unsigned narrow = p.barrier({}, {8, 8});
    unsigned wide = p.elementwise({narrow}, {8, 8});
    p.ops[wide].isCheap = true;
    unsigned squares = p.reduce(wide, {8, 8}, {0, 1}, {});
    unsigned gemm = p.barrier({squares}, {8, 8});
    unsigned moved = p.add(FusionKind::Movement, {wide}, {8, 8});
    unsigned use = p.elementwise({moved, gemm}, {8, 8});
    if (reduces)
      p.reduce(use, {8, 8}, {1}, {8});
    EXPECT_EQ(findCheapCopies(p.ops, p.groups()).empty(), reduces);
  }
}

TEST(KernelFusion, CollectiveIsNotHeldUp) {
  Program p;
  unsigned x = p.elementwise({}, {4, 8});
  p.collective({x}, {4, 8});
  unsigned other = p.elementwise({x}, {4, 8});
  auto group = p.groups();
  EXPECT_NE(group[x], group[other]);
}

TEST(KernelFusion, ReadersOfOneValueShareIt) {
  Program p;
  unsigned x = p.barrier({}, {4, 8});
  unsigned y = p.elementwise({x}, {4, 8});
  unsigned sum = p.reduce(x, {4, 8}, {0}, {8});
  auto group = p.groups();
  EXPECT_EQ(group[y], group[sum]);
}

TEST(KernelFusion, ReshapesAtTheBorderAreFree) {
  Program p;
  unsigned a = p.elementwise({}, {2, 3, 8});
  unsigned inner = p.add(FusionKind::Reshape, {a}, {6, 8});
  p.ops[inner].operandShape = {2, 3, 8};
  unsigned b = p.elementwise({inner}, {6, 8});
  unsigned outer = p.add(FusionKind::Reshape, {b}, {48});
  p.ops[outer].operandShape = {6, 8};
  EXPECT_THAT(p.groups(), ElementsAre(0, 0, 0, -1));
}

/// Groups and barriers, taken as single steps, must have an order.
TEST(KernelFusion, RandomProgramsStayAcyclic) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    Program p;
    for (unsigned op = 0; op < 60; ++op) {
      std::vector<unsigned> operands;
      for (int i = 0; i < 2 && op > 0; ++i)
        operands.push_back(op - 1 - random() % std::min(op, 12u));
      switch (random() % 8) {
      case 0:
        p.barrier(operands, {4, 8});
        break;
      case 6:
        p.add(FusionKind::Order, operands, {4, 8});
        break;
      case 7:
        p.ops[p.elementwise(operands, {4, 8})].isCheap = true;
        break;
      case 1:
        p.reduce(operands.empty() ? p.elementwise({}, {4, 8}) : operands[0],
                 {4, 8}, {int64_t(random() % 2)}, {4});
        break;
      case 2:
        p.add(FusionKind::Transpose, operands, {4, 8});
        break;
      default:
        p.elementwise(operands, {4, 8});
      }
    }
    auto group = p.groups();
    // Steps: groups, then every op of none.
    std::vector<unsigned> step(p.ops.size());
    unsigned steps = *std::max_element(group.begin(), group.end()) + 1;
    for (unsigned op = 0; op < p.ops.size(); ++op)
      step[op] = group[op] == -1 ? steps++ : group[op];
    std::vector<std::vector<unsigned>> before(steps);
    for (unsigned op = 0; op < p.ops.size(); ++op)
      for (unsigned operand : p.ops[op].operands)
        if (step[operand] != step[op])
          before[step[op]].push_back(step[operand]);
    for (KernelCopy copy : findCheapCopies(p.ops, group)) {
      ASSERT_NE(step[copy.op], unsigned(copy.group));
      for (unsigned operand : p.ops[copy.op].operands)
        before[copy.group].push_back(step[operand]);
    }
    std::vector<int> state(steps);
    std::function<bool(unsigned)> isAcyclic = [&](unsigned at) {
      if (state[at] != 0)
        return state[at] == 2;
      state[at] = 1;
      for (unsigned other : before[at])
        if (!isAcyclic(other))
          return false;
      state[at] = 2;
      return true;
    };
    for (unsigned at = 0; at < steps; ++at)
      ASSERT_TRUE(isAcyclic(at)) << "seed " << seed;
  }
}

} // namespace
