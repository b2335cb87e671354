//===- TomlTree.h - The values of a TOML file and where they stand -*- C++
//-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a TOML file says, without the library that parses it: that one is a
// large header, and drops positions when tables are merged.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_COST_TOMLTREE_H
#define WEFT_LIB_COST_TOMLTREE_H

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace weft::cost {

struct TomlPosition {
  std::string file;
  uint32_t line = 1, column = 1;
};

struct TomlEntry;

struct TomlTable {
  /// In the order of the file.
  std::vector<TomlEntry> entries;

  TomlEntry *find(std::string_view key);
};

struct TomlValue;
using TomlArray = std::vector<TomlValue>;
/// A date or a time, of which a cluster has none.
struct TomlTime {};

struct TomlValue {
  std::variant<bool, int64_t, double, std::string, TomlTime, TomlArray,
               TomlTable>
      value;
  TomlPosition position;

  template <typename T> T *as() { return std::get_if<T>(&value); }
};

struct TomlEntry {
  std::string key;
  /// That of the key.
  TomlPosition position;
  TomlValue value;
};

struct ParsedToml {
  /// A table, empty after an error.
  TomlValue root;
  /// Empty: none.
  std::string problem;
};

ParsedToml parseToml(std::string_view text, const std::string &file);

/// `mine.toml:3:1: `.
std::string print(const TomlPosition &position);
/// `the string "x"`, `12`, `a table`.
std::string describe(const TomlValue &value);

/// Puts what `from` says into `into`: tables key by key, all else as a whole.
void merge(TomlTable &into, TomlTable from);

} // namespace weft::cost

#endif // WEFT_LIB_COST_TOMLTREE_H
