//===- AttentionCode.cpp - PTX of the attention kernels ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/attention/AttentionCode.h"

#include "cuda/attention/kernels/AttentionParameters.h"

namespace weft::runtime {

#define WEFT_FOR_HEAD_SIZES(X, element)                                        \
  X(element, 64)                                                               \
  X(element, 128)                                                              \
  X(element, 256)
#define WEFT_FOR_ATTENTION(X)                                                  \
  WEFT_FOR_HEAD_SIZES(X, F32)                                                  \
  WEFT_FOR_HEAD_SIZES(X, BF16)                                                 \
  WEFT_FOR_HEAD_SIZES(X, F16)                                                  \
  WEFT_FOR_HEAD_SIZES(X, F64)

namespace embedded {
#define WEFT_DECLARE(element, size)                                            \
  extern const std::string_view Attention##element##x##size;                   \
  extern const std::string_view AttentionGrad##element##x##size;
WEFT_FOR_ATTENTION(WEFT_DECLARE)
#undef WEFT_DECLARE
} // namespace embedded

int attentionHeadSizeFor(int64_t headSize) {
  for (const int size : attentionHeadSizes)
    if (headSize <= size)
      return size;
  return 0;
}

std::string_view attentionPtx(AttentionElement element, int headSize) {
#define WEFT_CHOOSE(type, size)                                                \
  if (element == AttentionElement::type && headSize == size)                   \
    return embedded::Attention##type##x##size;
  WEFT_FOR_ATTENTION(WEFT_CHOOSE)
#undef WEFT_CHOOSE
  return {};
}

std::string_view attentionGradPtx(AttentionElement element, int headSize) {
#define WEFT_CHOOSE(type, size)                                                \
  if (element == AttentionElement::type && headSize == size)                   \
    return embedded::AttentionGrad##type##x##size;
  WEFT_FOR_ATTENTION(WEFT_CHOOSE)
#undef WEFT_CHOOSE
  return {};
}

} // namespace weft::runtime
