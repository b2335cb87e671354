//===- NcclStatusPort.cpp - What NCCL says of a job -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/nccl/NcclStatusPort.h"

#include "comm/Call.h"
#include "launch/Frame.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace weft::runtime {

/// A report of thousands of ranks is cut.
static constexpr size_t longest = 256 << 10;

std::string ncclStatusAddress() {
  const char *address = std::getenv("NCCL_RAS_ADDR");
  return address && *address ? address : "localhost:28028";
}

/// Whether the socket is ready in time; its error is in errno otherwise.
static bool await(int socket, short events, Clock::time_point end) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  pollfd ready{socket, events, 0};
  const int count =
      ::poll(&ready, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
  if (count == 0)
    errno = ETIMEDOUT;
  return count > 0;
}

static Descriptor connectTo(const addrinfo &address, Clock::time_point end) {
  Descriptor socket(::socket(address.ai_family,
                             SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.isOpen())
    return {};
  if (::connect(socket.get(), address.ai_addr, address.ai_addrlen) == 0)
    return socket;
  if (errno != EINPROGRESS || !await(socket.get(), POLLOUT, end))
    return {};
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  errno = error;
  return error == 0 ? std::move(socket) : Descriptor();
}

/// All that comes until the other side closes or time is up.
static std::string receiveAll(int socket, Clock::time_point end) {
  std::string text;
  char buffer[4096];
  while (text.size() < longest) {
    const ssize_t count = ::recv(socket, buffer, sizeof buffer, 0);
    if (count > 0)
      text.append(buffer, static_cast<size_t>(count));
    else if (count == 0 || (errno != EAGAIN && errno != EINTR) ||
             !await(socket, POLLIN, end))
      break;
  }
  return text;
}

std::string readNcclStatus(const std::string &address,
                           std::chrono::nanoseconds timeout) {
  const Clock::time_point end = Clock::now() + timeout;
  const size_t colon = address.rfind(':');
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (colon == std::string::npos ||
      ::getaddrinfo(address.substr(0, colon).c_str(),
                    address.substr(colon + 1).c_str(), &hints, &found) != 0)
    return fmt::format("{} is not an address (NCCL_RAS_ADDR)\n", address);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(
      found, ::freeaddrinfo);

  Descriptor socket;
  for (; found && !socket.isOpen(); found = found->ai_next)
    socket = connectTo(*found, end);
  if (!socket.isOpen())
    return fmt::format("nobody answers at {} ({})\n", address,
                       std::strerror(errno));
  const std::string commands =
      // The other side gives up before this one does.
      fmt::format("timeout {}\nverbose status\n",
                  std::max<int64_t>(timeout / std::chrono::seconds(2), 1));
  if (::send(socket.get(), commands.data(), commands.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(commands.size()))
    return fmt::format("{} accepts no commands ({})\n", address,
                       std::strerror(errno));
  std::string text = receiveAll(socket.get(), end);
  if (text.starts_with("OK\n"))
    text.erase(0, 3);
  return text.empty() ? fmt::format("{} did not answer within {}\n", address,
                                    describeDuration(timeout))
                      : text;
}

} // namespace weft::runtime
