//===- TransferEnds.cpp - A message as its two ends see it ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TransferEnds.h"

#include "Call.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::runtime {

static std::string_view verbOf(bool sends) {
  return sends ? "send" : "receive";
}

/// `role 1 action 4: send of message 2 "h" (micro-batch 0) on rank 3`.
static std::string describe(const Transfer &transfer, bool sends, int rank) {
  return fmt::format(
      "role {} action {}: {} of message {} \"{}\" (micro-batch {}) on rank {}",
      transfer.role, transfer.action, verbOf(sends), transfer.message,
      transfer.label, transfer.microbatch, rank);
}

static std::string describeParts(const Transfer &transfer) {
  std::string text;
  for (const Transfer::Part &part : transfer.parts)
    text += fmt::format("{}{} bytes of {}", text.empty() ? "" : ", ",
                        part.bytes, name(part.dtype));
  return text;
}

Status checkSameTransfer(const Transfer &from, int sender, const Transfer &to,
                         int receiver) {
  const bool isSame =
      from.message == to.message && from.microbatch == to.microbatch &&
      std::equal(from.parts.begin(), from.parts.end(), to.parts.begin(),
                 to.parts.end(), [](const auto &a, const auto &b) {
                   return a.bytes == b.bytes && a.dtype == b.dtype;
                 });
  if (isSame)
    return {};
  return failedPrecondition(
      fmt::format("the two ends of a queue differ: {} ({}), but {} ({})",
                  describe(from, true, sender), describeParts(from),
                  describe(to, false, receiver), describeParts(to)));
}

Status missingTransfer(const Transfer &transfer, bool sends, int rank, int peer,
                       bool hasPeerEnded) {
  if (hasPeerEnded)
    return deadlineExceeded(fmt::format(
        "{}: rank {} will not {} it: its process has come to the end of its "
        "program",
        describe(transfer, sends, rank), peer, verbOf(!sends)));
  return deadlineExceeded(fmt::format(
      "{}: rank {} did not {} it within {}", describe(transfer, sends, rank),
      peer, verbOf(!sends), describeDuration(transfer.timeout)));
}

} // namespace weft::runtime
