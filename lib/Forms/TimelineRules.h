//===- TimelineRules.h - What roles execute together ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_FORMS_TIMELINERULES_H
#define WEFT_LIB_FORMS_TIMELINERULES_H

#include "weft/IR/FormRules.h"

namespace weft {

/// Timelines fit their segments, and no rank waits for ever.
void checkTimelines(mlir::ModuleOp module, FormCheck &check);

} // namespace weft

#endif // WEFT_LIB_FORMS_TIMELINERULES_H
