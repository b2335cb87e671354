//===- MpiTransfers.h - Messages of one task in flight ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_COMM_MPI_MPITRANSFERS_H
#define WEFT_RUNTIME_COMM_MPI_MPITRANSFERS_H

#include "MpiLibrary.h"

#include <string>
#include <vector>

namespace weft::runtime {

/// Sends and receives of any size, which MPI gets in pieces: it counts them in
/// 31 bits, and a piece that arrives shows that its sender is alive.
class MpiTransfers {
public:
  static constexpr size_t largestPiece = size_t(16) << 20;
  /// For tests of what is cut; all processes have the same.
  static inline size_t pieceBytes = largestPiece;

  /// Each returns "" or what went wrong.
  std::string send(MpiLibrary &library, MpiGroupHandle group,
                   const void *memory, size_t bytes, int process, int tag);
  std::string receive(MpiLibrary &library, MpiGroupHandle group, void *memory,
                      size_t bytes, int process, int tag);

  /// Looks after all of them; `hasMoved` is set when one is complete.
  std::string test(MpiLibrary &library, bool &hasMoved);
  bool areComplete() const { return pending.empty(); }
  void cancelReceives(MpiLibrary &library);

private:
  struct Pending {
    MpiRequest request;
    size_t bytes;
    bool isReceive;
    bool isCancelled = false;
  };
  std::vector<Pending> pending;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_COMM_MPI_MPITRANSFERS_H
