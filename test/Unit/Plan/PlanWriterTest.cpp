//===- PlanWriterTest.cpp - Plans of small schedules ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Plan/PlanWriter.h"
#include "weft/Compile.h"
#include "weft/Schedule/Passes.h"
#include "weft/runtime/plan_generated.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace weft;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

class PlanWriterTest : public testing::Test {
protected:
  PlanWriterTest() : context(makeRegistry(), MLIRContext::Threading::DISABLED) {
    context.getDiagEngine().registerHandler([&](Diagnostic &diagnostic) {
      messages += diagnostic.str() + "\n";
      return success();
    });
    target.cpu = "x86-64-v3";
  }

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerAllWeftDialects(registry);
    // Of the bodies of kernels, which passes make elsewhere.
    registry.insert<linalg::LinalgDialect, tensor::TensorDialect>();
    return registry;
  }

  OwningOpRef<ModuleOp> parse(llvm::StringRef text) {
    return parseSourceString<ModuleOp>(text, ParserConfig(&context));
  }

  /// The plan of an ordered schedule.
  std::unique_ptr<plan::PlanT> write(llvm::StringRef text) {
    OwningOpRef<ModuleOp> module = parse(text);
    if (!module)
      return nullptr;
    PassManager pm(&context);
    pm.addPass(createPlanMemory());
    if (failed(pm.run(*module)))
      return nullptr;
    FailureOr<std::string> bytes = writePlan(*module, target);
    return failed(bytes) ? nullptr : unpack(*bytes);
  }

  static std::unique_ptr<plan::PlanT> unpack(const std::string &bytes) {
    const plan::Container *container = plan::GetContainer(bytes.data());
    return std::unique_ptr<plan::PlanT>(
        flatbuffers::GetRoot<plan::Plan>(container->payload()->data())
            ->UnPack());
  }

  MLIRContext context;
  TargetOptions target;
  std::string messages;
};

TEST_F(PlanWriterTest, NeedsPlannedMemory) {
  OwningOpRef<ModuleOp> module =
      parse("func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {"
            "  return %x : tensor<4xf32>"
            "}");
  ASSERT_TRUE(module);
  EXPECT_TRUE(failed(writePlan(*module, target)));
  EXPECT_THAT(
      messages,
      HasSubstr("value has no offset in the arena; run --weft-plan-memory"));
}

TEST_F(PlanWriterTest, RefusesAnUnknownProcessor) {
  target.cpu = "abacus";
  EXPECT_EQ(write("func.func @f() { return }"), nullptr);
  EXPECT_THAT(messages, HasSubstr("unknown target processor 'abacus'"));
}

TEST_F(PlanWriterTest, GemmStridesAndWork) {
  auto plan =
      write("func.func @f(%a: tensor<4x16xf32>, %b: tensor<8x16xf32>)"
            "    -> tensor<8x4xf32> {"
            "  %r = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16"
            "      strides = [64, 16, 1] x [128, 1, 16] -> [32, 1, 4]"
            "      : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<8x4xf32>"
            "  return %r : tensor<8x4xf32>"
            "}");
  ASSERT_TRUE(plan) << messages;
  ASSERT_EQ(plan->entries.size(), 1u);
  const plan::EntryT &entry = *plan->entries[0];
  ASSERT_EQ(entry.instructions.size(), 1u);
  const plan::InstructionT &step = *entry.instructions[0];
  const plan::GemmT *gemm = step.operation.AsGemm();
  ASSERT_NE(gemm, nullptr);
  EXPECT_THAT(std::vector({gemm->batch, gemm->m, gemm->n, gemm->k}),
              ElementsAre(1, 4, 8, 16));
  EXPECT_THAT(std::vector({gemm->lhs_batch_stride, gemm->lhs_m_stride,
                           gemm->lhs_k_stride}),
              ElementsAre(64, 16, 1));
  EXPECT_THAT(std::vector({gemm->rhs_batch_stride, gemm->rhs_k_stride,
                           gemm->rhs_n_stride}),
              ElementsAre(128, 1, 16));
  EXPECT_THAT(std::vector({gemm->out_batch_stride, gemm->out_m_stride,
                           gemm->out_n_stride}),
              ElementsAre(32, 1, 4));
  EXPECT_EQ(step.flops, 2u * 4 * 8 * 16);
  EXPECT_EQ(step.bytes, 4u * (4 * 16 + 8 * 16 + 8 * 4));
  EXPECT_EQ(entry.buffers[gemm->out]->kind, plan::BufferKind::Output);
  EXPECT_EQ(entry.inputs[1]->name, "arg1");
  EXPECT_EQ(entry.outputs[0]->name, "result0");
  EXPECT_EQ(plan->target->processor, "x86-64-v3");
}

