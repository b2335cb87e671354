//===- Donation.cpp - Which result replaces an argument -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Donation.h"
#include "Attributes.h"

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
