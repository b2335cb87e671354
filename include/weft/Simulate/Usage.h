//===- Usage.h - What a rank spends its time on -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums over a stretch of virtual time. They are integers, so that a thousand
// equal iterations of a loop are one of them times a thousand, exactly.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SIMULATE_USAGE_H
#define WEFT_SIMULATE_USAGE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::simulate {

using Picoseconds = int64_t;
inline constexpr Picoseconds oneSecond = 1'000'000'000'000;
/// What takes longer is no step: 11 days. Sums of a few stay in 64 bits.
inline constexpr Picoseconds longestStep = 1'000'000 * oneSecond;

/// Rounded; no more than `longestStep`.
Picoseconds toPicoseconds(double seconds);
inline double toSeconds(Picoseconds time) {
  return static_cast<double>(time) / oneSecond;
}

enum class KernelClass : uint8_t { Gemm, Convolution, Attention, Other };
inline constexpr size_t kernelClasses = 4;
/// In tables, and as keys of JSON.
inline constexpr std::array<const char *, kernelClasses> kernelClassNames = {
    "GEMM", "convolution", "attention", "other kernels"};
inline constexpr std::array<const char *, kernelClasses> kernelClassKeys = {
    "gemm_seconds", "convolution_seconds", "attention_seconds",
    "other_kernel_seconds"};

/// Collectives on one set of mesh axes, or the messages of a pipeline.
struct Communication {
  /// While it runs, whatever runs beside it; of that the time in which the
  /// rank waits for it and computes nothing.
  Picoseconds total = 0, exposed = 0;
  Picoseconds hidden() const { return total - exposed; }
  bool operator==(const Communication &) const = default;
};

struct Usage {
  /// Kernels, with what communication beside them adds.
  std::array<Picoseconds, kernelClasses> kernels = {};
  /// Of the kernels, what communication beside them adds.
  Picoseconds contention = 0;
  /// The host is about to launch, and the device has nothing to do.
  Picoseconds host = 0;
  /// By the number of the axes.
  std::vector<Communication> communication;
  /// Bytes that a rank sends, by level of links: 0 in its node.
  std::vector<int64_t> sentBytes;
  /// Time of all floating-point operations of matmuls and attention at
  /// the peak rate of their format, and of those that are no recomputation.
  Picoseconds executedAtPeak = 0, modelAtPeak = 0;
  int64_t executedFlops = 0, modelFlops = 0;

  Usage() = default;
  Usage(size_t axes, size_t levels) : communication(axes), sentBytes(levels) {}

  bool operator==(const Usage &) const = default;
  /// Adds `times` what `after` has more than `before`.
  void addDifference(const Usage &after, const Usage &before, int64_t times);
  void add(const Usage &other) {
    addDifference(other, Usage(communication.size(), sentBytes.size()), 1);
  }
  void addFlops(int64_t flops, Picoseconds atPeak, bool recomputes);
  /// Of the stream of kernels.
  Picoseconds busy() const;
  Picoseconds exposed() const;
};

} // namespace weft::simulate

#endif // WEFT_SIMULATE_USAGE_H
