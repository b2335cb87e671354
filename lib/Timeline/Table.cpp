//===- Table.cpp - What every rank of a pipeline does, in order -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/Table.h"

namespace weft::timeline {

std::string_view nameOf(ActionKind kind) {
  switch (kind) {
  case ActionKind::Forward:
    return "F";
  case ActionKind::Backward:
    return "B";
  case ActionKind::InputGradient:
    return "I";
  case ActionKind::WeightGradient:
    return "W";
  case ActionKind::SendForward:
    return "SEND_F";
  case ActionKind::ReceiveForward:
    return "RECV_F";
  case ActionKind::SendBackward:
    return "SEND_B";
  case ActionKind::ReceiveBackward:
    return "RECV_B";
  case ActionKind::Unshard:
    return "UNSHARD";
  case ActionKind::Reshard:
    return "RESHARD";
  case ActionKind::ReduceGradient:
    return "REDUCE_GRAD";
  case ActionKind::UnshardForward:
    return "UNSHARD_F";
  case ActionKind::UnshardBackward:
    return "UNSHARD_B";
  case ActionKind::Prologue:
    return "P";
  case ActionKind::Update:
    return "U";
  case ActionKind::SendPrologue:
    return "SEND_P";
  case ActionKind::ReceivePrologue:
    return "RECV_P";
  case ActionKind::SendUpdate:
    return "SEND_U";
  case ActionKind::ReceiveUpdate:
    return "RECV_U";
  }
  return "";
}

int32_t peerOf(const Action &action) {
  if (action.peer >= 0 || isOnce(action.kind))
    return action.peer;
  const bool isUp = action.kind == ActionKind::SendForward ||
                    action.kind == ActionKind::ReceiveBackward;
  return action.stage + (isUp ? 1 : -1);
}

std::string print(const Action &action) {
  std::string text = std::to_string(action.stage);
  text += nameOf(action.kind);
  if (action.microbatch >= 0)
    text += std::to_string(action.microbatch);
  if (action.peer >= 0)
    text += (isSend(action.kind) ? '>' : '<') + std::to_string(action.peer);
  return text;
}

std::string printCsv(const Table &table) {
  std::string text;
  for (const Row &row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0)
        text += ',';
      if (!row[i].overlapsNext || i + 1 == row.size()) {
        text += print(row[i]);
        continue;
      }
      text += '(' + print(row[i]) + ';' + print(row[i + 1]) + ")OVERLAP_F_B";
      ++i;
    }
    text += '\n';
  }
  return text;
}

} // namespace weft::timeline
