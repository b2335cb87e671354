//===- BufferSharingTest.cpp - Which results may be in place --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelText.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::test;

namespace {

const std::string matrix = "tensor<8x32xf32>", column = "tensor<8xf32>",
                  row = "tensor<32xf32>";

bool mayShare(const std::string &text, unsigned operand, unsigned result) {
  KernelRunner kernels(text);
  EXPECT_TRUE(kernels.compiled()) << kernels.messages();
  return mayShareBuffer(kernels.function("f"), operand, result);
}

TEST(BufferSharing, ElementwiseSharesWithEveryOperandOfItsType) {
  std::string text = function(
      "f", {matrix, matrix, row}, {matrix},
      broadcast("%b", "%2", row, matrix, "(i, j) -> (j)") +
          elementwise("%y", {"%0", "%1", "%b"}, matrix, "arith.addf %a0, %a1"),
      {"%y"});
  EXPECT_TRUE(mayShare(text, 0, 0));
  EXPECT_TRUE(mayShare(text, 1, 0));
  EXPECT_FALSE(mayShare(text, 2, 0)) << "another type";
}

TEST(BufferSharing, BroadcastOperandIsReadByLaterRows) {
  std::string square = "tensor<8x8xf32>";
  std::string text = function(
      "f", {square, column}, {square, column},
      broadcast("%b", "%1", column, square, "(i, j) -> (j)") +
          elementwise("%y", {"%0", "%b"}, square, "arith.addf %a0, %a1") +
          elementwise("%z", {"%1"}, column, "arith.negf %a0"),
      {"%y", "%z"});
  KernelRunner kernels(text);
  auto sharing = BufferSharing::analyze(kernels.function("f"));
  ASSERT_TRUE(mlir::succeeded(sharing));
  EXPECT_TRUE(sharing->mayShare(0, 0));
  // %z is written by loops of its own, after %1 has been read for %y.
  EXPECT_TRUE(sharing->mayShare(1, 1));
}

/// One result of an optimizer's update takes a slice of a whole parameter, the
/// other one reads and writes a moment.
std::string updateOfSlice(int columns) {
  std::string whole = "tensor<32x" + std::to_string(columns) + "xf32>",
              part = "tensor<8x" + std::to_string(columns) + "xf32>";
  return function(
      "f", {whole, part, part}, {part, part},
      elementwise("%m", {"%1", "%2"}, part, "arith.addf %a0, %a1") +
          "%s = tensor.extract_slice %0[8, 0] [8, " + std::to_string(columns) +
          "] [1, 1] : " + whole + " to " + part + "\n" +
          elementwise("%y", {"%s", "%m"}, part, "arith.mulf %a0, %a1"),
      {"%m", "%y"});
}

TEST(BufferSharing, ResultsBesideOneOfASliceAreWrittenTogether) {
  for (unsigned operand : {1, 2})
    for (unsigned result : {0, 1})
      EXPECT_TRUE(mayShare(updateOfSlice(128), operand, result))
          << operand << ", " << result;
  EXPECT_FALSE(mayShare(updateOfSlice(16), 1, 0))
      << "rows so short are no loop of their own";
}

TEST(BufferSharing, TransposeMayNotBeInPlace) {
  std::string square = "tensor<8x8xf32>";
  std::string text = function(
      "f", {square}, {square},
      broadcast("%t", "%0", square, square, "(i, j) -> (j, i)"), {"%t"});
  EXPECT_FALSE(mayShare(text, 0, 0));
}

/// y = x - max of the row is written in the second pass, after the last read of
/// x. x + 1, written in the first, would destroy what the second one reads.
TEST(BufferSharing, PassesOverARow) {
  std::string text = function(
      "f", {matrix}, {matrix, matrix},
      reduce("%m", "%0", matrix, column, "(i, j) -> (i)",
             {"parallel", "reduction"}, "arith.maximumf", "0xFF800000") +
          broadcast("%ms", "%m", column, matrix, "(i, j) -> (i)") +
          elementwise("%y", {"%0", "%ms"}, matrix, "arith.subf %a0, %a1") +
          elementwise("%z", {"%0"}, matrix, "arith.addf %a0, %a0"),
      {"%y", "%z"});
  EXPECT_TRUE(mayShare(text, 0, 0));
  EXPECT_FALSE(mayShare(text, 0, 1));
}

TEST(BufferSharing, SumsOverRowsAreNotInPlace) {
  std::string text =
      function("f", {matrix, row}, {row},
               reduce("%s", "%0", matrix, row, "(i, j) -> (j)",
                      {"reduction", "parallel"}, "arith.addf", "0.0") +
                   elementwise("%n", {"%1"}, row, "arith.negf %a0"),
               {"%s"});
  EXPECT_FALSE(mayShare(text, 1, 0));
}

static std::string sumOverRows(const std::string &name, const std::string &of) {
  return reduce(name, of, matrix, row, "(i, j) -> (j)",
                {"reduction", "parallel"}, "arith.addf", "0.0");
}

/// What is added to a finished sum is read when the sum is stored.
TEST(BufferSharing, SumsOverRowsAreAddedInPlace) {
  std::string text =
      function("f", {matrix, row}, {row},
               sumOverRows("%s", "%0") +
                   elementwise("%y", {"%1", "%s"}, row, "arith.addf %a0, %a1"),
               {"%y"});
  EXPECT_TRUE(mayShare(text, 1, 0));
}

/// A tile of columns is stored before the rows of the next are read.
TEST(BufferSharing, WhatTheRowsReadIsNotWrittenOver) {
  std::string text = function(
      "f", {matrix, row}, {row},
      broadcast("%b", "%1", row, matrix, "(i, j) -> (j)") +
          elementwise("%x", {"%0", "%b"}, matrix, "arith.mulf %a0, %a1") +
          sumOverRows("%s", "%x") +
          elementwise("%y", {"%1", "%s"}, row, "arith.addf %a0, %a1"),
      {"%y"});
  EXPECT_FALSE(mayShare(text, 1, 0));
}

TEST(BufferSharing, SumsAreFinishedInOrder) {
  std::string text =
      function("f", {matrix, matrix, row, row}, {row, row},
               sumOverRows("%s", "%0") + sumOverRows("%t", "%1") +
                   elementwise("%y", {"%2", "%s"}, row, "arith.addf %a0, %a1") +
                   elementwise("%z", {"%3", "%t"}, row, "arith.addf %a0, %a1"),
               {"%y", "%z"});
  EXPECT_TRUE(mayShare(text, 2, 0));
  EXPECT_TRUE(mayShare(text, 3, 1));
  EXPECT_TRUE(mayShare(text, 2, 1));
  EXPECT_FALSE(mayShare(text, 3, 0));
}

TEST(BufferSharing, ShiftedReadIsNotInPlace) {
  std::string text = function(
      "f", {row}, {row},
      "%s = tensor.extract_slice %0[1] [31] [1] : tensor<32xf32> to "
      "tensor<31xf32>\n"
      "%h = tensor.extract_slice %0[0] [1] [1] : tensor<32xf32> to "
      "tensor<1xf32>\n"
      "%y = tensor.concat dim(0) %s, %h : (tensor<31xf32>, tensor<1xf32>) -> "
      "tensor<32xf32>\n",
      {"%y"});
  EXPECT_FALSE(mayShare(text, 0, 0));
}

/// It is told from the plan of a kernel: no code is emitted to look at.
TEST(BufferSharing, IsFoundWithoutCode) {
  mlir::MLIRContext context;
  context.loadDialect<mlir::func::FuncDialect, mlir::arith::ArithDialect,
                      mlir::linalg::LinalgDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      "#m = affine_map<(i, j) -> (i, j)>\n" +
          function("f", {matrix}, {matrix},
                   elementwise("%y", {"%0"}, matrix, "arith.negf %a0"), {"%y"}),
      &context);
  ASSERT_TRUE(module);
  auto kernel = *module->getOps<mlir::func::FuncOp>().begin();
  EXPECT_TRUE(mayShareBuffer(kernel, 0, 0));
  EXPECT_EQ(context.getLoadedDialect("llvm"), nullptr);
  EXPECT_EQ(context.getLoadedDialect("scf"), nullptr);
}

TEST(BufferSharing, WrongRequestIsAnError) {
  std::string square = "tensor<8x8xf32>";
  std::string text = function(
      "f", {square}, {square},
      broadcast("%t", "%0", square, square, "(i, j) -> (j, i)"), {"%t"});
  KernelRunner kernels(text, "host", {{"f", {0}}});
  EXPECT_FALSE(kernels.compiled());
  EXPECT_EQ(kernels.messages(),
            "'func.func' op result 0 cannot take the buffer of operand 0\n");
  KernelRunner list(text, "host", {{"f", {0, 0}}});
  EXPECT_EQ(list.messages(),
            "'func.func' op has 1 results, but in_place lists 2\n");
}

} // namespace
