//===- SessionBinding.cpp - Plans are run ---------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bindings.h"
#include "StatusError.h"
#include "Tensor.h"

#include "weft/runtime/Session.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <optional>

namespace nb = nanobind;

namespace weft::runtime {

namespace {

/// What a session tells in threads that know no interpreter, until somebody who
/// does turns it into warnings.
class CollectedNotes {
public:
  void add(const std::string &text) {
    const std::lock_guard lock(mutex);
    texts.push_back(text);
  }
  void warn() {
    std::vector<std::string> now;
    {
      const std::lock_guard lock(mutex);
      now.swap(texts);
    }
    for (const std::string &text : now)
      if (PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 1) != 0)
        throw nb::python_error();
  }

private:
  std::mutex mutex;
  std::vector<std::string> texts;
};

} // namespace

static std::unique_ptr<Session>
createSession(const Plan &plan, int threads, double deadlineSeconds,
              uint64_t memoryLimit, int traceRuns, int device, bool cudaGraphs,
              bool deterministic, std::shared_ptr<Bootstrap> bootstrap) {
  SessionOptions options;
  options.threads = threads;
  options.traceRuns = traceRuns;
  options.device = device;
  options.cudaGraphs = cudaGraphs;
  options.deterministic = deterministic;
  options.deadline = valueOrRaise(deadlineOf(deadlineSeconds));
  options.memoryLimit = memoryLimit;
  options.bootstrap = std::move(bootstrap);
  const auto notes = std::make_shared<CollectedNotes>();
  options.note = [notes](const std::string &text) { notes->add(text); };
  options.isInterrupted = [] {
    const nb::gil_scoped_acquire locked;
    return PyErr_CheckSignals() != 0;
  };
  Result<std::unique_ptr<Session>> session = [&] {
    nb::gil_scoped_release unlocked;
    return Session::create(plan, options);
  }();
  raiseIfInterrupted();
  notes->warn();
  return valueOrRaise(std::move(session));
}

static void setInput(Session &session, const std::string &entry,
                     const std::string &name, const Tensor &value) {
  runUnlocked([&] { return session.setInput(entry, name, value.view()); });
}

static void setInputShards(Session &session, const std::string &entry,
                           const std::string &name,
                           const std::vector<Tensor> &parts) {
  std::vector<ArrayView> views;
  for (const Tensor &part : parts)
    views.push_back(part.view());
  runUnlocked([&] { return session.setInputShards(entry, name, views); });
}

/// The memory of an array of NumPy, whatever its element type.
class Buffer {
public:
  Buffer(nb::handle array, bool isWritten, size_t bytes) {
    if (PyObject_GetBuffer(array.ptr(), &buffer,
                           isWritten ? PyBUF_WRITABLE : PyBUF_SIMPLE) != 0)
      throw nb::python_error();
    if (static_cast<size_t>(buffer.len) != bytes) {
      PyBuffer_Release(&buffer);
      throw nb::value_error("the bytes do not fit the shape");
    }
  }
  Buffer(Buffer &&other) noexcept : buffer(other.buffer) {
    other.buffer.obj = nullptr;
  }
  ~Buffer() { PyBuffer_Release(&buffer); }

  std::byte *data() const { return static_cast<std::byte *>(buffer.buf); }

private:
  Py_buffer buffer;
};

/// Nothing for None.
static std::vector<std::optional<Buffer>>
buffersOf(const nb::list &arrays, bool isWritten,
          const std::vector<ValueSpec> &specs) {
  if (arrays.size() != specs.size())
    throw nb::value_error("one array for each value of the entry");
  std::vector<std::optional<Buffer>> buffers(specs.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    const ArrayView view{specs[i].dtype, specs[i].globalShape, nullptr};
    if (!arrays[i].is_none())
      buffers[i].emplace(arrays[i], isWritten, view.bytes());
  }
  return buffers;
}

