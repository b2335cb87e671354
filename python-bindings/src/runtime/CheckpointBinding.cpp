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
openWriter(const std::string &directory, int keep,
           std::shared_ptr<Bootstrap> bootstrap) {
  CheckpointOptions options;
  options.keep = keep;
  options.bootstrap = std::move(bootstrap);
  Result<std::unique_ptr<CheckpointWriter>> writer = [&] {
    nb::gil_scoped_release unlocked;
    return CheckpointWriter::open(directory, options);
  }();
  return valueOrRaise(std::move(writer));
}

/// Appends what this process writes of a tensor that all processes have whole.
static void addTensor(CheckpointContents &contents, std::string name,
                      const ArrayView &value, Holder holder) {
  const size_t number = contents.tensors.size(), bytes = byteSize(value.dtype);
  contents.tensors.push_back(
      {std::move(name), value.dtype, {value.shape.begin(), value.shape.end()}});
  const auto share = shareOf(Box::whole(value.shape), bytes, holder, number);
  if (!share)
    return;
  const size_t offset = contents.memory.size();
  contents.memory.resize(offset + share->elements() * bytes);
  const std::vector<int64_t> origin(value.shape.size());
  forEachRun({value.shape, share->start}, {share->extent, origin},
             share->extent, [&](int64_t from, int64_t to, int64_t count) {
               std::memcpy(contents.memory.data() + offset + to * bytes,
                           value.data + from * bytes, count * bytes);
             });
  contents.parts.push_back({number, *share, offset});
}

/// Whole arrays, the same in all processes.
static void saveArrays(CheckpointWriter &writer, int64_t step,
                       const Metadata &metadata,
                       const std::vector<std::string> &names,
                       const std::vector<Tensor> &tensors) {
  runUnlocked([&]() -> Status {
    WEFT_RETURN_IF_ERROR(writer.wait());
    CheckpointContents contents;
    contents.step = step;
    contents.metadata = metadata;
    contents.memory = writer.takeMemory();
    contents.memory.clear();
    for (size_t i = 0; i < tensors.size(); ++i)
      addTensor(contents, names[i], tensors[i].view(),
                {writer.process(), writer.processes()});
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
  nb::class_<CheckpointWriter>(m, "CheckpointWriter")
      .def_static("open", &openWriter, nb::arg("directory"), nb::arg("keep"),
                  nb::arg("bootstrap").none())
      .def("save", &saveArrays)
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
      .def("read", &readTensor);
}

} // namespace weft::runtime
