//===- GpuTrafficTest.cpp - How kernels on a GPU use memory ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each way in which a grid walks a kernel: how much of the sectors of 32
// bytes that its warps move they use, how many bytes an access has (512 at
// most), and how often a sector is moved. These hold on any machine; they are
// what a GPU would be asked for.

#include "GpuKernelRunner.h"

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::test;

namespace {

const char *const onRows = "(i, j) -> (i)", *const onColumns = "(i, j) -> (j)";

std::string matrix(int64_t rows, int64_t columns, std::string element) {
  return tensor({rows, columns}, element);
}

std::string vectorOf(int64_t size, std::string element = "f32") {
  return tensor({size}, element);
}

/// Runs kernel `f`, and compares it with the CPU.
emulator::LaunchTraffic trafficOf(const std::string &text,
                                  double tolerance = 1e-5) {
  GpuComparison kernels(text);
  kernels.check("f", tolerance);
  return kernels.traffic();
}

struct Least {
  double usedShare, bytesPerAccess;
  /// How often a sector is moved, on average.
  double mostMoves = 1;
};

void expectAtLeast(const emulator::Traffic &traffic, Least least) {
  EXPECT_GE(traffic.usedShare(), least.usedShare) << describe(traffic);
  EXPECT_GE(traffic.bytesPerAccess(), least.bytesPerAccess)
      << describe(traffic);
  EXPECT_LE(traffic.sectors, least.mostMoves * traffic.distinct)
      << describe(traffic);
}

std::string widen(const std::string &result, const std::string &input,
                  int64_t rows, int64_t columns, const std::string &element) {
  std::string from = matrix(rows, columns, element);
  if (element == "f32")
    return elementwise(result, {input}, from, "arith.negf %a0");
  return mixed(result, {input}, {from}, matrix(rows, columns, "f32"),
               "arith.extf %a0 : " + element + " to f32");
}

std::string narrow(const std::string &result, const std::string &input,
                   int64_t rows, int64_t columns, const std::string &element) {
  std::string from = matrix(rows, columns, "f32");
  if (element == "f32")
    return elementwise(result, {input}, from, "arith.negf %a0");
  return mixed(result, {input}, {from}, matrix(rows, columns, element),
               "arith.truncf %a0 : f32 to " + element);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

TEST(GpuTraffic, Elements) {
  for (std::string element : {"f32", "bf16"}) {
    std::string type = vectorOf(65536, element);
    auto traffic = trafficOf(function(
        "f", {type, type}, {type},
        elementwise("%y", {"%0", "%1"}, type, "arith.addf %a0, %a1"), {"%y"}));
    expectAtLeast(traffic.reads, {1, 512});
    expectAtLeast(traffic.writes, {1, 512});
  }
}

TEST(GpuTraffic, ElementsOfNoMultiple) {
  std::string type = vectorOf(65539, "bf16");
  auto traffic = trafficOf(
      function("f", {type}, {type},
               elementwise("%y", {"%0"}, type, "arith.negf %a0"), {"%y"}));
  expectAtLeast(traffic.reads, {0.99, 500, 1.01});
  expectAtLeast(traffic.writes, {0.99, 500, 1.01});
}

/// A moment and a slice of a parameter that is updated with it.
TEST(GpuTraffic, WhatIsSharedWithASliceIsReadOnce) {
  std::string whole = matrix(256, 512, "f32"), part = matrix(64, 512, "f32");
  auto traffic = trafficOf(function(
      "f", {whole, part, part}, {part, part},
      elementwise("%m", {"%1", "%2"}, part, "arith.addf %a0, %a1") +
          "%s = tensor.extract_slice %0[64, 0] [64, 512] [1, 1] : " + whole +
          " to " + part + "\n" +
          elementwise("%y", {"%s", "%m"}, part, "arith.mulf %a0, %a1"),
      {"%m", "%y"}));
  expectAtLeast(traffic.reads, {1, 512});
  expectAtLeast(traffic.writes, {1, 512});
}

/// y = x + bias, x and y in bf16, the bias in f32.
std::string addBias(int64_t rows, int64_t columns) {
  std::string type = matrix(rows, columns, "bf16"),
              wide = matrix(rows, columns, "f32");
  return function(
      "f", {type, vectorOf(columns)}, {type},
      broadcast("%b", "%1", vectorOf(columns), wide, onColumns) +
          widen("%x", "%0", rows, columns, "bf16") +
          elementwise("%s", {"%x", "%b"}, wide, "arith.addf %a0, %a1") +
          narrow("%y", "%s", rows, columns, "bf16"),
      {"%y"});
}

TEST(GpuTraffic, WhatIsSmallDoesNotDecideTheVectors) {
  // The bias, which all rows read, is wider than what is read once.
  expectAtLeast(trafficOf(addBias(256, 768)).writes, {1, 512});
}

TEST(GpuTraffic, ElementsOfUnalignedRows) {
  // The bias is read number by number, by neighbouring lanes eight apart.
  auto traffic = trafficOf(addBias(600, 1001));
  expectAtLeast(traffic.writes, {0.92, 300, 1.1});
}

TEST(GpuTraffic, Transposes) {
  for (std::string element : {"f32", "bf16"}) {
    auto traffic = trafficOf(
        function("f", {matrix(256, 192, element)}, {matrix(192, 256, element)},
                 broadcast("%y", "%0", matrix(256, 192, element),
                           matrix(192, 256, element), "(i, j) -> (j, i)"),
                 {"%y"}));
    expectAtLeast(traffic.reads, {1, 128});
    expectAtLeast(traffic.writes, {1, 128});
  }
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

std::string softmax(int64_t rows, int64_t columns, const std::string &element) {
  std::string type = matrix(rows, columns, element),
              wide = matrix(rows, columns, "f32"), column = vectorOf(rows);
  Names walk = {"parallel", "reduction"};
  return function(
      "f", {type}, {type},
      widen("%x", "%0", rows, columns, element) +
          reduce("%m", "%x", wide, column, onRows, walk, "arith.maximumf",
                 "0xFF800000") +
          broadcast("%ms", "%m", column, wide, onRows) +
          elementwise("%e", {"%x", "%ms"}, wide,
                      "arith.subf %a0, %a1 : f32\n%z = math.exp %r") +
          reduce("%s", "%e", wide, column, onRows, walk, "arith.addf", "0.0") +
          broadcast("%ss", "%s", column, wide, onRows) +
          elementwise("%q", {"%e", "%ss"}, wide, "arith.divf %a0, %a1") +
          narrow("%y", "%q", rows, columns, element),
      {"%y"});
}

TEST(GpuTraffic, RowsAreReadOnceInWideVectors) {
  for (std::string element : {"f32", "bf16"})
    for (int64_t columns : {768, 1600, 2048}) {
      SCOPED_TRACE(element + " " + std::to_string(columns));
      auto traffic = trafficOf(softmax(24, columns, element), 1e-2);
      // What is beyond the last column looks at the last vector again.
      expectAtLeast(traffic.reads, {0.99, 380, 1.03});
      expectAtLeast(traffic.writes, {1, 380});
    }
}

TEST(GpuTraffic, NarrowRowsShareAWarp) {
  // No multiple of the rows of a block. Rows of one, four and six vectors.
  for (int64_t columns : {8, 32, 48}) {
    SCOPED_TRACE(columns);
    auto traffic = trafficOf(softmax(1021, columns, "bf16"), 1e-2);
    expectAtLeast(traffic.reads, {0.99, 360});
    expectAtLeast(traffic.writes, {0.99, 360});
  }
}

// Vectors begin at multiples of 16 bytes, mostly in the middle of a sector: an
// access of 512 bytes is in 17 of them.
TEST(GpuTraffic, RowsOfUnalignedColumns) {
  for (int64_t columns : {1001, 5003}) {
    SCOPED_TRACE(columns);
    auto traffic = trafficOf(softmax(64, columns, "bf16"), 1e-2);
    expectAtLeast(traffic.reads, {0.9, 280, 1.15});
    expectAtLeast(traffic.writes, {0.9, 280, 1.15});
  }
}

TEST(GpuTraffic, LongRowsOfUnalignedColumns) {
  // A row that is too long for registers is kept in shared memory, and one that
  // is too long for that is read by each of three passes.
  for (auto [columns, passes] : {std::pair(20003, 1), {50003, 3}}) {
    SCOPED_TRACE(columns);
    auto traffic = trafficOf(softmax(3, columns, "bf16"), 1e-2);
    expectAtLeast(traffic.reads, {0.9, 380, 1.07 * passes});
    expectAtLeast(traffic.writes, {0.95, 380, 1.06});
  }
}

TEST(GpuTraffic, SplitRows) {
  for (int64_t columns : {65536, 65539}) {
    SCOPED_TRACE(columns);
    std::string type = matrix(3, columns, "bf16"),
                wide = matrix(3, columns, "f32");
    auto traffic = trafficOf(
        function("f", {type}, {vectorOf(3)},
                 widen("%x", "%0", 3, columns, "bf16") +
                     reduce("%s", "%x", wide, vectorOf(3), onRows,
                            {"parallel", "reduction"}, "arith.maximumf", "0.0"),
                 {"%s"}));
    expectAtLeast(traffic.reads, {0.93, 380, 1.07});
  }
}

//===----------------------------------------------------------------------===//
// Sums over rows, and scatter
//===----------------------------------------------------------------------===//

TEST(GpuTraffic, ColumnSums) {
  std::string type = matrix(2048, 768, "bf16");
  auto traffic = trafficOf(function(
      "f", {type}, {vectorOf(768)},
      widen("%x", "%0", 2048, 768, "bf16") +
          reduce("%s", "%x", matrix(2048, 768, "f32"), vectorOf(768), onColumns,
                 {"reduction", "parallel"}, "arith.addf", "0.0"),
      {"%s"}));
  expectAtLeast(traffic.reads, {0.93, 400, 1.1});
}

TEST(GpuTraffic, RowsWithSumsOverThem) {
  // The backward pass of a norm in short.
  std::string type = matrix(512, 768, "bf16"), wide = matrix(512, 768, "f32"),
              column = vectorOf(512);
  auto traffic = trafficOf(
      function(
          "f", {type}, {type, vectorOf(768)},
          widen("%x", "%0", 512, 768, "bf16") +
              reduce("%m", "%x", wide, column, onRows,
                     {"parallel", "reduction"}, "arith.addf", "0.0") +
              broadcast("%ms", "%m", column, wide, onRows) +
              elementwise("%d", {"%x", "%ms"}, wide, "arith.subf %a0, %a1") +
              narrow("%y", "%d", 512, 768, "bf16") +
              reduce("%s", "%d", wide, vectorOf(768), onColumns,
                     {"reduction", "parallel"}, "arith.addf", "0.0"),
          {"%y", "%s"}),
      1e-2);
  // There is a row of partial sums in f32 for four rows of bf16. Their vectors
  // are of 32 bytes, of which an access has one half and the next the other.
  expectAtLeast(traffic.reads, {0.7, 400, 1.5});
  expectAtLeast(traffic.writes, {0.7, 400, 1.5});
}

TEST(GpuTraffic, Scatter) {
  std::string updates = tensor({96, 256}, "f32"),
              table = tensor({16, 256}, "f32");
  auto traffic =
      trafficOf(function("f", {updates, "tensor<96xi32>"}, {table},
                         "%r = weft.scatter_add %0, %1 dim = 0 : (" + updates +
                             ", tensor<96xi32>) -> " + table + "\n",
                         {"%r"}),
                1e-5);
  // Each warp looks at all indices; updates are of whole vectors.
  expectAtLeast(traffic.writes, {1, 512, 1000});
}

} // namespace
