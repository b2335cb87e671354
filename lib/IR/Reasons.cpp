//===- Reasons.cpp - Why data moves ---------------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/Reasons.h"

#include "weft/IR/AxisProvenance.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace weft;

static constexpr StringRef causeKey = "cause", chainKey = "chain",
                           alternativesKey = "alternatives", editKey = "edit";
static constexpr StringLiteral endNames[] = {"annotation", "default", "choice",
                                             "operation"};

static std::optional<Reason::End> parseEnd(Attribute attr) {
  auto name = dyn_cast<StringAttr>(attr);
  for (auto [number, known] : llvm::enumerate(endNames))
    if (name && name == known)
      return static_cast<Reason::End>(number);
  return std::nullopt;
}

/// A cause without the numbers of layers, `params['blocks'][*]['wq']`: layers
/// that are alike share a reason.
static std::string generalCause(StringRef cause) {
  std::string text;
  for (size_t i = 0; i < cause.size(); ++i) {
    text += cause[i];
    size_t end = i + 1;
    while (cause[i] == '[' && end < cause.size() && cause[end] >= '0' &&
           cause[end] <= '9')
      ++end;
    if (end > i + 1 && end < cause.size() && cause[end] == ']') {
      text += '*';
      i = end - 1;
    }
  }
  return text;
}

//===----------------------------------------------------------------------===//
// To attributes
//===----------------------------------------------------------------------===//

static Attribute reasonAttr(Builder &b, const Reason &reason) {
  SmallVector<Attribute> chain, alternatives;
  for (const Reason::Line &line : reason.chain)
    chain.push_back(
        b.getStrArrayAttr({endNames[static_cast<int>(line.end)], line.text}));
  for (const Reason::Alternative &each : reason.alternatives)
    alternatives.push_back(b.getArrayAttr({b.getStringAttr(each.text),
                                           b.getI64IntegerAttr(each.wireBytes),
                                           b.getF64FloatAttr(each.seconds)}));
  NamedAttrList entries;
  entries.set(causeKey, b.getStringAttr(reason.cause));
  entries.set(chainKey, b.getArrayAttr(chain));
  if (!alternatives.empty())
    entries.set(alternativesKey, b.getArrayAttr(alternatives));
  if (!reason.edit.empty())
    entries.set(editKey, b.getStringAttr(reason.edit));
  return entries.getDictionary(b.getContext());
}

ReasonTable::ReasonTable(ModuleOp module)
    : module(module), reasons(getReasons(module)) {
  for (const Reason &reason : reasons)
    known.insert(reason.cause);
}

bool ReasonTable::has(StringRef cause) const {
  return known.contains(generalCause(cause));
}

void ReasonTable::add(Reason reason) {
  reason.cause = generalCause(reason.cause);
  if (!known.insert(reason.cause).second)
    return;
  reasons.push_back(std::move(reason));
  changed = true;
}

void ReasonTable::write() {
  if (!changed)
    return;
  Builder b(module.getContext());
  module->setAttr(kReasonsAttrName, b.getArrayAttr(llvm::map_to_vector(
                                        reasons, [&](const Reason &reason) {
                                          return reasonAttr(b, reason);
                                        })));
}

void weft::addReason(ModuleOp module, Reason reason) {
  reason.cause = generalCause(reason.cause);
  SmallVector<Attribute> all;
  if (auto known = module->getAttrOfType<ArrayAttr>(kReasonsAttrName))
    llvm::append_range(all, known);
  for (Attribute each : all)
    if (cast<DictionaryAttr>(each).getAs<StringAttr>(causeKey) == reason.cause)
      return;
  Builder b(module.getContext());
  all.push_back(reasonAttr(b, reason));
  module->setAttr(kReasonsAttrName, b.getArrayAttr(all));
}

//===----------------------------------------------------------------------===//
// From attributes
//===----------------------------------------------------------------------===//

static Reason toReason(DictionaryAttr attr) {
  Reason reason;
  reason.cause = attr.getAs<StringAttr>(causeKey).str();
  for (auto line : attr.getAs<ArrayAttr>(chainKey).getAsRange<ArrayAttr>())
    reason.chain.push_back(
        {*parseEnd(line[0]), cast<StringAttr>(line[1]).str()});
  if (auto alternatives = attr.getAs<ArrayAttr>(alternativesKey))
    for (auto each : alternatives.getAsRange<ArrayAttr>())
      reason.alternatives.push_back(
          {cast<StringAttr>(each[0]).str(), cast<IntegerAttr>(each[1]).getInt(),
           cast<FloatAttr>(each[2]).getValueAsDouble()});
  if (auto edit = attr.getAs<StringAttr>(editKey))
    reason.edit = edit.str();
  return reason;
}

std::vector<Reason> weft::getReasons(ModuleOp module) {
  std::vector<Reason> reasons;
  if (auto all = module->getAttrOfType<ArrayAttr>(kReasonsAttrName))
    for (auto each : all.getAsRange<DictionaryAttr>())
      reasons.push_back(toReason(each));
  return reasons;
}

static bool isLine(Attribute attr) {
  auto line = dyn_cast<ArrayAttr>(attr);
  return line && line.size() == 2 && parseEnd(line[0]) &&
         isa<StringAttr>(line[1]);
}

static bool isAlternative(Attribute attr) {
  auto each = dyn_cast<ArrayAttr>(attr);
  return each && each.size() == 3 && isa<StringAttr>(each[0]) &&
         isa<IntegerAttr>(each[1]) && isa<FloatAttr>(each[2]);
}

/// Whether `attr` is an array of what `isOne` says.
static bool isArrayOf(Attribute attr, bool (*isOne)(Attribute)) {
  auto all = dyn_cast_or_null<ArrayAttr>(attr);
  return all && llvm::all_of(all, isOne);
}

std::string weft::checkReasons(Attribute attr) {
  auto all = dyn_cast<ArrayAttr>(attr);
  if (!all)
    return "must be an array of dictionaries";
  for (auto [number, each] : llvm::enumerate(all)) {
    auto reason = dyn_cast<DictionaryAttr>(each);
    std::string which = "reason " + std::to_string(number) + " must have ";
    if (!reason || !reason.getAs<StringAttr>(causeKey))
      return which + "a cause, a string";
    if (!isArrayOf(reason.get(chainKey), isLine))
      return which + "a chain of pairs of strings, the first annotation, "
                     "default, choice or operation";
    Attribute alternatives = reason.get(alternativesKey),
              edit = reason.get(editKey);
    if (alternatives && !isArrayOf(alternatives, isAlternative))
      return which + "alternatives of a string, bytes as i64 and seconds as "
                     "f64 each";
    if (edit && !isa<StringAttr>(edit))
      return which + "a string as its edit";
  }
  return {};
}

void weft::removeExplanations(ModuleOp module) {
  module->removeAttr(kReasonsAttrName);
  module.walk([](Operation *op) { op->removeAttr(kProvenanceAttrName); });
  for (auto function : module.getOps<func::FuncOp>()) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      function.removeArgAttr(i, kProvenanceAttrName);
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      function.removeResultAttr(i, kProvenanceAttrName);
  }
}
