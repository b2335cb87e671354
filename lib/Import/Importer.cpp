//===- Importer.cpp - Walks over a StableHLO program ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "ComplexNumbers.h"
#include "Converters.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

/// A loop that runs to the limit of an int32 would be unrolled for hours.
static constexpr int64_t kMaxOps = 1'000'000;

Importer::Importer(ModuleOp module, Problems &problems)
    : symbols(module), problems(problems), builder(module.getContext()),
      meshes(module, problems) {}

Location Importer::locationOf(Operation *op) {
  return callLocation.within(UserLocation::of(op->getLoc()))
      .toLocation(op->getContext());
}

void Importer::malformed(Operation *op, const Twine &what) {
  problems.malformed(locationOf(op),
                     op->getName().getStringRef() + " is malformed: " + what);
}

static std::string toString(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

std::optional<Values> Importer::lookUp(Operation &op) {
  Values operands;
  for (Value operand : op.getOperands()) {
    auto known = values.find(operand);
    // The regions of unknown ops may be in any order, says MLIR.
    if (known == values.end()) {
      malformed(&op, "operand " + Twine(operands.size()) +
                         " is used before it is defined");
      return std::nullopt;
    }
    operands.push_back(known->second);
  }
  return operands;
}

void Importer::define(Operation &op, Values results) {
  results.resize(op.getNumResults());
  for (auto [source, result] : llvm::zip_equal(op.getResults(), results))
    values[source] = result;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Attributes that any op may have.
static bool isCommonAttribute(StringRef name) {
  return name == "sdy.sharding" || name == "mhlo.sharding" ||
         name.starts_with("jax.");
}

/// Names the attributes that the converter did not look at.
static void noteAttributes(Operation &op, const Converter &converter,
                           Location loc, Problems &problems) {
  auto note = [&](NamedAttribute attr) {
    if (!isCommonAttribute(attr.getName()) &&
        !llvm::is_contained(converter.attributes, attr.getName().strref()))
      problems.ignored(loc, "attribute \"" + attr.getName().strref() +
                                "\" of " + op.getName().getStringRef());
  };
  for (NamedAttribute attr : op.getDiscardableAttrs())
    note(attr);
  if (op.isRegistered())
    return;
  if (auto properties =
          dyn_cast_or_null<DictionaryAttr>(op.getPropertiesAsAttribute()))
    for (NamedAttribute attr : properties)
      note(attr);
}

/// The results with the sharding that the op states of them.
static void constrainResults(Conversion &c, Values &results) {
  Attribute attr = c.getSource()->getAttr("sdy.sharding");
  if (!attr)
    return;
  std::optional<std::vector<ShardySharding>> shardings = readShardings(attr);
  if (!shardings || shardings->size() != results.size()) {
    c.malformedAttribute("sdy.sharding");
    return;
  }
  Meshes &meshes = c.getImporter().getMeshes();
  for (auto [result, written] : llvm::zip_equal(results, *shardings))
    if (ShardingAttr sharding = meshes.convert(c.loc, written);
        sharding && result)
      result = c.make<ConstraintOp>(result, sharding);
}

/// What is wrong with the results, after a converter that has not complained.
static void checkResults(Conversion &c, Values &results) {
  for (auto [index, result] : llvm::enumerate(results)) {
    if (!result) {
      // A result that depends on another problem is no news.
      if (!c.complaint().empty())
        c.malformed(c.complaint());
    } else if (result.getType() != c.type(index)) {
      c.malformed("result " + Twine(index) + " should be " +
                  toString(c.type(index)) + ", but its operands make it " +
                  toString(result.getType()));
      result = Value();
    }
  }
}

void Importer::importOp(Operation &op) {
  if (++numOps > kMaxOps) {
    if (!isTooLarge)
      problems.malformed(locationOf(&op),
                         "the program is too large: with loops unrolled it has "
                         "more than " +
                             Twine(kMaxOps) + " ops");
    isTooLarge = true;
    return;
  }
  std::optional<Values> operands = lookUp(op);
  if (!operands)
    return define(op, {});
  Location loc = locationOf(&op);
  StringRef name = op.getName().getStringRef();
  if (name == kUnreadable) {
    auto text = [&](StringRef attr) {
      auto value = op.getAttrOfType<StringAttr>(attr);
      return value ? value.getValue() : StringRef();
    };
    problems.unsupported(loc, text("op"), text("why"));
    return define(op, {});
  }
  const Converter *converter = findConverter(name);
  if (!converter) {
    problems.unsupported(loc, name, explainMissing(name));
    return define(op, {});
  }
  SmallVector<RankedTensorType, 1> types;
  for (Type type : op.getResultTypes()) {
    std::string why;
    types.push_back(convertType(type, why));
    if (!types.back()) {
      problems.unsupported(loc, name, why);
      return define(op, {});
    }
  }
  if (!types.empty() && llvm::all_of(types, isEmpty))
    return define(op, llvm::map_to_vector<1>(types, [&](RankedTensorType type) {
                    return emptyTensors.get(type, builder);
                  }));
  noteAttributes(op, *converter, loc, problems);
  if (llvm::is_contained(*operands, Value()) && !converter->takesNull)
    return define(op, {});

  Conversion c(*this, &op, *operands, types, builder, loc);
  // Control flow passes on what it is given.
  bool isWithout = !converter->takesNull && !types.empty() &&
                   llvm::any_of(*operands, [](Value operand) {
                     return isEmpty(typeOf(operand));
                   });
  Values results =
      isWithout ? convertWithoutElements(c) : converter->convert(c);
  if (c.hasFailed())
    return define(op, {});
  if (results.size() != op.getNumResults())
    c.malformed("it should have " + Twine(results.size()) + " results, got " +
                Twine(op.getNumResults()));
  else
    checkResults(c, results);
  if (!c.hasFailed())
    constrainResults(c, results);
  define(op, c.hasFailed() ? Values() : results);
}

/// It does not count: it is no part of what is unrolled.
void Importer::importAgain(Operation *op) {
  int64_t before = numOps;
  importOp(*op);
  numOps = before;
}

func::FuncOp Importer::calleeOf(Operation *op) const {
  auto callee = op->getAttrOfType<FlatSymbolRefAttr>("callee");
  if (!callee || op->getName().getStringRef() != "func.call")
    return {};
  auto function = symbols.lookup<func::FuncOp>(callee.getValue());
  bool isReadable = function && !function.isExternal() &&
                    llvm::hasSingleElement(function.getBody()) &&
                    function.getNumArguments() == op->getNumOperands() &&
                    function.getNumResults() == op->getNumResults() &&
                    !callStack.contains(function);
  return isReadable ? function : func::FuncOp();
}

//===----------------------------------------------------------------------===//
// Blocks and functions
//===----------------------------------------------------------------------===//

std::optional<Values> Importer::importBlock(Block &block,
                                            ArrayRef<Value> arguments,
                                            Operation *parent) {
  if (block.getNumArguments() != arguments.size()) {
    malformed(parent, "its region takes " + Twine(block.getNumArguments()) +
                          " values, but it has " + Twine(arguments.size()) +
                          " for it");
    return std::nullopt;
  }
  for (auto [source, value] :
       llvm::zip_equal(block.getArguments(), arguments)) {
    std::string why;
    RankedTensorType type = convertType(source.getType(), why);
    if (value && value.getType() != type) {
      malformed(parent, "argument " + Twine(source.getArgNumber()) +
                            " of its region has type " +
                            toString(source.getType()) + ", but the value is " +
                            toString(value.getType()));
      return std::nullopt;
    }
    values[source] = value;
  }
  static const llvm::StringSet<> terminators = {
      "func.return", "stablehlo.return", "sdy.return"};
  for (Operation &op : block) {
    if (isTooLarge)
      return std::nullopt;
    if (terminators.contains(op.getName().getStringRef()))
      return lookUp(op);
    importOp(op);
  }
  malformed(parent, "its region does not end with a return");
  return std::nullopt;
}

std::optional<Values> Importer::importRegion(Conversion &c, unsigned region,
                                             ArrayRef<Value> arguments) {
  Operation *op = c.getSource();
  if (region >= op->getNumRegions() ||
      !llvm::hasSingleElement(op->getRegion(region))) {
    c.malformed("region " + Twine(region) + " must have one block");
    return std::nullopt;
  }
  return importBlock(op->getRegion(region).front(), arguments, op);
}

std::optional<Values> Importer::importBody(func::FuncOp function,
                                           ArrayRef<Value> arguments) {
  if (!llvm::hasSingleElement(function.getBody())) {
    malformed(function, "@" + function.getSymName() + " must have one block");
    return std::nullopt;
  }
  callStack.insert(function);
  std::optional<Values> results =
      importBlock(function.getBody().front(), arguments, function);
  callStack.remove(function);
  return results;
}

Values Importer::importCall(Conversion &c, FlatSymbolRefAttr callee,
                            ArrayRef<Value> arguments) {
  func::FuncOp function =
      callee ? symbols.lookup<func::FuncOp>(callee.getValue()) : func::FuncOp();
  if (!function || function.isExternal()) {
    c.malformed("it calls no function of the program");
    return {};
  }
  if (callStack.contains(function)) {
    c.unsupported("@" + function.getSymName() + " calls itself");
    return {};
  }
  UserLocation outer = std::exchange(
      callLocation,
      callLocation.within(UserLocation::of(c.getSource()->getLoc())));
  std::optional<Values> results = importBody(function, arguments);
  callLocation = outer;
  if (results)
    return *results;
  return Values(c.getSource()->getNumResults());
}
