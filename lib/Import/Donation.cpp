//===- Donation.cpp - Which result replaces an argument -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Donation.h"
#include "Attributes.h"
#include "TrainingFacts.h"

#include "weft/IR/ValueSharding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace weft::stablehlo;

/// The number of characters of the longest common end that starts at an element
/// of a path: 14 for state['mu']['w'] and result[0]['mu']['w'].
static size_t commonEnd(StringRef a, StringRef b) {
  size_t length = 0, best = 0;
  while (length < a.size() && length < b.size() &&
         a[a.size() - 1 - length] == b[b.size() - 1 - length]) {
    ++length;
    char first = a[a.size() - length];
    if (first == '[' || first == '.')
      best = length;
  }
  return best;
}

namespace {
class Matcher {
public:
  Matcher(func::FuncOp source, ArrayRef<std::string> names, Problems &problems)
      : source(source), names(names), problems(problems),
        donors(source.getNumResults()) {}

  SmallVector<std::optional<unsigned>> match() {
    for (unsigned i = 0; i < source.getNumArguments(); ++i)
      if (Attribute alias = source.getArgAttr(i, "tf.aliasing_output"))
        setAlias(i, alias);
    for (unsigned i = 0; i < source.getNumArguments(); ++i)
      if (auto donor = source.getArgAttrOfType<BoolAttr>(i, "jax.buffer_donor");
          donor && donor.getValue())
        if (std::optional<unsigned> result = findResult(i))
          donors[*result] = i;
    return donors;
  }

private:
  bool haveOneType(unsigned argument, unsigned result) {
    return source.getArgumentTypes()[argument] ==
           source.getResultTypes()[result];
  }

  void setAlias(unsigned argument, Attribute alias) {
    std::optional<int64_t> result = readInteger(alias);
    auto complain = [&](const Twine &why) {
      problems.malformed(source.getArgument(argument).getLoc(),
                         "tf.aliasing_output of argument " + Twine(argument) +
                             ": " + why);
    };
    if (!result || *result < 0 || *result >= source.getNumResults())
      complain("it names no result");
    else if (donors[*result])
      complain("argument " + Twine(*donors[*result]) + " has that result");
    else if (!haveOneType(argument, *result))
      complain("the result has another type");
    else
      donors[*result] = argument;
  }

  std::optional<unsigned> findResult(unsigned argument) {
    std::optional<unsigned> found;
    size_t longest = 0;
    for (unsigned result = 0; result < source.getNumResults(); ++result) {
      auto info =
          source.getResultAttrOfType<StringAttr>(result, "jax.result_info");
      if (donors[result] || !info || !haveOneType(argument, result))
        continue;
      size_t length = commonEnd(names[argument], info.getValue());
      if (length > longest) {
        found = result;
        longest = length;
      }
    }
    return found;
  }

  func::FuncOp source;
  ArrayRef<std::string> names;
  Problems &problems;
  SmallVector<std::optional<unsigned>> donors;
};
} // namespace

SmallVector<std::optional<unsigned>> weft::stablehlo::matchDonations(
    func::FuncOp source, ArrayRef<std::string> names, Problems &problems) {
  return Matcher(source, names, problems).match();
}

//===----------------------------------------------------------------------===//
// By use
//===----------------------------------------------------------------------===//

/// Whether a value keeps the place of its next value in a sum: `m` does in
/// `0.9 * m + sin(p)`, and `p` does not.
static bool isLinear(Operation *op) {
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
             arith::NegFOp, arith::ExtFOp, arith::TruncFOp, arith::SelectOp,
             ConstraintOp, MicrobatchSumOp>(op);
}

/// The arguments that a value is computed of by such ops, element by element.
static DenseSet<Value> findSources(Value value,
                                   function_ref<bool(Operation *)> isPassed) {
  DenseSet<Value> sources, visited;
  SmallVector<Value> toVisit = {value};
  auto shape = cast<RankedTensorType>(value.getType()).getShape();
  while (!toVisit.empty()) {
    Value next = toVisit.pop_back_val();
    if (!visited.insert(next).second ||
        cast<RankedTensorType>(next.getType()).getShape() != shape)
      continue;
    Operation *op = next.getDefiningOp();
    if (!op)
      sources.insert(next);
    else if (isPassed(op))
      llvm::append_range(toVisit, op->getOperands());
  }
  return sources;
}

