//===- ConvolutionDims.cpp - Layouts of convolutions ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConvolutionDims.h"
#include "Scanner.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace weft::stablehlo;

/// Reads `[b, 0, 1, f]`: where `first`, the numbers and `last` are. Kernels
/// have the numbers in front.
static std::optional<Dims> readLayout(Scanner &scanner, StringRef first,
                                      StringRef last, bool isKernel) {
  SmallVector<StringRef> words;
  if (!scanner.consume("["))
    return std::nullopt;
  do {
    std::optional<StringRef> word = scanner.word();
    if (!word)
      return std::nullopt;
    words.push_back(*word);
  } while (scanner.consume(","));
  if (!scanner.consume("]") || words.size() < 2)
    return std::nullopt;
  SmallVector<std::string> order;
  for (size_t i = 0; i + 2 < words.size(); ++i)
    order.push_back(std::to_string(i));
  order.insert(isKernel ? order.end() : order.begin(), first.str());
  order.push_back(last.str());
  Dims dims;
  for (const std::string &name : order) {
    auto found = llvm::find(words, name);
    if (found == words.end())
      return std::nullopt;
    dims.push_back(found - words.begin());
  }
  return dims;
}

std::optional<ConvolutionDims>
weft::stablehlo::readConvolutionDims(Attribute attr) {
  auto opaque = dyn_cast_or_null<OpaqueAttr>(attr);
  if (!opaque || opaque.getDialectNamespace() != "stablehlo")
    return std::nullopt;
  Scanner scanner(opaque.getAttrData());
  if (!scanner.consume("conv") || !scanner.consume("<"))
    return std::nullopt;
  auto lhs = readLayout(scanner, "b", "f", /*isKernel=*/false);
  if (!lhs || !scanner.consume("x"))
    return std::nullopt;
  auto kernel = readLayout(scanner, "i", "o", /*isKernel=*/true);
  if (!kernel || !scanner.consume("->"))
    return std::nullopt;
  auto result = readLayout(scanner, "b", "f", /*isKernel=*/false);
  if (!result || !scanner.consume(">") || !scanner.atEnd())
    return std::nullopt;
  return ConvolutionDims{*lhs, *kernel, *result};
}
