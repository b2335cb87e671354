//===- SharedUpdates.h - Who updates what several roles have ----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A parameter that several roles use (a tied embedding) has one owner, to which
// the others send their parts of the gradient, and which sends them the new
// value. Or each role updates a copy: then all exchange their parts, have the
// optimizer's states as well, and nothing is sent back.
//
//   stage 0                       stage 1
//   %g = addf %s0, %s1            %g' = addf %s0, %s1
//   %w1 = subf %w, %g             %w1' = subf %w, %g'
//
// Both add the same parts in the same order, so the copies keep equal bits.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PIPELINING_SHAREDUPDATES_H
#define WEFT_LIB_PIPELINING_SHAREDUPDATES_H

#include "SegmentPlan.h"

#include "weft/Cost/CostModel.h"

#include <map>

namespace weft {

/// By result of an entry, the values that other roles than its owner compute
/// for themselves, by role.
using ResultCopies = std::map<unsigned, std::map<int64_t, mlir::Value>>;

/// Lets each role that has a parameter update it where that takes less time
/// than to send it the new value.
ResultCopies copySharedUpdates(mlir::func::FuncOp entry,
                               const PipelineSchedule &schedule,
                               llvm::StringRef axis,
                               const cost::CostModel &model);

} // namespace weft

#endif // WEFT_LIB_PIPELINING_SHAREDUPDATES_H