namespace {
/// Arguments of one type and sharding, and the results that replace them.
class DonationClass {
public:
  /// Numbers of a pair that JAX has made.
  void add(unsigned argument, unsigned result) {
    arguments.push_back(argument);
    results.push_back(result);
  }

  /// For each result the number of its argument; nothing where there is no
  /// choice.
  std::optional<SmallVector<unsigned>> match(func::FuncOp source,
                                             func::FuncOp function);
  SmallVector<unsigned> arguments, results;

private:
  bool assign(unsigned result, SmallVectorImpl<bool> &isTried);

  /// By result those of `arguments` that it may replace, the best first.
  SmallVector<SmallVector<unsigned>> choices;
  /// By argument the result that replaces it.
  SmallVector<std::optional<unsigned>> takenBy;
};
} // namespace

/// Gives a result one of its choices; those that have it take another one.
bool DonationClass::assign(unsigned result, SmallVectorImpl<bool> &isTried) {
  for (unsigned argument : choices[result]) {
    if (std::exchange(isTried[argument], true))
      continue;
    if (takenBy[argument] && !assign(*takenBy[argument], isTried))
      continue;
    takenBy[argument] = result;
    return true;
  }
  return false;
}

std::optional<SmallVector<unsigned>>
DonationClass::match(func::FuncOp source, func::FuncOp function) {
  if (results.size() < 2)
    return std::nullopt;
  Operation *terminator = function.front().getTerminator();
  choices.resize(results.size());
  takenBy.resize(arguments.size());
  for (unsigned r = 0; r < results.size(); ++r) {
    auto info =
        source.getResultAttrOfType<StringAttr>(results[r], "jax.result_info");
    auto nameOf = [&](unsigned a) {
      return function
          .getArgAttrOfType<StringAttr>(arguments[a],
                                        WeftDialect::kNameAttrName)
          .getValue();
    };
    for (auto isPassed : {isLinear, isElementwise}) {
      DenseSet<Value> sources =
          findSources(terminator->getOperand(results[r]), isPassed);
      for (unsigned a = 0; a < arguments.size(); ++a)
        if (sources.contains(function.getArgument(arguments[a])))
          choices[r].push_back(a);
      if (!choices[r].empty())
        break;
    }
    if (choices[r].empty())
      choices[r] = llvm::to_vector(llvm::seq<unsigned>(0, arguments.size()));
    llvm::stable_sort(choices[r], [&](unsigned a, unsigned b) {
      auto order = [&](unsigned each) {
        size_t length = info ? commonEnd(nameOf(each), info.getValue()) : 0;
        return std::pair(length, each == r);
      };
      return order(a) > order(b);
    });
  }
  for (unsigned r = 0; r < results.size(); ++r) {
    SmallVector<bool> isTried(arguments.size());
    if (!assign(r, isTried))
      return std::nullopt;
  }
  SmallVector<unsigned> found(results.size());
  for (auto [a, result] : llvm::enumerate(takenBy))
    found[*result] = arguments[a];
  return found;
}

void weft::stablehlo::matchDonationsByUse(func::FuncOp source,
                                          func::FuncOp function) {
  auto nameOfArgument = [&](unsigned i) {
    return function.getArgAttrOfType<StringAttr>(i, WeftDialect::kNameAttrName);
  };
  llvm::StringMap<unsigned> byName;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    byName[nameOfArgument(i).getValue()] = i;
  llvm::MapVector<std::tuple<Type, ShardingAttr, ShardingAttr>, DonationClass>
      classes;
  for (unsigned r = 0; r < function.getNumResults(); ++r) {
    auto name =
        function.getResultAttrOfType<StringAttr>(r, WeftDialect::kNameAttrName);
    if (auto found = byName.find(name.getValue()); found != byName.end())
      classes[{function.getResultTypes()[r],
               getSharding(function.getArgument(found->second)),
               getResultSharding(function, r)}]
          .add(found->second, r);
  }
  for (auto &[key, donations] : classes) {
    auto found = donations.match(source, function);
    if (!found)
      continue;
    for (auto [result, argument] : llvm::zip_equal(donations.results, *found))
      function.setResultAttr(result, WeftDialect::kNameAttrName,
                             nameOfArgument(argument));
  }
}
