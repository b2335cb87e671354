//===- CheckpointFiles.h - The files of a checkpoint ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which tensor is where in which file, what checkpoint.json and the index of
// the hub say, and how folders are called. All of it follows from the tensors
// alone.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_CHECKPOINT_CHECKPOINTFILES_H
#define WEFT_RUNTIME_CHECKPOINT_CHECKPOINTFILES_H

#include "io/SafetensorsHeader.h"
#include "weft/runtime/Checkpoint.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weft::runtime {

inline constexpr const char *manifestName = "checkpoint.json";
inline constexpr const char *indexName = "model.safetensors.index.json";

/// Where one tensor is.
struct TensorPlace {
  size_t file = 0;
  /// In the file.
  uint64_t offset = 0;
};

/// The files of some tensors, which are filled one after the other in the order
/// of the names.
struct CheckpointLayout {
  struct File {
    std::string name;
    SafetensorsLayout contents;
  };
  std::vector<File> files;
  /// In the order of the tensors that were given.
  std::vector<TensorPlace> places;

  static Result<CheckpointLayout> of(const std::vector<TensorInfo> &tensors,
                                     uint64_t fileBytes);
};

/// What checkpoint.json says.
struct Manifest {
  struct File {
    uint64_t bytes = 0;
    /// Of everything in front of the data.
    std::string headHash;
  };
  struct Tensor {
    std::string file;
    uint64_t digest = 0;
  };
  int64_t step = 0;
  Metadata metadata;
  /// By name.
  std::map<std::string, File> files;
  std::map<std::string, Tensor> tensors;
  std::string indexHash;
};

/// The hash of a text, for texts that a process sees whole.
std::string hashOf(std::string_view text);

/// 16 hexadecimal digits.
std::string digestText(uint64_t digest);
std::optional<uint64_t> parseDigest(std::string_view text);

/// Fails for metadata that are not UTF-8.
Result<std::string> formatManifest(const Manifest &manifest);
/// Fails for a text that has changed since it was formatted.
Result<Manifest> parseManifest(std::string_view text);

/// The index of the hub.
std::string formatIndex(const std::vector<TensorInfo> &tensors,
                        const CheckpointLayout &layout);

/// "step-00000100", and the number; nothing for other names.
std::string folderName(int64_t step);
std::optional<int64_t> stepOfFolder(std::string_view name);
/// The name of a folder that is no checkpoint: not yet, or not any more. What
/// ends so is removed by whoever opens the folder next.
inline constexpr std::string_view unfinishedSuffix = ".unfinished";

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CHECKPOINT_CHECKPOINTFILES_H
