//===- MpiTransfers.cpp - Messages of one task in flight ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MpiTransfers.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::runtime {

std::string MpiTransfers::send(MpiLibrary &library, MpiGroupHandle group,
                               const void *memory, size_t bytes, int process,
                               int tag) {
  const auto *at = static_cast<const std::byte *>(memory);
  for (size_t begin = 0; begin < bytes; begin += pieceBytes) {
    const size_t piece = std::min(pieceBytes, bytes - begin);
    MpiRequest request{};
    if (std::string problem =
            library.send(group, at + begin, piece, process, tag, request);
        !problem.empty())
      return problem;
    pending.push_back({request, piece, false});
  }
  return "";
}

std::string MpiTransfers::receive(MpiLibrary &library, MpiGroupHandle group,
                                  void *memory, size_t bytes, int process,
                                  int tag) {
  auto *at = static_cast<std::byte *>(memory);
  for (size_t begin = 0; begin < bytes; begin += pieceBytes) {
    const size_t piece = std::min(pieceBytes, bytes - begin);
    MpiRequest request{};
    if (std::string problem =
            library.receive(group, at + begin, piece, process, tag, request);
        !problem.empty())
      return problem;
    pending.push_back({request, piece, true});
  }
  return "";
}

std::string MpiTransfers::test(MpiLibrary &library, bool &hasMoved) {
  std::string problem;
  std::erase_if(pending, [&](Pending &each) {
    bool isDone = false;
    size_t bytes = 0;
    std::string failure = library.test(each.request, isDone, bytes);
    if (isDone && failure.empty() && each.isReceive && !each.isCancelled &&
        bytes != each.bytes)
      failure = fmt::format("a message of {} bytes came where {} were expected",
                            bytes, each.bytes);
    if (problem.empty() && !each.isCancelled)
      problem = std::move(failure);
    hasMoved |= isDone;
    return isDone;
  });
  return problem;
}

void MpiTransfers::cancelReceives(MpiLibrary &library) {
  for (Pending &each : pending)
    if (each.isReceive && !each.isCancelled) {
      library.cancel(each.request);
      each.isCancelled = true;
    }
}

} // namespace weft::runtime
