//===- CheckpointFiles.cpp - The files of a checkpoint --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkpoint/CheckpointFiles.h"

#include "io/File.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <numeric>

namespace weft::runtime {

using Json = nlohmann::json;

static constexpr int manifestVersion = 1;
static constexpr std::string_view folderPrefix = "step-";

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

/// Tensors by the file that they are in, in the order of their names.
static std::vector<std::vector<size_t>>
fillFiles(const std::vector<TensorInfo> &tensors, uint64_t fileBytes) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return tensors[a].name < tensors[b].name;
  });
  std::vector<std::vector<size_t>> files(1);
  uint64_t filled = 0;
  for (size_t tensor : order) {
    const uint64_t bytes = tensors[tensor].bytes;
    if (!files.back().empty() &&
        bytes > fileBytes - std::min(filled, fileBytes)) {
      files.emplace_back();
      filled = 0;
    }
    files.back().push_back(tensor);
    filled += bytes;
  }
  return files;
}

Result<CheckpointLayout>
CheckpointLayout::of(const std::vector<TensorInfo> &given, uint64_t fileBytes) {
  std::vector<TensorInfo> tensors = given;
  for (TensorInfo &tensor : tensors) {
    WEFT_ASSIGN_OR_RETURN(tensor.bytes,
                          tensorBytes(tensor.dtype, tensor.shape));
  }
  const std::vector<std::vector<size_t>> files = fillFiles(tensors, fileBytes);
  CheckpointLayout layout;
  layout.places.resize(tensors.size());
  for (size_t f = 0; f < files.size(); ++f) {
    std::vector<TensorInfo> inFile;
    std::map<std::string_view, size_t> numbers;
    for (size_t tensor : files[f]) {
      inFile.push_back(tensors[tensor]);
      numbers[tensors[tensor].name] = tensor;
    }
    // Loaders of the hub refuse files that do not say who they are for.
    WEFT_ASSIGN_OR_RETURN(
        SafetensorsLayout contents,
        layOutSafetensors(std::move(inFile), {{"format", "pt"}}));
    for (const TensorInfo &info : contents.tensors)
      layout.places[numbers.at(info.name)] = {f, info.offset};
    layout.files.push_back(
        {fmt::format("model-{:05}-of-{:05}.safetensors", f + 1, files.size()),
         std::move(contents)});
  }
  return layout;
}

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

std::string digestText(uint64_t digest) {
  return fmt::format("{:016x}", digest);
}

std::optional<uint64_t> parseDigest(std::string_view text) {
  uint64_t digest = 0;
  const char *end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, digest, 16);
  return text.size() == 16 && stop == end && error == std::errc()
             ? std::optional(digest)
             : std::nullopt;
}

std::string hashOf(std::string_view text) {
  return digestText(XXH3_64bits(text.data(), text.size()));
}

Result<std::string> formatManifest(const Manifest &manifest) {
  Json files = Json::object(), tensors = Json::object();
  for (const auto &[name, file] : manifest.files)
    files[name] = {{"bytes", file.bytes}, {"header_hash", file.headHash}};
  for (const auto &[name, tensor] : manifest.tensors)
    tensors[name] = {{"file", tensor.file},
                     {"digest", digestText(tensor.digest)}};
  Json contents = {
      {"version", manifestVersion},    {"step", manifest.step},
      {"metadata", manifest.metadata}, {"files", std::move(files)},
      {"tensors", std::move(tensors)}, {"index_hash", manifest.indexHash}};
  try {
    const std::string hash = hashOf(contents.dump());
    return Json({{"contents", std::move(contents)}, {"hash", hash}}).dump(1) +
           "\n";
  } catch (const Json::exception &) {
    return invalidArgument("the metadata of a checkpoint are not UTF-8");
  }
}

static Manifest manifestOf(const Json &contents) {
  Manifest manifest;
  manifest.step = contents.at("step").get<int64_t>();
  manifest.metadata = contents.at("metadata").get<Metadata>();
  manifest.indexHash = contents.at("index_hash").get<std::string>();
  for (const auto &[name, file] : contents.at("files").items())
    manifest.files[name] = {file.at("bytes").get<uint64_t>(),
                            file.at("header_hash").get<std::string>()};
  for (const auto &[name, tensor] : contents.at("tensors").items())
    manifest.tensors[name] = {
        tensor.at("file").get<std::string>(),
        parseDigest(tensor.at("digest").get<std::string>()).value_or(0)};
  return manifest;
}

Result<Manifest> parseManifest(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  try {
    const Json &contents = json.at("contents");
    if (json.at("hash").get<std::string>() != hashOf(contents.dump()))
      return unavailable("its contents have changed since it was written");
    if (const auto version = contents.at("version").get<int>();
        version != manifestVersion)
      return failedPrecondition(
          fmt::format("it has version {}, this program reads version {}",
                      version, manifestVersion));
    return manifestOf(contents);
  } catch (const Json::exception &) {
    return unavailable("it is no description of a checkpoint");
  }
}

std::string formatIndex(const std::vector<TensorInfo> &tensors,
                        const CheckpointLayout &layout) {
  uint64_t bytes = 0;
  for (const CheckpointLayout::File &file : layout.files)
    bytes += file.contents.bytes - file.contents.head.size();
  Json map = Json::object();
  for (size_t t = 0; t < tensors.size(); ++t)
    map[tensors[t].name] = layout.files[layout.places[t].file].name;
  return Json({{"metadata", {{"total_size", bytes}}},
               {"weight_map", std::move(map)}})
             .dump(2) +
         "\n";
}

std::string folderName(int64_t step) {
  return fmt::format("{}{:08}", folderPrefix, step);
}

std::optional<int64_t> stepOfFolder(std::string_view name) {
  if (!name.starts_with(folderPrefix))
    return std::nullopt;
  const std::string_view digits = name.substr(folderPrefix.size());
  int64_t step = 0;
  const char *end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, step);
  if (stop != end || error != std::errc() || step < 0 ||
      folderName(step) != name)
    return std::nullopt;
  return step;
}

} // namespace weft::runtime
