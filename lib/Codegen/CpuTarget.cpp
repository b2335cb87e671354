//===- CpuTarget.cpp - The processor of a plan ----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Codegen/CpuTarget.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"

using namespace llvm;
using namespace weft;

/// What kernels may use. The order of the list is that of the plan.
static constexpr StringLiteral usableFeatures[] = {"avx",
                                                   "avx2",
                                                   "avx512bitalg",
                                                   "avx512bw",
                                                   "avx512cd",
                                                   "avx512dq",
                                                   "avx512f",
                                                   "avx512vbmi",
                                                   "avx512vbmi2",
                                                   "avx512vl",
                                                   "avx512vpopcntdq",
                                                   "bmi",
                                                   "bmi2",
                                                   "f16c",
                                                   "fma",
                                                   "lzcnt",
                                                   "movbe",
                                                   "popcnt",
                                                   "sse3",
                                                   "sse4.1",
                                                   "sse4.2",
                                                   "ssse3"};

/// All features of a processor, also those that others imply.
static StringMap<bool> featuresOf(StringRef cpu) {
  SmallVector<StringRef> listed;
  X86::getFeaturesForCPU(cpu, listed);
  StringMap<bool> features;
  for (StringRef feature : listed) {
    features[feature] = true;
    X86::updateImpliedFeatures(feature, /*Enabled=*/true, features);
  }
  return features;
}

bool CpuTarget::has(StringRef feature) const {
  return is_contained(features, feature);
}

std::string CpuTarget::featureString() const {
  std::string text;
  for (const std::string &feature : features)
    text += (text.empty() ? "+" : ",+") + feature;
  return text;
}

Expected<CpuTarget> weft::resolveTarget(const TargetOptions &options) {
  bool isHost = options.cpu == "host";
  CpuTarget target{isHost ? sys::getHostCPUName().str() : options.cpu, {}};
  SmallVector<StringRef> valid;
  X86::fillValidCPUArchList(valid, /*Only64Bit=*/true);
  if (!is_contained(valid, target.cpu))
    return createStringError(
        "unknown target processor '" + target.cpu +
        "'; expected a name that LLVM knows, such as x86-64-v3 (AVX2), "
        "x86-64-v4 (AVX-512), znver5 or sapphirerapids");

  // A virtual machine may hide features of its processor.
  StringMap<bool> present;
  if (isHost)
    present = sys::getHostCPUFeatures();
  StringMap<bool> all = featuresOf(target.cpu);
  for (StringRef feature : usableFeatures)
    if (all.lookup(feature) && (!isHost || present.lookup(feature)))
      target.features.push_back(feature.str());
  for (StringRef needed : {"avx2", "fma"})
    if (!target.has(needed))
      return createStringError("target processor '" + target.cpu +
                               "' lacks the feature " + needed +
                               ", which kernels need; the lowest level with it "
                               "is x86-64-v3");
  return target;
}
