//===- ChannelTest.cpp - Messages from one rank to one other --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankThreads.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>
#include <deque>
#include <thread>

using namespace weft::runtime;
using namespace std::chrono_literals;
using testing::HasSubstr;

namespace {

std::shared_ptr<World> worldOf(const std::vector<QueueRanks> &queues) {
  return createWorld(2, {}, queues);
}

std::unique_ptr<InProcessWorld> threadsOf(const std::vector<QueueRanks> &queues,
                                          int ranks = 2) {
  auto world = InProcessWorld::create(ranks, {}, queues);
  EXPECT_TRUE(world.ok()) << world.status().message();
  return std::move(*world);
}

/// A message of one value, or of more.
Transfer transferOf(std::vector<std::span<float>> values,
                    uint32_t microbatch = 0) {
  Transfer transfer;
  for (std::span<float> value : values)
    transfer.parts.push_back({reinterpret_cast<std::byte *>(value.data()),
                              value.size_bytes(), DType::F32});
  transfer.microbatch = microbatch;
  transfer.label = "h";
  return transfer;
}

TEST(Channel, MovesAllParts) {
  const auto world = worldOf({{{{0, 1}}, 1}});
  std::vector<float> a = {1, 2, 3}, b = {4}, none;
  std::vector<float> x(3), y(1);
  const Transfer sent = transferOf({a, none, b});
  const Transfer received = transferOf({x, none, y});
  const auto statuses = runRanks(2, [&](int rank) {
    if (!world->channel(rank, 0))
      return Status();
    Channel &channel = *world->channel(rank, 0);
    return channel.wait(channel.start(rank == 0 ? sent : received));
  });
  EXPECT_EQ(statuses, std::vector<Status>(2));
  if (!world->channel(1, 0))
    return; // received by another process
  EXPECT_EQ(x, a);
  EXPECT_EQ(y, b);
}

/// Sends `parts` of so many bytes, and compares every byte.
void moveBytes(const std::vector<size_t> &parts) {
  const auto world = worldOf({{{{0, 1}}, 1}});
  const auto valueAt = [](size_t part, size_t i) {
    return static_cast<std::byte>((i + part) % 251);
  };
  const auto statuses = runRanks(2, [&](int rank) -> Status {
    Channel *const channel = world->channel(rank, 0);
    if (!channel)
      return {};
    std::vector<std::vector<std::byte>> memory;
    Transfer transfer;
    transfer.label = "h";
    transfer.timeout = 600s;
    for (const size_t bytes : parts) {
      std::vector<std::byte> &part = memory.emplace_back(bytes);
      for (size_t i = 0; rank == 0 && i < bytes; ++i)
        part[i] = valueAt(memory.size(), i);
      transfer.parts.push_back({part.data(), bytes, DType::I8});
    }
    const Status status = channel->wait(channel->start(transfer));
    for (size_t p = 0; status.ok() && p < parts.size(); ++p)
      for (size_t i = 0; i < parts[p]; ++i)
        if (memory[p][i] != valueAt(p + 1, i))
          return internalError(fmt::format("byte {} of part {}", i, p));
    return status;
  });
  EXPECT_EQ(statuses, std::vector<Status>(2));
}

/// More than MPI gets at once (MpiWorlds.cpp), in the middle and at the end.
TEST(Channel, MovesPartsInPieces) { moveBytes({700'001, 100'003, 200'006, 5}); }

/// By hand, with 5 GB of memory: mpirun -n 2 weft_mpi_test
/// --gtest_also_run_disabled_tests --gtest_filter=*DISABLED*
TEST(Channel, DISABLED_MoreThan2To31Bytes) { moveBytes({2'200'000'001, 7}); }

TEST(InProcessChannel, OnlyItsRanksHaveAnEnd) {
  const auto world = threadsOf({{{{2, 0}}, 1}}, 3);
  EXPECT_NE(world->channel(0, 0), nullptr);
  EXPECT_NE(world->channel(2, 0), nullptr);
  EXPECT_EQ(world->channel(1, 0), nullptr);
  EXPECT_EQ(world->channel(0, 1), nullptr);
  EXPECT_EQ(world->channel(3, 0), nullptr);
  EXPECT_EQ(InProcessWorld::create(2, {}, {{{{0, 2}}, 1}}).status().message(),
            "queue 0: rank 2 is not one of the 2 ranks of the world");
}

/// Neither end waits for the other to wait: both have their messages as soon as
/// all four are started, although the first that each waits for is the last of
/// the other one.
TEST(Channel, WhatBothHaveStartedArrives) {
  const auto world = worldOf({{{{0, 1}}, 1}, {{{1, 0}}, 1}});
  std::vector<float> a = {1}, b = {2}, x(1), y(1);
  const Transfer sends[] = {transferOf({a}), transferOf({b})};
  const Transfer receives[] = {transferOf({y}), transferOf({x})};
  const auto statuses = runRanks(2, [&](int rank) {
    if (!world->channel(rank, 0))
      return Status();
    Channel &out = *world->channel(rank, rank);
    Channel &in = *world->channel(rank, 1 - rank);
    const uint64_t sent = out.start(sends[rank]);
    const uint64_t received = in.start(receives[rank]);
    // Rank 0 waits for its send first, rank 1 for its own.
    Status status = out.wait(sent);
    return status.ok() ? in.wait(received) : status;
  });
  EXPECT_EQ(statuses, std::vector<Status>(2));
  if (world->channel(1, 0))
    EXPECT_EQ(x, a);
  if (world->channel(0, 0))
    EXPECT_EQ(y, b);
}

/// The receiver never comes to its wait, and the sender goes on all the same.
TEST(InProcessChannel, ASendIsCompleteOnceItsReceiveHasStarted) {
  const auto world = threadsOf({{{{0, 1}}, 2}});
  std::vector<float> a = {1}, x(1);
  const Transfer sent = transferOf({a}), received = transferOf({x});
  Channel &sender = *world->channel(0, 0), &receiver = *world->channel(1, 0);
  const uint64_t ticket = receiver.start(received);
  EXPECT_EQ(sender.wait(sender.start(sent)), Status());
  EXPECT_EQ(x, a);
  EXPECT_EQ(receiver.wait(ticket), Status());
}

TEST(Channel, ArrivesInOrder) {
  constexpr uint32_t messages = 5000, inFlight = 7;
  const auto world = worldOf({{{{0, 1}}, inFlight}});
  std::vector<std::vector<float>> from, to;
  std::deque<Transfer> sent, received;
  for (uint32_t i = 0; i < messages; ++i) {
    from.push_back({static_cast<float>(i), 1});
    to.push_back({-1, -1});
  }
  for (uint32_t i = 0; i < messages; ++i) {
    sent.push_back(transferOf({from[i]}, i));
    received.push_back(transferOf({to[i]}, i));
    sent.back().timeout = received.back().timeout = 30s;
  }
  const auto statuses = runRanks(2, [&](int rank) -> Status {
    if (!world->channel(rank, 0))
      return {};
    Channel &channel = *world->channel(rank, 0);
    std::deque<uint64_t> tickets;
    for (uint32_t i = 0; i < messages; ++i) {
      tickets.push_back(channel.start(rank == 0 ? sent[i] : received[i]));
      // The ends are ahead of each other by turns.
      if (tickets.size() < (i / 100 % 2 == size_t(rank) ? inFlight : 1))
        continue;
      for (; !tickets.empty(); tickets.pop_front())
        WEFT_RETURN_IF_ERROR(channel.wait(tickets.front()));
    }
    for (; !tickets.empty(); tickets.pop_front())
      WEFT_RETURN_IF_ERROR(channel.wait(tickets.front()));
    return {};
  });
  EXPECT_EQ(statuses, std::vector<Status>(2));
  if (world->channel(1, 0))
    EXPECT_EQ(to, from);
}

TEST(Channel, EndsThatDiffer) {
  struct Case {
    std::function<void(Transfer &)> change;
    std::string message;
  };
  const std::vector<Case> cases = {
      {[](Transfer &t) { t.message = 4; }, "receive of message 4 \"h\""},
      {[](Transfer &t) { t.microbatch = 3; }, "(micro-batch 3) on rank 1"},
      {[](Transfer &t) { t.parts[0].bytes = 4; }, "(4 bytes of f32)"},
      {[](Transfer &t) { t.parts[0].dtype = DType::I32; }, "(8 bytes of i32)"},
      {[](Transfer &t) { t.parts.push_back(t.parts[0]); },
       "(8 bytes of f32, 8 bytes of f32)"}};
  for (const Case &each : cases) {
    const auto world = worldOf({{{{0, 1}}, 1}});
    std::vector<float> a = {1, 2}, x(2);
    const Transfer sent = transferOf({a});
    Transfer received = transferOf({x});
    received.role = 1;
    received.action = 7;
    each.change(received);
    const auto statuses = runRanks(2, [&](int rank) {
      if (!world->channel(rank, 0))
        return Status();
      Channel &channel = *world->channel(rank, 0);
      return channel.wait(channel.start(rank == 0 ? sent : received));
    });
    for (int rank = 0; rank < 2; ++rank) {
      if (!world->channel(rank, 0))
        continue;
      EXPECT_EQ(statuses[rank].code(), StatusCode::FailedPrecondition);
      EXPECT_THAT(
          statuses[rank].message(),
          HasSubstr("the two ends of a queue differ: role 0 action 0: "
                    "send of message 0 \"h\" (micro-batch 0) on rank 0 "
                    "(8 bytes of f32), but role 1 action 7: receive of"));
      EXPECT_THAT(statuses[rank].message(), HasSubstr(each.message));
    }
    EXPECT_EQ(x, std::vector<float>(2));
  }
}

TEST(InProcessChannel, AnEndThatDoesNotStart) {
  const auto world = threadsOf({{{{0, 1}}, 1}});
  std::vector<float> a = {1}, x = {7};
  Transfer sent = transferOf({a}, 5), received = transferOf({x}, 5);
  sent.timeout = received.timeout = 50ms;
  Channel &sender = *world->channel(0, 0), &receiver = *world->channel(1, 0);
  const Status status = sender.wait(sender.start(sent));
  EXPECT_EQ(status,
            deadlineExceeded("role 0 action 0: send of message 0 \"h\" "
                             "(micro-batch 5) on rank 0: rank 1 did not "
                             "receive it within 50 ms"));
  // The failure is final, and nothing moves any more.
  EXPECT_EQ(receiver.wait(receiver.start(received)), status);
  EXPECT_EQ(x[0], 7);
}

TEST(InProcessChannel, AReceiveWithoutASend) {
  const auto world = threadsOf({{{{0, 1}}, 1}});
  std::vector<float> x(1);
  Transfer received = transferOf({x});
  received.timeout = 50ms;
  Channel &receiver = *world->channel(1, 0);
  EXPECT_THAT(receiver.wait(receiver.start(received)).message(),
              HasSubstr("on rank 1: rank 0 did not send it within 50 ms"));
}

TEST(InProcessChannel, AbortWakesWhoWaits) {
  const auto world = threadsOf({{{{0, 1}}, 1}});
  std::vector<float> x(1);
  Transfer received = transferOf({x});
  received.timeout = 30s;
  const Status reason = unavailable("a rank is gone");
  std::thread other([&] {
    std::this_thread::sleep_for(20ms);
    world->abort(reason);
  });
  Channel &receiver = *world->channel(1, 0);
  EXPECT_EQ(receiver.wait(receiver.start(received)), reason);
  other.join();
}

} // namespace
