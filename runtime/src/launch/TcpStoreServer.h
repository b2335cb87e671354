//===- TcpStoreServer.h - The store that rank 0 holds -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One thread that answers the ranks of one job. It refuses ranks of other jobs
// and a second process with the same rank, and notices ranks whose connection
// ends before they have left, and those that are silent for longer than they
// have said they would be (`lostKey`). It trusts whoever can reach the port:
// run jobs in networks that are yours.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_LAUNCH_TCPSTORESERVER_H
#define WEFT_RUNTIME_SRC_LAUNCH_TCPSTORESERVER_H

#include "launch/Frame.h"
#include "launch/Store.h"

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace weft::runtime {

class TcpStoreServer {
public:
  /// Listens on `port` of all addresses of this host. `job` is what ranks must
  /// say in their hello.
  static Result<std::unique_ptr<TcpStoreServer>>
  listen(uint16_t port, std::string job, int world);
  ~TcpStoreServer();

  MemoryStore &values() { return store; }

private:
  struct Connection {
    Descriptor socket;
    std::string received;
    /// -1 until its hello.
    int rank = -1;
    bool isClosed = false;
    /// How long it says nothing at most while it lives; 0 = nobody knows.
    std::chrono::nanoseconds mostSilence{0};
    /// How long it has said nothing, while this process ran.
    std::chrono::nanoseconds silence{0};
  };

  TcpStoreServer(Descriptor listener, Descriptor stopper, std::string job,
                 int world);
  void loop();
  void accept();
  void read(Connection &connection);
  Frame answer(Connection &connection, const Frame &request);
  Frame welcome(Connection &connection, const Frame &hello);
  void close(Connection &connection);
  void listenTo(Connection &connection, std::chrono::nanoseconds silent);
  void lose(int rank, const std::string &how);

  MemoryStore store;
  Descriptor listener;
  /// Readable when the thread is to end.
  Descriptor stopper;
  const std::string job;
  const int world;
  std::set<int> arrived;
  std::vector<Connection> connections;
  std::thread thread;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_LAUNCH_TCPSTORESERVER_H
