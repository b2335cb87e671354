//===- DeferredWaits.h - When ranks await what goes on ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SIMULATE_DEFERREDWAITS_H
#define WEFT_SIMULATE_DEFERREDWAITS_H

#include "weft/Timeline/Check.h"
#include "weft/runtime/plan_generated.h"

namespace weft::simulate {

/// Of an entry with a timeline, when each role awaits the segments that it lets
/// go on beside others, by the steps that the runtime walks.
std::vector<timeline::Wait> waitsForDeferred(const plan::Plan &plan,
                                             const plan::Entry &entry);

} // namespace weft::simulate

#endif // WEFT_SIMULATE_DEFERREDWAITS_H
