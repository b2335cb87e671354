//===- AnsweringPort.h - A port in the place of NCCL's ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_TEST_NCCL_ANSWERINGPORT_H
#define WEFT_RUNTIME_TEST_NCCL_ANSWERINGPORT_H

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <thread>

namespace weft::runtime {

/// A port of this machine that takes one client, reads two lines, answers and
/// closes. Without an answer it does neither.
class AnsweringPort {
public:
  explicit AnsweringPort(std::string answer) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(listener, reinterpret_cast<sockaddr *>(&address), size);
    ::getsockname(listener, reinterpret_cast<sockaddr *>(&address), &size);
    ::listen(listener, 1);
    number = ntohs(address.sin_port);
    thread = std::thread([this, answer] {
      const int client = ::accept(listener, nullptr, nullptr);
      char byte = 0;
      for (int lines = 0; lines < 2 && ::read(client, &byte, 1) == 1;) {
        text.push_back(byte);
        lines += byte == '\n';
      }
      if (answer.empty())
        while (::read(client, &byte, 1) == 1) // until the other side is gone
          text.push_back(byte);
      else
        ::send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
      ::close(client);
    });
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
  void end() const {
    ::shutdown(listener, SHUT_RDWR); // if nobody has come
    if (thread.joinable())
      thread.join();
  }

  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  uint16_t number = 0;
  std::string text;
  mutable std::thread thread;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_TEST_NCCL_ANSWERINGPORT_H
