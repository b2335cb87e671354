//===- CpuTarget.h - The processor of a plan --------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The processor that kernels are compiled for.
//
// Kernels use the vector instructions of the processor and nothing exotic, so
// that the list of features which a machine must have to run them is short and
// can be checked with `cpuid` when a plan is loaded.

#ifndef WEFT_CODEGEN_CPUTARGET_H
#define WEFT_CODEGEN_CPUTARGET_H

#include "weft/Codegen/Target.h"

#include <string>
#include <vector>

namespace weft {

struct CpuTarget {
  /// LLVM's name of the processor; never "host".
  std::string cpu;
  /// The features that kernels may use beyond plain x86-64, sorted, as LLVM
  /// spells them. All can be checked with `cpuid`.
  std::vector<std::string> features;

  bool has(llvm::StringRef feature) const;
  /// What instructions are chosen for: plain x86-64 with `features`, in LLVM's
  /// notation. `cpu` would turn on all that a processor of its name has; it is
  /// only tuned for.
  static constexpr llvm::StringLiteral kBaseline = "x86-64";
  std::string featureString() const;
};

/// Fails if LLVM does not know the processor, or if it lacks AVX2 or FMA, which
/// every kernel needs.
llvm::Expected<CpuTarget> resolveTarget(const TargetOptions &options);

} // namespace weft

#endif // WEFT_CODEGEN_CPUTARGET_H
