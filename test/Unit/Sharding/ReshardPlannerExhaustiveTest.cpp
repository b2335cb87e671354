//===- ReshardPlannerExhaustiveTest.cpp -----------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All pairs of shardings of small meshes: plans place every element where it
// belongs, and no sequence of steps of any length is better. The comparison
// knows nothing of the planner: it has its own states, edges and bytes, tries
// every edge, and sets nothing aside.
//
//===----------------------------------------------------------------------===//

#include "ReshardEnumeration.h"
#include "ReshardSimulator.h"

#include "gtest/gtest.h"

#include <chrono>
#include <map>

using namespace weft;
using namespace weft::sharding;

namespace {

struct Case {
  const char *name;
  Mesh mesh;
  std::vector<AxisRef> digits;
  std::vector<int64_t> shape;
  bool withUnreduced;
};

std::vector<Case> cases() {
  Mesh m22{{{"a", 2}, {"b", 2}}}, m23{{{"a", 2}, {"b", 3}}};
  Mesh m4{{{"a", 4}}}, m8{{{"a", 8}}};
  Mesh m222{{{"a", 2}, {"b", 2}, {"c", 2}}}, m42{{{"a", 4}, {"b", 2}}};
  std::vector<AxisRef> ab = {{0, 1, 2}, {1, 1, 2}};
  return {
      {"2x2, two dimensions", m22, ab, {4, 4}, true},
      {"2x2, three dimensions", m22, ab, {4, 4, 4}, true},
      {"2x2, tight sizes", m22, ab, {2, 4}, true},
      {"2x3", m23, {{0, 1, 2}, {1, 1, 3}}, {6, 12}, true},
      {"2x3, one dimension of 6", m23, {{0, 1, 2}, {1, 1, 3}}, {6, 4}, true},
      {"4 in halves", m4, {{0, 1, 2}, {0, 2, 2}}, {4, 8}, true},
      {"4 whole", m4, {{0, 1, 4}}, {4, 8}, true},
      {"8 in halves", m8, {{0, 1, 2}, {0, 2, 2}, {0, 4, 2}}, {8, 8}, true},
      {"2x2x2", m222, {{0, 1, 2}, {1, 1, 2}, {2, 1, 2}}, {8, 8}, true},
      {"2x2x2, tight", m222, {{0, 1, 2}, {1, 1, 2}, {2, 1, 2}}, {2, 4}, true},
      {"4x2, minor half", m42, {{0, 2, 2}, {1, 1, 2}}, {8, 8}, true},
      {"4x2 whole", m42, {{0, 1, 4}, {1, 1, 2}}, {16, 8}, true},
  };
}

//===----------------------------------------------------------------------===//
// Brute force
//===----------------------------------------------------------------------===//

/// Fewest bytes to every placement, by number of collectives, from one source.
class BruteForce {
public:
  static constexpr size_t maxCollectives = 4;

  BruteForce(const Case &c, const std::vector<Placement> &all)
      : c(c), all(all) {
    for (size_t i = 0; i < all.size(); ++i)
      index[all[i]] = i;
    edges.resize(all.size());
    for (const auto &[placement, number] : index)
      findEdges(placement, edges[number]);
  }

  /// `best[k][i]`: fewest bytes to placement i with k collectives.
  std::vector<std::vector<double>> run(const Placement &from) const {
    std::vector<std::vector<double>> best(
        maxCollectives + 1, std::vector<double>(all.size(), 1e300));
    best[0][index.at(from)] = 0;
    for (size_t k = 0; k <= maxCollectives; ++k) {
      closeUnderLocalSteps(best[k], from.unreduced);
      if (k == maxCollectives)
        break;
      for (size_t i = 0; i < all.size(); ++i)
        for (const Edge &edge : edges[i])
          if (!edge.isLocal)
            best[k + 1][edge.to] =
                std::min(best[k + 1][edge.to], best[k][i] + edge.bytes);
    }
    return best;
  }

private:
  struct Edge {
    size_t to;
    double bytes;
    bool isLocal;
    /// The digit that a local step slices, or -1.
    int sliced;
  };

