//===- TcpStoreTest.cpp - Damaged and foreign connections -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Processes.h"
#include "launch/Frame.h"
#include "launch/TcpStoreServer.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(Frame, RoundTrip) {
  const Frame frame{FrameKind::Set, "key", std::string("v\0\xff", 3)};
  std::string bytes = encode(frame) + encode({FrameKind::No, "", ""});
  const auto first = takeFrame(bytes);
  ASSERT_TRUE(first.ok() && *first);
  EXPECT_EQ((*first)->key, "key");
  EXPECT_EQ((*first)->value, frame.value);
  EXPECT_EQ((*takeFrame(bytes))->kind, FrameKind::No);
  EXPECT_TRUE(bytes.empty());
}

TEST(Frame, EveryPrefixIsIncomplete) {
  const std::string whole = encode({FrameKind::Find, "key", "value"});
  for (size_t size = 0; size < whole.size(); ++size) {
    std::string bytes = whole.substr(0, size);
    const auto frame = takeFrame(bytes);
    ASSERT_TRUE(frame.ok());
    EXPECT_FALSE(*frame) << size;
  }
}

TEST(Frame, ForeignBytesAreRefused) {
  std::string kind = encode({FrameKind::Find, "", ""});
  kind[4] = 9;
  std::string length = encode({FrameKind::Find, "", ""});
  length[8] = '\x7f';
  for (std::string bytes : {std::string("HTTP/1.1 400"), kind, length})
    EXPECT_THAT(takeFrame(bytes).status().message(),
                HasSubstr("another program answers there"));
}

/// Time in which a process is stopped is no time in which nobody answers.
TEST(Frame, AStoppedProcessDoesNotWait) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const Descriptor parent(ends[0]), child(ends[1]);
  Process reader([&]() -> std::string {
    std::string rest;
    WaitBudget budget(800ms);
    const auto frame = receiveFrame(child.get(), rest, budget);
    return frame.ok() ? frame->key : frame.status().message();
  });
  reader.stopFor(1500ms);
  WaitBudget budget(5s);
  ASSERT_TRUE(
      sendFrame(parent.get(), {FrameKind::Set, "key", ""}, budget).ok());
  EXPECT_EQ(reader.finish(), "key");
}

struct Server : testing::Test {
  void SetUp() override {
    auto created = TcpStoreServer::listen(port, "job", 3);
    ASSERT_TRUE(created.ok()) << created.status().message();
    server = *std::move(created);
  }
  Descriptor connect() const {
    Descriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr *>(&address),
                        sizeof address),
              0);
    return socket;
  }
  static Frame ask(const Descriptor &socket, const Frame &frame) {
    std::string rest;
    WaitBudget budget(5s);
    EXPECT_TRUE(sendFrame(socket.get(), frame, budget).ok());
    const auto answer = receiveFrame(socket.get(), rest, budget);
    return answer.ok()
               ? *answer
               : Frame{FrameKind::Refused, "", answer.status().message()};
  }

  const uint16_t port = freePort();
  std::unique_ptr<TcpStoreServer> server;
};

TEST_F(Server, WantsAHelloFirst) {
  const Descriptor socket = connect();
  const Frame answer = ask(socket, {FrameKind::Set, "a", "b"});
  EXPECT_EQ(answer.kind, FrameKind::Refused);
  EXPECT_EQ(answer.value, "a rank introduces itself first");
  EXPECT_FALSE(*server->values().find("a"));
}

TEST_F(Server, RanksThatDoNotExist) {
  for (const char *rank : {"0", "3", "-1", "x", ""})
    EXPECT_THAT(ask(connect(), {FrameKind::Hello, "job", rank}).value,
                HasSubstr("is not one of the ranks 1 to 2 that are waited "
                          "for"));
}

TEST_F(Server, DropsWhatIsNoFrame) {
  const Descriptor socket = connect();
  ASSERT_EQ(::send(socket.get(), "GET / HTTP/1.0\r\n\r\n", 18, 0), 18);
  char byte;
  EXPECT_EQ(::recv(socket.get(), &byte, 1, 0), 0);
  // And still answers others.
  EXPECT_EQ(ask(connect(), {FrameKind::Hello, "job", "1"}).kind,
            FrameKind::Yes);
}

TEST_F(Server, TellsWhoIsLostAndWhoHasLeft) {
  {
    const Descriptor one = connect(), two = connect();
    ask(one, {FrameKind::Hello, "job", "1"});
    ask(two, {FrameKind::Hello, "job", "2"});
    ask(two, {FrameKind::Leave, "", ""});
  }
  WaitBudget budget(5s);
  EXPECT_TRUE(*server->values().wait(lostKey(1), budget));
  EXPECT_FALSE(*server->values().find(lostKey(2)));
}

TEST_F(Server, TellsWhoIsSilent) {
  const Descriptor one = connect(), two = connect();
  ask(one, {FrameKind::Hello, "job", "1"});
  ask(two, {FrameKind::Hello, "job", "2"});
  // Nobody knows how often rank 2 says something.
  ask(one, {FrameKind::Alive, "", "700"});
  const auto begin = std::chrono::steady_clock::now();
  WaitBudget budget(20s);
  EXPECT_EQ(**server->values().wait(failureKey, budget),
            "rank 1 has not answered for 700 ms; it is stopped or its machine "
            "hangs");
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 700ms);
  EXPECT_FALSE(*server->values().find(lostKey(2)));
}

TEST_F(Server, WhoHasLeftMayBeSilent) {
  const Descriptor one = connect();
  ask(one, {FrameKind::Hello, "job", "1"});
  ask(one, {FrameKind::Alive, "", "300"});
  ask(one, {FrameKind::Leave, "", ""});
  std::this_thread::sleep_for(1s);
  EXPECT_FALSE(*server->values().find(failureKey));
}

} // namespace
} // namespace weft::runtime
