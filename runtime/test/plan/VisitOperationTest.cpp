//===- VisitOperationTest.cpp - Each operation reaches its case -*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/runtime/VisitOperation.h"

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::runtime;

namespace {

plan::Operation caseOf(plan::Operation operation) {
  flatbuffers::FlatBufferBuilder builder;
  const auto none = builder.CreateVector<uint8_t>({}).Union();
  plan::InstructionBuilder instruction(builder);
  instruction.add_operation_type(operation);
  instruction.add_operation(none);
  builder.Finish(instruction.Finish());
  return visitOperation(
      *flatbuffers::GetRoot<plan::Instruction>(builder.GetBufferPointer()),
      []<typename Case>(const Case &) {
        return plan::OperationTraits<Case>::enum_value;
      });
}

TEST(VisitOperation, CallsTheCaseOfTheOperation) {
  for (plan::Operation operation : plan::EnumValuesOperation()) {
    EXPECT_EQ(isKnown(operation), operation != plan::Operation::NONE);
    if (isKnown(operation))
      EXPECT_EQ(caseOf(operation), operation)
          << plan::EnumNameOperation(operation);
  }
  EXPECT_FALSE(isKnown(static_cast<plan::Operation>(
      static_cast<int>(plan::Operation::MAX) + 1)));
}

} // namespace
