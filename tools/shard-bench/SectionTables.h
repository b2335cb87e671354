//===- SectionTables.h - What the sections share ----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sections by name, and columns that several tables have.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_BENCH_SECTIONTABLES_H
#define WEFT_TOOLS_SHARD_BENCH_SECTIONTABLES_H

#include "Sections.h"

namespace weft::tools {

/// "3.10 ms": best and median CPU time, and the median by the clock.
std::string printTimes(const Timing &timing);

Section gemmSection();
Section attentionSection();
Section memorySection();
Section kernelSection();
Section collectiveSection();

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_BENCH_SECTIONTABLES_H
