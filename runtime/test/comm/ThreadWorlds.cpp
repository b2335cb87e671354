//===- ThreadWorlds.cpp - The tests of communicators, over threads --------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankThreads.h"

namespace weft::runtime {

std::shared_ptr<World> createWorld(int ranks,
                                   const std::vector<GroupRanks> &groups,
                                   const std::vector<QueueRanks> &queues) {
  auto world = InProcessWorld::create(ranks, groups, queues);
  EXPECT_TRUE(world.ok()) << world.status().message();
  return std::move(*world);
}

} // namespace weft::runtime
