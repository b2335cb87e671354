//===- PlanReport.h - What a plan sends and stores --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tables that shard-compile prints: for each entry its collectives with
// axes, bytes on the wire, count and cause (equal ones in one row), and its
// memory.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PLAN_PLANREPORT_H
#define WEFT_PLAN_PLANREPORT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace weft {

/// `plan` holds the bytes of a plan that writePlan has made.
void printPlanReport(llvm::raw_ostream &os, llvm::StringRef plan);

} // namespace weft

#endif // WEFT_PLAN_PLANREPORT_H
