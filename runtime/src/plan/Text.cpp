//===- Text.cpp - Pieces of messages and dumps ------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "plan/Text.h"

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

std::string workName(const plan::Plan &plan,
                     const plan::Instruction &instruction) {
  const auto *launch = instruction.operation_as_Launch();
  if (!launch)
    return operationName(instruction);
  const plan::Kernel &kernel = *plan.kernels()->Get(launch->kernel());
  const auto *summary = kernel.summary();
  return (summary && summary->size() ? summary : kernel.symbol())->str();
}

std::string stepName(size_t index, const plan::Instruction &instruction) {
  return fmt::format("step {} {}", index, operationName(instruction));
}

std::string stepText(const plan::Plan &plan, uint32_t entry, uint32_t step) {
  const plan::Entry &table = *plan.entries()->Get(entry);
  if (const plan::Timeline *timeline = table.timeline())
    return fmt::format("message {} \"{}\"", step,
                       escaped(view(timeline->messages()->Get(step)->label())));
  const std::string name = stepName(step, *table.instructions()->Get(step));
  if (!table.role())
    return name;
  return fmt::format("segment \"{}\" {}", escaped(view(table.name())), name);
}

std::string actionText(const plan::TimelineRow &row, uint32_t role,
                       uint32_t action) {
  if (action >= row.actions()->size())
    return fmt::format("role {} at the end of its row", role);
  return fmt::format("role {} action {} (micro-batch {})", role, action,
                     row.actions()->Get(action)->microbatch());
}

} // namespace weft::runtime
