//===- VerifyAttentionTest.cpp - Broken attention ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verify.h"

#include <cmath>

namespace weft::runtime {
namespace {

using testing::HasSubstr;

/// [2, 3, 4, 8] queries of [2, 5, 2, 8] keys.
struct VerifyAttention : testing::Test {
  VerifyAttention() {
    query = input("query", {2, 3, 4, 8});
    key = input("key", {2, 5, 2, 8});
    value = input("value", {2, 5, 2, 8});
    diagonal = entry.input("diagonal", builder.type(DType::I32, {}));
    out = output("out", {2, 3, 4, 8});
    logsumexp = output("logsumexp", {2, 3, 4});
    attention = &entry.attention(query, key, value, out, logsumexp, sizes);
  }
  uint32_t input(std::string name, std::vector<int64_t> shape) {
    return entry.input(name, builder.type(DType::F32, std::move(shape)));
  }
  uint32_t output(std::string name, std::vector<int64_t> shape) {
    return entry.output(name, builder.type(DType::F32, std::move(shape)));
  }
  void setSizes(plan::AttentionSizes changed) { *attention->sizes = changed; }

  PlanBuilder builder{{{"data", 1}}};
  EntryBuilder entry = builder.entry("e");
  const plan::AttentionSizes sizes{2, 3, 5, 4, 2, 8};
  uint32_t query, key, value, diagonal, out, logsumexp;
  plan::AttentionT *attention;
};

TEST_F(VerifyAttention, Accepted) {
  EXPECT_EQ(verdict(builder), "");
  attention->causal = true;
  attention->diagonal = diagonal;
  EXPECT_EQ(verdict(builder), "");
}

TEST_F(VerifyAttention, Operands) {
  attention->key = 17;
  EXPECT_THAT(
      verdict(builder),
      HasSubstr("step 0 attention: key is buffer 17, but the entry has 6"));
  attention->key = logsumexp;
  EXPECT_THAT(verdict(builder),
              HasSubstr("key must have 160 elements of f32, but buffer 5 has "
                        "24 of f32"));
}

TEST_F(VerifyAttention, Results) {
  attention->out = query;
  EXPECT_THAT(verdict(builder), HasSubstr("out is buffer 0, which is also an "
                                          "operand or another result"));
  attention->out = logsumexp;
  EXPECT_THAT(
      verdict(builder),
      HasSubstr("out must have 192 elements of f32, but buffer 5 has 24 "
                "of f32"));
}

TEST_F(VerifyAttention, Types) {
  attention->query = diagonal;
  EXPECT_THAT(verdict(builder),
              HasSubstr("no attention of i32; it takes f32, bf16, f16 or f64"));
}

TEST_F(VerifyAttention, Sizes) {
  setSizes({2, 0, 5, 4, 2, 8});
  EXPECT_THAT(verdict(builder),
              HasSubstr("batch 2, queries 0, keys 5, heads 4, key_heads 2, "
                        "head_size 8 must be at least 1"));
  setSizes({2, 3, 5, 4, 3, 8});
  EXPECT_THAT(verdict(builder),
              HasSubstr("heads 4 must be a multiple of key_heads 3"));
  setSizes({int64_t(1) << 40, int64_t(1) << 40, 5, 4, 2, 8});
  EXPECT_THAT(verdict(builder), HasSubstr("head_size 8 overflow"));
}

TEST_F(VerifyAttention, Scale) {
  attention->scale = INFINITY;
  EXPECT_THAT(verdict(builder), HasSubstr("scale is inf, must be finite"));
}

TEST_F(VerifyAttention, Diagonal) {
  attention->diagonal = diagonal;
  EXPECT_THAT(verdict(builder),
              HasSubstr("there is a diagonal, but the mask is not causal"));
  attention->causal = true;
  attention->diagonal = query;
  EXPECT_THAT(verdict(builder),
              HasSubstr("diagonal must have 1 elements of i32, but buffer 0 "
                        "has 192 of f32"));
}

struct VerifyAttentionGrad : VerifyAttention {
  VerifyAttentionGrad() {
    plan::AttentionGradT operands;
    operands.query = query;
    operands.key = key;
    operands.value = value;
    operands.out = out;
    operands.logsumexp = logsumexp;
    operands.out_cotangent = input("out_cotangent", {2, 3, 4, 8});
    operands.query_cotangent = output("query_cotangent", {2, 3, 4, 8});
    operands.key_cotangent = output("key_cotangent", {2, 5, 2, 8});
    operands.value_cotangent = output("value_cotangent", {2, 5, 2, 8});
    grad = &entry.attentionGrad(std::move(operands), sizes);
  }
  plan::AttentionGradT *grad;
};

TEST_F(VerifyAttentionGrad, Accepted) {
  EXPECT_EQ(verdict(builder), "");
  grad->causal = true;
  grad->diagonal = diagonal;
  EXPECT_EQ(verdict(builder), "");
  grad->logsumexp_cotangent = logsumexp;
  EXPECT_EQ(verdict(builder), "");
}

TEST_F(VerifyAttentionGrad, Operands) {
  grad->out = logsumexp;
  EXPECT_THAT(verdict(builder),
              HasSubstr("step 1 attention_grad: out must have 192 elements of "
                        "f32, but buffer 5 has 24 of f32"));
  grad->out = out;
  grad->logsumexp_cotangent = query;
  EXPECT_THAT(verdict(builder),
              HasSubstr("logsumexp_cotangent must have 24 elements of f32, but "
                        "buffer 0 has 192 of f32"));
  grad->logsumexp_cotangent = flatbuffers::nullopt;
  grad->out_cotangent = key;
  EXPECT_THAT(verdict(builder), HasSubstr("out_cotangent must have 192"));
}

TEST_F(VerifyAttentionGrad, Results) {
  grad->key_cotangent = grad->value_cotangent;
  EXPECT_THAT(verdict(builder),
              HasSubstr("value_cotangent is buffer 9, which is also an "
                        "operand or another result"));
  grad->key_cotangent = grad->query_cotangent;
  EXPECT_THAT(verdict(builder), HasSubstr("key_cotangent must have 160"));
}

} // namespace
} // namespace weft::runtime
