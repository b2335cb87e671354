//===- GpuKernelsTest.cpp - Kernels on a GPU against the CPU --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each way in which a grid walks a kernel, with sizes that divide and sizes
// that do not. Element-wise results have the bits of the CPU; sums differ in
// order.

#include "GpuKernelRunner.h"

#include "mlir/IR/Diagnostics.h"

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::test;

namespace {

constexpr double rounding = 1e-6;
/// Of sums of up to some thousand numbers, which a CPU adds up one by one.
constexpr double longSum = 1e-5;

std::string matrix(int64_t rows, int64_t columns, std::string element = "f32") {
  return tensor({rows, columns}, element);
}

std::string vectorOf(int64_t size, std::string element = "f32") {
  return tensor({size}, element);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

std::string tanhOfSum(const std::string &type) {
  return function("f", {type, type}, {type},
                  elementwise("%y", {"%0", "%1"}, type,
                              "arith.addf %a0, %a1 : " + elementOf(type) +
                                  "\n%z = math.tanh %r"),
                  {"%y"});
}

TEST(GpuKernels, ElementsHaveTheBitsOfTheCpu) {
  for (std::string element : {"f32", "f64", "bf16", "f16"})
    for (int64_t size : {1, 7, 1000, 1024, 4098}) {
      SCOPED_TRACE(element + " " + std::to_string(size));
      GpuComparison(tanhOfSum(vectorOf(size, element))).check("f");
    }
}

TEST(GpuKernels, FunctionsHaveTheBitsOfTheCpu) {
  for (std::string element : {"f32", "f64"}) {
    std::string type = vectorOf(1000, element), body;
    Names types = {type, type}, results, names;
    auto add = [&](std::string expression) {
      names.push_back("%y" + std::to_string(names.size()));
      results.push_back(type);
      body += elementwise(names.back(), {"%0", "%1"}, type, expression);
    };
    for (std::string op :
         {"acos",  "acosh", "asin",  "asinh",     "atan",  "atanh",
          "cbrt",  "ceil",  "cos",   "cosh",      "erf",   "erfc",
          "exp",   "exp2",  "expm1", "floor",     "log",   "log10",
          "log1p", "log2",  "round", "roundeven", "rsqrt", "sin",
          "sinh",  "sqrt",  "tan",   "tanh",      "trunc", "absf"})
      add("math." + op + " %a0");
    for (std::string op : {"math.atan2", "math.powf", "math.copysign",
                           "arith.remf", "arith.divf", "arith.maximumf",
                           "arith.minimumf", "arith.maxnumf", "arith.minnumf"})
      add(op + " %a0, %a1");
    GpuComparison(function("f", types, results, body, names)).check("f");
  }
}

TEST(GpuKernels, VectorsAreOf16Bytes) {
  EXPECT_EQ(GpuComparison(tanhOfSum(vectorOf(4096))).grid("f").blocks, 4);
  EXPECT_EQ(GpuComparison(tanhOfSum(vectorOf(4096, "bf16"))).grid("f").blocks,
            2);
  EXPECT_EQ(GpuComparison(tanhOfSum(vectorOf(4097))).grid("f").blocks, 5);
}

TEST(GpuKernels, ElementsInPlace) {
  std::string type = vectorOf(1003);
  GpuComparison(tanhOfSum(type), {{"f", {0}}}).check("f");
}

TEST(GpuKernels, BroadcastsAndIndices) {
  // Vectors divide the columns; and rows are walked one by one.
  for (auto [rows, columns] :
       {std::pair<int64_t, int64_t>{33, 24}, {600, 261}}) {
    std::string type = matrix(rows, columns), row = vectorOf(columns),
                column = vectorOf(rows), numbers = matrix(rows, columns, "i32");
    std::string text = function(
        "f", {type, row, column}, {type, numbers},
        broadcast("%b", "%1", row, type, "(i, j) -> (j)") +
            broadcast("%c", "%2", column, type, "(i, j) -> (i)") +
            elementwise("%s", {"%0", "%b"}, type, "arith.mulf %a0, %a1") +
            elementwise("%y", {"%s", "%c"}, type, "arith.addf %a0, %a1") +
            generate("%i", numbers, "linalg.index 1"),
        {"%y", "%i"});
    GpuComparison(text).check("f");
    GpuComparison(text, {{"f", {0, -1}}}).check("f");
  }
}

TEST(GpuKernels, IntegersAndConditions) {
  std::string type = vectorOf(300, "i64"), small = vectorOf(300, "i8"),
              condition = vectorOf(300, "i1");
  std::string text = function(
      "f", {type, type, small, condition}, {type, condition, small},
      elementwise("%y", {"%0", "%1"}, type, "arith.divsi %a0, %a1") +
          mixed("%c", {"%0", "%3"}, {type, condition}, condition,
                "arith.andi %a1, %a1 : i1") +
          elementwise("%z", {"%2", "%2"}, small, "arith.muli %a0, %a1"),
      {"%y", "%c", "%z"});
  GpuComparison(text).check("f");
}

TEST(GpuKernels, PiecesOfRows) {
  // Halves of rows are exchanged: pieces begin at multiples of a vector, or
  // not.
  for (int64_t half : {32, 10}) {
    std::string type = matrix(6, 2 * half), piece = matrix(6, half);
    auto sliced = [&](std::string name, int64_t start) {
      return name + " = tensor.extract_slice %0[0, " + std::to_string(start) +
             "] [6, " + std::to_string(half) + "] [1, 1] : " + type + " to " +
             piece + "\n";
    };
    std::string text =
        function("f", {type}, {type},
                 sliced("%l", 0) + sliced("%h", half) +
                     "%y = tensor.concat dim(1) %h, %l : (" + piece + ", " +
                     piece + ") -> " + type + "\n",
                 {"%y"});
    GpuComparison(text).check("f");
  }
}

TEST(GpuKernels, Transposes) {
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{64, 32}, {33, 70}}) {
    std::string text =
        function("f", {matrix(columns, rows)}, {matrix(rows, columns)},
                 broadcast("%y", "%0", matrix(columns, rows),
                           matrix(rows, columns), "(i, j) -> (j, i)"),
                 {"%y"});
    GpuComparison(text).check("f");
  }
}

