//===- SourceLocation.cpp - Where an op comes from ------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/SourceLocation.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/Support/Path.h"

using namespace mlir;

Location weft::derivedFrom(Location loc, StringRef phrase) {
  MLIRContext *context = loc.getContext();
  return FusedLoc::get({loc}, StringAttr::get(context, phrase), context);
}

/// The phrase of a derived location, else null.
static StringAttr phraseOf(FusedLoc loc) {
  return dyn_cast_or_null<StringAttr>(loc.getMetadata());
}

Location weft::named(Location loc, StringRef name) {
  return NameLoc::get(StringAttr::get(loc.getContext(), name), loc);
}

StringRef weft::nameIn(Location loc) {
  auto named = dyn_cast<NameLoc>(loc);
  return named ? named.getName().getValue() : StringRef();
}

Location weft::withoutGradientName(Location loc) {
  auto named = dyn_cast<NameLoc>(loc);
  bool isGradient = named && nameIn(loc).starts_with(kGradientOf);
  return isGradient ? named.getChildLoc() : loc;
}

Location weft::fusedLocation(ArrayRef<Location> parts,
                             ArrayRef<Location> results, MLIRContext *context) {
  SmallVector<Attribute> ofResults(results.begin(), results.end());
  return FusedLoc::get(parts, ArrayAttr::get(context, ofResults), context);
}

Location weft::locationOf(Value value) {
  auto result = dyn_cast<OpResult>(value);
  auto fused = result ? dyn_cast<FusedLoc>(value.getLoc()) : FusedLoc();
  auto results =
      fused ? dyn_cast_or_null<ArrayAttr>(fused.getMetadata()) : ArrayAttr();
  if (!results || results.size() != result.getOwner()->getNumResults())
    return value.getLoc();
  return cast<LocationAttr>(results[result.getResultNumber()]);
}

std::string weft::locationText(Location loc) {
  if (auto file = dyn_cast<FileLineColLoc>(loc))
    return (llvm::sys::path::filename(file.getFilename()) + ":" +
            Twine(file.getLine()))
        .str();
  if (auto name = dyn_cast<NameLoc>(loc)) {
    std::string text = locationText(name.getChildLoc());
    return text.empty() ? name.getName().str()
                        : name.getName().str() + ", " + text;
  }
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return locationText(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (std::string text = locationText(part); !text.empty())
        return phraseOf(fused) ? phraseOf(fused).str() + " " + text : text;
  return {};
}

std::string weft::lineOf(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return lineOf(name.getChildLoc());
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return lineOf(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      if (std::string text = lineOf(part); !text.empty())
        return text;
    return {};
  }
  return locationText(loc);
}
