//===- Table.h - What every rank of a pipeline does, in order ---*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pipeline schedule as a value: for each rank of the pipe axis the actions
// that it performs in one step, in its order. The notation is PyTorch's, so
// that files written for either load in the other.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TIMELINE_TABLE_H
#define WEFT_TIMELINE_TABLE_H

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::timeline {

enum class ActionKind : uint8_t {
  Forward,         // 2F0
  Backward,        // 2B0: input and weight gradients
  InputGradient,   // 2I0
  WeightGradient,  // 2W0
  SendForward,     // 2SEND_F0: the output of stage 2, to the rank of stage 3
  ReceiveForward,  // 2RECV_F0: the input of stage 2, from the rank of stage 1
  SendBackward,    // 2SEND_B0: the gradient of stage 2's input, to stage 1
  ReceiveBackward, // 2RECV_B0: that of stage 2's output, from stage 3
  Unshard,         // 2UNSHARD: gathers the parameters of a stage
  Reshard,         // 2RESHARD: frees what was gathered
  ReduceGradient,  // 2REDUCE_GRAD
  // Of a micro-batch; only what the compiler prints has these.
  UnshardForward,  // 2UNSHARD_F0: gathers what 2F0 needs first
  UnshardBackward, // 2UNSHARD_B0: gathers what 2B0 or 2I0 needs first
  // Once a step, in levels: one computes what another stage needs in its next.
  // Only what the compiler prints has these (see StepRows.h).
  Prologue,        // 2P0: level 0 of what comes before the micro-batches
  Update,          // 2U1: level 1 of what comes behind them
  SendPrologue,    // 2SEND_P0>3: a result of 2P0
  ReceivePrologue, // 3RECV_P0<2
  SendUpdate,      // 2SEND_U1>0: a result of 2U1
  ReceiveUpdate,   // 0RECV_U1<2
};
inline constexpr ActionKind lastActionKind = ActionKind::ReceiveUpdate;

/// As the notation spells it: "F", "SEND_B", "REDUCE_GRAD".
std::string_view nameOf(ActionKind kind);
/// Whether it gathers parameters for a pass over a micro-batch.
inline bool isPassGather(ActionKind kind) {
  return kind == ActionKind::UnshardForward ||
         kind == ActionKind::UnshardBackward;
}
/// Whether an action of this kind is of one micro-batch.
inline bool isOfMicrobatch(ActionKind kind) {
  return kind <= ActionKind::ReceiveBackward || isPassGather(kind);
}
/// Whether it computes, on one micro-batch.
inline bool isCompute(ActionKind kind) {
  return kind <= ActionKind::WeightGradient;
}
/// Whether it computes once a step.
inline bool isLevel(ActionKind kind) {
  return kind == ActionKind::Prologue || kind == ActionKind::Update;
}
/// Whether it is a level, or sends or receives what a level computes.
inline bool isOnce(ActionKind kind) { return kind >= ActionKind::Prologue; }
/// Whether it may go on beside the actions behind it: collectives alone.
inline bool canBeDeferred(ActionKind kind) {
  return kind == ActionKind::Unshard || kind == ActionKind::ReduceGradient ||
         isPassGather(kind);
}
/// Whether it sends or receives, of one micro-batch or once a step.
inline bool isTransfer(ActionKind kind) {
  return (kind >= ActionKind::SendForward &&
          kind <= ActionKind::ReceiveBackward) ||
         kind >= ActionKind::SendPrologue;
}
inline bool isSend(ActionKind kind) {
  return kind == ActionKind::SendForward || kind == ActionKind::SendBackward ||
         kind == ActionKind::SendPrologue || kind == ActionKind::SendUpdate;
}
/// Of what is once a step: whether it is of the update, not of the prologue.
inline bool isOfUpdate(ActionKind kind) {
  return kind == ActionKind::Update || kind == ActionKind::SendUpdate ||
         kind == ActionKind::ReceiveUpdate;
}

struct Action {
  int32_t stage = 0;
  ActionKind kind = ActionKind::Forward;
  /// Once a step: the level, of a transfer that of its sender. -1 for what is
  /// of neither: unshard, reshard and reductions.
  int32_t microbatch = -1;
  /// Runs together with the next action of the rank: `(0F7;7B3)OVERLAP_F_B`.
  bool overlapsNext = false;
  /// Of a transfer, the stage at the other end; -1: the neighbour, unless it is
  /// once a step.
  int32_t peer = -1;

  auto operator<=>(const Action &) const = default;
};

/// Of a transfer, the stage at the other end, even a neighbour.
int32_t peerOf(const Action &action);

/// `2F0`, `1SEND_B3`, across several stages `0SEND_F1>3` and `3RECV_F1<0`;
/// without what it overlaps.
std::string print(const Action &action);

/// The actions of a rank, in its order.
using Row = std::vector<Action>;

struct Table {
  std::vector<Row> rows;

  int32_t ranks() const { return int32_t(rows.size()); }
  bool operator==(const Table &) const = default;
};

/// One row a line, actions separated by commas, no blanks, a line break at the
/// end of each row.
std::string printCsv(const Table &table);

/// A table, or all that is wrong with the text, each as `FILE:ROW:COLUMN: what
/// was found, what was expected`. Rows and columns (of actions) count from 1.
/// Empty cells are skipped: they are PyTorch's idle slots.
struct ParsedTable {
  Table table;
  std::vector<std::string> errors;
};
ParsedTable parseCsv(std::string_view text, std::string_view file);

/// The stage of a pass, and the kind of the actions that gather for it.
using GatheredPass = std::pair<int32_t, ActionKind>;

/// Which rank executes each stage.
using Placement = std::vector<int32_t>;

} // namespace weft::timeline

#endif // WEFT_TIMELINE_TABLE_H
