//===- EntryMemory.cpp - The buffers of an entry in an arena ----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "executor/EntryMemory.h"

namespace weft::runtime {

size_t EntryMemory::usedBytes(uint32_t index) const {
  size_t bytes = byteSize(dtype(index));
  for (int64_t extent : *buffer(index).shape())
    bytes *= static_cast<size_t>(extent);
  return bytes;
}

GemmProblem EntryMemory::problem(const plan::Gemm &gemm) const {
  GemmProblem problem;
  problem.in = dtype(gemm.lhs());
  problem.out = dtype(gemm.out());
  problem.batch = gemm.batch();
  problem.m = gemm.m();
  problem.n = gemm.n();
  problem.k = gemm.k();
  problem.lhs = {gemm.lhs_batch_stride(), gemm.lhs_m_stride(),
                 gemm.lhs_k_stride()};
  problem.rhs = {gemm.rhs_batch_stride(), gemm.rhs_k_stride(),
                 gemm.rhs_n_stride()};
  problem.result = {gemm.out_batch_stride(), gemm.out_m_stride(),
                    gemm.out_n_stride()};
  problem.accumulate = gemm.accumulate();
  return problem;
}

ConvolutionProblem
EntryMemory::problem(const plan::Convolution &convolution) const {
  const auto &lhs = *convolution.lhs_strides();
  const auto &rhs = *convolution.rhs_strides();
  const auto &out = *convolution.out_strides();
  ConvolutionProblem problem{{convolution.groups(), lhs[0], rhs[0], out[0]},
                             {convolution.batch(), lhs[1], 0, out[1]},
                             {convolution.input_features(), lhs[2], rhs[1], 0},
                             {convolution.output_features(), 0, rhs[2], out[2]},
                             {}};
  for (const plan::ConvolutionWindow *w : *convolution.windows())
    problem.windows.push_back(
        {w->lhs(), w->rhs(), w->out(), w->stride(), w->low(), w->lhs_dilation(),
         w->rhs_dilation(), w->lhs_stride(), w->rhs_stride(), w->out_stride()});
  return problem;
}

/// Of a verified plan.
static AttentionElement elementOf(DType dtype) {
  switch (dtype) {
  case DType::BF16:
    return AttentionElement::BF16;
  case DType::F16:
    return AttentionElement::F16;
  case DType::F64:
    return AttentionElement::F64;
  default:
    return AttentionElement::F32;
  }
}

/// What attention and its derivative are given alike.
template <typename Operation>
AttentionArguments EntryMemory::shared(const Operation &operation) const {
  AttentionArguments arguments;
  arguments.element = elementOf(dtype(operation.query()));
  const plan::AttentionSizes &sizes = *operation.sizes();
  arguments.sizes = {sizes.batch(), sizes.queries(),   sizes.keys(),
                     sizes.heads(), sizes.key_heads(), sizes.head_size()};
  arguments.isCausal = operation.causal();
  arguments.scale = operation.scale();
  arguments.query = address(operation.query());
  arguments.key = address(operation.key());
  arguments.value = address(operation.value());
  if (operation.diagonal())
    arguments.diagonal =
        reinterpret_cast<const int32_t *>(address(*operation.diagonal()));
  return arguments;
}

AttentionArguments
EntryMemory::arguments(const plan::Attention &attention) const {
  AttentionArguments arguments = shared(attention);
  arguments.out = result(attention.out());
  arguments.logsumexp = address(attention.logsumexp());
  return arguments;
}

AttentionArguments
EntryMemory::arguments(const plan::AttentionGrad &grad) const {
  AttentionArguments arguments = shared(grad);
  arguments.forwardOut = address(grad.out());
  arguments.forwardLogsumexp = address(grad.logsumexp());
  arguments.outCotangent = address(grad.out_cotangent());
  if (grad.logsumexp_cotangent())
    arguments.logsumexpCotangent = address(*grad.logsumexp_cotangent());
  arguments.queryCotangent = result(grad.query_cotangent());
  arguments.keyCotangent = result(grad.key_cotangent());
  arguments.valueCotangent = result(grad.value_cotangent());
  return arguments;
}

} // namespace weft::runtime
