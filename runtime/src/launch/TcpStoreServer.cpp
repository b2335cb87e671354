//===- TcpStoreServer.cpp - The store that rank 0 holds ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launch/TcpStoreServer.h"

#include "comm/StartThread.h"
#include "launch/Number.h"
#include "plan/Text.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace weft::runtime {

using namespace std::chrono_literals;

/// How often ranks are listened to.
static constexpr auto listenInterval = 200ms;

/// Of both families where the host has both.
static Descriptor openListener(uint16_t port) {
  const int yes = 1, no = 0;
  Descriptor six(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 address6{};
  address6.sin6_family = AF_INET6;
  address6.sin6_addr = in6addr_any;
  address6.sin6_port = htons(port);
  if (six.isOpen() &&
      ::setsockopt(six.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) ==
          0 &&
      ::setsockopt(six.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no) == 0 &&
      ::bind(six.get(), reinterpret_cast<sockaddr *>(&address6),
             sizeof address6) == 0 &&
      ::listen(six.get(), SOMAXCONN) == 0)
    return six;
  if (errno == EADDRINUSE)
    return {};
  Descriptor four(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address4{};
  address4.sin_family = AF_INET;
  address4.sin_port = htons(port);
  if (four.isOpen() &&
      ::setsockopt(four.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) ==
          0 &&
      ::bind(four.get(), reinterpret_cast<sockaddr *>(&address4),
             sizeof address4) == 0 &&
      ::listen(four.get(), SOMAXCONN) == 0)
    return four;
  return {};
}

Result<std::unique_ptr<TcpStoreServer>>
TcpStoreServer::listen(uint16_t port, std::string job, int world) {
  Descriptor listener = openListener(port);
  if (!listener.isOpen())
    return unavailable(fmt::format("cannot listen on port {}: {}", port,
                                   std::strerror(errno)));
  Descriptor stopper(::eventfd(0, EFD_CLOEXEC));
  if (!stopper.isOpen())
    return resourceExhausted(std::strerror(errno));
  std::unique_ptr<TcpStoreServer> server(new TcpStoreServer(
      std::move(listener), std::move(stopper), std::move(job), world));
  WEFT_RETURN_IF_ERROR(
      startThread(server->thread, "of the store",
                  [server = server.get()] { server->loop(); }));
  return server;
}

TcpStoreServer::TcpStoreServer(Descriptor listener, Descriptor stopper,
                               std::string job, int world)
    : listener(std::move(listener)), stopper(std::move(stopper)),
      job(std::move(job)), world(world) {}

TcpStoreServer::~TcpStoreServer() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written =
      ::write(stopper.get(), &one, sizeof one);
  if (thread.joinable())
    thread.join();
}

void TcpStoreServer::loop() {
  for (Clock::time_point last = Clock::now();;) {
    std::vector<pollfd> entries{{stopper.get(), POLLIN, 0},
                                {listener.get(), POLLIN, 0}};
    for (const Connection &connection : connections)
      entries.push_back({connection.socket.get(), POLLIN, 0});
    const bool listens =
        std::ranges::any_of(connections, [](const Connection &connection) {
          return connection.mostSilence.count() != 0;
        });
    if (::poll(entries.data(), entries.size(),
               listens ? listenInterval / 1ms : -1) < 0)
      continue; // interrupted
    if (entries[0].revents != 0)
      return;
    for (size_t i = 0; i < connections.size(); ++i)
      if (entries[i + 2].revents != 0)
        read(connections[i]);
    // Of a longer gap this process was stopped in most, and what the others
    // have said meanwhile is to be read first.
    const Clock::time_point now = Clock::now();
    for (Connection &connection : connections)
      listenTo(connection, std::min<std::chrono::nanoseconds>(
                               now - last, 2 * listenInterval));
    last = now;
    std::erase_if(connections, [](const Connection &connection) {
      return connection.isClosed;
    });
    if (entries[1].revents != 0)
      accept();
  }
}

void TcpStoreServer::accept() {
  Descriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket.isOpen())
    return;
  const int yes = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  connections.push_back({.socket = std::move(socket)});
}

void TcpStoreServer::read(Connection &connection) {
  char buffer[65536];
  const ssize_t count =
      ::recv(connection.socket.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (count <= 0)
    return close(connection);
  connection.received.append(buffer, static_cast<size_t>(count));
  connection.silence = {};
  while (!connection.isClosed) {
    Result<std::optional<Frame>> request = takeFrame(connection.received);
    if (!request.ok())
      return close(connection);
    if (!*request)
      return;
    const Frame reply = answer(connection, **request);
    // A rank reads its answer at once; one that does not is left alone.
    WaitBudget budget{std::chrono::seconds(1)};
    if (!sendFrame(connection.socket.get(), reply, budget).ok())
      return close(connection);
  }
}

Frame TcpStoreServer::answer(Connection &connection, const Frame &request) {
  if (request.kind == FrameKind::Hello)
    return welcome(connection, request);
  if (connection.rank < 0)
    return {FrameKind::Refused, "", "a rank introduces itself first"};
  if (request.kind == FrameKind::Alive) {
    const auto most = parseNumber(request.value, 1);
    connection.mostSilence = std::chrono::milliseconds(most.value_or(0));
    return {FrameKind::Yes, "", ""};
  }
  if (request.kind == FrameKind::Leave) {
    connection.rank = -1;
    connection.mostSilence = {};
    return {FrameKind::Yes, "", ""};
  }
  if (request.kind == FrameKind::Set) {
    (void)store.set(request.key, request.value);
    return {FrameKind::Yes, "", ""};
  }
  const auto value = store.find(request.key);
  return *value ? Frame{FrameKind::Yes, "", **value}
                : Frame{FrameKind::No, "", ""};
}

Frame TcpStoreServer::welcome(Connection &connection, const Frame &hello) {
  if (hello.key != job)
    return {FrameKind::No, "",
            fmt::format("the store there is of another job ({}, not {})",
                        escaped(job), escaped(hello.key))};
  const auto rank = parseNumber(hello.value, 1, world - 1);
  if (!rank)
    return {FrameKind::Refused, "",
            fmt::format("rank {} is not one of the ranks 1 to {} that are "
                        "waited for; every process needs a rank of its own",
                        escaped(hello.value), world - 1)};
  if (!arrived.insert(static_cast<int>(*rank)).second)
    return {FrameKind::Refused, "",
            fmt::format("rank {} has arrived before; every process needs a "
                        "rank of its own",
                        *rank)};
  connection.rank = static_cast<int>(*rank);
  return {FrameKind::Yes, "", ""};
}

void TcpStoreServer::close(Connection &connection) {
  connection.isClosed = true;
  if (connection.rank < 0 || *store.find(leftKey(connection.rank)))
    return;
  lose(connection.rank,
       "ended without an error message; its own output may say why");
}

void TcpStoreServer::listenTo(Connection &connection,
                              std::chrono::nanoseconds silent) {
  connection.silence += silent;
  if (connection.mostSilence.count() == 0 ||
      connection.silence < connection.mostSilence)
    return;
  lose(connection.rank, describeSilence(connection.mostSilence));
  connection.mostSilence = {}; // it is lost once
}

void TcpStoreServer::lose(int rank, const std::string &how) {
  (void)store.set(lostKey(rank), "");
  if (!*store.find(failureKey))
    (void)store.set(failureKey, fmt::format("{} {}", lostRank(rank), how));
}

} // namespace weft::runtime
