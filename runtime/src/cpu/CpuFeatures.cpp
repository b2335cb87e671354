//===- CpuFeatures.cpp - What this processor can execute --------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cpu/CpuFeatures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdint>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace weft::runtime {

static bool isTuning(std::string_view feature) {
  for (std::string_view prefix :
       {"prefer-",      "fast-",       "slow-",        "false-deps-",
        "tuning-",      "idiv",        "slow",         "fast",
        "allow-light-", "macrofusion", "branchfusion", "no-bypass-",
        "vzeroupper",   "sbb-dep-",    "lea-",         "pad-short-",
        "ermsb",        "fsrm",        "inc-dec",      "64bit",
        "nopl",         "use-",        "avoid-",       "faster-"})
    if (feature.starts_with(prefix))
      return true;
  return false;
}

#if defined(__x86_64__)
namespace {

enum Register : uint8_t { EAX, EBX, ECX, EDX };

/// Registers that the operating system must save for a feature to be usable.
enum class Needs : uint8_t { Nothing, Ymm, Zmm, Tiles };

struct Feature {
  std::string_view name;
  uint32_t leaf;
  uint32_t subleaf;
  Register reg;
  uint8_t bit;
  Needs needs;
};

} // namespace

static constexpr Feature features[] = {
    {"cx8", 1, 0, EDX, 8, Needs::Nothing},
    {"cmov", 1, 0, EDX, 15, Needs::Nothing},
    {"mmx", 1, 0, EDX, 23, Needs::Nothing},
    {"fxsr", 1, 0, EDX, 24, Needs::Nothing},
    {"x87", 1, 0, EDX, 0, Needs::Nothing},
    {"sse", 1, 0, EDX, 25, Needs::Nothing},
    {"sse2", 1, 0, EDX, 26, Needs::Nothing},
    {"sse3", 1, 0, ECX, 0, Needs::Nothing},
    {"pclmul", 1, 0, ECX, 1, Needs::Nothing},
    {"ssse3", 1, 0, ECX, 9, Needs::Nothing},
    {"fma", 1, 0, ECX, 12, Needs::Ymm},
    {"cx16", 1, 0, ECX, 13, Needs::Nothing},
    {"sse4.1", 1, 0, ECX, 19, Needs::Nothing},
    {"sse4.2", 1, 0, ECX, 20, Needs::Nothing},
    {"crc32", 1, 0, ECX, 20, Needs::Nothing},
    {"movbe", 1, 0, ECX, 22, Needs::Nothing},
    {"popcnt", 1, 0, ECX, 23, Needs::Nothing},
    {"aes", 1, 0, ECX, 25, Needs::Nothing},
    {"xsave", 1, 0, ECX, 26, Needs::Nothing},
    {"avx", 1, 0, ECX, 28, Needs::Ymm},
    {"f16c", 1, 0, ECX, 29, Needs::Ymm},
    {"rdrnd", 1, 0, ECX, 30, Needs::Nothing},
    {"fsgsbase", 7, 0, EBX, 0, Needs::Nothing},
    {"bmi", 7, 0, EBX, 3, Needs::Nothing},
    {"avx2", 7, 0, EBX, 5, Needs::Ymm},
    {"bmi2", 7, 0, EBX, 8, Needs::Nothing},
    {"invpcid", 7, 0, EBX, 10, Needs::Nothing},
    {"rtm", 7, 0, EBX, 11, Needs::Nothing},
    {"avx512f", 7, 0, EBX, 16, Needs::Zmm},
    {"evex512", 7, 0, EBX, 16, Needs::Zmm},
    {"avx512dq", 7, 0, EBX, 17, Needs::Zmm},
    {"rdseed", 7, 0, EBX, 18, Needs::Nothing},
    {"adx", 7, 0, EBX, 19, Needs::Nothing},
    {"avx512ifma", 7, 0, EBX, 21, Needs::Zmm},
    {"clflushopt", 7, 0, EBX, 23, Needs::Nothing},
    {"clwb", 7, 0, EBX, 24, Needs::Nothing},
    {"avx512cd", 7, 0, EBX, 28, Needs::Zmm},
    {"sha", 7, 0, EBX, 29, Needs::Nothing},
    {"avx512bw", 7, 0, EBX, 30, Needs::Zmm},
    {"avx512vl", 7, 0, EBX, 31, Needs::Zmm},
    {"avx512vbmi", 7, 0, ECX, 1, Needs::Zmm},
    {"pku", 7, 0, ECX, 3, Needs::Nothing},
    {"waitpkg", 7, 0, ECX, 5, Needs::Nothing},
    {"avx512vbmi2", 7, 0, ECX, 6, Needs::Zmm},
    {"shstk", 7, 0, ECX, 7, Needs::Nothing},
    {"gfni", 7, 0, ECX, 8, Needs::Nothing},
    {"vaes", 7, 0, ECX, 9, Needs::Ymm},
    {"vpclmulqdq", 7, 0, ECX, 10, Needs::Ymm},
    {"avx512vnni", 7, 0, ECX, 11, Needs::Zmm},
    {"avx512bitalg", 7, 0, ECX, 12, Needs::Zmm},
    {"avx512vpopcntdq", 7, 0, ECX, 14, Needs::Zmm},
    {"rdpid", 7, 0, ECX, 22, Needs::Nothing},
    {"cldemote", 7, 0, ECX, 25, Needs::Nothing},
    {"movdiri", 7, 0, ECX, 27, Needs::Nothing},
    {"movdir64b", 7, 0, ECX, 28, Needs::Nothing},
    {"enqcmd", 7, 0, ECX, 29, Needs::Nothing},
    {"uintr", 7, 0, EDX, 5, Needs::Nothing},
    {"avx512vp2intersect", 7, 0, EDX, 8, Needs::Zmm},
    {"serialize", 7, 0, EDX, 14, Needs::Nothing},
    {"tsxldtrk", 7, 0, EDX, 16, Needs::Nothing},
    {"amx-bf16", 7, 0, EDX, 22, Needs::Tiles},
    {"avx512fp16", 7, 0, EDX, 23, Needs::Zmm},
    {"amx-tile", 7, 0, EDX, 24, Needs::Tiles},
    {"amx-int8", 7, 0, EDX, 25, Needs::Tiles},
    {"avxvnni", 7, 1, EAX, 4, Needs::Ymm},
    {"avx512bf16", 7, 1, EAX, 5, Needs::Zmm},
    {"amx-fp16", 7, 1, EAX, 21, Needs::Tiles},
    {"avxifma", 7, 1, EAX, 23, Needs::Ymm},
    {"avxvnniint8", 7, 1, EDX, 4, Needs::Ymm},
    {"avxneconvert", 7, 1, EDX, 5, Needs::Ymm},
    {"avxvnniint16", 7, 1, EDX, 10, Needs::Ymm},
    {"prefetchi", 7, 1, EDX, 14, Needs::Nothing},
    {"xsaveopt", 13, 1, EAX, 0, Needs::Nothing},
    {"xsavec", 13, 1, EAX, 1, Needs::Nothing},
    {"xsaves", 13, 1, EAX, 3, Needs::Nothing},
    {"sahf", 0x80000001, 0, ECX, 0, Needs::Nothing},
    {"lzcnt", 0x80000001, 0, ECX, 5, Needs::Nothing},
    {"sse4a", 0x80000001, 0, ECX, 6, Needs::Nothing},
    {"prfchw", 0x80000001, 0, ECX, 8, Needs::Nothing},
    {"mwaitx", 0x80000001, 0, ECX, 29, Needs::Nothing},
    {"clzero", 0x80000008, 0, EBX, 0, Needs::Nothing},
    {"wbnoinvd", 0x80000008, 0, EBX, 9, Needs::Nothing},
    {"rdpru", 0x80000008, 0, EBX, 4, Needs::Nothing},
};

