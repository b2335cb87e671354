//===- ProductSections.cpp - Tables of products and attention -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SectionTables.h"

#include <fmt/format.h>

using namespace weft::runtime;

namespace weft::tools {

/// In the cache and beyond it, square and narrow, as the layers of a model and
/// their gradients are; and one of each other type.
static std::vector<GemmShape> gemmShapes(const SectionOptions &options) {
  std::vector<GemmShape> shapes;
  const auto add = [&](const GemmShape &shape) {
    if (byteSize(shape.dtype) *
            (shape.m * shape.k + shape.k * shape.n + shape.m * shape.n) <=
        static_cast<size_t>(options.largestBytes))
      shapes.push_back(shape);
  };
  for (const auto &[m, n, k] :
       std::initializer_list<std::array<int64_t, 3>>{{64, 64, 64},
                                                     {256, 256, 256},
                                                     {512, 512, 512},
                                                     {1024, 256, 256},
                                                     {256, 1024, 1024},
                                                     {1024, 1024, 1024},
                                                     {1024, 3072, 768},
                                                     {2048, 2048, 2048},
                                                     {1024, 8192, 256}})
    add({m, n, k, DType::F32, "nn"});
  add({256, 1024, 1024, DType::F32, "tn"});
  add({256, 1024, 1024, DType::F32, "nt"});
  add({8192, 256, 1024, DType::F32, "tn"});
  for (DType dtype : {DType::F64, DType::BF16, DType::F16})
    add({256, 256, 256, dtype, "nn"});
  return shapes;
}

static int countGemms(const SectionOptions &options) {
  return static_cast<int>(gemmShapes(options).size());
}

static Status runGemms(const SectionOptions &options, Results &results) {
  fmt::print("GEMMs, one thread\n"
             "{:>6} {:>6} {:>6} {:>5} {:>6} {:>10} {:>10} {:>10} {:>10}\n",
             "m", "n", "k", "dtype", "layout", "best", "median", "by clock",
             "Gflop/s");
  for (const GemmShape &shape : gemmShapes(options)) {
    WEFT_ASSIGN_OR_RETURN(const Timing timing,
                          timeGemm(shape, options.seconds));
    results.gemms.push_back({shape, timing});
    results.count(timing.isBusy());
    fmt::print("{:>6} {:>6} {:>6} {:>5} {:>6} {} {:>10.1f}\n", shape.m, shape.n,
               shape.k, name(shape.dtype), shape.layout, printTimes(timing),
               1e-9 * shape.flops() / timing.median);
  }
  return {};
}

static std::vector<AttentionShape> attentionShapes(const SectionOptions &) {
  std::vector<AttentionShape> shapes;
  for (bool isBackward : {false, true})
    for (int64_t positions : {256, 1024})
      shapes.push_back({1, positions, 4, 4, 64, isBackward});
  return shapes;
}

static int countAttention(const SectionOptions &options) {
  return static_cast<int>(attentionShapes(options).size());
}

static Status runAttention(const SectionOptions &options, Results &results) {
  fmt::print("\ncausal attention, f32, one thread\n"
             "{:>9} {:>6} {:>5} {:>9} {:>10} {:>10} {:>10} {:>10}\n",
             "positions", "heads", "size", "pass", "best", "median", "by clock",
             "Gflop/s");
  for (const AttentionShape &shape : attentionShapes(options)) {
    WEFT_ASSIGN_OR_RETURN(const Timing timing,
                          timeAttention(shape, options.seconds));
    results.attention.push_back({shape, timing});
    results.count(timing.isBusy());
    fmt::print("{:>9} {:>6} {:>5} {:>9} {} {:>10.1f}\n", shape.positions,
               shape.heads, shape.headSize,
               shape.isBackward ? "backward" : "forward", printTimes(timing),
               1e-9 * shape.flops() / timing.median);
  }
  return {};
}

Section gemmSection() { return {"gemm", countGemms, runGemms}; }
Section attentionSection() {
  return {"attention", countAttention, runAttention};
}

} // namespace weft::tools
