//===- Checkpoint.h - Sharded checkpoints -----------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A checkpoint is a folder in a folder of checkpoints:
//
//   run/step-00000100/model-00001-of-00002.safetensors
//   run/step-00000100/model-00002-of-00002.safetensors
//   run/step-00000100/model.safetensors.index.json
//   run/step-00000100/checkpoint.json
//
// The files and the index are those of the Hugging Face hub: every tensor is
// whole in one of the files. They do not depend on the mesh nor on the number
// of processes that write or read them: each process writes what its ranks hold
// to its place in the files, and reads what its ranks need from there.
// checkpoint.json has the step, the sizes of the files and the digests of the
// tensors. All of it is written into a folder of another name, which is renamed
// when everything is on disk: a checkpoint is either complete or absent.
//
//   WEFT_ASSIGN_OR_RETURN(auto writer, CheckpointWriter::open("run", {}));
//   ...
//   WEFT_RETURN_IF_ERROR(session->save(*writer, step)); // goes on meanwhile
//   ...
//   WEFT_RETURN_IF_ERROR(writer->wait());
//
//   WEFT_ASSIGN_OR_RETURN(auto found, listCheckpoints("run"));
//   WEFT_ASSIGN_OR_RETURN(auto checkpoint,
//   Checkpoint::open(found.back().path));
//   WEFT_RETURN_IF_ERROR(session->restore(checkpoint));
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_CHECKPOINT_H
#define WEFT_RUNTIME_CHECKPOINT_H

#include "weft/runtime/Bootstrap.h"
#include "weft/runtime/Box.h"
#include "weft/runtime/CheckpointMemory.h"
#include "weft/runtime/Safetensors.h"

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::runtime {

struct CheckpointFolder {
  std::string path;
  int64_t step = 0;
};

/// The checkpoints in a folder, in the order of their steps; none when it does
/// not exist.
Result<std::vector<CheckpointFolder>>
listCheckpoints(const std::string &directory);

/// A box of a tensor of a checkpoint, and where it begins in some memory, in
/// which it lies alone, in row-major order.
struct CheckpointPart {
  /// As `CheckpointContents::tensors` counts.
  size_t tensor = 0;
  Box box;
  size_t offset = 0;
};

/// What one process gives to a checkpoint.
struct CheckpointContents {
  int64_t step = 0;
  /// Of the user.
  Metadata metadata;
  /// Names, element types and shapes of all tensors, the same in all processes;
  /// offsets are not looked at.
  std::vector<TensorInfo> tensors;
  /// Those of all processes together cover every element once.
  std::vector<CheckpointPart> parts;
  CheckpointMemory memory;
};

struct CheckpointOptions {
  /// How many checkpoints stay; older ones are removed. 0 = all.
  int keep = 0;
  /// A file gets no further tensor beyond this size, as on the hub.
  uint64_t fileBytes = 5'000'000'000;
  /// How long a process that is done waits for the others.
  std::chrono::nanoseconds deadline = std::chrono::minutes(10);
  /// Set when several processes write together.
  std::shared_ptr<Bootstrap> bootstrap;
};

/// Writes checkpoints to a folder in a thread of its own, one after the other.
/// All processes of a job make the same calls in the same order.
class CheckpointWriter {
public:
  /// Creates the folder, and removes what a run that was killed has left there
  /// unfinished.
  static Result<std::unique_ptr<CheckpointWriter>>
  open(const std::string &directory, CheckpointOptions options);
  /// Waits.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter &) = delete;
  CheckpointWriter &operator=(const CheckpointWriter &) = delete;

  /// Returns when the last checkpoint is on disk and has its name, or with the
  /// reason why it is not, of whatever process; told once.
  Status wait();

  /// Gets memory for the contents of the first checkpoint, in the thread that
  /// will write it. To be called after `wait`.
  void reserve(size_t bytes);

  /// How many checkpoints stay from the next one on; 0 = all. To be called
  /// after `wait`.
  void keep(int count);

  /// Memory for the contents of the next checkpoint: that of the last one.
  /// To be called after `wait`.
  CheckpointMemory takeMemory();

  /// Begins to write a checkpoint, and returns. To be called after `wait`. One
  /// before a later one of another run fails: a program that resumes would
  /// continue from that.
  Status start(CheckpointContents contents);

  /// Of the job.
  int process() const;
  int processes() const;

private:
  class Impl;
  explicit CheckpointWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

/// One of several processes that hold the same box of a tensor.
struct Holder {
  int index = 0;
  int count = 1;
};

/// What of a box one of its holders writes, and answers for when it is read: a
/// part of it, or nothing when it is small and another one writes it all.
/// `number`, that of the tensor say, spreads the small ones over the holders.
std::optional<Box> shareOf(const Box &box, size_t elementBytes, Holder holder,
                           size_t number);

/// A checkpoint for reading, by any number of processes and on any mesh.
/// Copies share the open files; reading is safe from several threads.
class Checkpoint {
public:
  /// Checks everything but the data: that all files are there, have their sizes
  /// and their headers. The failure names the file and its tensors.
  static Result<Checkpoint> open(const std::string &path);

  const std::string &path() const;
  int64_t step() const;
  const Metadata &metadata() const;
  /// In the order of their names.
  const std::vector<TensorInfo> &tensors() const;
  /// Its number among them; nothing when there is none of that name.
  std::optional<size_t> find(std::string_view name) const;

  /// A whole tensor, whose digest is compared.
  Result<Array> read(size_t tensor) const;

  /// Reads a box of a tensor to memory of its size. The digest is the caller's
  /// to compare.
  Status readBox(size_t tensor, const Box &box, std::byte *memory) const;
  /// What a box of a tensor adds to its digest. `memory` has the box `held`,
  /// which contains it.
  uint64_t digestOf(size_t tensor, const Box &box, const Box &held,
                    const std::byte *memory) const;
  /// Compares digests that were added up, for each tensor that was read; the
  /// failure names the files and the tensors whose bytes have changed.
  Status compareDigests(std::span<const std::optional<uint64_t>> digests) const;

private:
  struct Contents;
  explicit Checkpoint(std::shared_ptr<const Contents> contents)
      : contents(std::move(contents)) {}
  std::shared_ptr<const Contents> contents;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CHECKPOINT_H
