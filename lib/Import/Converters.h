//===- Converters.h - The converter of every op -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table for each file of converters. Every op has one entry, with the
// attributes that its converter reads or that say nothing about values.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IMPORT_CONVERTERS_H
#define WEFT_LIB_IMPORT_CONVERTERS_H

#include "Conversion.h"

#include <functional>
#include <vector>

namespace weft::stablehlo {

struct Converter {
  llvm::StringRef op;
  std::function<Values(Conversion &)> convert;
  std::vector<llvm::StringRef> attributes = {};
  /// Whether it is called although an operand could not be made, because its
  /// other results do not depend on that.
  bool takesNull = false;
};

/// Makes a converter of a function that returns the only result.
template <typename Function>
std::function<Values(Conversion &)> single(Function convert) {
  return [convert](Conversion &c) -> Values { return {convert(c)}; };
}

std::vector<Converter> elementwiseConverters();
std::vector<Converter> conversionConverters();
std::vector<Converter> bitConverters();
std::vector<Converter> dimensionConverters();
std::vector<Converter> reductionConverters();
std::vector<Converter> indexingConverters();
std::vector<Converter> orderConverters();
std::vector<Converter> specialConverters();
std::vector<Converter> controlFlowConverters();
std::vector<Converter> loopConverters();
std::vector<Converter> shardingConverters();
std::vector<Converter> windowConverters();

/// The converter of the op of that name; null if there is none.
const Converter *findConverter(llvm::StringRef op);
/// Why there is none, as a sentence that follows "op: ".
std::string explainMissing(llvm::StringRef op);

} // namespace weft::stablehlo

#endif // WEFT_LIB_IMPORT_CONVERTERS_H
