//===- EntryWriter.h - One entry of a plan ----------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PLAN_ENTRYWRITER_H
#define WEFT_LIB_PLAN_ENTRYWRITER_H

#include "PlanTables.h"

#include "weft/Schedule/EntryBuffers.h"

namespace weft {

/// Buffers and instructions of an entry. Fails, with a diagnostic, if a value
/// has no offset in the arena.
mlir::FailureOr<std::unique_ptr<plan::EntryT>>
writeEntry(mlir::func::FuncOp entry, const ProgramStates &states,
           PlanTables &tables);

} // namespace weft

#endif // WEFT_LIB_PLAN_ENTRYWRITER_H
