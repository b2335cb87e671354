//===- TcpStoreServer.h - The store that rank 0 holds -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One thread that answers the ranks of one job. It refuses ranks of other jobs
// and a second process with the same rank, and notices ranks whose connection
// ends before they have left (`lostKey`). It trusts whoever can reach the port:
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
  };

  TcpStoreServer(Descriptor listener, Descriptor stopper, std::string job,
                 int world);
  void loop();
  void accept();
  void read(Connection &connection);
  Frame answer(Connection &connection, const Frame &request);
  Frame welcome(Connection &connection, const Frame &hello);
  void close(Connection &connection);

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
