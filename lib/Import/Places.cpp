//===- Places.cpp - Places in the user's source files ---------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Places.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace weft::stablehlo;

static void read(Location loc, Place &place) {
  if (auto file = dyn_cast<FileLineColRange>(loc)) {
    // A range of columns says no more to a reader than its start.
    place.file = FileLineColLoc::get(file.getFilename(), file.getStartLine(),
                                     file.getStartColumn());
  } else if (auto name = dyn_cast<NameLoc>(loc)) {
    // `reduce_sum:` is the label of an op; the stack of names comes below it,
    // and names of Python functions below that.
    if (place.names.empty() && !name.getName().getValue().ends_with(":"))
      place.names = name.getName().str();
    read(name.getChildLoc(), place);
  } else if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    read(call.getCallee(), place);
  } else if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      if (!place.file)
        read(part, place);
  }
}

Place Place::of(Location loc) {
  Place place;
  read(loc, place);
  // The jitted function is the program.
  if (StringRef(place.names).starts_with("jit(")) {
    size_t slash = place.names.find('/');
    place.names =
        slash == std::string::npos ? "" : place.names.substr(slash + 1);
  }
  return place;
}

Place Place::within(const Place &inner) const {
  std::string separator = names.empty() || inner.names.empty() ? "" : "/";
  return {names + separator + inner.names, inner.file ? inner.file : file};
}

Location Place::toLocation(MLIRContext *context) const {
  Location where = file ? Location(file) : UnknownLoc::get(context);
  if (names.empty())
    return where;
  return NameLoc::get(StringAttr::get(context, names), where);
}
