//===- Signature.cpp - Arguments and results of a program -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Signature.h"
#include "Conversion.h"
#include "Donation.h"
#include "UserLocation.h"

#include "weft/IR/ValueSharding.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// A name with the characters that a name of a graph must not hold written as
/// in URLs, `%3D`: so that different names stay different, and that what made
/// the program can read its own again.
static std::string escape(StringRef name) {
  std::string text;
  for (auto [i, c] : llvm::enumerate(name.bytes())) {
    bool isReserved = c < 0x20 || c == 0x7f || c == '=' || c == '%' ||
                      (i == 0 && name == "__metadata__");
    if (isReserved)
      text += llvm::formatv("%{0:X-2}", static_cast<unsigned>(c)).str();
    else
      text += static_cast<char>(c);
  }
  return text;
}

/// A name that none of `taken` has; `fallback` if it has no characters.
static std::string makeUnique(StringRef name, const Twine &fallback,
                              llvm::StringSet<> &taken) {
  std::string unique = name.empty() ? fallback.str() : escape(name);
  while (!taken.insert(unique).second)
    unique += "'";
  return unique;
}

static SmallVector<std::string> argumentNames(func::FuncOp source) {
  SmallVector<std::string> names;
  for (BlockArgument argument : source.getArguments()) {
    std::string name = UserLocation::of(argument.getLoc()).names;
    auto index = argument.getArgNumber();
    // Without locations, the result that the argument becomes has the path.
    auto alias =
        source.getArgAttrOfType<IntegerAttr>(index, "tf.aliasing_output");
    if (name.empty() && alias && alias.getValue().ult(source.getNumResults()))
      if (auto info = source.getResultAttrOfType<StringAttr>(
              alias.getValue().getZExtValue(), "jax.result_info"))
        name = info.str();
    names.push_back(name);
  }
  return names;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// Attributes of arguments and results that are read, or say nothing about
/// values.
static bool isKnown(StringRef name) {
  return name == "sdy.sharding" || name == "tf.aliasing_output" ||
         name == "mhlo.layout_mode" || name.starts_with("jax.") ||
         name == "mhlo.is_same_data_across_replicas";
}

/// The sharding among the attributes of an argument or result; the others are
/// noted.
static ShardingAttr readAttributes(Location loc, DictionaryAttr attrs,
                                   Meshes &meshes, Problems &problems) {
  ShardingAttr sharding;
  if (!attrs)
    return sharding;
  for (NamedAttribute attr : attrs) {
    StringRef name = attr.getName();
    if (name == "sdy.sharding")
      sharding = meshes.convert(loc, attr.getValue());
    else if (name == "mhlo.sharding" || name == "mhlo.frontend_attributes")
      problems.malformed(loc, name + ": shardings without names of axes; lower "
                                     "again with JAX 0.8 or later, and with "
                                     "jax_use_shardy_partitioner");
    else if (!isKnown(name))
      problems.ignored(loc,
                       "attribute \"" + name + "\" of arguments and results");
  }
  return sharding;
}

/// `@train_step` for the main function of the module @jit_train_step.
static std::string functionName(func::FuncOp source) {
  auto module = source->getParentOfType<ModuleOp>();
  StringRef moduleName = module.getSymName().value_or("");
  if (source.getSymName() == "main" && moduleName.consume_front("jit_") &&
      !moduleName.empty())
    return moduleName.str();
  return source.getSymName().str();
}

static FunctionType importType(func::FuncOp source, Problems &problems) {
  bool isLegal = true;
  auto convert = [&](Type type, Location loc, const Twine &what) -> Type {
    std::string why;
    RankedTensorType converted = convertType(type, why);
    if (!converted)
      problems.malformed(loc, what + " has " + why);
    isLegal &= static_cast<bool>(converted);
    return converted;
  };
  SmallVector<Type> inputs, results;
  for (BlockArgument argument : source.getArguments())
    inputs.push_back(convert(argument.getType(), argument.getLoc(),
                             "argument " + Twine(argument.getArgNumber())));
  for (auto [index, type] : llvm::enumerate(source.getResultTypes()))
    results.push_back(convert(type, source.getLoc(), "result " + Twine(index)));
  return isLegal ? FunctionType::get(source.getContext(), inputs, results)
                 : FunctionType();
}

/// JAX says of the return of a program where it was called, and of the program
/// nothing.
static Location locationOf(func::FuncOp source) {
  UserLocation location = UserLocation::of(source.getLoc());
  Block &body = source.front();
  if (!location.file && !body.empty())
    location.file = UserLocation::of(body.back().getLoc()).file;
  return location.toLocation(source.getContext());
}

/// Takes back what cannot be: a value that is replaced in its place has one
/// sharding.
static void
dropUnusableDonations(MutableArrayRef<std::optional<unsigned>> donors,
                      ArrayRef<std::string> names,
                      ArrayRef<ShardingAttr> arguments,
                      ArrayRef<ShardingAttr> results, func::FuncOp source,
                      Meshes &meshes, Problems &problems) {
  for (auto [result, donor] : llvm::enumerate(donors)) {
    if (!donor || !arguments[*donor] || !results[result] ||
        arguments[*donor] == results[result])
      continue;
    auto info =
        source.getResultAttrOfType<StringAttr>(result, "jax.result_info");
    problems.warning(
        locationOf(source),
        "\"" + names[*donor] + "\" is donated, but cannot be replaced by \"" +
            (info ? info.getValue() : StringRef("result")) +
            "\": it is sharded as " + meshes.describe(arguments[*donor]) +
            ", the result as " + meshes.describe(results[result]) +
            "; give both one sharding, or do not donate it");
    donor.reset();
  }
}

func::FuncOp weft::stablehlo::importSignature(func::FuncOp source,
                                              OpBuilder &builder,
                                              Meshes &meshes,
                                              Problems &problems) {
  FunctionType type = importType(source, problems);
  if (!type)
    return {};
  auto function = func::FuncOp::create(builder, locationOf(source),
                                       functionName(source), type);
  Block *entry = function.addEntryBlock();

  SmallVector<std::string> paths = argumentNames(source);
  SmallVector<std::string> names;
  SmallVector<ShardingAttr> shardings, resultShardings;
  llvm::StringSet<> taken;
  for (BlockArgument argument : entry->getArguments()) {
    unsigned i = argument.getArgNumber();
    names.push_back(makeUnique(paths[i], "arg" + Twine(i), taken));
    auto name = builder.getStringAttr(names.back());
    argument.setLoc(NameLoc::get(name));
    function.setArgAttr(i, WeftDialect::kNameAttrName, name);
    shardings.push_back(readAttributes(source.getArgument(i).getLoc(),
                                       source.getArgAttrDict(i), meshes,
                                       problems));
    if (shardings.back())
      setSharding(argument, shardings.back());
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    resultShardings.push_back(readAttributes(
        source.getLoc(), source.getResultAttrDict(i), meshes, problems));
    if (resultShardings.back())
      setResultSharding(function, i, resultShardings.back());
  }

  SmallVector<std::optional<unsigned>> donors =
      matchDonations(source, paths, problems);
  dropUnusableDonations(donors, names, shardings, resultShardings, source,
                        meshes, problems);
  // Only what is an argument's next value has its name.
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto info = source.getResultAttrOfType<StringAttr>(i, "jax.result_info");
    std::string name = donors[i] ? names[*donors[i]]
                                 : makeUnique(info ? info.getValue() : "",
                                              "result" + Twine(i), taken);
    function.setResultAttr(i, WeftDialect::kNameAttrName,
                           builder.getStringAttr(name));
  }
  return function;
}
