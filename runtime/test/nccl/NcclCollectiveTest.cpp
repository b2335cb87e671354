//===- NcclCollectiveTest.cpp - Collectives against those of the CPU -*- C++
//-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What NcclCommunicator makes of the layouts of a plan: four processes with the
// fake NCCL do what threads do with an InProcessWorld, and must have the same
// bytes in the end.
//
//===----------------------------------------------------------------------===//

#include "NcclJob.h"
#include "plan/Mesh.h"
#include "plan/Text.h"
#include "weft/runtime/InProcessWorld.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace weft::runtime {
namespace {

using plan::CollectiveKind;

constexpr int ranks = 4;
/// The groups of plan(): rows of {0, 1}, {2, 3}; columns; all; one each.
constexpr size_t groupCount = 4;

PlanBuilder planOfGroups() {
  PlanBuilder builder({{"data", 2}, {"model", 2}, {"one", 1}});
  builder.group({"model"});
  builder.group({"data"});
  builder.group({"model", "data"});
  builder.group({"one"});
  return builder;
}

struct Case {
  CollectiveKind kind;
  int64_t outer, middle, inner;
  bool splitFirst;
  DType dtype;
  Reduction reduction;
  /// Of a permutation: whether the first two ranks exchange and the others send
  /// to themselves, or all send to the rank before them.
  bool isSwap = false;
};

/// Values that every type holds exactly, also their sums.
std::vector<std::byte> valuesOf(int rank, int64_t count, DType dtype) {
  std::vector<std::byte> bytes(static_cast<size_t>(count) * byteSize(dtype));
  for (int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<int>((i * 7 + rank * 3) % 11);
    std::byte *to = bytes.data() + i * static_cast<int64_t>(byteSize(dtype));
    const auto put = [&](auto typed) { std::memcpy(to, &typed, sizeof typed); };
    switch (dtype) {
    case DType::F32:
      put(static_cast<float>(value));
      break;
    case DType::F64:
      put(static_cast<double>(value));
      break;
    case DType::BF16:
      put(toBFloat16(static_cast<float>(value)));
      break;
    case DType::F16:
      put(toFloat16(static_cast<float>(value)));
      break;
    case DType::I32:
      put(value);
      break;
    case DType::I64:
      put(static_cast<int64_t>(value));
      break;
    case DType::I16: // reduced as I32
      put(static_cast<int16_t>(value));
      break;
    case DType::I8:
      put(static_cast<int8_t>(value));
      break;
    case DType::Pred:
      put(static_cast<uint8_t>(value % 2));
      break;
    }
  }
  return bytes;
}

int64_t partCount(const Case &one) {
  return one.outer * one.middle * one.inner;
}
int64_t sourceCount(const Case &one, int group) {
  if (one.kind == CollectiveKind::Exchange)
    return one.outer * (one.middle + 1) * one.inner;
  return one.kind == CollectiveKind::ReduceScatter ||
                 one.kind == CollectiveKind::AllToAll
             ? group * partCount(one)
             : partCount(one);
}
int64_t resultCount(const Case &one, int group) {
  if (one.kind == CollectiveKind::Exchange)
    return sourceCount(one, group);
  return one.kind == CollectiveKind::AllGather ||
                 one.kind == CollectiveKind::AllToAll
             ? group * partCount(one)
             : partCount(one);
}

std::vector<Case> casesOf(DType dtype) {
  std::vector<Case> cases;
  for (Reduction reduction : {Reduction::Sum, Reduction::Max, Reduction::Min}) {
    if (dtype == DType::Pred && reduction == Reduction::Sum)
      continue;
    cases.push_back(
        {CollectiveKind::AllReduce, 1, 1, 37, false, dtype, reduction});
    for (int64_t outer : {1, 3})
      cases.push_back({CollectiveKind::ReduceScatter, outer, 1, 5, false, dtype,
                       reduction});
  }
  for (int64_t outer : {1, 3}) {
    cases.push_back(
        {CollectiveKind::AllGather, outer, 1, 5, false, dtype, Reduction::Sum});
    for (int64_t middle : {1, 2})
      for (bool splitFirst : {false, true})
        cases.push_back({CollectiveKind::AllToAll, outer, middle, 6, splitFirst,
                         dtype, Reduction::Sum});
  }
  for (int64_t outer : {1, 3})
    for (int64_t middle : {1, 4})
      cases.push_back({CollectiveKind::Exchange, outer, middle, 5, false, dtype,
                       Reduction::Sum});
  for (bool isSwap : {false, true})
    cases.push_back({CollectiveKind::Permute, 1, 1, 9, false, dtype,
                     Reduction::Sum, isSwap});
  return cases;
}

int senderTo(const Case &one, int rank, int size) {
  if (!one.isSwap)
    return (rank + 1) % size;
  return rank < 2 && size > 1 ? 1 - rank : rank;
}
int receiverOf(const Case &one, int rank, int size) {
  return one.isSwap ? senderTo(one, rank, size) : (rank + size - 1) % size;
}

/// Every rank keeps one element of its `middle` + 1, and gives the others to
/// the next rank, in the opposite order.
Exchange exchangeOf(const Case &one, int rank, int size) {
  Exchange exchange{.outer = one.outer,
                    .before = one.middle + 1,
                    .after = one.middle + 1,
                    .inner = one.inner};
  for (int sender = 0; sender < size; ++sender) {
    const int receiver = (sender + 1) % size;
    if (sender == rank)
      exchange.blocks.push_back({sender, sender, one.middle, 0, 1, 1});
    if (sender == rank || receiver == rank)
      exchange.blocks.push_back(
          {sender, receiver, one.middle - 1, 1, one.middle, -1});
  }
  return exchange;
}

Status runOnHost(const Case &one, Communicator &on, const void *source,
                 void *result) {
  const CallContext context{.planStep = 0, .cause = "test"};
  switch (one.kind) {
  case CollectiveKind::AllReduce:
    return on.allReduce(source, result, partCount(one), one.dtype,
                        one.reduction, context);
  case CollectiveKind::AllGather:
    return on.allGather(source, result, one.outer, one.inner, one.dtype,
                        context);
  case CollectiveKind::ReduceScatter:
    return on.reduceScatter(source, result, one.outer, one.inner, one.dtype,
                            one.reduction, context);
  case CollectiveKind::AllToAll:
    return on.allToAll(source, result, one.outer, one.middle, one.inner,
                       one.splitFirst, one.dtype, context);
  case CollectiveKind::Permute:
    return on.permute(source, result, one.inner, one.dtype,
                      senderTo(one, on.rank(), on.size()), context);
  case CollectiveKind::Exchange:
    return on.exchange(source, result, exchangeOf(one, on.rank(), on.size()),
                       one.dtype, context);
  }
  return internalError("unknown");
}

Status runOnDevice(const Case &one, NcclRank &rank, DeviceCommunicator &on,
                   const void *source, void *result) {
  DeviceCollective collective;
  collective.kind = one.kind;
  collective.reduction = one.reduction;
  collective.source = source;
  collective.destination = result;
  collective.outer = one.outer;
  collective.middle = one.middle;
  collective.inner = one.inner;
  collective.splitFirst = one.splitFirst;
  collective.dtype = one.dtype;
  collective.receiveFrom = senderTo(one, on.rank(), on.size());
  collective.sendTo = receiverOf(one, on.rank(), on.size());
  collective.exchange = exchangeOf(one, on.rank(), on.size());
  std::vector<std::byte> staging(on.stagingBytes(collective));
  collective.staging = staging.data();
  return rank.run(0, [&] { return on.enqueue(collective, hostStream()); });
}

struct NcclCollective : NcclJob, testing::WithParamInterface<DType> {};
INSTANTIATE_TEST_SUITE_P(, NcclCollective,
                         testing::Values(DType::F32, DType::BF16, DType::I32,
                                         DType::I64, DType::Pred, DType::F64,
                                         DType::F16, DType::I8),
                         [](const auto &info) {
                           return std::string(name(info.param));
                         });

/// [rank][group][case] -> result.
std::string hostResults(int rank, InProcessWorld &world, DType dtype) {
  std::string all;
  for (size_t group = 0; group < groupCount; ++group)
    for (const Case &one : casesOf(dtype)) {
      Communicator &on = *world.communicator(rank, group);
      const auto source = valuesOf(rank, sourceCount(one, on.size()), dtype);
      std::string result(resultCount(one, on.size()) * byteSize(dtype), '?');
      const Status status = runOnHost(one, on, source.data(), result.data());
      all += status.ok() ? result : status.message();
    }
  return all;
}

TEST_P(NcclCollective, HasTheBytesOfTheHost) {
  PlanBuilder builder = planOfGroups();
  EntryBuilder entry = builder.entry("step");
  const auto type = builder.type(DType::F32, {1});
  const uint32_t x = entry.input("x", type);
  // As many as a run of the cases has: its progress has so many numbers.
  entry.start(CollectiveKind::AllReduce, 0, x, entry.output("y", type), 1, 1);
  entry.wait(0);
  const Plan plan = builder.build();
  std::vector<GroupRanks> groups;
  const Mesh mesh(plan.contents());
  for (const plan::AxisList *axes : *plan.contents().groups())
    groups.push_back(mesh.groups(axesOf(axes)));
  ASSERT_EQ(groups.size(), groupCount);

  // The processes first: they are forked, and this one has no threads yet.
  const std::vector<std::string> results =
      startAll(ranks, plan, [&](NcclRank &rank) {
        std::string all;
        for (size_t group = 0; group < groupCount; ++group)
          for (const Case &one : casesOf(GetParam())) {
            DeviceCommunicator &on =
                *rank.world.communicator(rank.rank, group, 0);
            const auto source =
                valuesOf(rank.rank, sourceCount(one, on.size()), GetParam());
            std::string result(
                resultCount(one, on.size()) * byteSize(GetParam()), '?');
            const Status status =
                runOnDevice(one, rank, on, source.data(), result.data());
            all += status.ok() ? result : status.message();
          }
        return all;
      });

  auto world = InProcessWorld::create(ranks, groups);
  ASSERT_TRUE(world.ok());
  std::vector<std::string> expected(ranks);
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back(
        [&, r] { expected[r] = hostResults(r, **world, GetParam()); });
  for (std::thread &thread : threads)
    thread.join();
  for (int r = 0; r < ranks; ++r)
    EXPECT_EQ(results[r], expected[r]) << "rank " << r;
}

} // namespace
} // namespace weft::runtime
