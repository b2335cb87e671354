//===- BufferContents.h - What the buffers of an entry hold -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The values of each buffer with the time from which the buffer holds them,
// what they are for and where they come from. docs/Memory.md defines the
// purposes; what they are read from is the locations of ops: that of a backward
// op is derived from its forward op, and a gradient has a name.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PLAN_BUFFERCONTENTS_H
#define WEFT_PLAN_BUFFERCONTENTS_H

#include "weft/Schedule/EntryBuffers.h"
#include "weft/runtime/plan_generated.h"

#include <vector>

namespace weft {

/// What the states of a program are for: parameters are those that an entry
/// differentiates by, and beside them the others serve the optimizer.
std::vector<plan::Purpose> findStatePurposes(mlir::ModuleOp module,
                                             const ProgramStates &states);

/// A value that a buffer holds during the instructions [first, last].
struct HeldValue {
  mlir::Value value;
  int64_t first = 0, last = 0;
  plan::Purpose purpose = plan::Purpose::Temporary;
};

class BufferContents {
public:
  BufferContents(const EntryBuffers &buffers,
                 llvm::ArrayRef<plan::Purpose> statePurposes)
      : buffers(buffers), statePurposes(statePurposes) {}

  /// In the order of time.
  std::vector<HeldValue> of(const EntryBuffer &buffer) const;

private:
  plan::Purpose purposeOf(const EntryBuffer &buffer, mlir::Value value) const;

  const EntryBuffers &buffers;
  llvm::ArrayRef<plan::Purpose> statePurposes;
};

} // namespace weft

#endif // WEFT_PLAN_BUFFERCONTENTS_H