/// The start that a schedule of one collective holds.
struct Shape {
  int64_t outer, middle, inner;
  bool splitFirst;
  uint64_t wireBytes;
};

TEST_F(PlanWriterTest, ShapesOfCollectives) {
  auto shapeOf = [&](llvm::StringRef collective, llvm::StringRef result) {
    auto plan = write(("weft.mesh @mesh = <[\"a\"=2, \"b\"=2]>"
                       "func.func @f(%x: tensor<4x6x8xf32>) -> tensor<" +
                       result + "> { %p = weft.start " + collective +
                       " : tensor<4x6x8xf32> -> !weft.pending<tensor<" +
                       result + ">> %r = weft.wait %p : !weft.pending<tensor<" +
                       result + ">> return %r : tensor<" + result + "> }")
                          .str());
    EXPECT_TRUE(plan) << messages;
    if (!plan)
      return Shape{};
    const plan::CollectiveStartT &start =
        *plan->entries[0]->instructions[0]->operation.AsCollectiveStart();
    return Shape{start.outer, start.middle, start.inner, start.split_first,
                 start.wire_bytes};
  };
  constexpr int64_t bytes = 4 * 6 * 8 * 4;

  Shape reduce =
      shapeOf("all_reduce %x sum over <@mesh, {\"a\"}>", "4x6x8xf32");
  EXPECT_EQ(reduce.outer * reduce.inner, 4 * 6 * 8);
  EXPECT_EQ(reduce.wireBytes, uint64_t(bytes));

  Shape gather =
      shapeOf("all_gather %x dim = 1 over <@mesh, {\"a\"}>", "4x12x8xf32");
  EXPECT_EQ(gather.outer, 4);
  EXPECT_EQ(gather.inner, 6 * 8);
  EXPECT_EQ(gather.wireBytes, uint64_t(bytes));

  Shape scatter = shapeOf("reduce_scatter %x sum dim = 1 over <@mesh, {\"a\"}>",
                          "4x3x8xf32");
  EXPECT_EQ(scatter.outer, 4);
  EXPECT_EQ(scatter.inner, 3 * 8);
  EXPECT_EQ(scatter.wireBytes, uint64_t(bytes / 2));

  Shape forth = shapeOf("all_to_all %x split = 0 concat = 2 over "
                        "<@mesh, {\"a\"}>",
                        "2x6x16xf32");
  EXPECT_TRUE(forth.splitFirst);
  EXPECT_EQ(forth.outer, 1);
  EXPECT_EQ(forth.middle, 2 * 6);
  EXPECT_EQ(forth.inner, 8);

  Shape back = shapeOf("all_to_all %x split = 2 concat = 0 over "
                       "<@mesh, {\"a\"}>",
                       "8x6x4xf32");
  EXPECT_FALSE(back.splitFirst);
  EXPECT_EQ(back.outer, 1);
  EXPECT_EQ(back.middle, 4 * 6);
  EXPECT_EQ(back.inner, 4);

  Shape permute = shapeOf(
      "permute %x from <@mesh, {\"a\"}> to <@mesh, {\"b\"}>", "4x6x8xf32");
  EXPECT_EQ(permute.inner, 4 * 6 * 8);
}

