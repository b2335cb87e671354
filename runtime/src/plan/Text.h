//===- Text.h - Pieces of messages and dumps --------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How names, types and instructions of a plan are written, the same way in
// messages of the verifier, in dumps, in traces and in errors of a running
// rank.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_PLAN_TEXT_H
#define WEFT_RUNTIME_SRC_PLAN_TEXT_H

#include "weft/runtime/DType.h"
#include "weft/runtime/PlanNames.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::runtime {

/// The text with control characters, quotes and backslashes as C escapes and
/// bytes that are no UTF-8 as \xNN, so that one line stays one line.
std::string escaped(std::string_view text);

/// An optional string of a plan.
inline std::string_view view(const flatbuffers::String *text) {
  return text ? std::string_view(text->c_str(), text->size())
              : std::string_view();
}

inline DType dtypeOf(plan::DType dtype) { return static_cast<DType>(dtype); }

/// "4x8" of any range of extents; "" for a scalar.
template <typename Range> std::string extents(const Range &shape) {
  std::string text;
  for (int64_t extent : shape)
    text += fmt::format("{}{}", text.empty() ? "" : "x", extent);
  return text;
}

/// `f32[4x8]`.
template <typename Range>
std::string typeName(DType dtype, const Range &shape) {
  return fmt::format("{}[{}]", name(dtype), extents(shape));
}

/// What an instruction computes, for timelines: the summary of its kernel, or
/// else the kernel's symbol, or the operation.
std::string workName(const plan::Plan &plan,
                     const plan::Instruction &instruction);

/// `step 17 gemm`, the start of every message about an instruction.
std::string stepName(size_t index, const plan::Instruction &instruction);

/// The same of a step by number: `step 17 gemm`, in a segment `segment "f1"
/// step 17 gemm`, and for an entry with a timeline the message of that number,
/// `message 2 "activation"`.
std::string stepText(const plan::Plan &plan, uint32_t entry, uint32_t step);

/// `role 1 action 5 (micro-batch 2)`, or, for the number of actions, `role 1 at
/// the end of its row`.
std::string actionText(const plan::TimelineRow &row, uint32_t role,
                       uint32_t action);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_PLAN_TEXT_H
