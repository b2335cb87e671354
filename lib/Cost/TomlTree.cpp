//===- TomlTree.cpp - The values of a TOML file and where they stand ------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TomlTree.h"

#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <algorithm>

using namespace weft;
using namespace weft::cost;

static TomlPosition at(const toml::source_region &source,
                       const std::string &file) {
  return {file, source.begin.line, source.begin.column};
}

static TomlTable convertTable(const toml::table &table,
                              const std::string &file);

static TomlValue convert(const toml::node &node, const std::string &file) {
  TomlValue result{TomlTime(), at(node.source(), file)};
  if (auto *boolean = node.as_boolean())
    result.value = boolean->get();
  else if (auto *integer = node.as_integer())
    result.value = integer->get();
  else if (auto *number = node.as_floating_point())
    result.value = number->get();
  else if (auto *text = node.as_string())
    result.value = text->get();
  else if (auto *table = node.as_table())
    result.value = convertTable(*table, file);
  else if (auto *array = node.as_array()) {
    TomlArray items;
    for (const toml::node &item : *array)
      items.push_back(convert(item, file));
    result.value = std::move(items);
  }
  return result;
}

/// The library sorts tables by key; a reader goes by the lines.
static TomlTable convertTable(const toml::table &table,
                              const std::string &file) {
  TomlTable result;
  for (const auto &[key, node] : table)
    result.entries.push_back(
        {std::string(key.str()), at(key.source(), file), convert(node, file)});
  std::sort(result.entries.begin(), result.entries.end(),
            [](const TomlEntry &a, const TomlEntry &b) {
              return std::pair(a.position.line, a.position.column) <
                     std::pair(b.position.line, b.position.column);
            });
  return result;
}

/// Each dot of a key nests a table. The library bounds the depth of brackets
/// only, and destroys nested tables recursively.
static constexpr ptrdiff_t mostDots = 32;

/// The first line with too many dots, or 0.
static uint32_t lineOfDots(std::string_view text) {
  for (uint32_t line = 1; !text.empty(); ++line) {
    const std::string_view one = text.substr(0, text.find('\n'));
    if (std::count(one.begin(), one.end(), '.') > mostDots)
      return line;
    text.remove_prefix(std::min(text.size(), one.size() + 1));
  }
  return 0;
}

ParsedToml cost::parseToml(std::string_view text, const std::string &file) {
  ParsedToml result{{TomlTable(), {file}}, ""};
  if (uint32_t line = lineOfDots(text)) {
    result.problem = print({file, line, 1}) +
                     "a line of a cluster file has at most " +
                     std::to_string(mostDots) + " dots";
    return result;
  }
  toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error &error = parsed.error();
    result.problem =
        print(at(error.source(), file)) + std::string(error.description());
    return result;
  }
  result.root.value = convertTable(parsed.table(), file);
  return result;
}

TomlEntry *TomlTable::find(std::string_view key) {
  auto found = std::find_if(entries.begin(), entries.end(),
                            [&](auto &entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

std::string cost::print(const TomlPosition &position) {
  return position.file + ":" + std::to_string(position.line) + ":" +
         std::to_string(position.column) + ": ";
}

std::string cost::describe(const TomlValue &value) {
  if (auto *boolean = std::get_if<bool>(&value.value))
    return *boolean ? "true" : "false";
  if (auto *integer = std::get_if<int64_t>(&value.value))
    return std::to_string(*integer);
  if (auto *number = std::get_if<double>(&value.value)) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.6g", *number);
    return text;
  }
  if (auto *text = std::get_if<std::string>(&value.value))
    return "the string \"" + *text + "\"";
  if (std::holds_alternative<TomlArray>(value.value))
    return "an array";
  return std::holds_alternative<TomlTable>(value.value) ? "a table" : "a date";
}

void cost::merge(TomlTable &into, TomlTable from) {
  for (TomlEntry &entry : from.entries) {
    TomlEntry *old = into.find(entry.key);
    if (!old) {
      into.entries.push_back(std::move(entry));
      continue;
    }
    TomlTable *oldTable = old->value.as<TomlTable>();
    TomlTable *newTable = entry.value.as<TomlTable>();
    if (oldTable && newTable) {
      merge(*oldTable, std::move(*newTable));
      old->value.position = entry.value.position;
    } else {
      *old = std::move(entry);
    }
  }
}
