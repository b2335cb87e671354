//===- MpiWorlds.cpp - The tests of communicators, over MPI ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mpirun -n P weft_mpi_test: all processes run the same tests in step.
//
//===----------------------------------------------------------------------===//

#include "MpiWorlds.h"

#include "comm/mpi/HostMemory.h"
#include "comm/mpi/MpiTransfers.h"

#include <cstdlib>
#include <iostream>
#include <map>
#include <unistd.h>

namespace weft::runtime {

Bootstrap &bootstrapOfTests() {
  static const std::unique_ptr<Bootstrap> bootstrap = [] {
    Result<Launch> launch = detectLaunch();
    auto connected = launch.ok()
                         ? Bootstrap::connect(*launch, std::chrono::seconds(60))
                         : Result<std::unique_ptr<Bootstrap>>(launch.status());
    if (!connected.ok()) {
      std::cerr << connected.status().message() << std::endl;
      ::_exit(1);
    }
    return *std::move(connected);
  }();
  return *bootstrap;
}

/// Until the end of the tests.
static std::map<std::pair<int, std::vector<GroupRanks>>, std::shared_ptr<World>>
    kept;

/// One world for all tests that want the same, as long as none has failed it.
std::shared_ptr<World> createWorld(int ranks,
                                   const std::vector<GroupRanks> &groups,
                                   const std::vector<QueueRanks> &queues) {
  std::shared_ptr<World> &world = kept[{ranks, groups}];
  if (world && queues.empty())
    return world;
  auto created = MpiWorld::create(bootstrapOfTests(), ranks, "tests", groups,
                                  queues, std::chrono::seconds(60));
  if (!created.ok()) {
    std::cerr << created.status().message() << std::endl;
    ::_exit(1);
  }
  world = std::move(*created);
  if (!queues.empty())
    return std::exchange(world, nullptr);
  return world;
}

} // namespace weft::runtime

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  const bool isLong = true;
#else
  const bool isLong = GTEST_FLAG_GET(also_run_disabled_tests);
#endif
  ::alarm(isLong ? 900 : 100);
  // In the middle of elements of every type.
  if (!GTEST_FLAG_GET(also_run_disabled_tests))
    weft::runtime::MpiTransfers::pieceBytes = 100'003;
  // As between hosts.
  if (std::getenv("WEFT_TEST_WITHOUT_HOST_MEMORY"))
    weft::runtime::HostMemory::isUsed = false;
  (void)weft::runtime::bootstrapOfTests();
  const int result = RUN_ALL_TESTS();
  weft::runtime::kept.clear();
  if (result != 0)
    ::_exit(result);
  return 0;
}
