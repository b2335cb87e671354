//===- CommunicationOpInterface.h - Data between devices --------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Example:
//   if (auto op = dyn_cast<weft::CommunicationOpInterface>(operation))
//     bytes += countWireBytes(op);
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_COMMUNICATIONOPINTERFACE_H
#define WEFT_IR_COMMUNICATIONOPINTERFACE_H

#include "weft/Cost/CollectiveKind.h"
#include "weft/IR/WeftAttrs.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"

#include <optional>

#include "weft/IR/CommunicationOpInterface.h.inc"

namespace weft {

/// The members of a group, and its span as in cost::CollectiveCost.
struct GroupLayout {
  int64_t size = 1, span = 1;
};

/// Verified ops have a mesh that knows their axes.
GroupLayout findGroups(CommunicationOpInterface op);

/// Bytes that a rank sends.
int64_t countWireBytes(CommunicationOpInterface op);

} // namespace weft

#endif // WEFT_IR_COMMUNICATIONOPINTERFACE_H