TEST(GpuKernels, TransposesOfShortNumbers) {
  // Two in a lane, and one where sizes are odd; of several matrices.
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{64, 96}, {66, 35}}) {
    std::string from = tensor({3, columns, rows}, "bf16"),
                to = tensor({3, rows, columns}, "bf16");
    std::string text = function(
        "f", {from, to, from}, {to},
        broadcast("%x", "%0", from, to, "(i, j, k) -> (i, k, j)") +
            broadcast("%z", "%2", from, to, "(i, j, k) -> (i, k, j)") +
            elementwise("%s", {"%x", "%1"}, to, "arith.addf %a0, %a1") +
            elementwise("%y", {"%s", "%z"}, to, "arith.mulf %a0, %a1"),
        {"%y"});
    GpuComparison(text).check("f");
    GpuComparison(text, {{"f", {1}}}).check("f");
  }
}

TEST(GpuKernels, PositionsOfRanks) {
  GpuComparison("func.func private @f(%0: tensor<64xi32>, %p: tensor<i32> "
                "{weft.position}) -> (tensor<64xi32>) {\n"
                "%b_e = tensor.empty() : tensor<64xi32>\n" +
                generic("%b", {"%0", "%p"}, {"tensor<64xi32>", "tensor<i32>"},
                        "%b_e", "tensor<64xi32>",
                        {"#v", "affine_map<(i) -> ()>", "#v"}, {"parallel"},
                        "%r = arith.addi %a0, %a1 : i32", "%r") +
                "return %b : tensor<64xi32>\n}\n")
      .check("f");
}

