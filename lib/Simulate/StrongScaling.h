//===- StrongScaling.h - One step on several numbers of devices -*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Strong scaling keeps the work of a step, so that each number of devices has a
// program, and a plan, of its own. Those are compared by what they compute: an
// entry of the same name with the same arguments.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SIMULATE_STRONGSCALING_H
#define WEFT_LIB_SIMULATE_STRONGSCALING_H

#include "weft/Simulate/StepReport.h"

namespace weft::simulate {

/// Adds the rows of the plan and of `request.others`, or what is wrong with
/// these to the problems of the prediction.
void addStrongScaling(const StepRequest &request, StepReport &report);

} // namespace weft::simulate

#endif // WEFT_LIB_SIMULATE_STRONGSCALING_H
