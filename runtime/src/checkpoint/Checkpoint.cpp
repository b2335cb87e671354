//===- Checkpoint.cpp - Reads checkpoints ---------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkpoint/CheckpointFiles.h"
#include "checkpoint/Digest.h"
#include "io/File.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <new>

namespace weft::runtime {

struct Checkpoint::Contents {
  std::string path;
  Manifest manifest;
  std::vector<std::unique_ptr<InputFile>> files;
  /// By name; offsets count from the start of the file.
  std::vector<TensorInfo> tensors;
  /// [tensor] its file.
  std::vector<const InputFile *> fileOf;

  Status openFiles();
  Status openFile(const std::string &name, const Manifest::File &expected);
  Status checkIndex() const;
};

Result<std::vector<CheckpointFolder>>
listCheckpoints(const std::string &directory) {
  std::error_code error;
  std::filesystem::directory_iterator entries(directory, error);
  if (error == std::errc::no_such_file_or_directory)
    return std::vector<CheckpointFolder>();
  std::vector<CheckpointFolder> found;
  for (; !error && entries != std::filesystem::directory_iterator();
       entries.increment(error))
    if (const auto step = stepOfFolder(entries->path().filename().string()))
      found.push_back({entries->path().string(), *step});
  if (error)
    return unavailable(fmt::format("{}: cannot read the folder: {}", directory,
                                   error.message()));
  std::sort(found.begin(), found.end(),
            [](const auto &a, const auto &b) { return a.step < b.step; });
  return found;
}

/// `tensors "a", "b" and 3 more`.
static std::string listTensors(const std::vector<std::string> &names) {
  constexpr size_t most = 8;
  std::string text = names.size() == 1 ? "tensor " : "tensors ";
  for (size_t i = 0; i < std::min(most, names.size()); ++i)
    text += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", names[i]);
  if (names.size() > most)
    text += fmt::format(" and {} more", names.size() - most);
  return text;
}

static std::string tensorsIn(const Manifest &manifest,
                             const std::string &file) {
  std::vector<std::string> names;
  for (const auto &[name, tensor] : manifest.tensors)
    if (tensor.file == file)
      names.push_back(name);
  return listTensors(names);
}

static Result<std::string> readText(const std::string &path) {
  WEFT_ASSIGN_OR_RETURN(const std::unique_ptr<InputFile> file,
                        InputFile::open(path));
  std::string text(file->size(), '\0');
  WEFT_RETURN_IF_ERROR(
      file->readAt(0, std::as_writable_bytes(std::span(text))));
  return text;
}

/// The failure has neither path nor tensors.
Status Checkpoint::Contents::openFile(const std::string &name,
                                      const Manifest::File &expected) {
  const std::string filePath = path + "/" + name;
  std::error_code error;
  if (!std::filesystem::exists(filePath, error) && !error)
    return notFound("the file is missing");
  WEFT_ASSIGN_OR_RETURN(std::unique_ptr<InputFile> file,
                        InputFile::open(filePath));
  if (file->size() != expected.bytes)
    return unavailable(fmt::format("the file has {} bytes, and had {} when it "
                                   "was written",
                                   file->size(), expected.bytes));
  Result<SafetensorsHead> head = readSafetensorsHead(*file);
  if (!head.ok() || hashOf(head->text) != expected.headHash)
    return unavailable(
        "the header of the file has changed since it was written");
  for (TensorInfo &tensor : head->header.tensors) {
    tensors.push_back(std::move(tensor));
    fileOf.push_back(file.get());
  }
  files.push_back(std::move(file));
  return {};
}

Status Checkpoint::Contents::openFiles() {
  std::vector<std::string> problems;
  StatusCode code = StatusCode::Ok;
  for (const auto &[name, expected] : manifest.files)
    if (Status status = openFile(name, expected); !status.ok()) {
      problems.push_back(fmt::format("{}/{}: {}; it has {}", path, name,
                                     status.message(),
                                     tensorsIn(manifest, name)));
      code = code == StatusCode::Ok ? status.code() : code;
    }
  if (!problems.empty())
    return Status(code, fmt::format("{}", fmt::join(problems, "; ")));
  return {};
}

Status Checkpoint::Contents::checkIndex() const {
  const std::string indexPath = path + "/" + indexName;
  WEFT_ASSIGN_OR_RETURN(const std::string index, readText(indexPath));
  return hashOf(index) == manifest.indexHash
             ? Status()
             : unavailable(indexPath +
                           ": the file has changed since it was written");
}

/// By name, with what belongs to them.
static void sortByName(std::vector<TensorInfo> &tensors,
                       std::vector<const InputFile *> &files) {
  std::vector<std::pair<TensorInfo, const InputFile *>> both;
  for (size_t t = 0; t < tensors.size(); ++t)
    both.emplace_back(std::move(tensors[t]), files[t]);
  std::sort(both.begin(), both.end(), [](const auto &a, const auto &b) {
    return a.first.name < b.first.name;
  });
  for (size_t t = 0; t < tensors.size(); ++t) {
    tensors[t] = std::move(both[t].first);
    files[t] = both[t].second;
  }
}

Result<Checkpoint> Checkpoint::open(const std::string &path) {
  const std::string manifestPath = path + "/" + manifestName;
  WEFT_ASSIGN_OR_RETURN(const std::string text, readText(manifestPath));
  Result<Manifest> manifest = parseManifest(text);
  if (!manifest.ok())
    return manifest.status().withContext(manifestPath);
  auto contents = std::make_shared<Contents>();
  contents->path = path;
  contents->manifest = *std::move(manifest);
  WEFT_RETURN_IF_ERROR(contents->openFiles());
  WEFT_RETURN_IF_ERROR(contents->checkIndex());
  for (const TensorInfo &tensor : contents->tensors)
    if (!contents->manifest.tensors.contains(tensor.name))
      return invalidArgument(fmt::format("{}: it says nothing of tensor \"{}\"",
                                         manifestPath, tensor.name));
  sortByName(contents->tensors, contents->fileOf);
  return Checkpoint(std::move(contents));
}

const std::string &Checkpoint::path() const { return contents->path; }
int64_t Checkpoint::step() const { return contents->manifest.step; }
const Metadata &Checkpoint::metadata() const {
  return contents->manifest.metadata;
}
const std::vector<TensorInfo> &Checkpoint::tensors() const {
  return contents->tensors;
}

std::optional<size_t> Checkpoint::find(std::string_view name) const {
  const auto &all = contents->tensors;
  const auto found = std::lower_bound(
      all.begin(), all.end(), name,
      [](const TensorInfo &info, std::string_view n) { return info.name < n; });
  if (found == all.end() || found->name != name)
    return std::nullopt;
  return static_cast<size_t>(found - all.begin());
}

Status Checkpoint::readBox(size_t number, const Box &box,
                           std::byte *memory) const {
  const TensorInfo &tensor = contents->tensors[number];
  const InputFile &file = *contents->fileOf[number];
  const size_t bytes = byteSize(tensor.dtype);
  const std::vector<int64_t> origin(box.extent.size());
  Status status;
  forEachRun({tensor.shape, box.start}, {box.extent, origin}, box.extent,
             [&](int64_t inTensor, int64_t inBox, int64_t count) {
               if (status.ok())
                 status = readTensor(file, tensor.offset + inTensor * bytes,
                                     tensor.dtype,
                                     {memory + inBox * bytes, count * bytes});
             });
  if (status.ok())
    return {};
  return unavailable(
      fmt::format("{}; it is of tensor \"{}\"", status.message(), tensor.name));
}

uint64_t Checkpoint::digestOf(size_t number, const Box &box, const Box &held,
                              const std::byte *memory) const {
  const TensorInfo &tensor = contents->tensors[number];
  std::vector<int64_t> start(box.start.size());
  for (size_t d = 0; d < start.size(); ++d)
    start[d] = box.start[d] - held.start[d];
  return digestOfBox(byteSize(tensor.dtype), tensor.shape, box, memory,
                     {held.extent, start});
}

Status Checkpoint::compareDigests(
    std::span<const std::optional<uint64_t>> digests) const {
  std::map<std::string, std::vector<std::string>> changed;
  for (size_t t = 0; t < digests.size(); ++t) {
    const std::string &name = contents->tensors[t].name;
    const Manifest::Tensor &expected = contents->manifest.tensors.at(name);
    if (digests[t] && digests[t] != expected.digest)
      changed[expected.file].push_back(name);
  }
  std::vector<std::string> problems;
  for (const auto &[file, names] : changed)
    problems.push_back(fmt::format(
        "{}/{}: {} {} changed since the file was written", path(), file,
        listTensors(names), names.size() == 1 ? "has" : "have"));
  if (problems.empty())
    return {};
  return unavailable(fmt::format("{}", fmt::join(problems, "; ")));
}

Result<Array> Checkpoint::read(size_t number) const {
  const TensorInfo &tensor = contents->tensors[number];
  Array array;
  try {
    array = Array(tensor.dtype, tensor.shape);
  } catch (const std::bad_alloc &) {
    return resourceExhausted(
        fmt::format("{}: no memory for tensor \"{}\" of {} bytes", path(),
                    tensor.name, tensor.bytes));
  }
  const Box all = Box::whole(tensor.shape);
  WEFT_RETURN_IF_ERROR(readBox(number, all, array.data.data()));
  const Manifest::Tensor &expected = contents->manifest.tensors.at(tensor.name);
  if (digestOf(number, all, all, array.data.data()) == expected.digest)
    return array;
  return unavailable(
      fmt::format("{}/{}: tensor \"{}\" has changed since the file was written",
                  path(), expected.file, tensor.name));
}

} // namespace weft::runtime
