//===- TableReader.h - Reads the keys of a table and checks them -*- C++
//-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a table key by key. Everything that is wrong is noted, and a value that
// cannot be had is replaced by one that makes no further problems:
//
//   TableReader device(table, "[device]", problems);
//   int64_t units = device.integer("units", {1, 4096});
//   device.finish(); // unknown keys
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_COST_TABLEREADER_H
#define WEFT_LIB_COST_TABLEREADER_H

#include "TomlTree.h"

#include <functional>
#include <optional>

namespace weft::cost {

struct Problem {
  TomlPosition position;
  std::string text;
};
using Problems = std::vector<Problem>;

/// Values that are admitted, with both bounds.
struct Range {
  double least, most;
};

class TableReader {
public:
  /// `where` is for messages: "[node.link]". No table: one without keys, which
  /// the file has no line for; what is missing is then said of `position`.
  TableReader(TomlTable *table, TomlPosition position, std::string where,
              Problems &problems)
      : table(table), position(std::move(position)), where(std::move(where)),
        problems(problems) {}

  /// A key without a default is required.
  double number(std::string_view key, Range range,
                std::optional<double> byDefault = std::nullopt);
  int64_t integer(std::string_view key, Range range,
                  std::optional<int64_t> byDefault = std::nullopt);
  bool boolean(std::string_view key, bool byDefault);
  std::string text(std::string_view key,
                   std::optional<std::string> byDefault = std::nullopt);
  /// The index of one of `names`.
  size_t choice(std::string_view key, const std::vector<std::string> &names);
  std::vector<std::string> texts(std::string_view key);

  /// The reader of a table in this one; without keys if there is none.
  TableReader inner(std::string_view key, std::string where);
  /// Calls `read` with each table of an array.
  void each(std::string_view key, const std::string &where,
            const std::function<void(TableReader &)> &read);
  bool has(std::string_view key) const { return table && table->find(key); }
  /// Notes that the table has no key `key`.
  void missing(std::string_view key);
  /// Notes a problem with a key that is there, or with the table.
  void fail(std::string_view key, const std::string &text);

  /// Reports the keys that nobody asked for.
  void finish();

private:
  /// Notes that a value is not what it must be.
  void refuse(const TomlEntry &entry, const std::string &must);
  TomlEntry *ask(std::string_view key, bool isRequired);

  TomlTable *table;
  TomlPosition position;
  std::string where;
  Problems &problems;
  std::vector<std::string> asked;
};

} // namespace weft::cost

#endif // WEFT_LIB_COST_TABLEREADER_H
