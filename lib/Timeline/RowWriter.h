//===- RowWriter.h - A row in the making ------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row in the making: actions take the micro-batches of their stage and kind
// one after the other.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_TIMELINE_ROWWRITER_H
#define WEFT_LIB_TIMELINE_ROWWRITER_H

#include "weft/Timeline/Table.h"

#include <deque>
#include <map>

namespace weft::timeline {

class RowWriter {
public:
  /// F, B or I. Of an I the weight gradient is pending from then on.
  void add(int32_t stage, ActionKind kind) {
    if (kind == ActionKind::Forward) {
      row.push_back({stage, kind, forwards[stage]++});
      return;
    }
    const int32_t microbatch = backwards[stage]++;
    row.push_back({stage, kind, microbatch});
    if (kind == ActionKind::InputGradient)
      pending.push_back({stage, ActionKind::WeightGradient, microbatch});
  }

  /// A forward that runs together with a backward.
  void addPair(int32_t forwardStage, int32_t backwardStage) {
    add(forwardStage, ActionKind::Forward);
    row.back().overlapsNext = true;
    add(backwardStage, ActionKind::Backward);
  }

  /// The weight gradient that is pending for the longest time, if any is.
  void addWeightGradient() {
    if (pending.empty())
      return;
    row.push_back(pending.front());
    pending.pop_front();
  }

  void addAllWeightGradients() {
    while (!pending.empty())
      addWeightGradient();
  }

  Row take() { return std::move(row); }

private:
  Row row;
  /// By stage: how many there are so far.
  std::map<int32_t, int32_t> forwards, backwards;
  std::deque<Action> pending;
};

} // namespace weft::timeline

#endif // WEFT_LIB_TIMELINE_ROWWRITER_H
