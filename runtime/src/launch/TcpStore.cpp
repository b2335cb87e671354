//===- TcpStore.cpp - A store at a port of the host of rank 0 ---*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launch/TcpStore.h"

#include "comm/Call.h"
#include "launch/TcpStoreServer.h"
#include "plan/Text.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;

/// How long one attempt to connect may take.
constexpr auto connectionTimeout = 2s;

/// What ranks of one start of one job say to each other.
std::string jobName(const Launch &launch) {
  return fmt::format("job \"{}\" start {} of {} ranks", launch.job,
                     launch.restart, launch.world);
}

std::string portsOf(const MeetingPoint &meeting) {
  std::string text = meeting.toString();
  if (meeting.ports > 1)
    text += fmt::format(" to {}", meeting.port + meeting.ports - 1);
  return text;
}

/// The end of rank 0, in the process that has the server.
class ServedStore final : public Store {
public:
  ServedStore(std::unique_ptr<TcpStoreServer> server, std::string where)
      : server(std::move(server)), where(std::move(where)) {}

  Status set(const std::string &key, const std::string &value) override {
    return server->values().set(key, value);
  }
  Result<std::optional<std::string>> find(const std::string &key) override {
    return server->values().find(key);
  }
  std::string address() const override { return where; }

private:
  std::unique_ptr<TcpStoreServer> server;
  std::string where;
};

class RemoteStore final : public Store {
public:
  RemoteStore(Descriptor socket, std::string where,
              std::chrono::nanoseconds silence)
      : socket(std::move(socket)), where(std::move(where)), silence(silence) {}

  /// One question and its answer. After a failure every later one fails at
  /// once: an answer that comes late would be taken for that of the next.
  Result<Frame> ask(const Frame &frame, WaitBudget &budget) {
    if (lost.ok())
      lost = sendFrame(socket.get(), frame, budget);
    if (!lost.ok())
      return lost;
    Result<Frame> answer = receiveFrame(socket.get(), received, budget);
    lost = answer.status();
    return answer;
  }

  Status set(const std::string &key, const std::string &value) override {
    return request({FrameKind::Set, key, value}).status();
  }
  Result<std::optional<std::string>> find(const std::string &key) override {
    WEFT_ASSIGN_OR_RETURN(Frame answer, request({FrameKind::Find, key, ""}));
    return answer.kind == FrameKind::Yes ? std::optional(answer.value)
                                         : std::nullopt;
  }
  std::string address() const override { return where; }
  void sayAlive(std::chrono::nanoseconds most) override {
    const auto milliseconds =
        std::chrono::duration_cast<std::chrono::milliseconds>(most);
    (void)request(
        {FrameKind::Alive, "", fmt::format("{}", milliseconds.count())});
  }
  void leave() override { (void)request({FrameKind::Leave, "", ""}); }

private:
  Result<Frame> request(const Frame &frame) {
    std::lock_guard<std::mutex> lock(mutex);
    WaitBudget budget(silence);
    Result<Frame> answer = ask(frame, budget);
    if (answer.ok())
      return answer;
    if (answer.status().code() == StatusCode::DeadlineExceeded)
      return unavailable(
          fmt::format("{} {}", lostRank(0), describeSilence(silence)));
    return unavailable(
        fmt::format("{} has ended or its host cannot be reached: the store at "
                    "{}, which it holds, is lost ({})",
                    lostRank(0), where, answer.status().message()));
  }

  std::mutex mutex;
  Descriptor socket;
  std::string received;
  Status lost;
  const std::string where;
  const std::chrono::nanoseconds silence;
};

