//===- Processes.h - Ranks that are processes of a test ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_TEST_LAUNCH_PROCESSES_H
#define WEFT_RUNTIME_TEST_LAUNCH_PROCESSES_H

#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <utility>

namespace weft::runtime {

/// A child of the test that writes one text when it ends, after what it writes
/// to standard error.
class Process {
public:
  /// The child runs `main` and writes what it returns.
  explicit Process(const std::function<std::string()> &main) {
    int ends[2];
    if (::pipe(ends) != 0)
      return;
    child = ::fork();
    if (child == 0) {
      ::alarm(60);
      ::dup2(ends[1], STDERR_FILENO);
      const std::string text = main();
      [[maybe_unused]] const ssize_t written =
          ::write(ends[1], text.data(), text.size());
      ::_exit(0);
    }
    ::close(ends[1]);
    output = ends[0];
  }
  Process(const Process &) = delete;
  Process(Process &&other)
      : child(std::exchange(other.child, -1)),
        output(std::exchange(other.output, -1)) {}
  ~Process() {
    if (child > 0)
      (void)finish();
  }

  void kill(int signal) const { ::kill(child, signal); }

  /// Lets it run for a moment, and then stops it for so long.
  void stopFor(std::chrono::milliseconds time) const {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    kill(SIGSTOP);
    std::this_thread::sleep_for(time);
    kill(SIGCONT);
  }

  /// Waits for its end; its text.
  std::string finish() {
    std::string text;
    char buffer[4096];
    for (ssize_t n; (n = ::read(output, buffer, sizeof buffer)) > 0;)
      text.append(buffer, static_cast<size_t>(n));
    ::close(output);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
      text += " exit " + std::to_string(WEXITSTATUS(status));
    if (WIFSIGNALED(status))
      text += " killed by signal " + std::to_string(WTERMSIG(status));
    child = -1;
    return text;
  }

private:
  pid_t child = -1;
  int output = -1;
};

/// A port that nobody listens on now.
inline uint16_t freePort() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof address;
  ::bind(socket, reinterpret_cast<sockaddr *>(&address), size);
  ::getsockname(socket, reinterpret_cast<sockaddr *>(&address), &size);
  ::close(socket);
  return ntohs(address.sin_port);
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_TEST_LAUNCH_PROCESSES_H
