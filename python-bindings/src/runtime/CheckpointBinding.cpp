//===- CheckpointBinding.cpp - Checkpoints are written and read -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bindings.h"
#include "StatusError.h"
#include "Tensor.h"

#include "weft/runtime/Checkpoint.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstring>

namespace nb = nanobind;

namespace weft::runtime {

static std::unique_ptr<CheckpointWriter>
openWriter(const std::string &directory, std::shared_ptr<Bootstrap> bootstrap) {
  CheckpointOptions options;
  options.bootstrap = std::move(bootstrap);
  Result<std::unique_ptr<CheckpointWriter>> writer = [&] {
    nb::gil_scoped_release unlocked;
    return CheckpointWriter::open(directory, options);
  }();
  return valueOrRaise(std::move(writer));
}

namespace {

/// What this process holds of a tensor.
struct Shard {
  std::vector<int64_t> start;
  Tensor tensor;
  /// Of the processes that hold the same.
  int holder = 0, holders = 1;
};

struct SavedTensor {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  std::vector<Shard> shards;
};

} // namespace

/// Appends what this process writes of a shard of the last tensor.
static void addShard(CheckpointContents &contents, const Shard &shard) {
  const ArrayView value = shard.tensor.view();
  const size_t number = contents.tensors.size() - 1;
  const size_t bytes = byteSize(value.dtype);
  const Box box{shard.start, shard.tensor.shape};
  const auto share = shareOf(box, bytes, {shard.holder, shard.holders}, number);
  if (!share)
    return;
  std::vector<int64_t> start = share->start;
  for (size_t d = 0; d < start.size(); ++d)
    start[d] -= box.start[d];
  const size_t offset = contents.memory.size();
  contents.memory.resize(offset + share->elements() * bytes);
  const std::vector<int64_t> origin(start.size());
  forEachRun({value.shape, start}, {share->extent, origin}, share->extent,
             [&](int64_t from, int64_t to, int64_t count) {
               std::memcpy(contents.memory.data() + offset + to * bytes,
                           value.data + from * bytes, count * bytes);
             });
  contents.parts.push_back({number, *share, offset});
}

static void saveTensors(CheckpointWriter &writer, int64_t step,
                        const Metadata &metadata,
                        const std::vector<SavedTensor> &tensors) {
  runUnlocked([&]() -> Status {
    WEFT_RETURN_IF_ERROR(writer.wait());
    CheckpointContents contents;
    contents.step = step;
    contents.metadata = metadata;
    contents.memory = writer.takeMemory();
    contents.memory.clear();
    for (const SavedTensor &tensor : tensors) {
      contents.tensors.push_back({tensor.name, tensor.dtype, tensor.shape});
      for (const Shard &shard : tensor.shards)
        addShard(contents, shard);
    }
    return writer.start(std::move(contents));
  });
}

static nb::object readTensor(const Checkpoint &checkpoint, size_t number) {
  Result<Array> array = [&] {
    nb::gil_scoped_release unlocked;
    return checkpoint.read(number);
  }();
  return toNumpy(valueOrRaise(std::move(array)));
}

/// A box of a tensor, whose digest is the caller's to compare.
static nb::object readBox(const Checkpoint &checkpoint, size_t number,
                          std::vector<int64_t> start,
                          std::vector<int64_t> extent) {
  const Box box{std::move(start), std::move(extent)};
  Array array(checkpoint.tensors()[number].dtype, box.extent);
  runUnlocked(
      [&] { return checkpoint.readBox(number, box, array.data.data()); });
  return toNumpy(std::move(array));
}

/// What a box, which is in `bytes`, adds to the digest of its tensor.
static uint64_t digestOf(const Checkpoint &checkpoint, size_t number,
                         std::vector<int64_t> start,
                         std::vector<int64_t> extent, const Bytes &bytes) {
  const Box box{std::move(start), std::move(extent)};
  return checkpoint.digestOf(number, box, box,
                             reinterpret_cast<const std::byte *>(bytes.data()));
}

/// Compares the digests of some tensors.
static void compareDigests(const Checkpoint &checkpoint,
                           const std::vector<size_t> &numbers,
                           const std::vector<uint64_t> &digests) {
  std::vector<std::optional<uint64_t>> all(checkpoint.tensors().size());
  for (size_t i = 0; i < numbers.size(); ++i)
    all[numbers[i]] = digests[i];
  raiseIfFailed(checkpoint.compareDigests(all));
}

/// (name, element type, shape) of each tensor.
static nb::list tensorsOf(const Checkpoint &checkpoint) {
  nb::list list;
  for (const TensorInfo &info : checkpoint.tensors()) {
    const std::string_view dtype = name(info.dtype);
    list.append(nb::make_tuple(info.name, nb::str(dtype.data(), dtype.size()),
                               nb::tuple(nb::cast(info.shape))));
  }
  return list;
}

void bindCheckpoint(nb::module_ &m) {
  m.def("list_checkpoints", [](const std::string &directory) {
    nb::list list;
    for (const CheckpointFolder &each :
         valueOrRaise(listCheckpoints(directory)))
      list.append(nb::make_tuple(each.step, each.path));
    return list;
  });
  nb::class_<Shard>(m, "CheckpointShard")
      .def("__init__", [](Shard *self, std::vector<int64_t> start,
                          const Tensor &tensor, int holder, int holders) {
        new (self) Shard{std::move(start), tensor, holder, holders};
      });
  nb::class_<SavedTensor>(m, "CheckpointTensor")
      .def("__init__",
           [](SavedTensor *self, std::string name, const std::string &dtype,
              std::vector<int64_t> shape, std::vector<Shard> shards) {
             new (self) SavedTensor{std::move(name), dtypeNamed(dtype),
                                    std::move(shape), std::move(shards)};
           });
  nb::class_<CheckpointWriter>(m, "CheckpointWriter")
      .def_static("open", &openWriter, nb::arg("directory"),
                  nb::arg("bootstrap").none())
      .def("save", &saveTensors)
      .def("keep", &CheckpointWriter::keep)
      .def("wait", [](CheckpointWriter &writer) {
        runUnlocked([&] { return writer.wait(); });
      });
  nb::class_<Checkpoint>(m, "Checkpoint")
      .def_static("open",
                  [](const std::string &path) {
                    return valueOrRaise(Checkpoint::open(path));
                  })
      .def_prop_ro("step", &Checkpoint::step)
      .def_prop_ro("metadata",
                   [](const Checkpoint &self) { return self.metadata(); })
      .def_prop_ro("tensors", &tensorsOf)
      .def("read", &readTensor)
      .def("read_box", &readBox)
      .def("digest_of", &digestOf)
      .def("compare_digests", &compareDigests);
}

} // namespace weft::runtime