Result<Descriptor> connectTo(const std::string &host, uint16_t port,
                             WaitBudget &budget) {
  addrinfo hints{}, *addresses = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  (void)budget.isSpent();
  const int error = ::getaddrinfo(host.c_str(), fmt::format("{}", port).c_str(),
                                  &hints, &addresses);
  (void)budget.isSpentByCall();
  if (error != 0)
    return unavailable(fmt::format("cannot find host {}: {}", escaped(host),
                                   gai_strerror(error)));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(
      addresses, &::freeaddrinfo);
  std::string reason = "no address";
  for (const addrinfo *at = addresses; at; at = at->ai_next) {
    Descriptor socket(
        ::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.isOpen())
      continue;
    int failure =
        ::connect(socket.get(), at->ai_addr, at->ai_addrlen) == 0 ? 0 : errno;
    if (failure == EINPROGRESS) {
      socklen_t size = sizeof failure;
      if (waitFor(socket.get(), POLLOUT, budget).ok())
        ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &failure, &size);
      else
        failure = ETIMEDOUT;
    }
    if (failure == 0) {
      const int yes = 1;
      ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      return socket;
    }
    reason = std::strerror(failure);
  }
  return unavailable(std::move(reason));
}

/// Connects to one port and introduces this rank. `FailedPrecondition` when the
/// store of the job is there, but will not have it.
Result<std::unique_ptr<Store>> join(const Launch &launch, uint16_t port,
                                    std::chrono::nanoseconds silence,
                                    WaitBudget &budget) {
  WEFT_ASSIGN_OR_RETURN(Descriptor socket,
                        connectTo(launch.meeting.host, port, budget));
  auto store = std::make_unique<RemoteStore>(
      std::move(socket), fmt::format("tcp://{}:{}", launch.meeting.host, port),
      silence);
  WEFT_ASSIGN_OR_RETURN(Frame answer,
                        store->ask({FrameKind::Hello, jobName(launch),
                                    fmt::format("{}", launch.rank)},
                                   budget));
  if (answer.kind == FrameKind::Refused)
    return failedPrecondition(answer.value);
  if (answer.kind != FrameKind::Yes)
    return unavailable(answer.value);
  return std::unique_ptr<Store>(std::move(store));
}

Result<std::unique_ptr<Store>> serve(const Launch &launch) {
  const MeetingPoint &meeting = launch.meeting;
  std::string reason;
  for (int i = 0; i < meeting.ports && meeting.port + i < 65536; ++i) {
    const auto port = static_cast<uint16_t>(meeting.port + i);
    Result<std::unique_ptr<TcpStoreServer>> server =
        TcpStoreServer::listen(port, jobName(launch), launch.world);
    if (server.ok())
      return std::make_unique<ServedStore>(
          *std::move(server), fmt::format("tcp://{}:{}", meeting.host, port));
    reason = server.status().message();
  }
  return unavailable(fmt::format("rank 0 cannot open the store of the job at "
                                 "{}: {}; another job may use the port: name a "
                                 "free one",
                                 portsOf(meeting), reason));
}

} // namespace

Result<std::unique_ptr<Store>>
connectTcpStore(const Launch &launch, std::chrono::nanoseconds timeout,
                std::chrono::nanoseconds silence) {
  if (launch.rank == 0)
    return serve(launch);
  const MeetingPoint &meeting = launch.meeting;
  WaitBudget budget(timeout);
  std::string reason;
  for (Backoff backoff;; backoff.sleep(budget)) {
    for (int i = 0; i < meeting.ports && meeting.port + i < 65536; ++i) {
      WaitBudget attempt(connectionTimeout, budget);
      Result<std::unique_ptr<Store>> store = join(
          launch, static_cast<uint16_t>(meeting.port + i), silence, attempt);
      if (store.ok())
        return store;
      if (store.status().code() == StatusCode::FailedPrecondition)
        return store.status().withContext(
            fmt::format("the store at {}", portsOf(meeting)));
      // An attempt that the deadline cuts short says less than those before.
      if (reason.empty() || !budget.isSpent())
        reason = store.status().message();
    }
    if (budget.isSpent())
      return deadlineExceeded(fmt::format(
          "rank {} waited {} for rank 0, which holds the store at {}: {}",
          launch.rank, describeDuration(timeout), portsOf(meeting), reason));
  }
}

} // namespace weft::runtime
