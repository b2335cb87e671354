//===- Target.cpp - The machine of a plan ---------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Codegen/Target.h"
#include "weft/Codegen/CpuTarget.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace weft;

namespace {
struct Gpu {
  StringLiteral name;
  /// CUDA C++ Programming Guide, table of technical specifications.
  int64_t sharedKiB;
};
} // namespace

/// What tests compile for, and what kernels are laid out for.
static constexpr Gpu gpus[] = {{"sm_80", 164}, {"sm_90", 228}, {"sm_100", 228}};

static Expected<TargetOptions> parseGpu(StringRef processor) {
  TargetOptions options;
  options.gpu = processor.str();
  if (is_contained(map_range(gpus, [](Gpu gpu) { return gpu.name; }),
                   processor))
    return options;
  return createStringError(
      "unknown CUDA processor \"" + processor +
      "\"; expected cuda:sm_80 (A100), cuda:sm_90 (H100, H200) or cuda:sm_100 "
      "(B200)");
}

int64_t weft::sharedMemoryOf(StringRef name) {
  const Gpu *gpu = find_if(gpus, [&](Gpu gpu) { return gpu.name == name; });
  assert(gpu != std::end(gpus) && "parseTarget knows it");
  return gpu->sharedKiB * 1024;
}

Expected<TargetOptions> weft::parseTarget(StringRef text) {
  TargetOptions options;
  if (text == "none") {
    options.machineCode = false;
    return options;
  }
  auto [kind, processor] = text.split(':');
  if (kind == "cuda")
    return parseGpu(processor);
  if (kind != "cpu" || text == "cpu:")
    return createStringError(
        "expected cpu, cpu:<processor>, cuda:<processor> or none, got \"" +
        text + "\"");
  if (!processor.empty())
    options.cpu = processor.str();
  if (Expected<CpuTarget> known = resolveTarget(options); !known)
    return known.takeError();
  return options;
}
