//===- ParseCsv.cpp - Reads tables ----------------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TakeUntil.h"

#include "weft/Timeline/Table.h"

#include <charconv>
#include <limits>
#include <optional>

namespace weft::timeline {
namespace {

constexpr std::string_view pairName = "OVERLAP_F_B";

std::string_view trim(std::string_view text) {
  const auto isBlank = [](char c) {
    return c == ' ' || c == '\t' || c == '\r';
  };
  while (!text.empty() && isBlank(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && isBlank(text.back()))
    text.remove_suffix(1);
  return text;
}

size_t countDigits(std::string_view text) {
  const size_t end = text.find_first_not_of("0123456789");
  return end == std::string_view::npos ? text.size() : end;
}

bool isNumber(std::string_view text) {
  return !text.empty() && countDigits(text) == text.size();
}

std::optional<int32_t> toNumber(std::string_view digits) {
  int32_t value = 0;
  const char *end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  // One less than the largest, so that there is a number of stages.
  if (error != std::errc() || stop != end ||
      value == std::numeric_limits<int32_t>::max())
    return std::nullopt;
  return value;
}

std::optional<ActionKind> toKind(std::string_view name) {
  for (int i = 0; i <= int(lastActionKind); ++i)
    if (nameOf(ActionKind(i)) == name)
      return ActionKind(i);
  return std::nullopt;
}

/// Those that people write.
std::string allKinds() {
  std::string names;
  for (int i = 0; i <= int(ActionKind::ReduceGradient); ++i)
    names +=
        std::string(i > 0 ? ", " : "") + std::string(nameOf(ActionKind(i)));
  return names;
}

class CsvParser {
public:
  CsvParser(std::string_view text, std::string_view file)
      : text(text), file(file) {
    // As other writers begin what is in UTF-8.
    constexpr std::string_view byteOrderMark = "\xef\xbb\xbf";
    if (text.starts_with(byteOrderMark))
      this->text.remove_prefix(byteOrderMark.size());
  }

  ParsedTable parse() {
    while (!text.empty()) {
      ++row;
      column = 0;
      result.table.rows.emplace_back();
      std::string_view line = takeUntil(text, '\n');
      while (!line.empty()) {
        ++column;
        parseCell(trim(takeUntil(line, ',')));
      }
    }
    if (result.table.rows.empty())
      result.errors.push_back(std::string(file) +
                              ":1:1: found an empty file, expected one row of "
                              "actions for each rank");
    return std::move(result);
  }

private:
  void fail(std::string_view found, const std::string &expected) {
    result.errors.push_back(std::string(file) + ':' + std::to_string(row) +
                            ':' + std::to_string(column) + ": found \"" +
                            std::string(found) + "\", expected " + expected);
  }

  void parseCell(std::string_view cell) {
    // Other writers of CSV may put quotes around a cell.
    if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"')
      cell = trim(cell.substr(1, cell.size() - 2));
    if (cell.empty())
      return;
    if (cell.front() == '(')
      parsePair(cell);
    else if (std::optional<Action> action = parseAction(cell))
      result.table.rows.back().push_back(*action);
  }

  /// `(0F7;7B3)OVERLAP_F_B`.
  void parsePair(std::string_view cell) {
    const size_t close = cell.find(')');
    if (close == std::string_view::npos ||
        trim(cell.substr(close + 1)) != pairName)
      return fail(cell, "a pair to end with )" + std::string(pairName) +
                            ", as in (0F7;7B3)" + std::string(pairName));
    std::string_view rest = cell.substr(1, close - 1);
    const std::string_view first = trim(takeUntil(rest, ';'));
    const std::string_view second = trim(rest);
    if (first.empty() || second.empty() ||
        second.find(';') != std::string_view::npos)
      return fail(cell, "two actions in a pair, separated by \";\"");
    std::optional<Action> forward = parseAction(first);
    std::optional<Action> backward = parseAction(second);
    if (!forward || !backward)
      return;
    if (forward->kind != ActionKind::Forward ||
        (backward->kind != ActionKind::Backward &&
         backward->kind != ActionKind::InputGradient))
      return fail(cell, "a forward pass (F) and then a backward pass (B or I) "
                        "in a pair");
    forward->overlapsNext = true;
    result.table.rows.back().push_back(*forward);
    result.table.rows.back().push_back(*backward);
  }

  std::optional<Action> parseAction(std::string_view text) {
    const size_t stageDigits = countDigits(text);
    if (stageDigits == 0) {
      fail(text, "an action that begins with its stage, as 2F0 does");
      return std::nullopt;
    }
    const std::string_view rest = text.substr(stageDigits);
    const size_t nameEnd = rest.find_first_of("0123456789<>");
    const std::string_view name = rest.substr(0, nameEnd);
    std::string_view digits =
        nameEnd == std::string_view::npos ? "" : rest.substr(nameEnd);
    const std::optional<ActionKind> kind = toKind(name);
    if (!kind) {
      fail(text, "one of " + allKinds() + " after the stage, as in 2F0");
      return std::nullopt;
    }
    const bool hasNumber = isOfMicrobatch(*kind) || isOnce(*kind);
    const size_t peerMark = digits.find_first_of("<>");
    const bool hasPeer = peerMark != std::string_view::npos;
    const std::string_view peerDigits =
        hasPeer ? digits.substr(peerMark + 1) : "";
    if (hasPeer && (!isTransfer(*kind) || !isNumber(peerDigits) ||
                    digits[peerMark] != (isSend(*kind) ? '>' : '<'))) {
      fail(text, "no peer but that of a transfer, as in 0SEND_F1>3 and "
                 "3RECV_F1<0");
      return std::nullopt;
    }
    if (!hasPeer && isOnce(*kind) && isTransfer(*kind)) {
      fail(text, "the stage at the other end, as in 0SEND_U1>3 and "
                 "3RECV_U1<0");
      return std::nullopt;
    }
    digits = digits.substr(0, peerMark);
    if (hasNumber && !isNumber(digits)) {
      fail(text, std::string("the number of a ") +
                     (isOnce(*kind) ? "level" : "micro-batch") + " after " +
                     std::string(name) + ", as in 2" + std::string(name) + "0");
      return std::nullopt;
    }
    if (!hasNumber && !digits.empty()) {
      fail(text, "nothing after " + std::string(name) +
                     ", which is of no micro-batch");
      return std::nullopt;
    }
    const std::optional<int32_t> stage = toNumber(text.substr(0, stageDigits));
    const std::optional<int32_t> microbatch = hasNumber ? toNumber(digits) : -1;
    const std::optional<int32_t> peer = hasPeer ? toNumber(peerDigits) : -1;
    if (!stage || !microbatch || !peer) {
      fail(text, "numbers of at most 2147483646");
      return std::nullopt;
    }
    Action action = {*stage, *kind, *microbatch};
    action.peer = *peer;
    return action;
  }

  std::string_view text;
  std::string_view file;
  int row = 0, column = 0;
  ParsedTable result;
};

} // namespace

ParsedTable parseCsv(std::string_view text, std::string_view file) {
  return CsvParser(text, file).parse();
}

} // namespace weft::timeline
