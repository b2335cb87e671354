//===- RemovePipeline.cpp - Let all ranks compute all stages --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Pipelining/Passes.h"

#include "weft/IR/StagePipeline.h"

namespace weft {
#define GEN_PASS_DEF_REMOVEPIPELINE
#include "weft/Pipelining/Passes.h.inc"
} // namespace weft

using namespace weft;

namespace {
struct RemovePipeline : weft::impl::RemovePipelineBase<RemovePipeline> {
  void runOnInput() override { getOperation()->removeAttr(kPipelineAttrName); }
};
} // namespace