  /// Slicing what was reduced is no plan, however few collectives it has.
  void closeUnderLocalSteps(std::vector<double> &best,
                            const std::vector<int> &terms) const {
    auto isTerm = [&](int digit) {
      return std::find(terms.begin(), terms.end(), digit) != terms.end();
    };
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < all.size(); ++i)
        for (const Edge &edge : edges[i])
          if (edge.isLocal && best[i] < best[edge.to] && !isTerm(edge.sliced)) {
            best[edge.to] = best[i];
            changed = true;
          }
    }
  }

  double product(const std::vector<int> &list) const {
    double result = 1;
    for (int digit : list)
      result *= c.digits[digit].size;
    return result;
  }

  double localBytes(const Placement &placement) const {
    double bytes = 4;
    for (int64_t size : c.shape)
      bytes *= size;
    for (const std::vector<int> &dim : placement.dims)
      bytes /= product(dim);
    return bytes;
  }

  void add(std::vector<Edge> &out, const Placement &to, double bytes,
           bool isLocal = false, int sliced = -1) {
    auto it = index.find(to);
    if (it != index.end())
      out.push_back({it->second, bytes, isLocal, sliced});
  }

  void findEdges(const Placement &p, std::vector<Edge> &out) {
    double local = localBytes(p);
    for (size_t digit = 0; digit < c.digits.size(); ++digit)
      if (!p.mentions(digit)) {
        for (size_t d = 0; d < p.dims.size(); ++d) {
          Placement to = p;
          to.dims[d].push_back(digit);
          add(out, to, 0, true, digit);
        }
        Placement to = p;
        to.unreduced.push_back(digit);
        std::sort(to.unreduced.begin(), to.unreduced.end());
        add(out, to, 0, true);
      }
    for (size_t s = 0; s < p.dims.size(); ++s)
      for (size_t count = 1; count <= p.dims[s].size(); ++count) {
        Placement to = p;
        std::vector<int> moved(p.dims[s].end() - count, p.dims[s].end());
        to.dims[s].resize(p.dims[s].size() - count);
        double n = product(moved);
        add(out, to, (n - 1) * local);
        for (size_t t = 0; t < p.dims.size(); ++t)
          if (t != s) {
            Placement exchanged = to;
            exchanged.dims[t].insert(exchanged.dims[t].end(), moved.begin(),
                                     moved.end());
            add(out, exchanged, (n - 1) / n * local);
          }
      }
    findReductions(p, local, out);
    for (const auto &[to, number] : index)
      if (to != p && sameSizes(p, to))
        out.push_back({number, local, false, -1});
  }

  void findReductions(const Placement &p, double local,
                      std::vector<Edge> &out) {
    size_t count = p.unreduced.size();
    for (unsigned bits = 1; bits < 1u << count; ++bits) {
      Placement to = p;
      std::vector<int> chosen;
      to.unreduced.clear();
      for (size_t i = 0; i < count; ++i)
        (bits >> i & 1 ? chosen : to.unreduced).push_back(p.unreduced[i]);
      double n = product(chosen);
      add(out, to, 2 * (n - 1) / n * local);
      do {
        for (size_t d = 0; d < p.dims.size(); ++d) {
          Placement scattered = to;
          scattered.dims[d].insert(scattered.dims[d].end(), chosen.begin(),
                                   chosen.end());
          add(out, scattered, (n - 1) / n * local);
        }
      } while (std::next_permutation(chosen.begin(), chosen.end()));
    }
  }

  bool sameSizes(const Placement &a, const Placement &b) const {
    for (size_t d = 0; d < a.dims.size(); ++d)
      if (product(a.dims[d]) != product(b.dims[d]))
        return false;
    return product(a.unreduced) == product(b.unreduced);
  }

  const Case &c;
  const std::vector<Placement> &all;
  std::map<Placement, size_t> index;
  std::vector<std::vector<Edge>> edges;
};

class Exhaustive : public testing::TestWithParam<size_t> {};

std::string describe(const Case &c, const Placement &from, const Placement &to,
                     const ReshardPlan &plan) {
  std::string text = std::string(c.name) + ": " +
                     print(c.mesh, from.toSharding(c.digits)) + " -> " +
                     print(c.mesh, to.toSharding(c.digits));
  for (const ReshardStep &step : plan.steps)
    text += "\n  " + print(c.mesh, step);
  return text;
}

/// Gather all that is split, reduce, slice: what a partitioner without a
/// planner sends. Reductions of split axes are reduce-scatters even here.
double plainBytes(const Case &c, const Placement &from, const Placement &to) {
  double bytes = 4, whole = 1;
  for (int64_t size : c.shape)
    bytes *= size;
  double gathered = 1;
  for (size_t d = 0; d < from.dims.size(); ++d)
    if (from.dims[d] != to.dims[d])
      for (int digit : from.dims[d])
        gathered *= c.digits[digit].size;
    else
      for (int digit : from.dims[d])
        whole *= c.digits[digit].size;
  bytes /= whole;
  double total = (gathered - 1) / gathered * bytes;
  double terms = 1;
  for (int digit : from.unreduced)
    if (std::find(to.unreduced.begin(), to.unreduced.end(), digit) ==
        to.unreduced.end())
      terms *= c.digits[digit].size;
  return total + 2 * (terms - 1) / terms * bytes;
}

} // namespace