TEST(GpuKernels, TablesOfConstants) {
  std::string text = function(
      "f", {matrix(4, 8)}, {matrix(4, 8)},
      "%t = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : "
      "tensor<8xf32>\n" +
          broadcast("%b", "%t", vectorOf(8), matrix(4, 8), "(i, j) -> (j)") +
          elementwise("%y", {"%0", "%b"}, matrix(4, 8), "arith.mulf %a0, %a1"),
      {"%y"});
  GpuComparison(text).check("f");
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

std::string softmax(int64_t rows, int64_t columns) {
  std::string type = matrix(rows, columns), column = vectorOf(rows);
  std::string kept = "(i, j) -> (i)";
  Names walk = {"parallel", "reduction"};
  return function(
      "f", {type}, {type},
      reduce("%m", "%0", type, column, kept, walk, "arith.maximumf",
             "0xFF800000") +
          broadcast("%ms", "%m", column, type, kept) +
          elementwise("%e", {"%0", "%ms"}, type,
                      "arith.subf %a0, %a1 : f32\n%z = math.exp %r") +
          reduce("%s", "%e", type, column, kept, walk, "arith.addf", "0.0") +
          broadcast("%ss", "%s", column, type, kept) +
          elementwise("%y", {"%e", "%ss"}, type, "arith.divf %a0, %a1"),
      {"%y"});
}

TEST(GpuKernels, Softmax) {
  // Of a part of a warp, a warp, a block, and too long for registers.
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{1024, 32},
                               {1024, 3},
                               {1021, 30},
                               {17, 96},
                               {2048, 768},
                               {5, 1000},
                               {9, 1001},
                               {1030, 259},
                               {3, 4100},
                               {2, 20000},
                               {3, 20003},
                               {1, 1},
                               {4, 1}}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
    GpuComparison(softmax(rows, columns)).check("f", rounding);
    GpuComparison(softmax(rows, columns), {{"f", {0}}}).check("f", rounding);
  }
}

/// A first pass that reads but the beginning of what later ones read whole.
TEST(GpuKernels, TheBeginningOfAnOnlyRowIsNotTheRow) {
  for (auto [columns, part] : {std::pair<int64_t, int64_t>{24000, 12000},
                               {24000, 20000},
                               {20011, 17003},
                               {24000, 500}}) {
    SCOPED_TRACE(std::to_string(part) + " of " + std::to_string(columns));
    std::string type = vectorOf(columns), some = vectorOf(part),
                none = "tensor<f32>", map = "(i) -> ()";
    std::string text = function(
        "f", {type}, {type},
        "%p = tensor.extract_slice %0[0] [" + std::to_string(part) +
            "] [1] : " + type + " to " + some + "\n" +
            reduce("%s", "%p", some, none, map, {"reduction"}, "arith.maximumf",
                   "0.0") +
            broadcast("%b", "%s", none, type, map) +
            elementwise("%d", {"%0", "%b"}, type,
                        "arith.subf %a0, %a1 : f32\n%z = arith.mulf %r, %r") +
            reduce("%t", "%d", type, none, map, {"reduction"}, "arith.addf",
                   "0.0") +
            broadcast("%u", "%t", none, type, map) +
            elementwise("%y", {"%d", "%u"}, type, "arith.divf %a0, %a1"),
        {"%y"});
    GpuComparison(text).check("f", 1e-5);
  }
}

TEST(GpuKernels, ReductionsOfEveryType) {
  for (std::string combiner :
       {"f32 arith.addf 0.0", "f64 arith.addf 0.0", "i64 arith.addi 0",
        "i32 arith.maxsi -100", "i8 arith.addi 0", "i8 arith.maxsi -128",
        "i8 arith.minui -1", "i1 arith.ori false", "i16 arith.minsi 100"}) {
    SCOPED_TRACE(combiner);
    size_t one = combiner.find(' '), two = combiner.rfind(' ');
    std::string element = combiner.substr(0, one);
    std::string type = matrix(40, 100, element);
    auto sums = [&](std::string result, int64_t size, std::string map,
                    Names iterators) {
      return reduce(result, "%0", type, vectorOf(size, element), map, iterators,
                    combiner.substr(one + 1, two - one),
                    combiner.substr(two + 1));
    };
    std::string text = function(
        "f", {type}, {vectorOf(40, element), vectorOf(100, element)},
        sums("%s", 40, "(i, j) -> (i)", {"parallel", "reduction"}) +
            sums("%t", 100, "(i, j) -> (j)", {"reduction", "parallel"}),
        {"%s", "%t"});
    GpuComparison(text).check("f", rounding);
  }
}

