//===- CollectivesTest.cpp - Collectives that are timed are checked -------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Collectives.h"

#include "weft/runtime/InProcessWorld.h"

#include "gtest/gtest.h"

#include <numeric>

using namespace weft::runtime;
using namespace weft::tools;
using weft::cost::CollectiveKind;

namespace {

/// What a communicator does, but for one byte that it gets wrong.
class FaultyCommunicator final : public Communicator {
public:
  FaultyCommunicator(Communicator &inner)
      : Communicator({inner.worldRanks().begin(), inner.worldRanks().end()},
                     inner.rank()),
        inner(inner) {}

  Status allReduce(const void *source, void *destination, int64_t count,
                   DType dtype, Reduction reduction,
                   const CallContext &context) override {
    return damaged(
        inner.allReduce(source, destination, count, dtype, reduction, context),
        destination);
  }
  Status reduceScatter(const void *source, void *destination, int64_t outer,
                       int64_t count, DType dtype, Reduction reduction,
                       const CallContext &context) override {
    return damaged(inner.reduceScatter(source, destination, outer, count, dtype,
                                       reduction, context),
                   destination);
  }
  Status allGather(const void *source, void *destination, int64_t outer,
                   int64_t count, DType dtype,
                   const CallContext &context) override {
    return damaged(
        inner.allGather(source, destination, outer, count, dtype, context),
        destination);
  }
  Status allToAll(const void *source, void *destination, int64_t outer,
                  int64_t middle, int64_t count, bool splitFirst, DType dtype,
                  const CallContext &context) override {
    return damaged(inner.allToAll(source, destination, outer, middle, count,
                                  splitFirst, dtype, context),
                   destination);
  }
  Status permute(const void *source, void *destination, int64_t count,
                 DType dtype, int receiveFrom,
                 const CallContext &context) override {
    return damaged(
        inner.permute(source, destination, count, dtype, receiveFrom, context),
        destination);
  }
  Status exchange(const void *source, void *destination,
                  const Exchange &exchange, DType dtype,
                  const CallContext &context) override {
    return inner.exchange(source, destination, exchange, dtype, context);
  }
  Status barrier(const CallContext &context) override {
    return inner.barrier(context);
  }

private:
  static Status damaged(Status status, void *destination) {
    static_cast<uint8_t *>(destination)[3] ^= 0x40;
    return status;
  }
  Communicator &inner;
};

/// Threads, of which the last rank may be faulty.
class TestWorld final : public World {
public:
  TestWorld(int ranks, bool isFaulty) : ranks(ranks) {
    std::vector<int> members(ranks);
    std::iota(members.begin(), members.end(), 0);
    inner = *InProcessWorld::create(ranks, {{members}, {members}});
    if (isFaulty)
      faulty = std::make_unique<FaultyCommunicator>(
          *inner->communicator(ranks - 1, 0));
  }

  int size() const override { return ranks; }
  Communicator *communicator(int rank, size_t group) const override {
    return faulty && rank == ranks - 1 && group == 0
               ? faulty.get()
               : inner->communicator(rank, group);
  }
  Channel *channel(int, size_t) const override { return nullptr; }
  void abort(const Status &reason) override { inner->abort(reason); }
  Status status() const override { return inner->status(); }

private:
  int ranks;
  std::unique_ptr<InProcessWorld> inner;
  std::unique_ptr<FaultyCommunicator> faulty;
};

struct Kind {
  CollectiveKind kind;
  DType dtype;
};
class CollectivesTest : public testing::TestWithParam<Kind> {
protected:
  CollectiveCase run() const {
    return {GetParam().kind, 3, GetParam().dtype, 3 * 4 * 20};
  }
};

INSTANTIATE_TEST_SUITE_P(
    All, CollectivesTest,
    testing::Values(Kind{CollectiveKind::AllReduce, DType::F32},
                    Kind{CollectiveKind::AllReduce, DType::BF16},
                    Kind{CollectiveKind::AllReduce, DType::F16},
                    Kind{CollectiveKind::AllReduce, DType::I32},
                    Kind{CollectiveKind::AllGather, DType::F32},
                    Kind{CollectiveKind::ReduceScatter, DType::F32},
                    Kind{CollectiveKind::AllToAll, DType::F32},
                    Kind{CollectiveKind::Permute, DType::BF16}));

} // namespace

TEST_P(CollectivesTest, RightResultsHaveNoErrors) {
  const auto timing = timeCollective(run(), TestWorld(3, false), 0);
  ASSERT_TRUE(timing.ok()) << timing.status().message();
  EXPECT_EQ(timing->errors, 0);
  EXPECT_GT(timing->best, 0);
  EXPECT_GE(timing->median, timing->best);
}

TEST_P(CollectivesTest, AWrongElementIsCounted) {
  const auto timing = timeCollective(run(), TestWorld(3, true), 0);
  ASSERT_TRUE(timing.ok()) << timing.status().message();
  EXPECT_EQ(timing->errors, 1);
}

TEST(CollectiveCaseTest, CountsAreThoseOfNcclTests) {
  CollectiveCase run{CollectiveKind::AllReduce, 4, DType::BF16, 1024};
  EXPECT_EQ(run.elements(), 512);
  EXPECT_EQ(run.count(), 512);
  run.kind = CollectiveKind::Permute;
  EXPECT_EQ(run.count(), 512);
  for (CollectiveKind kind :
       {CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
        CollectiveKind::AllToAll}) {
    run.kind = kind;
    EXPECT_EQ(run.count(), 128);
  }
}
