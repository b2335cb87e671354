//===- Target.h - The machine of a plan -------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The machine that a plan is made for, as users name it.

#ifndef WEFT_CODEGEN_TARGET_H
#define WEFT_CODEGEN_TARGET_H

#include "llvm/Support/Error.h"

#include <string>

namespace weft {

struct TargetOptions {
  /// False for a plan that is made to be looked at: it has everything but
  /// machine code, and no runtime executes it.
  bool machineCode = true;
  /// A processor or level as LLVM names it ("x86-64-v3", "x86-64-v4", "znver5",
  /// ...), or "host" for the machine that compiles.
  std::string cpu = "host";
  /// The processor of a GPU, "sm_80", "sm_90" or "sm_100", if the plan is for
  /// one; the processor of the CPU beside it does not matter then.
  std::string gpu = {};
  /// GPU only: the program that makes machine code of PTX, or "none"; empty for
  /// the one that is found, see findPtxas.
  std::string ptxas = {};

  bool isCuda() const { return !gpu.empty(); }
};

/// Reads "cpu", "cpu:<processor>", "cuda:<processor>" or "none". Fails as
/// resolveTarget (CpuTarget.h) does, or on another text.
llvm::Expected<TargetOptions> parseTarget(llvm::StringRef text);

/// Bytes of shared memory of a processor of the GPU `gpu`, for all blocks that
/// it executes at once.
int64_t sharedMemoryOf(llvm::StringRef gpu);

} // namespace weft

#endif // WEFT_CODEGEN_TARGET_H
