//===- TransferEnds.h - A message as its two ends see it --------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_COMM_TRANSFERENDS_H
#define WEFT_RUNTIME_COMM_TRANSFERENDS_H

#include "weft/runtime/Communicator.h"

namespace weft::runtime {

/// Whether the two ends move the same; the failure shows both.
Status checkSameTransfer(const Transfer &from, int sender, const Transfer &to,
                         int receiver);

/// Of `rank`, which sends or receives, when `peer` does not start it, or never
/// will because its process has ended.
Status missingTransfer(const Transfer &transfer, bool sends, int rank, int peer,
                       bool hasPeerEnded = false);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_COMM_TRANSFERENDS_H
