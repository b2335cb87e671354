//===- PricesTest.cpp - Tests of what instructions take -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Simulate/Prediction.h"

#include "PlanBuilder.h"

#include "weft/Cost/ClusterFile.h"

#include <gmock/gmock.h>

using namespace weft;
using namespace weft::simulate;

namespace {

/// A step of one instruction on a DGX H100.
class PricesTest : public testing::Test {
protected:
  /// Without the launch of the call.
  Picoseconds predicted() {
    const plan::Plan &plan = builder.build();
    const Prediction made = predict(plan, *plan.entries()->Get(0), cost, {});
    EXPECT_THAT(made.problems, testing::IsEmpty());
    usage = made.roles[0].usage;
    return made.step - launch;
  }
  uint32_t addBuffer(plan::DType dtype, int64_t elements) {
    step.buffers.push_back(std::make_unique<plan::BufferT>());
    plan::BufferT &buffer = *step.buffers.back();
    buffer.dtype = dtype;
    buffer.shape = {elements};
    buffer.bytes = elements * (dtype == plan::DType::BF16 ? 2 : 4);
    return step.buffers.size() - 1;
  }
  template <typename Operation> plan::InstructionT &add(Operation operation) {
    step.instructions.push_back(std::make_unique<plan::InstructionT>());
    step.instructions.back()->operation.Set(std::move(operation));
    return *step.instructions.back();
  }
  Picoseconds kernel(double seconds) const {
    return toPicoseconds(seconds) - launch;
  }
  Picoseconds timeOf(KernelClass kind) const {
    return usage.kernels[static_cast<size_t>(kind)];
  }