TEST(GpuKernels, NothingToReduce) {
  std::string none = matrix(4, 0), rows = matrix(0, 4);
  std::string text =
      function("f", {none, rows}, {vectorOf(4), vectorOf(4), none},
               reduce("%s", "%0", none, vectorOf(4), "(i, j) -> (i)",
                      {"parallel", "reduction"}, "arith.addf", "2.0") +
                   reduce("%t", "%1", rows, vectorOf(4), "(i, j) -> (j)",
                          {"reduction", "parallel"}, "arith.addf", "3.0") +
                   elementwise("%n", {"%0"}, none, "arith.negf %a0"),
               {"%s", "%t", "%n"});
  GpuComparison(text).check("f");
}

TEST(GpuKernels, FewLongRows) {
  for (int64_t rows : {1, 3}) {
    std::string type = matrix(rows, 40000), column = vectorOf(rows);
    std::string text =
        function("f", {type}, {column, type},
                 elementwise("%q", {"%0"}, type, "arith.mulf %a0, %a0") +
                     reduce("%s", "%q", type, column, "(i, j) -> (i)",
                            {"parallel", "reduction"}, "arith.addf", "1.0") +
                     elementwise("%n", {"%s"}, column, "math.sqrt %a0"),
                 {"%n", "%q"});
    GpuComparison kernels(text);
    EXPECT_GT(kernels.grid("f").workspaceBytes, 0);
    kernels.check("f", longSum);
  }
}

//===----------------------------------------------------------------------===//
// Sums over rows
//===----------------------------------------------------------------------===//

std::string columnSum(const std::string &name, const std::string &input,
                      int64_t rows, int64_t columns,
                      const std::string &init = "0.5") {
  return reduce(name, input, matrix(rows, columns), vectorOf(columns),
                "(i, j) -> (j)", {"reduction", "parallel"}, "arith.addf", init);
}

TEST(GpuKernels, SumsOverRows) {
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{8, 4},
                               {1000, 96},
                               {333, 130},
                               {2, 5000},
                               {3000, 3}}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
    std::string type = matrix(rows, columns);
    std::string text =
        function("f", {type}, {type, vectorOf(columns)},
                 elementwise("%y", {"%0"}, type, "arith.mulf %a0, %a0") +
                     columnSum("%s", "%y", rows, columns),
                 {"%y", "%s"});
    GpuComparison(text).check("f", longSum);
    GpuComparison(text, {{"f", {0, -1}}}).check("f", longSum);
  }
}

TEST(GpuKernels, SumsAreFinished) {
  std::string type = matrix(500, 64), row = vectorOf(64);
  std::string rounded = vectorOf(64, "bf16");
  std::string text = function("f", {type}, {rounded, row},
                              columnSum("%s", "%0", 500, 64) +
                                  mixed("%y", {"%s"}, {row}, rounded,
                                        "arith.truncf %a0 : f32 to bf16") +
                                  columnSum("%t", "%0", 500, 64, "2.0"),
                              {"%y", "%t"});
  GpuComparison kernels(text);
  EXPECT_GT(kernels.grid("f").workspaceBytes, 0);
  kernels.check("f", 1e-2);
}

TEST(GpuKernels, SumsAreAddedInPlace) {
  for (auto [rows, columns] :
       {std::pair<int64_t, int64_t>{8, 4}, {1000, 96}, {333, 130}, {3000, 3}}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
    std::string type = matrix(rows, columns), row = vectorOf(columns);
    std::string text = function(
        "f", {type, row}, {row},
        columnSum("%s", "%0", rows, columns) +
            elementwise("%t", {"%1", "%s"}, row, "arith.addf %a0, %a1"),
        {"%t"});
    GpuComparison(text).check("f", longSum);
    GpuComparison(text, {{"f", {1}}}).check("f", longSum);
  }
}

