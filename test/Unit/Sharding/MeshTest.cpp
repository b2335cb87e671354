//===- MeshTest.cpp - Coordinates of devices and names of axes ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AllShardings.h"

#include "gtest/gtest.h"

#include <map>
#include <set>

using namespace weft::sharding;

namespace {

TEST(Mesh, DigitsOfEveryCutNumberTheDevices) {
  for (const Mesh &mesh : smallMeshes())
    for (const std::vector<AxisRef> &digits : allDigits(mesh))
      for (int64_t device = 0; device < mesh.numDevices(); ++device)
        EXPECT_EQ(mesh.position(device, digits), device);
}

TEST(Mesh, PositionsAlongAnyOrderAreABijection) {
  for (const Mesh &mesh : smallMeshes())
    for (std::vector<AxisRef> digits : allDigits(mesh)) {
      std::sort(digits.begin(), digits.end());
      do {
        std::set<int64_t> positions;
        for (int64_t device = 0; device < mesh.numDevices(); ++device)
          positions.insert(mesh.position(device, digits));
        EXPECT_EQ(int64_t(positions.size()), mesh.numDevices());
        EXPECT_EQ(*positions.begin(), 0);
        EXPECT_EQ(*positions.rbegin(), mesh.numDevices() - 1);
      } while (std::next_permutation(digits.begin(), digits.end()));
    }
}

/// Devices that differ along the axes only are in one block of the span.
TEST(Mesh, SpanIsTheSmallestBlockThatHoldsAGroup) {
  for (const Mesh &mesh : smallMeshes())
    for (const std::vector<AxisRef> &digits : allDigits(mesh))
      for (size_t digit = 0; digit < digits.size(); ++digit) {
        if (digits[digit].size == 1)
          continue;
        std::vector<AxisRef> others(digits);
        others.erase(others.begin() + digit);
        std::map<int64_t, std::pair<int64_t, int64_t>> groups;
        for (int64_t device = 0; device < mesh.numDevices(); ++device) {
          int64_t key = mesh.position(device, others);
          groups.try_emplace(key, device, device).first->second.second = device;
        }
        const int64_t span = mesh.span(digits[digit]);
        for (auto [key, ends] : groups) {
          EXPECT_EQ(ends.first / span, ends.second / span);
          EXPECT_EQ(ends.second - ends.first, span - span / digits[digit].size);
        }
      }
  EXPECT_EQ(smallMeshes().front().span({}), 1);
}

/// The spans are those of where groups lie, whatever the order of the axes.
TEST(Mesh, SpanOfAPlacedMeshFollowsItsDevices) {
  const Mesh whole({{"data", 2}, {"model", 8}});
  Mesh mesh = whole;
  std::vector<int64_t> devices;
  for (int64_t at = 0; at < 16; ++at)
    devices.push_back(at % 8 * 2 + at / 8);
  mesh.place(whole, devices);
  EXPECT_EQ(mesh.span(mesh.fullAxis(0)), 2);
  EXPECT_EQ(mesh.span(mesh.fullAxis(1)), 16);
  EXPECT_EQ(mesh.span(AxisRef{1, 2, 4}), 8);
  mesh.place(whole, {});
  EXPECT_EQ(mesh.span(mesh.fullAxis(0)), 16);
  // A stage of two along "data" has the groups of the whole mesh.
  Mesh stage({{"data", 1}, {"model", 8}});
  stage.place(whole, devices);
  EXPECT_EQ(stage.span(stage.fullAxis(1)), 16);
}

TEST(Mesh, CoordinateReadsADigit) {
  Mesh mesh({{"data", 2}, {"model", 12}});
  // Device 19 = data 1, model 7; 7 = (1 of 2, 0 of 3, 1 of 2).
  EXPECT_EQ(mesh.coordinate(19, mesh.fullAxis(0)), 1);
  EXPECT_EQ(mesh.coordinate(19, mesh.fullAxis(1)), 7);
  EXPECT_EQ(mesh.coordinate(19, {1, 1, 2}), 1);
  EXPECT_EQ(mesh.coordinate(19, {1, 2, 3}), 0);
  EXPECT_EQ(mesh.coordinate(19, {1, 6, 2}), 1);
  EXPECT_EQ(mesh.position(19, {AxisRef{1, 6, 2}, AxisRef{0, 1, 2}}), 3);
  EXPECT_EQ(mesh.position(19, {}), 0);
}

TEST(Mesh, FindsAxesByName) {
  Mesh mesh({{"data", 2}, {"model", 8}});
  EXPECT_EQ(mesh.find("model"), 1);
  EXPECT_EQ(mesh.find("expert"), std::nullopt);
  EXPECT_EQ(mesh.numDevices(), 16);
  EXPECT_EQ(Mesh().numDevices(), 1);
}

TEST(Mesh, PrintsFullAxesByNameAndPartsWithTheirPlace) {
  Mesh mesh({{"data", 2}, {"model", 8}});
  EXPECT_EQ(mesh.print(AxisRef{0, 1, 2}), R"("data")");
  EXPECT_EQ(mesh.print(AxisRef{1, 2, 4}), R"("model":(2)4)");
  EXPECT_EQ(mesh.print(llvm::ArrayRef<AxisRef>()), "{}");
  EXPECT_EQ(mesh.print({AxisRef{1, 1, 2}, AxisRef{0, 1, 2}}),
            R"({"model":(1)2, "data"})");
}

} // namespace
