//===- Call.h - What a rank asks of its group -------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A Call is what a rank publishes when it enters a collective: enough for the
// peers to check that they are all doing the same thing, and the pointers they
// read and write.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_COMM_CALL_H
#define WEFT_RUNTIME_COMM_CALL_H

#include "weft/runtime/Communicator.h"

#include <string>

namespace weft::runtime {

enum class Operation : uint8_t {
  AllReduce,
  ReduceScatter,
  AllGather,
  AllToAll,
  Permute,
  Exchange,
  Barrier,
};

/// "all_reduce".
std::string_view name(Operation operation);

/// The part of a call that all ranks of the group must agree on. What an
/// operation does not use keeps its default.
struct CallShape {
  Operation operation = Operation::Barrier;
  DType dtype = DType::F32;
  Reduction reduction = Reduction::Sum;
  bool splitFirst = false;
  int64_t outer = 1;
  int64_t middle = 1;
  int64_t inner = 1;
  /// Of an exchange, along the middle dimension.
  int64_t before = 1;
  int64_t after = 1;

  friend bool operator==(const CallShape &, const CallShape &) = default;
};

struct Call {
  CallShape shape;
  const void *source = nullptr;
  void *destination = nullptr;
  int64_t planStep = -1;
  /// Valid while the rank is inside the call.
  std::string_view cause;
};

/// "all_reduce sum of f32[1024]", "permute of i32[8]".
std::string describe(const CallShape &shape);

/// "step 17 all_reduce on rank 3"; without the step outside a plan.
std::string describeCall(Operation operation, int64_t planStep, int worldRank);

/// A cause in one line. That of several collectives in one call has a line for
/// each; of those the first is kept: "7 collectives in one: 4 B: loss; and 6
/// more".
std::string shortCause(std::string_view cause);

/// " (gradient of w1)", or nothing for an empty cause; in one line.
std::string describeCause(std::string_view cause);

/// "rank 1" or "ranks 1, 2".
std::string describeRanks(std::span<const int> ranks);

/// "30 s", "250 ms", in the largest unit that divides the duration.
std::string describeDuration(std::chrono::nanoseconds duration);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_COMM_CALL_H