/// The backward pass of a norm in short: each row less its mean, and the sum of
/// that over rows, and of the means.
std::string normGradient(int64_t rows, int64_t columns) {
  std::string type = matrix(rows, columns), column = vectorOf(rows);
  return function(
      "f", {type}, {type, vectorOf(columns), tensor({}, "f32")},
      reduce("%m", "%0", type, column, "(i, j) -> (i)",
             {"parallel", "reduction"}, "arith.addf", "0.0") +
          broadcast("%ms", "%m", column, type, "(i, j) -> (i)") +
          elementwise("%y", {"%0", "%ms"}, type, "arith.subf %a0, %a1") +
          columnSum("%s", "%y", rows, columns) +
          reduce("%t", "%m", column, tensor({}, "f32"), "(i) -> ()",
                 {"reduction"}, "arith.addf", "0.0"),
      {"%y", "%s", "%t"});
}

TEST(GpuKernels, SumsOverRowsOfReductions) {
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{3, 8},
                               {64, 64},
                               {700, 96},
                               {1030, 30},
                               {20, 3000},
                               {8, 20000}}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
    GpuComparison(normGradient(rows, columns)).check("f", longSum);
    GpuComparison(normGradient(rows, columns), {{"f", {0, -1, -1}}})
        .check("f", longSum);
  }
}

//===----------------------------------------------------------------------===//
// Scatter, and several at once
//===----------------------------------------------------------------------===//

TEST(GpuKernels, ScatterAdd) {
  auto text = [](std::string updates, std::string indices, std::string table,
                 std::string dims) {
    return function("f", {updates, indices}, {table},
                    "%r = weft.scatter_add %0, %1 " + dims + " : (" + updates +
                        ", " + indices + ") -> " + table + "\n",
                    {"%r"});
  };
  // A CPU rounds a sum once, a GPU at every one of these updates.
  constexpr double unit = 0x1p-24;
  for (int64_t columns : {1, 5, 128, 130})
    GpuComparison(text(tensor({9, 11, columns}, "f32"), "tensor<9x11xi32>",
                       tensor({20, columns}, "f32"), "dim = 0"))
        .check("f", 9 * 11 * unit);
  // Two columns a thread are added as pairs of 16 bits.
  GpuComparison(text("tensor<9x11x2xi8>", "tensor<9x11xi32>", "tensor<20x2xi8>",
                     "dim = 0"))
      .check("f");
  GpuComparison(text("tensor<4x3x8xf32>", "tensor<4x3xi64>",
                     "tensor<4x50x8xf32>", "dim = 1 batching = [0] x [0]"))
      .check("f", 3 * unit);
  // Some indices are outside of the table.
  GpuComparison(
      text("tensor<40x8xi32>", "tensor<40xi32>", "tensor<5x8xi32>", "dim = 0"))
      .check("f");
}

TEST(GpuKernels, ParametersHaveALimit) {
  std::string type = vectorOf(4);
  KernelRunner kernels(
      function("f", Names(4096, type), {type},
               elementwise("%y", {"%0"}, type, "arith.negf %a0"), {"%y"}));
  TargetOptions target;
  target.gpu = "sm_90";
  target.ptxas = "none";
  std::string message;
  mlir::func::FuncOp kernel = kernels.function("f");
  mlir::ScopedDiagnosticHandler handler(kernel.getContext(),
                                        [&](mlir::Diagnostic &problem) {
                                          message = problem.str();
                                          return mlir::success();
                                        });
  EXPECT_TRUE(mlir::failed(compileGpuKernels({{kernel, {}, "f"}}, target)));
  EXPECT_EQ(message, "'func.func' op has 4097 buffers, whose addresses take "
                     "32776 bytes as parameters; a GPU takes 32764: combine "
                     "fewer tensors at once");
}

