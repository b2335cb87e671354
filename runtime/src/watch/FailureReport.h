//===- FailureReport.h - What a rank leaves when it fails -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_WATCH_FAILUREREPORT_H
#define WEFT_RUNTIME_SRC_WATCH_FAILUREREPORT_H

#include <string>

namespace weft::runtime {

/// Writes weft-failure-rank-R.txt to `folder`, or where that is empty to the
/// one for temporary files. What cannot be written is lost.
void writeFailureReport(const std::string &folder, int rank,
                        const std::string &text);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_WATCH_FAILUREREPORT_H
