//===- Problems.cpp - What an import cannot do or ignores -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Problems.h"
#include "UserLocation.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace weft::stablehlo;

/// Errors of a damaged file beyond these say nothing new.
static constexpr size_t kMaxErrors = 20;

/// The line of source of an op, without the column.
static std::string lineOf(Location loc) {
  auto file = dyn_cast_or_null<FileLineColLoc>(UserLocation::of(loc).file);
  return file ? (file.getFilename().getValue() + ":" + Twine(file.getLine()))
                    .str()
              : std::string();
}

/// Where a message about `loc` points: the file, or all that is known.
static Location positionOf(Location loc) {
  LocationAttr file = UserLocation::of(loc).file;
  return file ? Location(file) : loc;
}

void Problems::unsupported(Location loc, StringRef op, const Twine &why) {
  std::string line = lineOf(loc);
  std::string text = (op + ": " + why).str();
  auto [entry, isNew] = unsupportedOps.insert(
      {line + "\n" + text, {text, Occurrences{positionOf(loc)}}});
  ++entry->second.second.count;
}

void Problems::count(OccurrenceMap &occurrences, Location loc,
                     const Twine &text) {
  auto [entry, isNew] =
      occurrences.insert({text.str(), Occurrences{positionOf(loc)}});
  ++entry->second.count;
}

void Problems::malformed(Location loc, const Twine &what) {
  if (errors.size() < kMaxErrors)
    count(errors, loc, what);
}

void Problems::ignored(Location loc, const Twine &what) {
  count(remarks, loc, what);
}

void Problems::warning(Location loc, const Twine &what) {
  count(warnings, loc, what);
}

void Problems::reportUnsupported(Location loc) const {
  if (unsupportedOps.empty())
    return;
  int64_t total = 0;
  for (auto &[key, occurrences] : unsupportedOps)
    total += occurrences.second.count;
  InFlightDiagnostic error = emitError(loc) << "cannot import " << total
                                            << (total == 1 ? " op" : " ops")
                                            << " of the program";
  for (auto &[key, occurrences] : unsupportedOps) {
    auto &[text, where] = occurrences;
    Diagnostic &note = error.attachNote(where.first);
    if (where.count > 1)
      note << where.count << " times ";
    note << text;
  }
}

void Problems::report(Location loc) const {
  for (auto &[what, where] : errors)
    emitError(where.first) << what;
  reportUnsupported(loc);
  for (auto &[what, where] : warnings)
    emitWarning(where.first) << what;
  // Of a program that is refused, they may be about what it is refused for.
  if (any())
    return;
  for (auto &[what, where] : remarks) {
    InFlightDiagnostic remark = emitRemark(where.first) << "ignored: " << what;
    if (where.count > 1)
      remark << " (" << where.count << " times)";
  }
}
