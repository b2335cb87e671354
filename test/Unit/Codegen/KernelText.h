//===- KernelText.h - MLIR text of kernels for tests ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes linalg ops as text, so that a test reads like the kernel it compiles.
// Arguments of a function are %0, %1, ...; operands of an element-wise body are
// %a0, %a1, ...

#ifndef WEFT_TEST_UNIT_CODEGEN_KERNELTEXT_H
#define WEFT_TEST_UNIT_CODEGEN_KERNELTEXT_H

#include "KernelRunner.h"

#include <cmath>
#include <cstring>
#include <random>

namespace weft::test {

using Names = std::vector<std::string>;

inline std::string tensor(const std::vector<int64_t> &shape,
                          const std::string &element) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + element + ">";
}

inline std::string elementOf(const std::string &tensor) {
  size_t start = tensor.find_last_of("<x") + 1;
  return tensor.substr(start, tensor.size() - start - 1);
}

inline int rankOf(const std::string &tensor) {
  return std::count(tensor.begin(), tensor.end(), 'x');
}

inline std::string join(const Names &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

inline std::string function(const std::string &name, const Names &arguments,
                            const Names &results, const std::string &body,
                            const Names &returned) {
  Names parameters;
  for (size_t i = 0; i < arguments.size(); ++i)
    parameters.push_back("%" + std::to_string(i) + ": " + arguments[i]);
  return "func.func private @" + name + "(" + join(parameters) + ") -> (" +
         join(results) + ") {\n" + body + "return " + join(returned) + " : " +
         join(results) + "\n}\n";
}

inline std::string splat(const std::string &result, const std::string &value,
                         const std::string &type) {
  return result + " = arith.constant dense<" + value + "> : " + type + "\n";
}

/// linalg.generic with the given maps; `body` defines the yielded value last.
inline std::string generic(const std::string &result, const Names &inputs,
                           const Names &types, const std::string &init,
                           const std::string &type, const Names &maps,
                           const Names &iterators, const std::string &body,
                           const std::string &yielded) {
  Names quoted, parameters;
  for (const std::string &iterator : iterators)
    quoted.push_back('"' + iterator + '"');
  for (size_t i = 0; i < types.size(); ++i)
    parameters.push_back("%a" + std::to_string(i) + ": " + elementOf(types[i]));
  parameters.push_back("%acc: " + elementOf(type));
  std::string ins =
      inputs.empty() ? "" : "ins(" + join(inputs) + " : " + join(types) + ") ";
  return result + " = linalg.generic {indexing_maps = [" + join(maps) +
         "], iterator_types = [" + join(quoted) + "]} " + ins + "outs(" + init +
         " : " + type + ") {\n  ^bb0(" + join(parameters) + "):\n" + body +
         "\n  linalg.yield " + yielded + " : " + elementOf(type) + "\n} -> " +
         type + "\n";
}

inline std::string identityMap(int rank) {
  const char *maps[] = {"affine_map<() -> ()>", "#v", "#m", "#t"};
  return maps[rank];
}

/// The last operation of `expression` is written without its result.
inline std::string mixed(const std::string &result, const Names &inputs,
                         const Names &types, const std::string &type,
                         const std::string &expression) {
  std::string empty = result + "_e";
  int rank = rankOf(type);
  return empty + " = tensor.empty() : " + type + "\n" +
         generic(result, inputs, types, empty, type,
                 Names(inputs.size() + 1, identityMap(rank)),
                 Names(rank, "parallel"), "%r = " + expression, "%r");
}

/// `expression`: operations of the tensor's element type; the first is given
/// without result, a later one yields the value if it defines %z.
inline std::string elementwise(const std::string &result, const Names &inputs,
                               const std::string &type,
                               const std::string &expression) {
  std::string empty = result + "_e";
  int rank = rankOf(type);
  bool several = expression.find("%z =") != std::string::npos;
  return empty + " = tensor.empty() : " + type + "\n" +
         generic(result, inputs, Names(inputs.size(), type), empty, type,
                 Names(inputs.size() + 1, identityMap(rank)),
                 Names(rank, "parallel"),
                 "%r = " + expression + " : " + elementOf(type),
                 several ? "%z" : "%r");
}

/// The index of a dimension, as i32.
inline std::string generate(const std::string &result, const std::string &type,
                            const std::string &index) {
  std::string empty = result + "_e";
  return empty + " = tensor.empty() : " + type + "\n" +
         generic(result, {}, {}, empty, type, {identityMap(rankOf(type))},
                 Names(rankOf(type), "parallel"),
                 "%i = " + index +
                     " : index\n%r = arith.index_cast %i : index "
                     "to i32",
                 "%r");
}

/// Reads `input` through `map`: a broadcast or a transpose.
inline std::string broadcast(const std::string &result,
                             const std::string &input,
                             const std::string &inputType,
                             const std::string &type, const std::string &map) {
  std::string empty = result + "_e";
  return empty + " = tensor.empty() : " + type + "\n" +
         generic(result, {input}, {inputType}, empty, type,
                 {"affine_map<" + map + ">", identityMap(rankOf(type))},
                 Names(rankOf(type), "parallel"), "", "%a0");
}

inline std::string reduce(const std::string &result, const std::string &input,
                          const std::string &inputType, const std::string &type,
                          const std::string &map, const Names &iterators,
                          const std::string &combiner,
                          const std::string &init) {
  std::string init0 = result + "_i";
  return splat(init0, init, type) +
         generic(result, {input}, {inputType}, init0, type,
                 {identityMap(iterators.size()), "affine_map<" + map + ">"},
                 iterators,
                 "%r = " + combiner + " %a0, %acc : " + elementOf(type), "%r");
}

inline std::vector<float> randomFloats(size_t count, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> numbers(-3, 3);
  std::vector<float> values(count);
  for (float &value : values)
    value = numbers(random);
  return values;
}

inline float fromBf16(uint16_t value) {
  uint32_t bits = uint32_t(value) << 16;
  float result;
  std::memcpy(&result, &bits, 4);
  return result;
}

/// Round to nearest, ties to even; not for NaN.
inline uint16_t toBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

inline float fromHalf(uint16_t value) {
  int exponent = value >> 10 & 31, mantissa = value & 1023;
  float magnitude = exponent == 0 ? std::ldexp(mantissa, -24)
                    : exponent != 31
                        ? std::ldexp(mantissa + 1024, exponent - 25)
                    : mantissa == 0 ? INFINITY
                                    : NAN;
  return value >> 15 ? -magnitude : magnitude;
}

/// Round to nearest, ties to even; not for NaN.
inline uint16_t toHalf(float value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  float magnitude = std::abs(value);
  if (magnitude >= 65520)
    return sign | 0x7c00;
  // In units of the last place, of which subnormal numbers have the smallest.
  int exponent = magnitude < 0x1p-14f ? -14 : std::ilogb(magnitude);
  auto units = int(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  return sign | (((exponent + 14) << 10) + units);
}

} // namespace weft::test

#endif // WEFT_TEST_UNIT_CODEGEN_KERNELTEXT_H
