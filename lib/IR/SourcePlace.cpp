//===- SourcePlace.cpp - Where an op comes from ---------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/SourcePlace.h"

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

bool weft::isDerived(Location loc, StringRef phrase) {
  auto fused = dyn_cast<FusedLoc>(loc);
  StringAttr found = fused ? phraseOf(fused) : StringAttr();
  return found && found == phrase;
}

bool weft::isPartlyDerived(Location loc, StringRef phrase) {
  bool found = false;
  loc->walk([&](Location part) {
    found = isDerived(part, phrase);
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
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

Location weft::ofParameter(Location loc) {
  MLIRContext *context = loc.getContext();
  return FusedLoc::get({loc}, UnitAttr::get(context), context);
}

bool weft::isOfParameter(Location loc) {
  auto fused = dyn_cast<FusedLoc>(loc);
  return fused && isa_and_present<UnitAttr>(fused.getMetadata());
}

Location weft::inStage(Location loc, int64_t stage) {
  MLIRContext *context = loc.getContext();
  auto number = IntegerAttr::get(IntegerType::get(context, 64), stage);
  return FusedLoc::get({loc}, number, context);
}

SmallVector<int64_t, 1> weft::stagesIn(Location loc) {
  SmallVector<int64_t, 1> stages;
  loc->walk([&](Location part) {
    auto fused = dyn_cast<FusedLoc>(part);
    auto number = fused ? dyn_cast_or_null<IntegerAttr>(fused.getMetadata())
                        : IntegerAttr();
    if (number && !llvm::is_contained(stages, number.getInt()))
      stages.push_back(number.getInt());
    return WalkResult::advance();
  });
  return stages;
}

std::string weft::placeOf(Location loc) {
  if (auto file = dyn_cast<FileLineColLoc>(loc))
    return (llvm::sys::path::filename(file.getFilename()) + ":" +
            Twine(file.getLine()))
        .str();
  if (auto name = dyn_cast<NameLoc>(loc)) {
    std::string place = placeOf(name.getChildLoc());
    return place.empty() ? name.getName().str()
                         : name.getName().str() + ", " + place;
  }
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return placeOf(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (std::string place = placeOf(part); !place.empty())
        return phraseOf(fused) ? phraseOf(fused).str() + " " + place : place;
  return {};
}