TEST(GpuKernels, NaNsRoundToNaNs) {
  // Their bits are those of the machine.
  std::string from = vectorOf(64), to = vectorOf(64, "bf16");
  std::string text = function(
      "f", {from}, {to},
      splat("%nan", "0x7FC01234", from) +
          elementwise("%x", {"%0", "%nan"}, from, "arith.addf %a0, %a1") +
          mixed("%y", {"%x"}, {from}, to, "arith.truncf %a0 : f32 to bf16"),
      {"%y"});
  // Any tolerance lets the bits of a NaN differ.
  GpuComparison(text).check("f", 1e-9);
}

TEST(GpuKernels, SeveralNests) {
  std::string big = matrix(200, 64), small = vectorOf(77),
              other = matrix(64, 200);
  std::string text = function(
      "f", {big, small}, {big, vectorOf(64), small, other, tensor({}, "f32")},
      elementwise("%y", {"%0"}, big, "math.exp %a0") +
          columnSum("%s", "%y", 200, 64) +
          elementwise("%z", {"%1"}, small, "arith.negf %a0") +
          broadcast("%t", "%0", big, other, "(i, j) -> (j, i)") +
          reduce("%n", "%1", small, tensor({}, "f32"), "(i) -> ()",
                 {"reduction"}, "arith.addf", "0.0"),
      {"%y", "%s", "%z", "%t", "%n"});
  GpuComparison(text).check("f", longSum);
}

//===----------------------------------------------------------------------===//
// Several sets of arguments
//===----------------------------------------------------------------------===//

/// Each set has the bits of the CPU, and no set touches what is of another one.
TEST(GpuKernels, BatchesOfElements) {
  for (std::string element : {"f32", "bf16"})
    for (int64_t size : {1, 1003, 4096})
      for (int64_t room : {2, 6}) {
        SCOPED_TRACE(element + " " + std::to_string(size));
        std::string text = tanhOfSum(vectorOf(size, element));
        GpuComparison(text, {}, room).check("f");
        GpuComparison(text, {{"f", {0}}}, room).check("f");
      }
}

TEST(GpuKernels, BatchesOfSeveralJobs) {
  std::string big = matrix(200, 64), other = matrix(64, 200),
              small = vectorOf(77);
  std::string text =
      function("f", {big, small}, {big, small, other},
               elementwise("%y", {"%0"}, big, "math.exp %a0") +
                   elementwise("%z", {"%1"}, small, "arith.negf %a0") +
                   broadcast("%t", "%0", big, other, "(i, j) -> (j, i)"),
               {"%y", "%z", "%t"});
  GpuComparison(text, {}, 5).check("f");
}

TEST(GpuKernels, BatchesOfRowsWithPositions) {
  std::string text =
      "func.func private @f(%0: tensor<8x64xi32>, %p: tensor<i32> "
      "{weft.position}) -> (tensor<8xi32>) {\n" +
      reduce("%s", "%0", matrix(8, 64, "i32"), vectorOf(8, "i32"),
             "(i, j) -> (i)", {"parallel", "reduction"}, "arith.addi", "0") +
      "%b_e = tensor.empty() : tensor<8xi32>\n" +
      generic("%b", {"%s", "%p"}, {"tensor<8xi32>", "tensor<i32>"}, "%b_e",
              "tensor<8xi32>", {"#v", "affine_map<(i) -> ()>", "#v"},
              {"parallel"}, "%r = arith.addi %a0, %a1 : i32", "%r") +
      "return %b : tensor<8xi32>\n}\n";
  GpuComparison(text, {}, 4).check("f");
}

/// As wide as those of one set, and through the read-only cache.
TEST(GpuKernels, AccessesOfBatches) {
  std::string type = vectorOf(4096);
  std::string ptx = GpuComparison(tanhOfSum(type), {{"f", {0}}}, 3).ptx();
  auto count = [&](std::string what) {
    size_t found = 0;
    for (size_t at = ptx.find(what); at != ptx.npos;
         at = ptx.find(what, at + 1))
      ++found;
    return found;
  };
  EXPECT_EQ(count("ld.global.nc.v4.b32"), 1u);
  EXPECT_EQ(count("ld.global.v4.b32"), 1u);
  EXPECT_EQ(count("st.global.v4.b32"), 1u);
  EXPECT_EQ(count("ld.param.b64"), 2u);
}

} // namespace
