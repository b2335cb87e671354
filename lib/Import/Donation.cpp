//===- Donation.cpp - Which result replaces an argument -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Donation.h"
#include "Attributes.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace weft::stablehlo;

/// The number of characters of the longest common end that starts at an element
/// of a path.
static size_t commonEndOf(StringRef a, StringRef b) {
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

/// The same of the name of an argument, which is an element as well, and the
/// path of a result: 11 for state['mu']['w'] and result[0]['mu']['w'], and 5
/// for w and result['w'].
static size_t commonEnd(StringRef name, StringRef path) {
  size_t root = std::min(name.find_first_of("[."), name.size());
  std::string key = ("['" + name.take_front(root) + "']").str(),
              field = ("." + name.take_front(root)).str();
  std::string rest = name.drop_front(root).str();
  return std::max(commonEndOf(key + rest, path),
                  commonEndOf(field + rest, path));
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
    matchAliasesByName();
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

  /// The length of what a result's path has in common with an argument's name.
  size_t likeness(unsigned argument, unsigned result) {
    auto info =
        source.getResultAttrOfType<StringAttr>(result, "jax.result_info");
    return info ? commonEnd(names[argument], info.getValue()) : 0;
  }

  /// JAX pairs those of one type and sharding in their order, whatever they
  /// are. Pairs whose names have most in common come first.
  void matchAliasesByName() {
    llvm::MapVector<std::tuple<Type, Attribute, Attribute>,
                    SmallVector<unsigned>>
        classes;
    for (unsigned result = 0; result < donors.size(); ++result)
      if (donors[result])
        classes[{source.getResultTypes()[result],
                 source.getArgAttr(*donors[result], "sdy.sharding"),
                 source.getResultAttr(result, "sdy.sharding")}]
            .push_back(result);
    for (auto &[key, results] : classes) {
      using Pair = std::tuple<size_t, bool, unsigned, unsigned>;
      SmallVector<Pair> pairs;
      for (unsigned result : results)
        for (unsigned other : results)
          pairs.push_back({likeness(*donors[other], result), result == other,
                           result, *donors[other]});
      llvm::stable_sort(pairs, [](const Pair &a, const Pair &b) {
        return std::pair(std::get<0>(a), std::get<1>(a)) >
               std::pair(std::get<0>(b), std::get<1>(b));
      });
      for (unsigned result : results)
        donors[result].reset();
      llvm::DenseSet<unsigned> taken;
      for (auto [length, isOfJax, result, argument] : pairs)
        if (!donors[result] && taken.insert(argument).second)
          donors[result] = argument;
    }
  }

  std::optional<unsigned> findResult(unsigned argument) {
    std::optional<unsigned> found;
    size_t longest = 0;
    for (unsigned result = 0; result < source.getNumResults(); ++result) {
      if (donors[result] || !haveOneType(argument, result))
        continue;
      size_t length = likeness(argument, result);
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
