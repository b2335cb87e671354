//===- DialectFixture.h - A context and a parser ----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_UNIT_IR_DIALECTFIXTURE_H
#define WEFT_TEST_UNIT_IR_DIALECTFIXTURE_H

#include "weft/IR/ValueSharding.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

namespace weft {

class DialectFixture : public testing::Test {
protected:
  DialectFixture() {
    context.loadDialect<WeftDialect, mlir::arith::ArithDialect,
                        mlir::func::FuncDialect>();
  }

  /// Prints any attribute, type or op.
  template <typename T> static std::string print(T value) {
    std::string text;
    llvm::raw_string_ostream(text) << value;
    return text;
  }

  mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef text) {
    return mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }

  mlir::MLIRContext context;
  mlir::FlatSymbolRefAttr symbol =
      mlir::FlatSymbolRefAttr::get(&context, "mesh");
};

} // namespace weft

#endif // WEFT_TEST_UNIT_IR_DIALECTFIXTURE_H
