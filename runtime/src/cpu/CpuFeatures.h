//===- CpuFeatures.h - What this processor can execute ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Asks the processor, and the operating system about the registers it saves,
// for the instruction set extensions that a plan's kernels were compiled for.
// Features have the names that LLVM gives them ("avx512f", "sse4.2").
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CPU_CPUFEATURES_H
#define WEFT_RUNTIME_SRC_CPU_CPUFEATURES_H

#include "weft/runtime/Status.h"

#include <span>
#include <string>
#include <string_view>

namespace weft::runtime {

enum class FeatureSupport { Present, Missing, Unknown };

/// Whether this machine has the feature; Unknown when this runtime does not
/// know its name.
FeatureSupport supportOf(std::string_view feature);

/// Whether this machine has all of them; otherwise a message with all that are
/// missing. A feature may start with "+" or, if it is not used, with "-".
/// Names of tuning ("prefer-256-bit", "fast-gather") ask for nothing.
Status checkFeatures(std::span<const std::string> features,
                     std::string_view processor);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CPU_CPUFEATURES_H
