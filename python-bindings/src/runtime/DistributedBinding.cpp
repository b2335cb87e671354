//===- DistributedBinding.cpp - The processes of a job --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bindings.h"
#include "StatusError.h"

#include "Tensor.h"

#include "weft/runtime/Bootstrap.h"
#include "weft/runtime/Preemption.h"
#include "weft/runtime/Session.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

namespace nb = nanobind;

namespace weft::runtime {

/// Meets the other processes; nothing where this one is alone.
static std::shared_ptr<Bootstrap>
connect(const std::string &coordinator, std::optional<int> processes,
        std::optional<int> process, double seconds, double heartbeatSeconds) {
  const auto timeout = valueOrRaise(deadlineOf(seconds));
  const auto heartbeat = valueOrRaise(heartbeatOf(heartbeatSeconds));
  const Launch launch = valueOrRaise(detectLaunch(
      {.rendezvous = coordinator, .rank = process, .world = processes}));
  if (launch.world == 1)
    return nullptr;
  Result<std::unique_ptr<Bootstrap>> bootstrap = [&] {
    nb::gil_scoped_release unlocked;
    return Bootstrap::connect(launch, timeout, heartbeat);
  }();
  return valueOrRaise(std::move(bootstrap));
}

static std::unique_ptr<Preemption>
createPreemption(std::shared_ptr<Bootstrap> bootstrap, double seconds) {
  const auto deadline = valueOrRaise(deadlineOf(seconds));
  Result<std::unique_ptr<Preemption>> preemption = [&] {
    nb::gil_scoped_release unlocked;
    return Preemption::create(std::move(bootstrap), deadline);
  }();
  return valueOrRaise(std::move(preemption));
}

static bool reachedSyncPoint(Preemption &preemption, int64_t done) {
  Result<bool> isReached = false;
  runUnlocked([&] {
    isReached = preemption.reachedSyncPoint(done);
    return isReached.status();
  });
  return *isReached;
}

void bindDistributed(nb::module_ &m) {
  nb::class_<Preemption>(m, "Preemption")
      .def_static("create", &createPreemption, nb::arg("bootstrap").none(),
                  nb::arg("deadline_seconds"))
      .def("request", &Preemption::request)
      .def("reached_sync_point", &reachedSyncPoint);
  nb::class_<Bootstrap>(m, "Bootstrap")
      .def_static("connect", &connect)
      .def_prop_ro("process",
                   [](const Bootstrap &self) { return self.launch().rank; })
      .def_prop_ro("processes",
                   [](const Bootstrap &self) { return self.launch().world; })
      .def("fail",
           [](Bootstrap &self, const std::string &message) {
             nb::gil_scoped_release unlocked;
             self.fail(message);
           })
      .def("leave",
           [](Bootstrap &self) {
             nb::gil_scoped_release unlocked;
             self.leave();
           })
      .def("gather",
           [](Bootstrap &self, const std::string &what,
              const std::string &value, double seconds) {
             const auto timeout = valueOrRaise(deadlineOf(seconds));
             Result<std::vector<std::string>> values = [&] {
               nb::gil_scoped_release unlocked;
               return self.gather(what, value, timeout);
             }();
             return valueOrRaise(std::move(values));
           })
      .def("end", [](Bootstrap &self) {
        Result<bool> all = [&] {
          nb::gil_scoped_release unlocked;
          return self.end();
        }();
        return valueOrRaise(std::move(all));
      });
}

} // namespace weft::runtime
