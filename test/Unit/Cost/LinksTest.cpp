//===- LinksTest.cpp ------------------------------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/ClusterFile.h"
#include "weft/Cost/CostModel.h"

#include "gtest/gtest.h"

using namespace weft;
using namespace weft::cost;

static CostModel modelOf(const std::string &cluster) {
  return CostModel(*loadCluster(cluster).cluster);
}

/// A call of half the bytes each between two devices, from nothing to large.
static void expectTimeOfPair(const CostModel &model, int64_t stride,
                             const Link &link) {
  const double seconds = model
                             .collective({CollectiveKind::AllGather, 1 << 30,
                                          model.place({{2, stride}})})
                             .seconds;
  const double line = link.latencySeconds + (1 << 29) * link.secondsPerByte;
  EXPECT_NEAR(line / seconds, 1, 0.05);
}

TEST(LinksTest, OneForEachLevel) {
  const CostModel model = modelOf("dgx-h100");
  const CollectiveCost links = model.links();
  EXPECT_EQ(links.link(2), links.link(8));
  EXPECT_LT(links.link(8).secondsPerByte, links.link(16).secondsPerByte);
  EXPECT_LT(links.link(8).latencySeconds, links.link(16).latencySeconds);
  expectTimeOfPair(model, 1, links.link(8));
  expectTimeOfPair(model, 8, links.link(16));
}

TEST(LinksTest, ThreadsAreInOneNodeHoweverMany) {
  const CostModel model = modelOf("cpu-2core");
  EXPECT_EQ(model.links().link(2), model.links().link(64));
  EXPECT_EQ(model.place({{4, 1}}).nodes, 1);
  const NodeLink &link = model.cluster().node.link;
  EXPECT_DOUBLE_EQ(model.links().link(2).latencySeconds,
                   2 * link.latencySeconds + 2 / link.cachedBytesPerSecond);
}

/// What no link connects goes through the host.
TEST(LinksTest, SingleDevices) {
  const Link link = modelOf("h100-sxm").links().link(8);
  EXPECT_NEAR(link.secondsPerByte, 1 / 63e9, 0.3 / 63e9);
}

TEST(LinksTest, RatesOfALargeKernel) {
  const CostModel model = modelOf("dgx-h100");
  EXPECT_NEAR(model.gemm({16384, 16384, 16384}),
              2.0 * 16384 * 16384 * 16384 *
                  model.secondsPerFlop(Precision::BF16),
              2e-3);
  EXPECT_NEAR(model.memoryKernel({1e9, 1e9}), 2e9 * model.secondsPerByte(),
              1e-4);
}
