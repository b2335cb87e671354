//===- Text.cpp - Pieces of messages and dumps ------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "plan/Text.h"

#include "weft/runtime/VisitOperation.h"

namespace weft::runtime {

/// Bytes of the UTF-8 sequence at the start of `text`, or 0 when it is none.
static size_t utf8Length(std::string_view text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  const size_t length = lead < 0xc2   ? 0
                        : lead < 0xe0 ? 2
                        : lead < 0xf0 ? 3
                        : lead < 0xf5 ? 4
                                      : 0;
  if (length == 0 || text.size() < length)
    return 0;
  for (size_t i = 1; i < length; ++i)
    if ((static_cast<uint8_t>(text[i]) & 0xc0) != 0x80)
      return 0;
  return length;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if (byte >= 0x80) {
      if (size_t length = utf8Length(text.substr(i))) {
        result += text.substr(i, length);
        i += length;
        continue;
      }
    }
    if (byte == '"' || byte == '\\')
      result += {'\\', static_cast<char>(byte)};
    else if (byte == '\n')
      result += "\\n";
    else if (byte == '\t')
      result += "\\t";
    else if (byte < 0x20 || byte >= 0x7f)
      result += fmt::format("\\x{:02x}", byte);
    else
      result += static_cast<char>(byte);
    ++i;
  }
  return result;
}

std::string_view collectiveName(plan::CollectiveKind kind) {
  switch (kind) {
  case plan::CollectiveKind::AllReduce:
    return "all_reduce";
  case plan::CollectiveKind::AllGather:
    return "all_gather";
  case plan::CollectiveKind::ReduceScatter:
    return "reduce_scatter";
  case plan::CollectiveKind::AllToAll:
    return "all_to_all";
  case plan::CollectiveKind::Permute:
    return "permute";
  }
  return "unknown";
}

std::string_view reductionName(plan::Reduction reduction) {
  switch (reduction) {
  case plan::Reduction::Sum:
    return "sum";
  case plan::Reduction::Max:
    return "max";
  case plan::Reduction::Min:
    return "min";
  }
  return "unknown";
}

std::string_view epilogueName(plan::GemmEpilogue epilogue) {
  switch (epilogue) {
  case plan::GemmEpilogue::None:
    return "none";
  case plan::GemmEpilogue::Bias:
    return "bias";
  case plan::GemmEpilogue::Gelu:
    return "gelu";
  case plan::GemmEpilogue::BiasGelu:
    return "bias_gelu";
  case plan::GemmEpilogue::GeluAux:
    return "gelu_aux";
  case plan::GemmEpilogue::BiasGeluAux:
    return "bias_gelu_aux";
  case plan::GemmEpilogue::GeluGrad:
    return "gelu_grad";
  case plan::GemmEpilogue::GeluGradBiasGrad:
    return "gelu_grad_bias_grad";
  case plan::GemmEpilogue::LhsBiasGrad:
    return "lhs_bias_grad";
  case plan::GemmEpilogue::RhsBiasGrad:
    return "rhs_bias_grad";
  }
  return "unknown";
}

std::string_view operationName(const plan::Instruction &instruction) {
  using Name = std::string_view;
  if (!isKnown(instruction.operation_type()))
    return "unknown";
  return visitOperation(
      instruction, [](const plan::Gemm &) -> Name { return "gemm"; },
      [](const plan::Launch &) -> Name { return "launch"; },
      [](const plan::CollectiveStart &start) {
        return collectiveName(start.kind());
      },
      [](const plan::CollectiveWait &) -> Name { return "wait"; },
      [](const plan::Copy &) -> Name { return "copy"; },
      [](const plan::Attention &) -> Name { return "attention"; },
      [](const plan::AttentionGrad &) -> Name { return "attention_grad"; },
      [](const plan::Repeat &) -> Name { return "repeat"; });
}

std::string_view bufferKindName(plan::BufferKind kind) {
  switch (kind) {
  case plan::BufferKind::Input:
    return "input";
  case plan::BufferKind::Output:
    return "output";
  case plan::BufferKind::State:
    return "state";
  case plan::BufferKind::Constant:
    return "constant";
  case plan::BufferKind::Temporary:
    return "temporary";
  }
  return "unknown";
}

std::string_view purposeName(plan::Purpose purpose) {
  switch (purpose) {
  case plan::Purpose::Parameter:
    return "parameter";
  case plan::Purpose::Gradient:
    return "gradient";
  case plan::Purpose::OptimizerState:
    return "optimizer state";
  case plan::Purpose::State:
    return "state";
  case plan::Purpose::Activation:
    return "activation";
  case plan::Purpose::Communication:
    return "communication";
  case plan::Purpose::Argument:
    return "argument";
  case plan::Purpose::Result:
    return "result";
  case plan::Purpose::Constant:
    return "constant";
  case plan::Purpose::Temporary:
    return "temporary";
  }
  return "unknown";
}

std::string_view workName(const plan::Plan &plan,
                          const plan::Instruction &instruction) {
  const auto *launch = instruction.operation_as_Launch();
  if (!launch)
    return operationName(instruction);
  const plan::Kernel &kernel = *plan.kernels()->Get(launch->kernel());
  return view(view(kernel.summary()).empty() ? kernel.symbol()
                                             : kernel.summary());
}

std::string stepName(size_t index, const plan::Instruction &instruction) {
  return fmt::format("step {} {}", index, operationName(instruction));
}

} // namespace weft::runtime
