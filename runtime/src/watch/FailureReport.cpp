//===- FailureReport.cpp - What a rank leaves when it fails -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "watch/FailureReport.h"

#include "io/File.h"

#include <fmt/format.h>

#include <filesystem>

namespace weft::runtime {

void writeFailureReport(const std::string &folder, int rank,
                        const std::string &text) {
  std::error_code error;
  const std::string in =
      folder.empty() ? std::filesystem::temp_directory_path(error).string()
                     : folder;
  const std::string path = fmt::format("{}/weft-failure-rank-{}.txt", in, rank);
  // Anybody may have put a link into a folder of temporary files.
  if (std::filesystem::is_symlink(path, error))
    std::filesystem::remove(path, error);
  const auto file = OutputFile::create(path);
  if (file.ok() && (*file)->append(text).ok())
    (void)(*file)->commit();
}

} // namespace weft::runtime
