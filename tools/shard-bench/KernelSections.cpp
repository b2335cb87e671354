//===- KernelSections.cpp - Tables of generated kernels -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "SectionTables.h"

#include "weft/Cost/Bytes.h"
#include "weft/Cost/Cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

using namespace weft::runtime;

namespace weft::tools {

/// Three arrays: two are read and one is written.
static constexpr int64_t arrays = 3, bytesOfElement = 4;
/// Stays in the second cache of a core.
static constexpr int64_t cachedElements = 16384;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Elements of a rank: from what a core's own cache holds to the largest
/// array.
static std::vector<int64_t> memorySizes(const SectionOptions &options) {
  std::vector<int64_t> sizes;
  for (int64_t elements = int64_t(1) << 16;
       elements * bytesOfElement <= options.largestBytes; elements *= 2)
    sizes.push_back(elements);
  if (sizes.empty())
    sizes.push_back(
        std::max<int64_t>(1, options.largestBytes / bytesOfElement));
  return sizes;
}

/// Of those that all ranks move at once: beyond the cache.
static std::vector<int64_t> sharedSizes(const std::vector<int64_t> &sizes) {
  constexpr int64_t smaller = 8;
  if (sizes.size() < 2)
    return {sizes.back()};
  return {std::max(sizes.front(), sizes.back() / smaller), sizes.back()};
}

static int machineCores() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

static int countMemory(const SectionOptions &options) {
  const std::vector<int64_t> sizes = memorySizes(options);
  return static_cast<int>(sizes.size() +
                          (machineCores() > 1 ? sharedSizes(sizes).size() : 0));
}

static KernelCode addOf(int64_t elements) {
  return {fmt::format("add{}", elements), elements,
          "%r = arith.addf %x, %y : T"};
}

static Status timeMemory(const SectionOptions &options, int ranks,
                         const std::vector<int64_t> &sizes, Results &results) {
  std::vector<KernelCode> kernels;
  for (int64_t elements : sizes)
    kernels.push_back(addOf(elements * ranks));
  WEFT_ASSIGN_OR_RETURN(const auto run, KernelRun::create(kernels, ranks));
  for (int64_t elements : sizes) {
    WEFT_ASSIGN_OR_RETURN(
        const Timing timing,
        run->time(addOf(elements * ranks).name, options.seconds));
    const auto bytes = static_cast<double>(arrays * bytesOfElement * elements);
    results.memory.push_back({ranks, bytes, timing.median});
    results.count(timing.isBusy());
    fmt::print("{:>6} {:>10} {} {:>10.1f}\n", ranks,
               printBytes(static_cast<uint64_t>(bytes)), printTimes(timing),
               1e-9 * bytes * ranks / timing.median);
  }
  return {};
}

static Status runMemory(const SectionOptions &options, Results &results) {
  fmt::print("\nmemory: a kernel that adds two vectors; bytes of a rank\n"
             "{:>6} {:>10} {:>10} {:>10} {:>10} {:>10}\n",
             "ranks", "bytes", "best", "median", "by clock", "GB/s");
  const std::vector<int64_t> sizes = memorySizes(options);
  WEFT_RETURN_IF_ERROR(timeMemory(options, 1, sizes, results));
  if (machineCores() == 1)
    return {};
  return timeMemory(options, machineCores(), sharedSizes(sizes), results);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// Operations of the kernel of arithmetic, for each element.
static constexpr int arithmeticFlops = 64;

static KernelCode arithmetic() {
  std::string body = "%v0 = arith.mulf %x, %y : T\n";
  for (int i = 1; i < arithmeticFlops - 1; ++i)
    body += fmt::format("%v{} = arith.{} %v{}, {} : T\n", i,
                        i % 2 ? "addf" : "mulf", i - 1, i % 2 ? "%x" : "%y");
  body += fmt::format("%r = arith.addf %v{}, %x : T", arithmeticFlops - 2);
  return {"arithmetic", cachedElements, body};
}

static KernelCode callOf(cost::Function function) {
  const std::string name(nameOf(function));
  if (function == cost::Function::Extf)
    return {name, cachedElements,
            "%s = weft.reduce sum %x dims = [0] : T -> tensor<f32>\n"
            "%b = weft.broadcast %s dims = [] : tensor<f32> -> T\n"
            "%r = arith.addf %b, %y : T"};
  const bool isBinary =
      function == cost::Function::Pow || function == cost::Function::Atan2;
  return {name, cachedElements,
          fmt::format("%r = math.{} %x{} : T", name, isBinary ? ", %y" : "")};
}

static constexpr int fewLaunches = 1, manyLaunches = 65;

static std::vector<KernelCode> elementKernels() {
  std::vector<KernelCode> kernels = {launchesOf(fewLaunches),
                                     launchesOf(manyLaunches), arithmetic()};
  for (size_t i = 0; i < cost::functionCount; ++i)
    kernels.push_back(callOf(static_cast<cost::Function>(i)));
  return kernels;
}

static int countKernels(const SectionOptions &) {
  return static_cast<int>(elementKernels().size());
}

static Status runKernels(const SectionOptions &options, Results &results) {
  fmt::print("\nkernels: {} elements of f32, one thread\n"
             "{:<12} {:>10} {:>10} {:>10} {:>14} {:>10}\n",
             cachedElements, "kernel", "best", "median", "by clock",
             "ns an element", "Gflop/s");
  const std::vector<KernelCode> kernels = elementKernels();
  WEFT_ASSIGN_OR_RETURN(const auto run, KernelRun::create(kernels, 1));
  double session = 0;
  for (const KernelCode &kernel : kernels) {
    WEFT_ASSIGN_OR_RETURN(const Timing timing,
                          run->time(kernel.name, options.seconds));
    results.count(timing.isBusy());
    if (kernel.elements != cachedElements) {
      fmt::print("{:<12} {}\n", kernel.name, printTimes(timing));
      results.launchSeconds =
          std::max(0.0, timing.median - session) / (manyLaunches - fewLaunches);
      session = timing.median;
      continue;
    }
    if (kernel.name == "arithmetic")
      session -= (manyLaunches + 1) * results.launchSeconds;
    const bool isCall = cost::findFunction(kernel.name).has_value();
    const ElementRow row{isCall ? 1.0 : arithmeticFlops,
                         std::max(1e-15, timing.median - session) /
                             static_cast<double>(cachedElements)};
    (isCall ? results.functions[kernel.name] : results.arithmetic) = row;
    fmt::print("{:<12} {} {:>14.3f} {:>10.1f}\n", kernel.name,
               printTimes(timing), 1e9 * row.secondsPerElement,
               1e-9 * row.flopsPerElement / row.secondsPerElement);
  }
  fmt::print("from one kernel to the next {:.0f} ns, a call of a session "
             "{:.2f} us more\n",
             1e9 * results.launchSeconds, 1e6 * session);
  return {};
}

Section memorySection() { return {"memory", countMemory, runMemory}; }
Section kernelSection() { return {"kernels", countKernels, runKernels}; }

} // namespace weft::tools
