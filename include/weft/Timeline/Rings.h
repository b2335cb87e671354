//===- Rings.h - Memory of one value of many micro-batches ------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value that every micro-batch has is in a ring of slots, that of micro-batch
// i in slot i mod depth. The depth follows from the row of its rank: no two
// micro-batches that have the value at once share a slot.
//
//   F0 F1 I0 F2 W0 F3 I1 W1 I2 W2 I3 W3: depth 3 from F to W, 1 from I to W
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TIMELINE_RINGS_H
#define WEFT_TIMELINE_RINGS_H

#include "weft/Timeline/Check.h"

#include <functional>

namespace weft::timeline {

/// By micro-batch, the columns of a row that touch its value, ascending; the
/// first one writes it. None where a micro-batch does not have the value.
using Touches = std::vector<std::vector<int32_t>>;

/// The columns of the actions for which `touches` holds. One that is once a
/// step touches the values of all micro-batches.
Touches touchesOf(const Row &row, int32_t microbatches,
                  const std::function<bool(const Action &)> &touches);

/// Where in a row what is sent is no longer in use. Who writes its slot next
/// waits for the send in any case.
enum class SendEnd : uint8_t {
  /// Where the send stands: the least memory.
  AtOnce,
  /// Behind the computation that follows, beside which it is sent.
  BehindNext,
};

/// The least depth; 0 if no micro-batch has the value.
int32_t ringDepth(const Row &row, const Touches &touches,
                  SendEnd sendEnd = SendEnd::AtOnce);

struct RingValue {
  int32_t rank = 0;
  Touches touches;
};

struct RingPlan {
  /// By value.
  std::vector<int32_t> depths;
  /// For Job.slotUses: the slots of a rank count on from value to value.
  std::vector<SlotUse> uses;
  /// For Job.waits.
  std::vector<Wait> waits;
};

/// The rings of a job, each as deep as it must be, and what has to wait for
/// their reuse. A send that waits for a receive then holds up whoever writes
/// its slot next: rows with Receives::WithSend cannot deadlock for that, as all
/// of it happens in one order, but where receives come later check may find C2
/// violated (as for looped-bfs and, with waitsOfWalk, interleaved-zb).
RingPlan planRings(const Table &table, const std::vector<RingValue> &values,
                   SendEnd sendEnd = SendEnd::AtOnce);

} // namespace weft::timeline

#endif // WEFT_TIMELINE_RINGS_H