  cost::CostModel cost{*cost::loadCluster("dgx-h100").cluster};
  const Picoseconds launch = toPicoseconds(cost.launch());
  PlanBuilder builder{{{"data", 8}}};
  plan::EntryT &step = builder.entry("step");
  Usage usage;
};

TEST_F(PricesTest, GemmsHaveTheirShapeTypeAndLayout) {
  plan::GemmT gemm;
  gemm.lhs = gemm.rhs = gemm.out = addBuffer(plan::DType::BF16, 1);
  gemm.batch = 3;
  gemm.m = 1000;
  gemm.n = 500;
  gemm.k = 2001;
  // Of k x m and n x k matrices.
  gemm.lhs_m_stride = gemm.rhs_k_stride = 1;
  gemm.lhs_k_stride = 1000;
  gemm.rhs_n_stride = 2001;
  add(gemm);
  EXPECT_EQ(predicted(),
            kernel(cost.gemm(
                {1000, 500, 2001, 3, cost::Precision::BF16, true, true})));
  EXPECT_EQ(timeOf(KernelClass::Gemm), predicted());
  step.buffers[0]->dtype = plan::DType::F32;
  EXPECT_EQ(predicted(), kernel(cost.gemm({1000, 500, 2001, 3,
                                           cost::Precision::F32, true, true})));
  step.instructions[0]->operation.AsGemm()->precision =
      plan::GemmPrecision::TF32;
  EXPECT_EQ(predicted(),
            kernel(cost.gemm(
                {1000, 500, 2001, 3, cost::Precision::TF32, true, true})));
}

TEST_F(PricesTest, ConvolutionsAreMatmulsOfWindows) {
  plan::ConvolutionT convolution;
  convolution.lhs = convolution.rhs = convolution.out =
      addBuffer(plan::DType::F32, 1);
  convolution.groups = 2;
  convolution.batch = 4;
  convolution.input_features = 3;
  convolution.output_features = 8;
  // The second is between zeros, one of two of which has an element.
  convolution.windows = {{16, 5, 16, 1, 2, 1, 1, 3, 24, 8},
                         {16, 4, 31, 1, 2, 2, 1, 3, 24, 8}};
  add(convolution);
  EXPECT_EQ(predicted(), kernel(cost.gemm({4 * 16 * 31, 8, 3 * 5 * 4 / 2, 2,
                                           cost::Precision::F32})));
  EXPECT_EQ(timeOf(KernelClass::Convolution), predicted());
  EXPECT_EQ(timeOf(KernelClass::Gemm), 0);
}

TEST_F(PricesTest, AttentionHasItsSizes) {
  plan::AttentionT attention;
  attention.query = addBuffer(plan::DType::BF16, 1);
  attention.sizes =
      std::make_unique<plan::AttentionSizes>(2, 1024, 2048, 16, 4, 128);
  attention.causal = true;
  add(attention);
  cost::Attention expected{
      2, 16, 4, 1024, 2048, 128, true, false, cost::Precision::BF16};
  EXPECT_EQ(predicted(), kernel(cost.attention(expected)));
  EXPECT_EQ(timeOf(KernelClass::Attention), predicted());
  step.instructions.clear();
  plan::AttentionGradT grad;
  grad.sizes = std::make_unique<plan::AttentionSizes>(*attention.sizes);
  grad.causal = true;
  add(grad);
  expected.isBackward = true;
  EXPECT_EQ(predicted(), kernel(cost.attention(expected)));
}

TEST_F(PricesTest, KernelsTakeTheirTraffic) {
  plan::LaunchT launched;
  launched.buffers = {addBuffer(plan::DType::F32, 1 << 20),
                      addBuffer(plan::DType::F32, 1 << 22)};
  launched.access = {2, 1};
  add(launched).bytes = 20 << 20;
  EXPECT_EQ(predicted(), kernel(cost.memoryKernel({16 << 20, 4 << 20})));
  EXPECT_EQ(timeOf(KernelClass::Other), predicted());
  // Of a kernel that reads a part of what it may.
  step.instructions[0]->bytes = 5 << 20;
  EXPECT_EQ(predicted(), kernel(cost.memoryKernel({1 << 20, 4 << 20})));
}

TEST_F(PricesTest, KernelsTakeTheirArithmetic) {
  cost = cost::CostModel(*cost::loadCluster("cpu-2core").cluster);
  plan::LaunchT launched;
  launched.buffers = {addBuffer(plan::DType::F32, 1024)};
  launched.access = {3};
  launched.batch = 2;
  plan::InstructionT &instruction = add(launched);
  instruction.bytes = 8192;
  instruction.flops = 5'000'000;
  auto calls = std::make_unique<plan::FunctionCountT>();
  calls->name = "erf";
  calls->count = 1'000'000;
  builder.table.kernels[0]->functions.push_back(std::move(calls));
  const plan::Plan &plan = builder.build();
  const Prediction made = predict(plan, *plan.entries()->Get(0), cost, {});
  cost::ElementWork work{5e6};
  work.addCalls("erf", 2e6);
  // The mesh has 8 ranks, which share the cores.
  const cost::CostModel shared = cost.ofRanks(8);
  EXPECT_NEAR(toSeconds(made.step) / shared.kernel({4096, 4096}, work), 1,
              1e-6);
}

TEST_F(PricesTest, CollectivesCountTheLargerOfOperandAndResult) {
  plan::CollectiveStartT start;
  start.kind = plan::CollectiveKind::AllGather;
  start.source = addBuffer(plan::DType::F32, 1000);
  start.destination = addBuffer(plan::DType::F32, 8000);
  add(start);
  add(plan::CollectiveWaitT());
  const cost::Placement group = cost.place({{8, 1}});
  EXPECT_EQ(predicted(),
            toPicoseconds(
                cost.collective({cost::CollectiveKind::AllGather, 32000, group})
                    .seconds));
  EXPECT_EQ(usage.sentBytes[0], 28000);
  // What an exchange sends depends on its map.
  auto &other = *step.instructions[0]->operation.AsCollectiveStart();
  other.kind = plan::CollectiveKind::Exchange;
  other.wire_bytes = 500;
  EXPECT_EQ(predicted(),
            toPicoseconds(
                cost.collective({cost::CollectiveKind::Exchange, 500, group})
                    .seconds));
}

TEST_F(PricesTest, PartsOfAxesSkipDevices) {
  // Every fourth of 16 devices, on two nodes.
  builder.table.mesh[0]->size = 16;
  builder.table.groups[0]->axes[0] = plan::AxisRef(0, 1, 4);
  plan::CollectiveStartT start;
  start.source = start.destination = addBuffer(plan::DType::F32, 1 << 20);
  add(start);
  add(plan::CollectiveWaitT());
  EXPECT_EQ(predicted(),
            toPicoseconds(cost.collective({cost::CollectiveKind::AllReduce,
                                           4 << 20, cost.place({{4, 4}})})
                              .seconds));
}

} // namespace
