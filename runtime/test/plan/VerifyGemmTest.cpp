//===- VerifyGemmTest.cpp - Broken GEMMs ------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verify.h"

namespace weft::runtime {
namespace {

using testing::HasSubstr;

struct VerifyGemm : testing::Test {
  VerifyGemm() {
    lhs = entry.input("lhs", builder.type(DType::F32, {4, 8}));
    rhs = entry.input("rhs", builder.type(DType::F32, {8, 2}));
    out = entry.output("out", builder.type(DType::F32, {4, 2}));
    gemm = &entry.gemm(lhs, rhs, out, 4, 2, 8);
  }
  PlanBuilder builder{{{"data", 1}}};
  EntryBuilder entry = builder.entry("e");
  uint32_t lhs, rhs, out;
  plan::GemmT *gemm;
};

TEST_F(VerifyGemm, Accepted) { EXPECT_EQ(verdict(builder), ""); }

TEST_F(VerifyGemm, Operands) {
  gemm->rhs = 17;
  EXPECT_THAT(verdict(builder),
              HasSubstr("step 0 gemm: rhs is buffer 17, but the entry has 3"));
  gemm->rhs = out;
  EXPECT_THAT(verdict(builder),
              HasSubstr("out is buffer 2, which is also an operand"));
}

TEST_F(VerifyGemm, Types) {
  *entry.table().inputs[1]->type = builder.type(DType::I32, {8, 2});
  entry.table().buffers[rhs]->dtype = plan::DType::I32;
  EXPECT_THAT(verdict(builder), HasSubstr("no GEMM of f32 and i32 into f32"));
}

TEST_F(VerifyGemm, Sizes) {
  gemm->k = 0;
  EXPECT_THAT(verdict(builder),
              HasSubstr("batch 1, m 4, n 2 and k 0 must be at least 1"));
}

TEST_F(VerifyGemm, Strides) {
  gemm->lhs_m_stride = 9;
  EXPECT_THAT(verdict(builder),
              HasSubstr("lhs reaches element 34 of buffer 0, which has 32"));
  gemm->lhs_m_stride = -8;
  EXPECT_THAT(verdict(builder), HasSubstr("lhs has the negative stride -8"));
  gemm->lhs_m_stride = int64_t(1) << 62;
  EXPECT_THAT(verdict(builder), HasSubstr("lhs: strides overflow"));
}

TEST_F(VerifyGemm, OneMatrixStrideIsOne) {
  gemm->k = 2;
  gemm->lhs_k_stride = 2;
  gemm->lhs_m_stride = 4;
  EXPECT_THAT(verdict(builder),
              HasSubstr("lhs has the matrix strides 4 and 2, one must be 1"));
}

TEST_F(VerifyGemm, OutHasAPlaceForEveryElement) {
  gemm->out_m_stride = 1;
  EXPECT_THAT(verdict(builder), HasSubstr("out with strides 0, 1, 1 has "
                                          "elements that overlap"));
}

TEST_F(VerifyGemm, AccumulationReadsOut) {
  gemm->accumulate = true;
  EXPECT_THAT(verdict(builder),
              HasSubstr("step 0 gemm: reads buffer 2 (output \"out\") before "
                        "anything is written to it"));
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// Four rows in two groups, each with a matrix.
struct VerifyGroups : testing::Test {
  VerifyGroups() {
    lhs = entry.input("lhs", builder.type(DType::F32, {1, 4, 8}));
    rhs = entry.input("rhs", builder.type(DType::F32, {2, 8, 2}));
    sizes = entry.input("sizes", builder.type(DType::I32, {1, 2}));
    out = entry.output("out", builder.type(DType::F32, {1, 4, 2}));
    gemm = &entry.gemm(lhs, rhs, out, 4, 2, 8);
    gemm->grouped = plan::GemmGroups::Rows;
    gemm->group_sizes = sizes;
    gemm->rhs_batch_stride = 16;
  }
  PlanBuilder builder{{{"data", 1}}};
  EntryBuilder entry = builder.entry("e");
  uint32_t lhs, rhs, sizes, out;
  plan::GemmT *gemm;
};

TEST_F(VerifyGroups, Accepted) { EXPECT_EQ(verdict(builder), ""); }

TEST_F(VerifyGroups, Kinds) {
  gemm->grouped = plan::GemmGroups::None;
  EXPECT_THAT(verdict(builder), HasSubstr("groups of kind 0 with sizes"));
  gemm->grouped = plan::GemmGroups::Rows;
  gemm->group_sizes = flatbuffers::nullopt;
  EXPECT_THAT(verdict(builder), HasSubstr("groups of kind 1 without sizes"));
  gemm->group_sizes = 17;
  EXPECT_THAT(verdict(builder),
              HasSubstr("group_sizes is buffer 17, but the entry has 4"));
}

TEST_F(VerifyGroups, Sizes) {
  gemm->group_sizes = lhs;
  EXPECT_THAT(verdict(builder),
              HasSubstr("group_sizes has 32 elements of f32, must have as many "
                        "of i32 for each of 1 batches"));
  gemm->group_sizes = sizes;
  gemm->batch = 3;
  EXPECT_THAT(verdict(builder), HasSubstr("group_sizes has 2 elements of i32, "
                                          "must have as many of i32 for each "
                                          "of 3 batches"));
}

TEST_F(VerifyGroups, Matrices) {
  gemm->rhs_batch_stride = 17;
  EXPECT_THAT(verdict(builder),
              HasSubstr("rhs reaches element 32 of buffer 1, which has 32"));
  gemm->rhs_batch_stride = 16;
  gemm->grouped = plan::GemmGroups::Sums;
  EXPECT_THAT(verdict(builder), HasSubstr("out with strides 0, 2, 1 has "
                                          "elements that overlap"));
  gemm->grouped = plan::GemmGroups::Rows;
  gemm->m = 1;
  gemm->n = 4;
  gemm->out_n_stride = 2;
  EXPECT_THAT(verdict(builder),
              HasSubstr("groups need an out_n_stride of 1, got 2"));
}

TEST_F(VerifyGroups, NothingElse) {
  gemm->accumulate = true;
  EXPECT_THAT(verdict(builder),
              HasSubstr("groups together with accumulate, an epilogue or "
                        "precision tf32"));
}

TEST_F(VerifyGroups, Types) {
  for (uint32_t i : {0, 1}) {
    entry.table().inputs[i]->type->dtype = plan::DType::I32;
    entry.table().buffers[i]->dtype = plan::DType::I32;
  }
  entry.table().outputs[0]->type->dtype = plan::DType::I32;
  entry.table().buffers[out]->dtype = plan::DType::I32;
  EXPECT_THAT(verdict(builder), HasSubstr("no GEMM of groups of i32 into i32"));
}

TEST_F(VerifyGroups, OnlyForCpus) {
  builder.table.target->kind = "cuda";
  builder.table.target->processor = "sm_90";
  EXPECT_THAT(verdict(builder),
              HasSubstr("groups, which plans for \"cuda\" do not have"));
}

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

/// A GEMM of a plan that is not for CPUs, which may have epilogues.
struct VerifyEpilogue : VerifyGemm {
  VerifyEpilogue() {
    builder.table.target->kind = "none";
    vector = entry.input("vector", builder.type(DType::F32, {2}));
    sums = entry.input("sums", builder.type(DType::F32, {4, 2}));
    gemm = entry.table().instructions[0]->operation.AsGemm();
  }
  uint32_t vector, sums;
};

using plan::GemmEpilogue;

TEST_F(VerifyEpilogue, Accepted) {
  for (auto epilogue : {GemmEpilogue::Bias, GemmEpilogue::BiasGelu,
                        GemmEpilogue::RhsBiasGrad}) {
    gemm->epilogue = epilogue;
    gemm->bias = vector;
    EXPECT_EQ(verdict(builder), "");
  }
  gemm->aux = sums;
  for (auto epilogue :
       {GemmEpilogue::BiasGeluAux, GemmEpilogue::GeluGradBiasGrad}) {
    gemm->epilogue = epilogue;
    EXPECT_EQ(verdict(builder), "");
  }
  gemm->bias = flatbuffers::nullopt;
  for (auto epilogue : {GemmEpilogue::GeluAux, GemmEpilogue::GeluGrad}) {
    gemm->epilogue = epilogue;
    EXPECT_EQ(verdict(builder), "");
  }
  gemm->aux = flatbuffers::nullopt;
  gemm->epilogue = GemmEpilogue::Gelu;
  EXPECT_EQ(verdict(builder), "");
}

TEST_F(VerifyEpilogue, IsNotForCpus) {
  builder.table.target->kind = "cpu";
  const std::string message = "step 0 gemm: an epilogue or precision tf32, "
                              "which plans for \"cpu\" do not have";
  gemm->epilogue = GemmEpilogue::Gelu;
  EXPECT_THAT(verdict(builder), HasSubstr(message));
  gemm->epilogue = GemmEpilogue::None;
  gemm->precision = plan::GemmPrecision::TF32;
  EXPECT_THAT(verdict(builder), HasSubstr(message));
}

TEST_F(VerifyEpilogue, Kinds) {
  gemm->epilogue = static_cast<GemmEpilogue>(40);
  EXPECT_THAT(verdict(builder), HasSubstr("unknown epilogue 40"));
  gemm->precision = static_cast<plan::GemmPrecision>(40);
  EXPECT_THAT(verdict(builder), HasSubstr("unknown precision 40"));
}

TEST_F(VerifyEpilogue, PrecisionIsOfF32) {
  gemm->precision = plan::GemmPrecision::TF32;
  EXPECT_EQ(verdict(builder), "");
  for (uint32_t i : {lhs, rhs}) {
    entry.table().inputs[i]->type->dtype = plan::DType::F64;
    entry.table().buffers[i]->dtype = plan::DType::F64;
    entry.table().buffers[i]->offset = builder.allocate(256);
    entry.table().buffers[i]->bytes = 256;
  }
  entry.table().outputs[0]->type->dtype = plan::DType::F64;
  entry.table().buffers[out]->dtype = plan::DType::F64;
  entry.table().buffers[out]->bytes = 64;
  EXPECT_THAT(verdict(builder),
              HasSubstr("precision tf32 is for operands of f32, got f64"));
}

TEST_F(VerifyEpilogue, Presence) {
  gemm->epilogue = GemmEpilogue::Bias;
  EXPECT_THAT(verdict(builder), HasSubstr("epilogue bias needs bias"));
  gemm->bias = vector;
  gemm->epilogue = GemmEpilogue::GeluGradBiasGrad;
  EXPECT_THAT(verdict(builder),
              HasSubstr("epilogue gelu_grad_bias_grad needs aux"));
  gemm->epilogue = GemmEpilogue::Gelu;
  EXPECT_THAT(verdict(builder),
              HasSubstr("epilogue gelu has no bias, got buffer 3"));
  gemm->bias = flatbuffers::nullopt;
  gemm->aux = sums;
  EXPECT_THAT(verdict(builder),
              HasSubstr("epilogue gelu has no aux, got buffer 4"));
}

TEST_F(VerifyEpilogue, Bias) {
  gemm->epilogue = GemmEpilogue::LhsBiasGrad;
  gemm->bias = 17;
  EXPECT_THAT(verdict(builder),
              HasSubstr("bias is buffer 17, but the entry has 5"));
  gemm->bias = vector;
  EXPECT_THAT(verdict(builder),
              HasSubstr("bias has 2 elements of f32, must have 4 of f32"));
  gemm->epilogue = GemmEpilogue::Bias;
  gemm->batch = 2;
  EXPECT_THAT(verdict(builder), HasSubstr("elements that overlap"));
  gemm->m = 2;
  gemm->out_batch_stride = 4;
  EXPECT_THAT(verdict(builder),
              HasSubstr("with a bias, batch must be 1, got 2"));
}

TEST_F(VerifyEpilogue, Aux) {
  gemm->epilogue = GemmEpilogue::GeluAux;
  gemm->aux = vector;
  EXPECT_THAT(verdict(builder),
              HasSubstr("aux reaches element 7 of buffer 3, which has 2"));
  gemm->aux = out;
  EXPECT_THAT(verdict(builder),
              HasSubstr("aux is buffer 2, which is also an operand"));
  gemm->aux = sums;
  entry.table().inputs.back()->type->dtype = plan::DType::I32;
  entry.table().buffers[sums]->dtype = plan::DType::I32;
  EXPECT_THAT(verdict(builder), HasSubstr("aux is i32, out f32"));
}

TEST_F(VerifyEpilogue, ContiguousRows) {
  gemm->epilogue = GemmEpilogue::Gelu;
  gemm->out_m_stride = 1;
  gemm->out_n_stride = 4;
  EXPECT_THAT(verdict(builder),
              HasSubstr("epilogue gelu needs an out_n_stride of 1, got 4"));
}

} // namespace
} // namespace weft::runtime
