//===- CudaPlanTest.cpp - Plans for GPUs on the command line ----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On a machine without a GPU a plan for one can be looked at, and running it is
// one error.
//
//===----------------------------------------------------------------------===//

#include "CudaPlan.h"
#include "ShardRunFixture.h"

#include <gmock/gmock.h>

namespace weft::runtime {
namespace {

using testing::HasSubstr;

struct ShardRunCuda : ShardRun {
  void SetUp() override {
    ShardRun::SetUp();
    SamplePlan sample(2);
    makeCudaPlan(sample, ".version 9.0 .entry fill( .entry add( .entry total(",
                 "sm_90");
    sample.table.kernels[1]->grid->registers = 24;
    plan = writePlan("cuda.plan", sample);
    setenv("WEFT_CUDA_LIBRARIES", "/no/such/folder", 1);
  }
  void TearDown() override {
    unsetenv("WEFT_CUDA_LIBRARIES");
    ShardRun::TearDown();
  }
};

TEST_F(ShardRunCuda, DumpNeedsNoDriver) {
  const Outcome outcome = run(plan + " --dump=kernels");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.text,
              HasSubstr("@add \"add of 16\" grid 1 x 16 batch 1 shared 0 bytes "
                        "workspace 0 bytes registers 24"));
}

TEST_F(ShardRunCuda, RunningIsOneError) {
  const Outcome outcome =
      run(plan + " --entry init --device 0 --no-cuda-graphs --quiet");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(std::count(outcome.text.begin(), outcome.text.end(), '\n'), 1);
#if WEFT_HAS_CUDA
  EXPECT_THAT(outcome.text,
              HasSubstr("shard-run: error: cannot open libcudart.so.13: "));
  EXPECT_THAT(outcome.text, HasSubstr("install the runtime of CUDA 13"));
#else
  EXPECT_THAT(
      outcome.text,
      HasSubstr("shard-run: error: the plan is for target \"cuda\", but "
                "this runtime was built without CUDA; build it where "
                "there is a toolkit of CUDA 13, with -DWEFT_CUDA=ON"));
#endif
}

} // namespace
} // namespace weft::runtime
