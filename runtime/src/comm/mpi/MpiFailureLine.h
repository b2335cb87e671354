//===- MpiFailureLine.h - How processes tell each other a failure -*- C++
//-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Beside the data of a group or a channel: each process expects a message of
// failure from each other one, which comes at most once.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_COMM_MPI_MPIFAILURELINE_H
#define WEFT_RUNTIME_COMM_MPI_MPIFAILURELINE_H

#include "MpiEngine.h"
#include "MpiTransfers.h"

#include <memory>
#include <vector>

namespace weft::runtime {

class MpiFailureLine {
public:
  /// `others` are processes as `handle` counts them.
  MpiFailureLine(MpiEngine &engine, MpiGroupHandle handle, int tag,
                 std::vector<int> others);

  /// Sends a failure. Safe from any thread; once.
  void tell(const Status &failure);
  /// Waits until it is sent, if there is one.
  void finish(const SpinPolicy &spin) { engine.waitFor(news, spin); }

  // By the thread of the engine:
  /// Expects failures; "" or what went wrong.
  std::string expect(MpiLibrary &library);
  /// Success, or the failure that another process has told.
  Status told(MpiLibrary &library);
  void close(MpiLibrary &library);

private:
  class News final : public MpiTask {
  public:
    explicit News(MpiFailureLine &line) : line(line) {}
    void tell(const Status &failure);
    bool progress(MpiLibrary &library) override;
    void abandon(const Status &) override { finish(); }

  private:
    MpiFailureLine &line;
    std::vector<std::byte> message;
    MpiTransfers sends;
    bool isPosted = false;
  };
  static constexpr size_t messageBytes = 2048;
  struct Expected {
    MpiRequest request{};
    bool isPosted = false;
    std::vector<std::byte> message;
  };

  MpiEngine &engine;
  const MpiGroupHandle handle;
  const int tag;
  const std::vector<int> others;
  std::vector<Expected> expected;
  News news{*this};
};

/// Takes back a receive that nothing will come for.
void withdraw(MpiLibrary &library, MpiRequest &request);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_COMM_MPI_MPIFAILURELINE_H