TEST_F(PlanWriterTest, GroupsAreSharedAndAPermutationHasAllItsAxes) {
  auto plan = write(
      "weft.mesh @mesh = <[\"a\"=2, \"b\"=2]>"
      "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {"
      "  %p = weft.start permute %x from <@mesh, {\"b\"}> to <@mesh, {\"a\"}>"
      "      : tensor<4xf32> -> !weft.pending<tensor<4xf32>>"
      "  %y = weft.wait %p : !weft.pending<tensor<4xf32>>"
      "  %q = weft.start all_reduce %y max over <@mesh, {\"a\", \"b\"}>"
      "      : tensor<4xf32> -> !weft.pending<tensor<4xf32>>"
      "  %r = weft.wait %q : !weft.pending<tensor<4xf32>>"
      "  return %r : tensor<4xf32>"
      "}");
  ASSERT_TRUE(plan) << messages;
  ASSERT_EQ(plan->groups.size(), 1u);
  const auto &steps = plan->entries[0]->instructions;
  const plan::CollectiveStartT &permute =
      *steps[0]->operation.AsCollectiveStart();
  EXPECT_EQ(permute.permute_from->axes[0].axis(), 1u);
  EXPECT_EQ(permute.permute_to->axes[0].axis(), 0u);
  const plan::CollectiveStartT &reduce =
      *steps[2]->operation.AsCollectiveStart();
  EXPECT_EQ(reduce.id, 1u);
  EXPECT_EQ(reduce.reduction, plan::Reduction::Max);
  EXPECT_EQ(reduce.source, reduce.destination);
  EXPECT_EQ(steps[3]->operation.AsCollectiveWait()->id, 1u);
}

