//===- ScheduleRules.h - What a schedule promises of memory -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules of form 4 that need to know the arena: --weft-verify-form=schedule
// has them in its table. They read the offsets that stand in the program, and
// share no code with the passes that choose them.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SCHEDULE_SCHEDULERULES_H
#define WEFT_SCHEDULE_SCHEDULERULES_H

#include "weft/IR/FormRules.h"

namespace weft {

/// Every value has an offset in the arena, keeps it until its last reader is
/// done
/// (`checkArena`), and is written over only by what says so and may: a result
/// in place, or the next value of its state.
void checkMemory(mlir::ModuleOp module, FormCheck &check);

} // namespace weft

#endif // WEFT_SCHEDULE_SCHEDULERULES_H
