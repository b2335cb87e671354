//===- PlanNames.h - What messages and reports call parts of a plan -------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The names of the schema in lower case: `reduce_scatter` for ReduceScatter.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_PLANNAMES_H
#define WEFT_RUNTIME_PLANNAMES_H

#include "weft/runtime/plan_generated.h"

#include <string>
#include <string_view>

namespace weft::runtime {

/// The words of a name of the schema, which is empty for a value that it does
/// not have.
inline std::string spelled(std::string_view name, char separator) {
  std::string words;
  for (char letter : name) {
    const bool isUpper = letter >= 'A' && letter <= 'Z';
    if (isUpper && !words.empty())
      words += separator;
    words += isUpper ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  return words.empty() ? "unknown" : words;
}

inline std::string collectiveName(plan::CollectiveKind kind) {
  return spelled(plan::EnumNameCollectiveKind(kind), '_');
}

/// "sum".
inline std::string reductionName(plan::Reduction reduction) {
  return spelled(plan::EnumNameReduction(reduction), '_');
}

/// "bias_gelu", as in the schedule.
inline std::string epilogueName(plan::GemmEpilogue epilogue) {
  return spelled(plan::EnumNameGemmEpilogue(epilogue), '_');
}

inline std::string bufferKindName(plan::BufferKind kind) {
  return spelled(plan::EnumNameBufferKind(kind), '_');
}

/// "moved", "element", "sum", "attention".
inline std::string observedName(plan::ObservedKind kind) {
  return spelled(plan::EnumNameObservedKind(kind), '_');
}

/// "run", "send", "receive".
inline std::string actionName(plan::ActionKind kind) {
  return spelled(plan::EnumNameActionKind(kind), '_');
}

/// "parameter", "optimizer state", "communication".
inline std::string purposeName(plan::Purpose purpose) {
  return spelled(plan::EnumNamePurpose(purpose), ' ');
}

/// "gemm", "attention", "launch", "all_reduce", "wait", "copy".
inline std::string operationName(const plan::Instruction &instruction) {
  if (const auto *start = instruction.operation_as_CollectiveStart())
    return collectiveName(start->kind());
  if (instruction.operation_as_CollectiveWait())
    return "wait";
  if (instruction.operation_type() == plan::Operation::NONE)
    return "unknown";
  return spelled(plan::EnumNameOperation(instruction.operation_type()), '_');
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLANNAMES_H
