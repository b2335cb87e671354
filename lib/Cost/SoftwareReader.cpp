//===- SoftwareReader.cpp - Reads software profiles -----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SoftwareReader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <tuple>

using namespace weft;
using namespace weft::cost;

SoftwareProfile cost::readSoftware(TableReader file) {
  SoftwareProfile software;
  file.text("profile", "");
  software.name = file.text("name", software.name);
  software.computeFactor = file.number("compute_factor", {0.1, 10}, 1);
  software.attentionFactor = file.number("attention_factor", {0.1, 10}, 1);
  software.issueSeconds = file.number("issue_seconds", {0, 1}, 0);
  software.trafficFactor = file.number("traffic_factor", {0.1, 10}, 1);
  if (std::vector<std::string> kernels{"default"}; file.has("attention")) {
    for (size_t i = 0; i < attentionKernelCount; ++i)
      kernels.emplace_back(nameOf(static_cast<AttentionKernel>(i)));
    if (const size_t chosen = file.choice("attention", kernels))
      software.attention = static_cast<AttentionKernel>(chosen - 1);
  }
  software.blockingAxes = file.texts("blocking_axes");
  file.finish();
  return software;
}

void cost::addProfile(TomlTable &root, Problems &problems) {
  TomlEntry *software = root.find("software");
  TomlTable *table = software ? software->value.as<TomlTable>() : nullptr;
  TomlEntry *profile = table ? table->find("profile") : nullptr;
  std::string *name = profile ? profile->value.as<std::string>() : nullptr;
  if (!name)
    return;
  const std::optional<std::string_view> text =
      findShipped(shippedSoftware(), *name);
  if (!text) {
    problems.push_back(
        {profile->position, "\"profile\" in [software] must be one of " +
                                namesOf(shippedSoftware()) + ", got \"" +
                                *name + "\""});
    return;
  }
  TomlValue under = parseToml(*text, *name + ".toml").root;
  merge(*under.as<TomlTable>(), std::move(*table));
  *table = std::move(*under.as<TomlTable>());
}

ParsedSoftware cost::loadSoftware(const std::string &nameOrPath) {
  std::optional<std::string> text;
  std::string problem, name = nameOrPath;
  if (const auto shipped = findShipped(shippedSoftware(), nameOrPath)) {
    text = *shipped;
    name += ".toml";
  } else {
    text = readText(nameOrPath, problem);
  }
  if (!text)
    return {std::nullopt,
            {"cannot read the software profile " + nameOrPath + ": " + problem +
             "; profiles with a name are " + namesOf(shippedSoftware())}};
  ParsedToml toml = parseToml(*text, name);
  if (!toml.problem.empty())
    return {std::nullopt, {toml.problem}};
  Problems problems;
  SoftwareProfile software = readSoftware(TableReader(
      toml.root.as<TomlTable>(), toml.root.position, "the file", problems));
  if (!problems.empty())
    return {std::nullopt, printSorted(problems)};
  return {std::move(software), {}};
}

std::optional<std::string_view>
cost::findShipped(const std::vector<ShippedFile> &files,
                  std::string_view name) {
  const auto found = std::ranges::find(files, name, &ShippedFile::name);
  return found == files.end() ? std::nullopt : std::optional(found->text);
}

std::string cost::namesOf(const std::vector<ShippedFile> &files) {
  std::string names;
  for (const ShippedFile &file : files)
    names += (names.empty() ? "" : ", ") + std::string(file.name);
  return names;
}

std::optional<std::string> cost::readText(const std::string &path,
                                          std::string &problem) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  // A folder opens, but has nothing to read.
  if (!file || (file.peek(), file.bad())) {
    problem = std::strerror(errno);
    return std::nullopt;
  }
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

std::vector<std::string> cost::printSorted(Problems &problems) {
  std::ranges::sort(problems, [](const Problem &a, const Problem &b) {
    return std::tie(a.position.line, a.position.column, a.text) <
           std::tie(b.position.line, b.position.column, b.text);
  });
  std::vector<std::string> printed;
  for (const Problem &problem : problems)
    printed.push_back(print(problem.position) + problem.text);
  return printed;
}
