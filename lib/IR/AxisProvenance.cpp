//===- AxisProvenance.cpp - Where the axes of a value came from -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/AxisProvenance.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace weft;

static constexpr StringRef annotationKey = "annotation", axesKey = "axes";

AxisProvenance AxisProvenance::of(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function =
        dyn_cast_or_null<func::FuncOp>(argument.getOwner()->getParentOp());
    return AxisProvenance(
        function ? function.getArgAttrOfType<DictionaryAttr>(
                       argument.getArgNumber(), kProvenanceAttrName)
                 : DictionaryAttr());
  }
  auto result = cast<OpResult>(value);
  auto all = result.getOwner()->getAttrOfType<ArrayAttr>(kProvenanceAttrName);
  return AxisProvenance(
      all && result.getResultNumber() < all.size()
          ? dyn_cast<DictionaryAttr>(all[result.getResultNumber()])
          : DictionaryAttr());
}

AxisProvenance AxisProvenance::ofResult(func::FuncOp function, unsigned index) {
  return AxisProvenance(
      function.getResultAttrOfType<DictionaryAttr>(index, kProvenanceAttrName));
}

StringRef AxisProvenance::annotation() const {
  auto text = attr ? attr.getAs<StringAttr>(annotationKey) : StringAttr();
  return text ? text.getValue() : StringRef();
}

std::string AxisProvenance::chainOf(const sharding::Mesh &mesh,
                                    const sharding::AxisRef &axis) const {
  auto axes = attr ? attr.getAs<DictionaryAttr>(axesKey) : DictionaryAttr();
  if (!axes)
    return {};
  auto found = axes.getAs<ArrayAttr>(mesh.axisName(axis.axis));
  if (!found)
    return {};
  ArrayRef<Attribute> steps = found.getValue();
  std::string text = cast<StringAttr>(steps.front()).str();
  for (auto [number, step] : llvm::enumerate(steps.drop_front()))
    text += (number ? ", " : ", through ") + cast<StringAttr>(step).str();
  return text;
}

DictionaryAttr weft::makeProvenance(MLIRContext *context, StringRef annotation,
                                    ArrayRef<NamedAttribute> axes) {
  Builder b(context);
  SmallVector<NamedAttribute, 2> entries;
  if (!annotation.empty())
    entries.push_back(
        b.getNamedAttr(annotationKey, b.getStringAttr(annotation)));
  if (!axes.empty())
    entries.push_back(b.getNamedAttr(axesKey, b.getDictionaryAttr(axes)));
  return b.getDictionaryAttr(entries);
}

std::string weft::checkProvenance(Attribute attr) {
  auto entries = dyn_cast<DictionaryAttr>(attr);
  if (!entries)
    return "must be a dictionary";
  for (NamedAttribute entry : entries) {
    if (entry.getName() == annotationKey && isa<StringAttr>(entry.getValue()))
      continue;
    auto axes = dyn_cast<DictionaryAttr>(entry.getValue());
    if (entry.getName() != axesKey || !axes)
      return "may have \"annotation\", a string, and \"axes\", a dictionary, "
             "got \"" +
             entry.getName().str() + "\"";
    for (NamedAttribute axis : axes) {
      auto steps = dyn_cast<ArrayAttr>(axis.getValue());
      if (!steps || steps.empty() || !llvm::all_of(steps, [](Attribute step) {
            return isa<StringAttr>(step);
          }))
        return "must have an array of strings, the annotation first, for axis "
               "\"" +
               axis.getName().str() + "\"";
    }
  }
  return {};
}
