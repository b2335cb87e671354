//===- Outputs.cpp - Output files of shard-run ------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Outputs.h"

#include "weft/runtime/OutputFiles.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>

namespace weft::tools {

namespace {

/// A path of the command line and what it was given for.
struct NamedPath {
  std::string use;
  std::string path;
};

} // namespace

static std::vector<NamedPath> given(std::vector<NamedPath> paths,
                                    const char *option,
                                    const std::vector<NamedFile> &files) {
  for (const NamedFile &file : files)
    paths.push_back({fmt::format("{} {}", option, file.name), file.path});
  std::erase_if(paths, [](const NamedPath &path) { return path.path.empty(); });
  return paths;
}

/// What two paths of one file have in common, whether it exists or not.
static std::string identity(const std::string &path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0)
    return fmt::format("{}:{}", status.st_dev, status.st_ino);
  std::error_code error;
  const auto canonical =
      std::filesystem::weakly_canonical(runtime::behindLinks(path), error);
  return error ? path : canonical.string();
}

/// Why the file cannot be written, or "". All files but those of every step are
/// written under another name in their folder and renamed.
static std::string whyNotWritable(const std::string &name, bool isInPlace) {
  const std::string path = runtime::behindLinks(name);
  struct stat status{};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (!exists && errno != ENOENT)
    return std::strerror(errno);
  if (exists && S_ISDIR(status.st_mode))
    return "it is a folder";
  if (exists && (isInPlace || !S_ISREG(status.st_mode)))
    return ::access(path.c_str(), W_OK) == 0 ? "" : std::strerror(errno);
  std::string folder = std::filesystem::path(path).parent_path();
  if (folder.empty())
    folder = ".";
  if (::access(folder.c_str(), W_OK | X_OK) == 0)
    return "";
  return fmt::format("folder {}: {}", folder, std::strerror(errno));
}

void checkOutputs(const Arguments &arguments, Problems &problems) {
  const std::vector<NamedPath> inputs =
      given({{"the plan", arguments.plan}, {"--load", arguments.load}},
            "--input", arguments.inputs);
  const std::vector<NamedPath> outputs =
      given({{"--save", arguments.save},
             {"--metrics", arguments.metrics},
             {"--times", arguments.times},
             {"--trace", arguments.trace}},
            "--output", arguments.outputs);
  std::map<std::string, std::string> readFiles, writtenFiles;
  for (const NamedPath &input : inputs)
    readFiles.try_emplace(identity(input.path), input.use);
  for (const NamedPath &output : outputs) {
    if (const std::string reason = whyNotWritable(
            output.path, output.use == "--metrics" || output.use == "--times");
        !reason.empty()) {
      problems.push_back(fmt::format("{}: cannot write {}: {}", output.use,
                                     output.path, reason));
      continue;
    }
    const std::string file = identity(output.path);
    if (const auto [other, isNew] = writtenFiles.try_emplace(file, output.use);
        !isNew)
      problems.push_back(
          fmt::format("{}: {} is also written for {}; give each its own file",
                      output.use, output.path, other->second));
    const auto read = readFiles.find(file);
    if (read != readFiles.end() &&
        !(output.use == "--save" && read->second == "--load"))
      problems.push_back(
          fmt::format("{}: {} is also read ({}) and would be overwritten; give "
                      "another file",
                      output.use, output.path, read->second));
  }
}

} // namespace weft::tools
