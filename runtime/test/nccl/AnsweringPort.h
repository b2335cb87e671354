//===- AnsweringPort.h - A port in the place of NCCL's ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_TEST_NCCL_ANSWERINGPORT_H
#define WEFT_RUNTIME_TEST_NCCL_ANSWERINGPORT_H

#include "launch/Processes.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>

namespace weft::runtime {

/// A port of this machine that takes one client, reads two lines, answers and
/// closes. Without an answer it does neither.
class AnsweringPort {
public:
  explicit AnsweringPort(const std::string &answer) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(listener, reinterpret_cast<sockaddr *>(&address), size);
    ::getsockname(listener, reinterpret_cast<sockaddr *>(&address), &size);
    ::listen(listener, 1);
    number = ntohs(address.sin_port);
    // No thread: the tests fork, which one would keep the sanitizer from.
    server.emplace([this, &answer] { return serve(answer); });
  }
  ~AnsweringPort() {
    end();
    ::close(listener);
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(number); }
  /// What the client has said, when it is gone.
  const std::string &heard() const {
    end();
    return text;
  }

private:
  std::string serve(const std::string &answer) const {
    const int client = ::accept(listener, nullptr, nullptr);
    std::string said;
    char byte = 0;
    for (int lines = 0; lines < 2 && ::read(client, &byte, 1) == 1;) {
      said.push_back(byte);
      lines += byte == '\n';
    }
    if (answer.empty())
      while (::read(client, &byte, 1) == 1) // until the other side is gone
        said.push_back(byte);
    else
      ::send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
    ::close(client);
    return said;
  }
  void end() const {
    ::shutdown(listener, SHUT_RDWR); // if nobody has come
    if (server)
      text = server->finish();
    server.reset();
  }

  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  uint16_t number = 0;
  mutable std::string text;
  mutable std::optional<Process> server;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_TEST_NCCL_ANSWERINGPORT_H