/// The bits of the register states that the operating system saves (XCR0).
static uint64_t savedRegisters() {
  uint32_t eax, ebx, ecx, edx;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & (1u << 27)))
    return 0;
  asm volatile("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
  return (static_cast<uint64_t>(edx) << 32) | eax;
}

static bool areSaved(Needs needs) {
  static const uint64_t saved = savedRegisters();
  uint64_t wanted = 0;
  switch (needs) {
  case Needs::Nothing:
    break;
  case Needs::Ymm:
    wanted = 0x6;
    break;
  case Needs::Zmm:
    wanted = 0xe6;
    break;
  case Needs::Tiles:
    wanted = 0x60000;
    break;
  }
  return (saved & wanted) == wanted;
}

FeatureSupport supportOf(std::string_view feature) {
  for (const Feature &known : features) {
    if (known.name != feature)
      continue;
    std::array<uint32_t, 4> regs{};
    const bool answered = __get_cpuid_count(known.leaf, known.subleaf, &regs[0],
                                            &regs[1], &regs[2], &regs[3]);
    return answered && (regs[known.reg] >> known.bit & 1) &&
                   areSaved(known.needs)
               ? FeatureSupport::Present
               : FeatureSupport::Missing;
  }
  return FeatureSupport::Unknown;
}
#else
FeatureSupport supportOf(std::string_view) { return FeatureSupport::Unknown; }
#endif

Status checkFeatures(std::span<const std::string> wanted,
                     std::string_view processor) {
  std::vector<std::string_view> missing, unknown;
  for (std::string_view feature : wanted) {
    if (feature.starts_with('-') || feature.empty())
      continue;
    if (feature.starts_with('+'))
      feature.remove_prefix(1);
    const FeatureSupport support = supportOf(feature);
    if (support == FeatureSupport::Missing)
      missing.push_back(feature);
    else if (support == FeatureSupport::Unknown && !isTuning(feature))
      unknown.push_back(feature);
  }
  if (!missing.empty())
    return failedPrecondition(fmt::format(
        "the plan's kernels are for processor \"{}\" and need {}, which this "
        "machine does not have; compile the plan for this machine's processor",
        processor, fmt::join(missing, ", ")));
  if (!unknown.empty())
    return failedPrecondition(fmt::format(
        "the plan's kernels are for processor \"{}\" and need {}, which this "
        "runtime cannot check for",
        processor, fmt::join(unknown, ", ")));
  return {};
}

} // namespace weft::runtime