TEST_P(Exhaustive, EveryElementArrives) {
  Case c = cases()[GetParam()];
  cost::CollectiveCost bytesOnly(cost::Link{0, 1e-9}),
      usual(cost::Link{5e-6, 1 / 50e9});
  std::vector<Placement> all =
      allPlacements(c.digits, c.shape, c.withUnreduced);
  for (const Placement &from : all)
    for (const Placement &to : all)
      for (Reduction reduction : {Reduction::Sum, Reduction::Max})
        for (const cost::CollectiveCost &cost : {bytesOnly, usual}) {
          Sharding source = from.toSharding(c.digits, reduction);
          Sharding target = to.toSharding(c.digits, reduction);
          std::optional<ReshardPlan> plan =
              planReshard(c.mesh, c.shape, 4, source, target, cost);
          ASSERT_TRUE(plan);
          ASSERT_EQ(plan->steps.empty(), from == to);
          ReshardSimulator simulator(c.mesh, c.shape, source);
          std::vector<AxisRef> allReduced;
          for (const ReshardStep &step : plan->steps) {
            ASSERT_EQ(simulator.execute(step), "")
                << describe(c, from, to, *plan);
            ASSERT_EQ(simulator.compare(step.result), "")
                << describe(c, from, to, *plan);
            if (step.kind == ReshardKind::AllReduce)
              allReduced.insert(allReduced.end(), step.axes.begin(),
                                step.axes.end());
            if (step.kind != ReshardKind::AllSlice)
              continue;
            for (const AxisRef &ref : step.axes)
              for (const AxisRef &reduced : allReduced)
                ASSERT_FALSE(ref.overlaps(reduced))
                    << describe(c, from, to, *plan);
          }
          ASSERT_EQ(simulator.compare(target), "");
        }
}

TEST_P(Exhaustive, NothingIsBetter) {
  Case c = cases()[GetParam()];
  cost::CollectiveCost bytesOnly(cost::Link{0, 1e-9}),
      usual(cost::Link{5e-6, 1 / 50e9});
  std::vector<Placement> all =
      allPlacements(c.digits, c.shape, c.withUnreduced);
  BruteForce bruteForce(c, all);
  for (const Placement &from : all) {
    std::vector<std::vector<double>> best = bruteForce.run(from);
    for (size_t i = 0; i < all.size(); ++i) {
      Sharding source = from.toSharding(c.digits);
      Sharding target = all[i].toSharding(c.digits);
      double fewest = 1e300;
      for (size_t k = 0; k <= BruteForce::maxCollectives; ++k)
        fewest = std::min(fewest, best[k][i]);
      auto cheap = planReshard(c.mesh, c.shape, 4, source, target, bytesOnly);
      ASSERT_LE(cheap->wireBytes(), fewest)
          << describe(c, from, all[i], *cheap);
      ASSERT_LE(cheap->wireBytes(), plainBytes(c, from, all[i]));
      auto quick = planReshard(c.mesh, c.shape, 4, source, target, usual);
      for (size_t k = 0;
           k <= std::min(quick->numCollectives(), BruteForce::maxCollectives);
           ++k)
        ASSERT_LE(quick->wireBytes(), best[k][i])
            << describe(c, from, all[i], *quick);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(SmallMeshes, Exhaustive,
                         testing::Range(size_t(0), cases().size()));

/// There and back again.
TEST(ReshardPlannerRoundTrip, IsTheIdentity) {
  for (const Case &c : cases()) {
    std::vector<Placement> all = allPlacements(c.digits, c.shape, false);
    cost::CollectiveCost cost(cost::Link{5e-6, 1 / 50e9});
    for (const Placement &from : all)
      for (const Placement &to : all) {
        Sharding a = from.toSharding(c.digits), b = to.toSharding(c.digits);
        ReshardSimulator simulator(c.mesh, c.shape, a);
        for (auto [source, target] : {std::pair(a, b), std::pair(b, a)}) {
          auto plan = planReshard(c.mesh, c.shape, 4, source, target, cost);
          for (const ReshardStep &step : plan->steps)
            ASSERT_EQ(simulator.execute(step), "");
        }
        ASSERT_EQ(simulator.compare(a), "");
      }
  }
}

/// Large meshes end, and soon: the search is bounded.
TEST(ReshardPlannerSpeed, ManyAxes) {
  Mesh mesh{{{"a", 64}, {"b", 64}, {"c", 32}, {"d", 6}, {"e", 2}, {"f", 2}}};
  cost::CollectiveCost cost(cost::Link{5e-6, 1 / 50e9});
  Sharding from = Sharding::closed(4), to = Sharding::closed(4);
  for (int axis = 0; axis < 6; ++axis) {
    from.dims[axis % 4].axes.push_back(mesh.fullAxis(axis));
    to.dims[3 - axis % 3].axes.push_back(mesh.fullAxis(5 - axis));
  }
  std::vector<int64_t> shape(4, 768);
  auto start = std::chrono::steady_clock::now();
  auto plan = planReshard(mesh, shape, 4, from, to, cost);
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->steps.back().result, to);
  RecordProperty("milliseconds", static_cast<int>(took.count() * 1e3));
  EXPECT_LT(took.count(), 5.0);
}
