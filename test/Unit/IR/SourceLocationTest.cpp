//===- SourceLocationTest.cpp - Where an op comes from --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/SourceLocation.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace weft;

namespace {

class SourceLocationTest : public ::testing::Test {
protected:
  MLIRContext context;
  Location unknown = UnknownLoc::get(&context);

  Location line(unsigned number) {
    return FileLineColLoc::get(&context, "/home/ada/mlp.py", number, 1);
  }
  Location named(llvm::StringRef name, Location loc) {
    return NameLoc::get(StringAttr::get(&context, name), loc);
  }
};

} // namespace

TEST_F(SourceLocationTest, FileWithoutFolder) {
  EXPECT_EQ(locationText(line(7)), "mlp.py:7");
}

TEST_F(SourceLocationTest, NamesComeFirst) {
  EXPECT_EQ(locationText(named("params['w1']", line(7))),
            "params['w1'], mlp.py:7");
  EXPECT_EQ(locationText(named("params['w1']", unknown)), "params['w1']");
}

TEST_F(SourceLocationTest, InlinedOpsAreWhereTheyWereWritten) {
  EXPECT_EQ(locationText(CallSiteLoc::get(line(3), line(20))), "mlp.py:3");
}

TEST_F(SourceLocationTest, FusedOpsAreAtTheFirstKnownLocation) {
  EXPECT_EQ(locationText(FusedLoc::get(&context, {unknown, line(4), line(5)})),
            "mlp.py:4");
}

TEST_F(SourceLocationTest, NothingIsKnown) {
  EXPECT_EQ(locationText(unknown), "");
  EXPECT_EQ(locationText(derivedFrom(unknown, "transpose of")), "");
}

TEST_F(SourceLocationTest, DerivedOpsSayHow) {
  Location backward = derivedFrom(line(7), "transpose of");
  EXPECT_EQ(locationText(backward), "transpose of mlp.py:7");

  Location again = derivedFrom(line(7), "recomputation of");
  EXPECT_EQ(locationText(derivedFrom(again, "transpose of")),
            "transpose of recomputation of mlp.py:7");
  EXPECT_EQ(locationText(named("gradient of w1", backward)),
            "gradient of w1, transpose of mlp.py:7");
}
