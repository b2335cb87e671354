//===- Tensors.h - Checkpoints of tests -------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_TEST_CHECKPOINT_TENSORS_H
#define WEFT_RUNTIME_TEST_CHECKPOINT_TENSORS_H

#include "io/ScratchDirectory.h"
#include "weft/runtime/Checkpoint.h"

#include <cstring>
#include <map>

namespace weft::runtime {

using Tensors = std::map<std::string, Array>;

/// Some of every element type, an empty one and a large one.
inline Tensors sampleTensors() {
  Tensors tensors;
  for (int number = 0; number < dtypeCount; ++number) {
    const auto dtype = static_cast<DType>(number);
    tensors[std::string(name(dtype))] = countingArray(dtype, {3, 5});
  }
  tensors["empty"] = countingArray(DType::F32, {0, 4});
  tensors["large"] = countingArray(DType::F32, {300, 400});
  tensors["scalar"] = countingArray(DType::I32, {});
  return tensors;
}

/// What a holder writes of tensors that all processes have whole.
inline CheckpointContents contentsOf(const Tensors &tensors, int64_t step,
                                     Holder holder = {}) {
  CheckpointContents contents;
  contents.step = step;
  contents.metadata = {{"run", "a test"}};
  for (const auto &[name, array] : tensors) {
    const size_t number = contents.tensors.size();
    contents.tensors.push_back({name, array.dtype, array.shape});
    const Box whole = Box::whole(array.shape);
    const size_t bytes = byteSize(array.dtype);
    const auto share = shareOf(whole, bytes, holder, number);
    if (!share)
      continue;
    const size_t offset = contents.memory.size();
    contents.memory.resize(offset + share->elements() * bytes);
    const std::vector<int64_t> origin(array.shape.size());
    forEachRun({array.shape, share->start}, {share->extent, origin},
               share->extent, [&](int64_t from, int64_t to, int64_t count) {
                 std::memcpy(contents.memory.data() + offset + to * bytes,
                             array.data.data() + from * bytes, count * bytes);
               });
    contents.parts.push_back({number, *share, offset});
  }
  return contents;
}

/// Writes one checkpoint.
inline Status writeCheckpoint(const std::string &folder, const Tensors &tensors,
                              int64_t step, CheckpointOptions options = {}) {
  const int process = options.bootstrap ? options.bootstrap->launch().rank : 0;
  const int count = options.bootstrap ? options.bootstrap->launch().world : 1;
  WEFT_ASSIGN_OR_RETURN(auto writer, CheckpointWriter::open(folder, options));
  WEFT_RETURN_IF_ERROR(
      writer->start(contentsOf(tensors, step, {process, count})));
  return writer->wait();
}

/// Reads all tensors of a checkpoint.
inline Result<Tensors> readAll(const std::string &path) {
  WEFT_ASSIGN_OR_RETURN(const Checkpoint checkpoint, Checkpoint::open(path));
  Tensors tensors;
  for (size_t t = 0; t < checkpoint.tensors().size(); ++t) {
    WEFT_ASSIGN_OR_RETURN(tensors[checkpoint.tensors()[t].name],
                          checkpoint.read(t));
  }
  return tensors;
}

inline void expectEqual(const Result<Tensors> &found, const Tensors &expected) {
  ASSERT_TRUE(found.ok()) << found.status().message();
  ASSERT_EQ(found->size(), expected.size());
  for (const auto &[name, array] : expected) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(found->contains(name));
    expectEqual(found->at(name), array);
  }
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_TEST_CHECKPOINT_TENSORS_H
