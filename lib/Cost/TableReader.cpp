//===- TableReader.cpp - Reads the keys of a table and checks them --------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TableReader.h"

#include <algorithm>
#include <cstdio>

using namespace weft;
using namespace weft::cost;

static std::string join(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

static std::string printRange(Range range) {
  char text[64];
  std::snprintf(text, sizeof(text), "from %.6g to %.6g", range.least,
                range.most);
  return text;
}

static bool isIn(double value, Range range) {
  return value >= range.least && value <= range.most; // and is a number
}

void TableReader::missing(std::string_view key) {
  problems.push_back(
      {position, "missing key \"" + std::string(key) + "\" in " + where});
}

void TableReader::fail(std::string_view key, const std::string &text) {
  TomlEntry *entry = table ? table->find(key) : nullptr;
  problems.push_back({entry ? entry->position : position, text});
}

void TableReader::refuse(const TomlEntry &entry, const std::string &must) {
  problems.push_back({entry.position, "\"" + entry.key + "\" in " + where +
                                          " must be " + must + ", got " +
                                          describe(entry.value)});
}

TomlEntry *TableReader::ask(std::string_view key, bool isRequired) {
  asked.emplace_back(key);
  TomlEntry *entry = table ? table->find(key) : nullptr;
  if (!entry && isRequired)
    missing(key);
  return entry;
}

double TableReader::number(std::string_view key, Range range,
                           std::optional<double> byDefault) {
  TomlEntry *entry = ask(key, !byDefault);
  if (!entry)
    return byDefault.value_or(range.most);
  const int64_t *integer = entry->value.as<int64_t>();
  const double *number = entry->value.as<double>();
  if (!integer && !number) {
    refuse(*entry, "a number");
    return range.most;
  }
  double value = integer ? static_cast<double>(*integer) : *number;
  if (isIn(value, range))
    return value;
  refuse(*entry, printRange(range));
  return range.most;
}

int64_t TableReader::integer(std::string_view key, Range range,
                             std::optional<int64_t> byDefault) {
  TomlEntry *entry = ask(key, !byDefault);
  if (!entry)
    return byDefault.value_or(1);
  const int64_t *value = entry->value.as<int64_t>();
  if (value && isIn(static_cast<double>(*value), range))
    return *value;
  refuse(*entry, value ? printRange(range) : "an integer");
  return 1;
}

bool TableReader::boolean(std::string_view key, bool byDefault) {
  TomlEntry *entry = ask(key, false);
  if (!entry)
    return byDefault;
  if (bool *value = entry->value.as<bool>())
    return *value;
  refuse(*entry, "true or false");
  return byDefault;
}

std::string TableReader::text(std::string_view key,
                              std::optional<std::string> byDefault) {
  TomlEntry *entry = ask(key, !byDefault);
  if (!entry)
    return byDefault.value_or("");
  if (std::string *value = entry->value.as<std::string>())
    return *value;
  refuse(*entry, "a string");
  return "";
}

size_t TableReader::choice(std::string_view key,
                           const std::vector<std::string> &names) {
  TomlEntry *entry = ask(key, true);
  if (!entry)
    return 0;
  std::string *value = entry->value.as<std::string>();
  auto found =
      value ? std::find(names.begin(), names.end(), *value) : names.end();
  if (found != names.end())
    return found - names.begin();
  refuse(*entry, "one of " + join(names));
  return 0;
}

std::vector<std::string> TableReader::texts(std::string_view key) {
  TomlEntry *entry = ask(key, false);
  std::vector<std::string> result;
  if (!entry)
    return result;
  TomlArray *array = entry->value.as<TomlArray>();
  std::string twice;
  for (TomlValue &item : array ? *array : TomlArray())
    if (std::string *text = item.as<std::string>()) {
      if (std::find(result.begin(), result.end(), *text) != result.end())
        twice = *text;
      result.push_back(*text);
    }
  if (!array || result.size() != array->size())
    refuse(*entry, "an array of strings");
  else if (!twice.empty())
    problems.push_back({entry->position, "\"" + entry->key + "\" in " + where +
                                             " has \"" + twice +
                                             "\" twice; name each one once"});
  return result;
}

TableReader TableReader::inner(std::string_view key, std::string name) {
  TomlEntry *entry = ask(key, false);
  if (!entry)
    return TableReader(nullptr, position, std::move(name), problems);
  TomlTable *found = entry->value.as<TomlTable>();
  if (!found)
    refuse(*entry, "a table");
  return TableReader(found, entry->value.position, std::move(name), problems);
}

void TableReader::each(std::string_view key, const std::string &name,
                       const std::function<void(TableReader &)> &read) {
  TomlEntry *entry = ask(key, true);
  if (!entry)
    return;
  TomlArray *array = entry->value.as<TomlArray>();
  bool areTables = array && !array->empty();
  for (TomlValue &item : array ? *array : TomlArray())
    areTables &= item.as<TomlTable>() != nullptr;
  if (!areTables)
    return refuse(*entry, "an array of tables");
  for (TomlValue &item : *array) {
    TableReader reader(item.as<TomlTable>(), item.position, name, problems);
    read(reader);
    reader.finish();
  }
}

void TableReader::finish() {
  if (!table)
    return;
  for (const TomlEntry &entry : table->entries)
    if (std::find(asked.begin(), asked.end(), entry.key) == asked.end())
      problems.push_back(
          {entry.position, "unknown key \"" + entry.key + "\" in " + where +
                               "; known keys are " + join(asked)});
}
