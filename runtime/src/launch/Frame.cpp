//===- Frame.cpp - What the TCP store sends ---------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launch/Frame.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace weft::runtime {

static constexpr std::string_view mark = "Weft";
static constexpr size_t headerBytes = 4 + 1 + 4 + 4;

static void append(std::string &bytes, uint32_t number) {
  for (int shift = 0; shift < 32; shift += 8)
    bytes.push_back(static_cast<char>(number >> shift));
}

static uint32_t numberAt(const std::string &bytes, size_t offset) {
  uint32_t number = 0;
  for (size_t i = 0; i < 4; ++i)
    number |= static_cast<uint32_t>(static_cast<uint8_t>(bytes[offset + i]))
              << (8 * i);
  return number;
}

std::string encode(const Frame &frame) {
  std::string bytes(mark);
  bytes.push_back(static_cast<char>(frame.kind));
  append(bytes, static_cast<uint32_t>(frame.key.size()));
  append(bytes, static_cast<uint32_t>(frame.value.size()));
  return bytes + frame.key + frame.value;
}

Result<std::optional<Frame>> takeFrame(std::string &bytes) {
  const size_t known = std::min(bytes.size(), mark.size());
  const auto notOurs = [] {
    return unavailable("another program answers there");
  };
  if (bytes.substr(0, known) != mark.substr(0, known))
    return notOurs();
  if (bytes.size() < headerBytes)
    return std::optional<Frame>();
  const auto kind = static_cast<uint8_t>(bytes[4]);
  const uint32_t key = numberAt(bytes, 5), value = numberAt(bytes, 9);
  if (kind > static_cast<uint8_t>(FrameKind::Alive) || key > maxFrameText ||
      value > maxFrameText)
    return notOurs();
  if (bytes.size() < headerBytes + key + value)
    return std::optional<Frame>();
  Frame frame{static_cast<FrameKind>(kind), bytes.substr(headerBytes, key),
              bytes.substr(headerBytes + key, value)};
  bytes.erase(0, headerBytes + key + value);
  return std::optional(std::move(frame));
}

Descriptor::~Descriptor() {
  if (isOpen())
    ::close(number);
}

Status waitFor(int socket, short events, WaitBudget &budget) {
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        budget.nextLook() - Clock::now());
    pollfd entry{socket, events, 0};
    const int ready = ::poll(
        &entry, 1,
        static_cast<int>(std::clamp<int64_t>(left.count() + 1, 0, 1 << 30)));
    if (ready > 0)
      return {};
    if (ready < 0 && errno != EINTR)
      return unavailable(std::strerror(errno));
    if (budget.isSpent())
      return deadlineExceeded("no answer");
  }
}

Status sendFrame(int socket, const Frame &frame, WaitBudget &budget) {
  const std::string bytes = encode(frame);
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t count =
        ::send(socket, bytes.data() + sent, bytes.size() - sent,
               MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0)
      sent += static_cast<size_t>(count);
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
      WEFT_RETURN_IF_ERROR(waitFor(socket, POLLOUT, budget));
    else if (errno != EINTR)
      return unavailable(std::strerror(errno));
  }
  return {};
}

Result<Frame> receiveFrame(int socket, std::string &bytes, WaitBudget &budget) {
  while (true) {
    WEFT_ASSIGN_OR_RETURN(std::optional<Frame> frame, takeFrame(bytes));
    if (frame)
      return *std::move(frame);
    char buffer[4096];
    const ssize_t count = ::recv(socket, buffer, sizeof buffer, MSG_DONTWAIT);
    if (count > 0)
      bytes.append(buffer, static_cast<size_t>(count));
    else if (count == 0)
      return unavailable("the connection was closed");
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
      WEFT_RETURN_IF_ERROR(waitFor(socket, POLLIN, budget));
    else if (errno != EINTR)
      return unavailable(std::strerror(errno));
  }
}

} // namespace weft::runtime
