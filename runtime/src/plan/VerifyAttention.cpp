//===- VerifyAttention.cpp - The fields of attention ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "plan/PlanVerifier.h"
#include "plan/Text.h"

#include <cmath>

namespace weft::runtime {
namespace {

/// Checks one instruction; both have an operand, a type or a size in one way.
class AttentionVerifier {
public:
  AttentionVerifier(const plan::Entry &entry, std::vector<Touch> &touches)
      : entry(entry), touches(touches), firstTouch(touches.size()) {}

  Status verify(const plan::Attention &attention);
  Status verify(const plan::AttentionGrad &grad);

private:
  /// What both instructions have.
  template <typename Operation> Status start(const Operation &operation);
  Status checkSizes(const plan::AttentionSizes &sizes);
  Status reads(uint32_t index, std::string_view what, DType dtype,
               int64_t elements);
  /// A result of the type of the elements or of the sums.
  Status writes(uint32_t index, std::string_view what, int64_t elements);

  const plan::Entry &entry;
  std::vector<Touch> &touches;
  const size_t firstTouch;
  DType element = DType::F32, sum = DType::F32;
  /// Elements of what queries, keys, and queries and heads have.
  int64_t ofQueries = 0, ofKeys = 0, ofRows = 0;
};

} // namespace

Status AttentionVerifier::checkSizes(const plan::AttentionSizes &s) {
  const std::string text = fmt::format(
      "batch {}, queries {}, keys {}, heads {}, key_heads {}, head_size {}",
      s.batch(), s.queries(), s.keys(), s.heads(), s.key_heads(),
      s.head_size());
  for (int64_t size : {s.batch(), s.queries(), s.keys(), s.heads(),
                       s.key_heads(), s.head_size()})
    if (size < 1)
      return invalidArgument(text + " must be at least 1");
  if (s.heads() % s.key_heads() != 0)
    return invalidArgument(
        fmt::format("heads {} must be a multiple of key_heads {}", s.heads(),
                    s.key_heads()));
  if (__builtin_mul_overflow(s.batch(), s.queries(), &ofRows) ||
      __builtin_mul_overflow(ofRows, s.heads(), &ofRows) ||
      __builtin_mul_overflow(ofRows, s.head_size(), &ofQueries) ||
      __builtin_mul_overflow(s.batch(), s.keys(), &ofKeys) ||
      __builtin_mul_overflow(ofKeys, s.key_heads(), &ofKeys) ||
      __builtin_mul_overflow(ofKeys, s.head_size(), &ofKeys))
    return invalidArgument(text + " overflow");
  return {};
}

Status AttentionVerifier::reads(uint32_t index, std::string_view what,
                                DType dtype, int64_t elements) {
  WEFT_ASSIGN_OR_RETURN(const Operand found, findOperand(entry, index, what));
  if (found.dtype != dtype || found.elements != elements)
    return invalidArgument(fmt::format(
        "{} must have {} elements of {}, but buffer {} has {} of {}", what,
        elements, name(dtype), index, found.elements, name(found.dtype)));
  touches.push_back({index, true, false});
  return {};
}

Status AttentionVerifier::writes(uint32_t index, std::string_view what,
                                 int64_t elements) {
  WEFT_ASSIGN_OR_RETURN(const Operand found, findOperand(entry, index, what));
  if ((found.dtype != element && found.dtype != sum) ||
      found.elements != elements)
    return invalidArgument(fmt::format(
        "{} must have {} elements of {}{}, but buffer {} has {} of {}", what,
        elements, name(element),
        sum == element ? "" : fmt::format(" or {}", name(sum)), index,
        found.elements, name(found.dtype)));
  for (size_t i = firstTouch; i < touches.size(); ++i)
    if (touches[i].buffer == index)
      return invalidArgument(fmt::format(
          "{} is buffer {}, which is also an operand or another result", what,
          index));
  touches.push_back({index, false, true});
  return {};
}

template <typename Operation>
Status AttentionVerifier::start(const Operation &operation) {
  WEFT_RETURN_IF_ERROR(checkSizes(*operation.sizes()));
  if (!std::isfinite(operation.scale()))
    return invalidArgument(
        fmt::format("scale is {}, must be finite", operation.scale()));
  WEFT_ASSIGN_OR_RETURN(const Operand query,
                        findOperand(entry, operation.query(), "query"));
  element = query.dtype;
  if (!isFloat(element))
    return invalidArgument(fmt::format(
        "no attention of {}; it takes f32, bf16, f16 or f64", name(element)));
  sum = element == DType::F64 ? DType::F64 : DType::F32;
  WEFT_RETURN_IF_ERROR(reads(operation.query(), "query", element, ofQueries));
  WEFT_RETURN_IF_ERROR(reads(operation.key(), "key", element, ofKeys));
  WEFT_RETURN_IF_ERROR(reads(operation.value(), "value", element, ofKeys));
  if (!operation.diagonal())
    return {};
  if (!operation.causal())
    return invalidArgument("there is a diagonal, but the mask is not causal");
  return reads(*operation.diagonal(), "diagonal", DType::I32, 1);
}

Status AttentionVerifier::verify(const plan::Attention &attention) {
  WEFT_RETURN_IF_ERROR(start(attention));
  WEFT_RETURN_IF_ERROR(writes(attention.out(), "out", ofQueries));
  element = sum;
  return writes(attention.logsumexp(), "logsumexp", ofRows);
}

Status AttentionVerifier::verify(const plan::AttentionGrad &grad) {
  WEFT_RETURN_IF_ERROR(start(grad));
  WEFT_RETURN_IF_ERROR(reads(grad.out(), "out", element, ofQueries));
  WEFT_RETURN_IF_ERROR(reads(grad.logsumexp(), "logsumexp", sum, ofRows));
  WEFT_RETURN_IF_ERROR(
      reads(grad.out_cotangent(), "out_cotangent", element, ofQueries));
  if (grad.logsumexp_cotangent())
    WEFT_RETURN_IF_ERROR(
        reads(*grad.logsumexp_cotangent(), "logsumexp_cotangent", sum, ofRows));
  WEFT_RETURN_IF_ERROR(
      writes(grad.query_cotangent(), "query_cotangent", ofQueries));
  WEFT_RETURN_IF_ERROR(writes(grad.key_cotangent(), "key_cotangent", ofKeys));
  return writes(grad.value_cotangent(), "value_cotangent", ofKeys);
}

Status verifyAttention(const plan::Entry &entry,
                       const plan::Attention &attention,
                       std::vector<Touch> &touches) {
  return AttentionVerifier(entry, touches).verify(attention);
}

Status verifyAttention(const plan::Entry &entry,
                       const plan::AttentionGrad &grad,
                       std::vector<Touch> &touches) {
  return AttentionVerifier(entry, touches).verify(grad);
}

} // namespace weft::runtime