/// Sets come one after the other; results in place are written where operands
/// are read.
TEST_F(PlanWriterTest, Batches) {
  const char *text = R"(
    #map = affine_map<(i) -> (i)>
    #one = affine_map<(i) -> ()>
    func.func private @scale(%x: tensor<4xf32>, %s: tensor<f32>) -> tensor<4xf32>
        attributes {weft.kernel, weft.in_place = array<i64: 0, 0>} {
      %e = tensor.empty() : tensor<4xf32>
      %r = linalg.generic {indexing_maps = [#map, #one, #map],
                           iterator_types = ["parallel"]}
          ins(%x, %s : tensor<4xf32>, tensor<f32>) outs(%e : tensor<4xf32>) {
      ^bb0(%a: f32, %b: f32, %out: f32):
        %p = arith.mulf %a, %b : f32
        linalg.yield %p : f32
      } -> tensor<4xf32>
      return %r : tensor<4xf32>
    }
    func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %s: tensor<f32>)
        -> (tensor<4xf32>, tensor<4xf32>) {
      %a:2 = weft.launch @scale(%x, %s, %y, %s) batch = 2
          : (tensor<4xf32>, tensor<f32>, tensor<4xf32>, tensor<f32>)
          -> (tensor<4xf32>, tensor<4xf32>)
      %b:2 = weft.launch @scale(%a#0, %s, %a#1, %s) batch = 2 in_place = [0]
          : (tensor<4xf32>, tensor<f32>, tensor<4xf32>, tensor<f32>)
          -> (tensor<4xf32>, tensor<4xf32>)
      %c = weft.launch @scale(%b#0, %s) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
      return %c, %b#1 : tensor<4xf32>, tensor<4xf32>
    })";
  for (bool isCuda : {false, true}) {
    if (isCuda) {
      target.gpu = "sm_90";
      target.ptxas = "none";
    }
    auto plan = write(text);
    ASSERT_TRUE(plan) << messages;
    plan::EntryT &entry = *plan->entries[0];
    const plan::LaunchT &apart = *entry.instructions[0]->operation.AsLaunch();
    const plan::LaunchT &over = *entry.instructions[1]->operation.AsLaunch();
    const plan::LaunchT &single = *entry.instructions[2]->operation.AsLaunch();
    EXPECT_EQ(apart.batch, 2u);
    EXPECT_THAT(apart.access, ElementsAre(1, 1, 2));
    EXPECT_EQ(apart.buffers[1], apart.buffers[4]);
    EXPECT_EQ(apart.buffers.size(), 6u);
    EXPECT_EQ(over.batch, 2u);
    EXPECT_THAT(over.access, ElementsAre(3, 1));
    EXPECT_THAT(over.buffers, ElementsAre(apart.buffers[2], apart.buffers[1],
                                          apart.buffers[5], apart.buffers[1]));
    EXPECT_EQ(single.batch, 1u);
    // A multiplication for each element of each set.
    EXPECT_EQ(entry.instructions[0]->flops, 8u);
    EXPECT_EQ(entry.instructions[2]->flops, 4u);
    // Whether it is in place makes a kernel; its largest batch makes room.
    ASSERT_EQ(plan->kernels.size(), 2u);
    EXPECT_EQ(over.kernel, single.kernel);
    if (isCuda)
      EXPECT_EQ(plan->kernels[over.kernel]->grid->max_batch, 2u);
  }
}

TEST_F(PlanWriterTest, ConstantsAreStoredOnceRowMajor) {
  auto plan = write(
      "func.func private @use(%x: tensor<2x2xi32>, %y: tensor<3xi1>)"
      "    -> tensor<2xf32> attributes {weft.kernel} {"
      "  %c = arith.constant dense<1.0> : tensor<2xf32>"
      "  return %c : tensor<2xf32>"
      "}"
      "func.func @f() -> (tensor<2x2xi32>, tensor<3xi1>, tensor<2x2xi32>) {"
      "  %c = arith.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>"
      "  %p = arith.constant dense<[true, false, true]> : tensor<3xi1>"
      "  %d = arith.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>"
      "  return %c, %p, %d : tensor<2x2xi32>, tensor<3xi1>, tensor<2x2xi32>"
      "}");
  ASSERT_TRUE(plan) << messages;
  ASSERT_EQ(plan->constant_data.size(), 128u);
  std::vector<int32_t> numbers(4);
  std::memcpy(numbers.data(), plan->constant_data.data(), 16);
  EXPECT_THAT(numbers, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(std::vector(plan->constant_data.begin() + 64,
                          plan->constant_data.begin() + 67),
              ElementsAre(1, 0, 1));
}

constexpr llvm::StringLiteral model =
    "weft.mesh @mesh = <[\"data\"=2]>\n"
    "func.func @f(%x: tensor<8x4xf32> {weft.name = \"x\","
    "    weft.sharding = #weft.sharding<@mesh, [{\"data\"}, {}]>})\n"
    "    -> (tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>}) {\n"
    "  %s = weft.reduce sum %x dims = [0] : tensor<8x4xf32> -> tensor<4xf32>\n"
    "  return %s : tensor<4xf32>\n"
    "}\n";

TEST_F(PlanWriterTest, CompileTextIsDeterministicAndKnowsWhere) {
  CompileOptions options;
  options.target = target;
  options.mesh = "data=4";
  FailureOr<std::string> first =
      compileText(model, "/some/folder/model.mlir", context, options);
  FailureOr<std::string> second =
      compileText(model, "/another/model.mlir", context, options);
  ASSERT_TRUE(succeeded(first) && succeeded(second)) << messages;
  auto plan = unpack(*first);
  EXPECT_EQ(plan->mesh[0]->size, 4);
  const plan::TensorTypeT &type = *plan->entries[0]->inputs[0]->type;
  EXPECT_THAT(type.global_shape, ElementsAre(8, 4));
  EXPECT_THAT(type.local_shape, ElementsAre(2, 4));
  for (const auto &step : plan->entries[0]->instructions) {
    EXPECT_EQ(step->location, "model.mlir:4");
    if (step->operation.AsCollectiveStart()) {
      EXPECT_THAT(step->cause, HasSubstr("weft.reduce (model.mlir:4)"));
    }
  }
  EXPECT_EQ(*first, *second);
}

TEST_F(PlanWriterTest, MetadataIsStoredUnread) {
  CompileOptions options;
  options.target.machineCode = false;
  options.metadata = {{"b.what", "second"}, {"a.what", "first"}};
  FailureOr<std::string> bytes =
      compileText(model, "model.mlir", context, options);
  ASSERT_TRUE(succeeded(bytes)) << messages;
  auto plan = unpack(*bytes);
  ASSERT_EQ(plan->metadata.size(), 2u);
  EXPECT_EQ(plan->metadata[0]->key, "a.what");
  EXPECT_EQ(plan->metadata[0]->value, "first");
  EXPECT_EQ(plan->metadata[1]->value, "second");
  EXPECT_EQ(plan->target->kind, "none");
  EXPECT_FALSE(plan->kernels.empty());
  EXPECT_TRUE(plan->object.empty());
}

TEST_F(PlanWriterTest, CompileTextReportsErrors) {
  EXPECT_TRUE(failed(compileText("func.func @f(", "model.mlir", context, {})));
  EXPECT_THAT(messages, HasSubstr("expected"));
}

} // namespace
