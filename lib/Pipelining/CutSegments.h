//===- CutSegments.h - Functions of the segments of an entry ----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PIPELINING_CUTSEGMENTS_H
#define WEFT_LIB_PIPELINING_CUTSEGMENTS_H

#include "SharedUpdates.h"

#include "llvm/ADT/StringSet.h"

#include <map>
#include <set>

namespace weft {

/// A state of a role, by name.
struct SegmentState {
  /// The segments that write and read it. One that is received has no writer.
  std::set<SegmentKey> writers, readers;
  /// Whether there is one for each micro-batch.
  bool isOfMicrobatch = false;
  /// Whether slot i holds i.
  bool isNumber = false;
  /// Of one micro-batch, where there is a writer.
  int64_t bytes = 0;
};

/// What is sent after a segment, from its role to another.
struct SegmentMessage {
  SegmentKey after;
  /// The first stage of the other role that needs it; of what is sent once a
  /// step, the first stage of the role.
  int64_t destination = 0;
  std::vector<std::string> values;
};

/// An entry as functions; the states are by role and name.
struct CutEntry {
  std::map<SegmentKey, mlir::func::FuncOp> segments;
  std::map<std::pair<int64_t, std::string>, SegmentState> states;
  std::vector<SegmentMessage> messages;
};

/// By name, the roles that have a state.
using StateHolders = std::map<std::string, std::set<int64_t>>;

/// Makes a function of every segment, behind `entry`, and leaves of `entry` a
/// declaration. Its states are named by none of `taken`, to which they are
/// added.
/// `holders` are the roles that have states of other entries, `copies` results
/// that several roles compute.
CutEntry cutSegments(mlir::func::FuncOp entry, const PipelineSchedule &schedule,
                     llvm::StringSet<> &taken, const StateHolders &holders,
                     const ResultCopies &copies);

} // namespace weft

#endif // WEFT_LIB_PIPELINING_CUTSEGMENTS_H