/// One step of an entry: sets inputs, runs, and writes outputs, but those that
/// are None. The arrays have the types of the entry, and their rows one after
/// the other.
static void callEntry(Session &session, uint32_t index, const nb::list &inputs,
                      const nb::list &outputs) {
  const EntrySpec &entry = session.plan().entries().at(index);
  const auto from = buffersOf(inputs, false, entry.inputs);
  const auto to = buffersOf(outputs, true, entry.outputs);
  runUnlocked([&]() -> Status {
    for (uint32_t i = 0; i < from.size(); ++i) {
      const ValueSpec &spec = entry.inputs[i];
      if (from[i])
        WEFT_RETURN_IF_ERROR(session.setInput(
            index, i, {spec.dtype, spec.globalShape, from[i]->data()}));
    }
    WEFT_RETURN_IF_ERROR(session.run(entry.name));
    for (uint32_t i = 0; i < to.size(); ++i)
      if (to[i])
        WEFT_RETURN_IF_ERROR(session.readOutput(i, to[i]->data()));
    return {};
  });
}

void bindSession(nb::module_ &m) {
  nb::class_<Tensor>(m, "Tensor").def_static("of", &makeTensor);
  nb::class_<Session>(m, "Session")
      .def_static("create", &createSession, nb::arg("plan"), nb::kw_only(),
                  nb::arg("threads") = 1, nb::arg("deadline_seconds") = 30.0,
                  nb::arg("memory_limit") = 0, nb::arg("trace_runs") = 0,
                  nb::arg("device") = 0, nb::arg("cuda_graphs") = true,
                  nb::arg("deterministic") = false,
                  nb::arg("bootstrap").none() = nb::none())
      .def("set_input", &setInput)
      .def("set_input_shards", &setInputShards)
      .def("set_state",
           [](Session &session, const std::string &name, const Tensor &value) {
             runUnlocked([&] { return session.setState(name, value.view()); });
           })
      .def("prepare_save",
           [](Session &session, CheckpointWriter &writer) {
             runUnlocked([&] { return session.prepareSave(writer); });
           })
      .def("save",
           [](Session &session, CheckpointWriter &writer, int64_t step,
              const Metadata &metadata) {
             runUnlocked([&] { return session.save(writer, step, metadata); });
           })
      .def("restore",
           [](Session &session, const std::string &path) {
             runUnlocked([&] { return session.restore(path); });
           })
      .def_prop_ro("arena_bytes", &Session::arenaBytes)
      .def("unset_inputs",
           [](const Session &session, const std::string &entry) {
             return session.unsetInputs(entry);
           })
      .def("run",
           [](Session &session, const std::string &entry) {
             runUnlocked([&] { return session.run(entry); });
           })
      .def("call", &callEntry)
      .def("last_run_seconds",
           [](const Session &session) {
             const RunTimes times = session.lastRunTimes();
             using Seconds = std::chrono::duration<double>;
             return std::pair(Seconds(times.total).count(),
                              Seconds(times.enqueue).count());
           })
      .def("rank_usage",
           [](const Session &session) {
             Result<std::vector<RankUsage>> usage = [&] {
               nb::gil_scoped_release unlocked;
               return session.rankUsage();
             }();
             using Seconds = std::chrono::duration<double>;
             nb::list ranks;
             for (const RankUsage &rank : valueOrRaise(std::move(usage)))
               ranks.append(nb::make_tuple(
                   rank.role, Seconds(rank.total).count(),
                   rank.waited ? nb::cast(Seconds(*rank.waited).count())
                               : nb::object(nb::none()),
                   rank.residentBytes));
             return ranks;
           })
      .def("write_trace",
           [](const Session &session, const std::string &path) {
             runUnlocked([&] { return session.writeTrace(path); });
           })
      .def("state",
           [](const Session &session, const std::string &name) {
             return toNumpy(valueOrRaise(session.getState(name)));
           })
      .def("output",
           [](const Session &session, const std::string &name) {
             return toNumpy(valueOrRaise(session.getOutput(name)));
           })
      .def("shard",
           [](const Session &session, const std::string &name, int64_t rank) {
             return toNumpy(valueOrRaise(session.getShard(name, rank)));
           });
}

} // namespace weft::runtime
