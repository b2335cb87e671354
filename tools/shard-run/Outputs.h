//===- Outputs.h - Output files of shard-run --------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_RUN_OUTPUTS_H
#define WEFT_TOOLS_SHARD_RUN_OUTPUTS_H

#include "Arguments.h"

namespace weft::tools {

/// Adds to `problems` what would keep an output file from being written after
/// the run, or would destroy another file of the command line: a folder that
/// does not exist, two outputs in one file, an output over an input. --save
/// over --load is how a run is resumed.
void checkOutputs(const Arguments &arguments, Problems &problems);

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_RUN_OUTPUTS_H
