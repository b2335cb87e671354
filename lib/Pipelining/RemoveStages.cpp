//===- RemoveStages.cpp - Forget the stages of a program ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Pipelining/Passes.h"

#include "weft/IR/StagePipeline.h"

namespace weft {
#define GEN_PASS_DEF_REMOVESTAGES
#include "weft/Pipelining/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

namespace {

struct RemoveStages : weft::impl::RemoveStagesBase<RemoveStages> {
  using RemoveStagesBase::RemoveStagesBase;

  void runOnInput() override { removeStages(getOperation()); }
};

} // namespace
