//===- StatusError.cpp - A failure as an exception ------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StatusError.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

namespace nb = nanobind;

namespace weft::runtime {

void raiseIfFailed(const Status &status) {
  if (status.ok())
    return;
  nb::object kind =
      nb::module_::import_("weft.diagnostics").attr("ExecutionError");
  nb::object error = kind(status.message(), std::string(name(status.code())));
  PyErr_SetObject(kind.ptr(), error.ptr());
  throw nb::python_error();
}

} // namespace weft::runtime
