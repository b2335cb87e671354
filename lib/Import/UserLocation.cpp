//===- UserLocation.cpp - Locations in the user's source files ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UserLocation.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace weft::stablehlo;

static void read(Location loc, UserLocation &location) {
  if (auto file = dyn_cast<FileLineColRange>(loc)) {
    // A range of columns says no more to a reader than its start.
    location.file = FileLineColLoc::get(file.getFilename(), file.getStartLine(),
                                        file.getStartColumn());
  } else if (auto name = dyn_cast<NameLoc>(loc)) {
    // `reduce_sum:` is the label of an op; the stack of names comes below it,
    // and names of Python functions below that.
    if (location.names.empty() && !name.getName().getValue().ends_with(":"))
      location.names = name.getName().str();
    read(name.getChildLoc(), location);
  } else if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    read(call.getCallee(), location);
  } else if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      if (!location.file)
        read(part, location);
  }
}

UserLocation UserLocation::of(Location loc) {
  UserLocation location;
  read(loc, location);
  // The jitted function is the program.
  if (StringRef(location.names).starts_with("jit(")) {
    size_t slash = location.names.find('/');
    location.names =
        slash == std::string::npos ? "" : location.names.substr(slash + 1);
  }
  return location;
}

UserLocation UserLocation::within(const UserLocation &inner) const {
  std::string separator = names.empty() || inner.names.empty() ? "" : "/";
  return {names + separator + inner.names, inner.file ? inner.file : file};
}

Location UserLocation::toLocation(MLIRContext *context) const {
  Location where = file ? Location(file) : UnknownLoc::get(context);
  if (names.empty())
    return where;
  return NameLoc::get(StringAttr::get(context, names), where);
}
