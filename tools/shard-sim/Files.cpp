//===- Files.cpp - Files and messages -------------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace weft::tools {

std::optional<std::string> readFile(const std::string &path) {
  std::FILE *file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
  std::string text;
  char part[4096];
  size_t size = 0;
  while (file && (size = std::fread(part, 1, sizeof part, file)) > 0)
    text.append(part, size);
  const bool isRead = file && !std::ferror(file);
  if (!isRead)
    report(exitBadInput,
           {fmt::format("cannot read {}: {}", path, std::strerror(errno))});
  if (file && file != stdin)
    std::fclose(file);
  return isRead ? std::optional(std::move(text)) : std::nullopt;
}

int writeFile(const std::string &path, const std::string &text) {
  std::FILE *file = std::fopen(path.c_str(), "wb");
  bool isWritten =
      file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file)
    isWritten &= std::fclose(file) == 0;
  return isWritten
             ? exitSuccess
             : report(exitFailed, {fmt::format("cannot write {}: {}", path,
                                               std::strerror(errno))});
}

int report(ExitCode code, const std::vector<std::string> &messages) {
  for (const std::string &message : messages)
    fmt::print(stderr, "shard-sim: error: {}\n", message);
  return code;
}

} // namespace weft::tools
