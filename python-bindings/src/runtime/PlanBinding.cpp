//===- PlanBinding.cpp - Plans and what they say of themselves ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bindings.h"
#include "StatusError.h"

#include "weft/Report/PlanReport.h"
#include "weft/runtime/Plan.h"
#include "weft/runtime/plan_generated.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>

namespace nb = nanobind;

namespace weft::runtime {

template <typename T> static nb::tuple toTuple(const std::vector<T> &values) {
  nb::list list;
  for (const T &value : values)
    list.append(nb::cast(value));
  return nb::tuple(list);
}

static nb::str toStr(const flatbuffers::String &text) {
  return nb::str(text.c_str(), text.size());
}

/// ("data", "model:(2)4"); empty for no list.
static nb::tuple toTuple(const plan::Plan &plan, const plan::AxisList *axes) {
  nb::list names;
  if (axes)
    for (const plan::AxisRef *ref : *axes->axes()) {
      const plan::MeshAxis &axis = *plan.mesh()->Get(ref->axis());
      std::string name = axis.name()->str();
      if (ref->size() != axis.size())
        name += ":(" + std::to_string(ref->pre_size()) + ")" +
                std::to_string(ref->size());
      names.append(name);
    }
  return nb::tuple(names);
}

/// The fields of `weft.compiled.ValueInfo`, in order.
static nb::tuple toTuple(const plan::Plan &plan, const plan::Binding &binding,
                         const ValueSpec &spec) {
  static constexpr const char *reductions[] = {"sum", "max", "min"};
  const plan::TensorType &type = *binding.type();
  nb::list dims;
  for (const plan::AxisList *axes : *type.dim_axes())
    dims.append(toTuple(plan, axes));
  return nb::make_tuple(spec.name, std::string(name(spec.dtype)),
                        toTuple(spec.globalShape), toTuple(spec.localShape),
                        nb::tuple(dims), toTuple(plan, type.unreduced()),
                        reductions[static_cast<int>(type.unreduced_kind())],
                        spec.isState);
}

/// (name, inputs, outputs) of every entry.
static nb::tuple entriesOf(const Plan &plan) {
  const plan::Plan &contents = plan.contents();
  nb::list entries;
  for (const EntrySpec &spec : plan.entries()) {
    const plan::Entry &entry = *contents.entries()->Get(spec.number);
    nb::list inputs, outputs;
    for (uint32_t j = 0; j < entry.inputs()->size(); ++j)
      inputs.append(toTuple(contents, *entry.inputs()->Get(j), spec.inputs[j]));
    for (uint32_t j = 0; j < entry.outputs()->size(); ++j)
      outputs.append(
          toTuple(contents, *entry.outputs()->Get(j), spec.outputs[j]));
    entries.append(
        nb::make_tuple(spec.name, nb::tuple(inputs), nb::tuple(outputs)));
  }
  return nb::tuple(entries);
}

/// ((axis, size), ...)
static nb::tuple meshOf(const Plan &plan) {
  nb::list axes;
  for (const plan::MeshAxis *axis : *plan.contents().mesh())
    axes.append(nb::make_tuple(toStr(*axis->name()), axis->size()));
  return nb::tuple(axes);
}

static nb::dict metadataOf(const Plan &plan) {
  nb::dict metadata;
  if (const auto *items = plan.contents().metadata())
    for (const plan::Metadata *item : *items)
      metadata[toStr(*item->key())] = toStr(*item->value());
  return metadata;
}

static std::string dump(const Plan &plan,
                        const std::optional<std::string> &section) {
  return section ? valueOrRaise(plan.dump(*section)) : plan.dump();
}

void bindPlan(nb::module_ &m) {
  nb::class_<Plan>(m, "Plan")
      .def_static("load",
                  [](const std::string &path) {
                    return valueOrRaise(Plan::load(path));
                  })
      .def_static("parse",
                  [](const nb::bytes &bytes) {
                    return valueOrRaise(Plan::parse(
                        std::as_bytes(std::span(bytes.c_str(), bytes.size()))));
                  })
      .def_prop_ro("hash", &Plan::hash)
      .def_prop_ro("ranks", &Plan::ranks)
      .def_prop_ro("target",
                   [](const Plan &plan) {
                     return toStr(*plan.contents().target()->kind());
                   })
      .def_prop_ro("mesh", &meshOf)
      .def_prop_ro("metadata", &metadataOf)
      .def_prop_ro("entries", &entriesOf)
      .def("report",
           [](const Plan &plan) { return makePlanReport(plan.contents()); })
      .def("dump", &dump, nb::arg("section") = nb::none());
}

} // namespace weft::runtime
