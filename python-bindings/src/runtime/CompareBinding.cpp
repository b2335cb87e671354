//===- CompareBinding.cpp - Verified runs ---------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bindings.h"
#include "StatusError.h"
#include "Tensor.h"

#include "weft/runtime/CompareValues.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace weft::runtime {

static Comparison compare(Session &ranks, Session &reference,
                          const std::string &entry,
                          const std::map<std::string, Tensor> &inputs) {
  std::map<std::string, Array> arrays;
  for (const auto &[name, tensor] : inputs) {
    Array &array = arrays[name] = Array(tensor.dtype, tensor.shape);
    std::copy_n(tensor.view().data, array.bytes(), array.data.begin());
  }
  Result<Comparison> found = [&] {
    nb::gil_scoped_release unlocked;
    return compareValues(ranks, reference, entry, arrays);
  }();
  raiseIfInterrupted();
  return valueOrRaise(std::move(found));
}

void bindCompare(nb::module_ &m) {
  nb::class_<WrongValue>(m, "WrongValue")
      .def_ro("place", &WrongValue::place)
      .def_ro("name", &WrongValue::name)
      .def_ro("is_moved", &WrongValue::isMoved)
      .def_ro("ranks", &WrongValue::ranks)
      .def_ro("where", &WrongValue::where)
      .def_ro("differing", &WrongValue::differing)
      .def_ro("received", &WrongValue::received)
      .def_ro("elements", &WrongValue::elements)
      .def_ro("of", &WrongValue::of)
      .def_ro("index", &WrongValue::index)
      .def_ro("value", &WrongValue::value)
      .def_ro("expected", &WrongValue::expected)
      .def_ro("bound", &WrongValue::bound);
  nb::class_<Comparison>(m, "Comparison")
      .def_ro("values", &Comparison::values)
      .def_ro("ranks", &Comparison::ranks)
      .def_ro("largest", &Comparison::largest)
      .def_ro("wrong", &Comparison::wrong)
      .def_ro("behind", &Comparison::behind)
      .def("__str__", [](const Comparison &found) { return print(found); });
  m.def("compare_values", &compare);
}

} // namespace weft::runtime
