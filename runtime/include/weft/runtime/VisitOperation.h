//===- VisitOperation.h - One case for each kind of instruction -*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place that tells the operations of the schema apart. What depends on
// the operation of an instruction is written as cases, overloads like those of
// std::visit:
//
//   visitOperation(
//       instruction, [&](const plan::CollectiveStart &start) { ... },
//       [&](const plan::CollectiveWait &wait) { ... },
//       [](const Computation auto &) {});
//
// An operation that is added to the schema does not compile until it has a case
// here, and then until every caller has one. So callers have no case for
// everything else, but say what they pass over.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_VISITOPERATION_H
#define WEFT_RUNTIME_VISITOPERATION_H

#include "weft/runtime/plan_generated.h"

#include <concepts>
#include <cstdlib>
#include <utility>

namespace weft::runtime {

template <typename T, typename... Types>
concept OneOf = (std::same_as<T, Types> || ...);

template <typename T>
concept AttentionOperation = OneOf<T, plan::Attention, plan::AttentionGrad>;

/// What a rank does by itself, and has done when the next instruction begins.
template <typename T>
concept Computation = OneOf<T, plan::Gemm, plan::Launch, plan::Copy, plan::Sort,
                            plan::Convolution> ||
                      AttentionOperation<T>;

/// One function of several, for this and for std::visit.
template <typename... Cases> struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases> Overloaded(Cases...) -> Overloaded<Cases...>;

/// Whether the schema has the operation. A file that was not verified yet may
/// hold any number.
inline bool isKnown(plan::Operation operation) {
  return operation > plan::Operation::NONE && operation <= plan::Operation::MAX;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"
/// Calls the case for the operation of `instruction`, which is known, and
/// returns what it returns.
template <typename... Cases>
decltype(auto) visitOperation(const plan::Instruction &instruction,
                              Cases &&...cases) {
  Overloaded visitor{std::forward<Cases>(cases)...};
  switch (instruction.operation_type()) {
  case plan::Operation::Gemm:
    return visitor(*instruction.operation_as_Gemm());
  case plan::Operation::Launch:
    return visitor(*instruction.operation_as_Launch());
  case plan::Operation::CollectiveStart:
    return visitor(*instruction.operation_as_CollectiveStart());
  case plan::Operation::CollectiveWait:
    return visitor(*instruction.operation_as_CollectiveWait());
  case plan::Operation::Copy:
    return visitor(*instruction.operation_as_Copy());
  case plan::Operation::Attention:
    return visitor(*instruction.operation_as_Attention());
  case plan::Operation::AttentionGrad:
    return visitor(*instruction.operation_as_AttentionGrad());
  case plan::Operation::Repeat:
    return visitor(*instruction.operation_as_Repeat());
  case plan::Operation::Sort:
    return visitor(*instruction.operation_as_Sort());
  case plan::Operation::Convolution:
    return visitor(*instruction.operation_as_Convolution());
  case plan::Operation::NONE:
    break;
  }
  std::abort(); // verified plans have no other
}
#pragma GCC diagnostic pop

} // namespace weft::runtime

#endif // WEFT_RUNTIME_VISITOPERATION_H
