//===- PtxKernel.h - A kernel that a test runs ------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   PtxKernel kernel(".visible .entry f(.param .u64 x) { ... }", "f");
//   std::vector<float> x(32);
//   kernel.run({.grid = {1}, .block = {32}}, x);
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_TEST_PTXKERNEL_H
#define WEFT_EMULATOR_TEST_PTXKERNEL_H

#include "ptx/Error.h"
#include "ptx/Grid.h"
#include "ptx/Parser.h"
#include "ptx/Translator.h"

#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace weft::emulator {

class PtxKernel {
public:
  struct Shape {
    Extent grid, block;
    uint32_t dynamicShared = 0;
    uint64_t operationLimit = 1 << 24;
  };

  /// `text` may do without `.version` and `.target`.
  PtxKernel(const std::string &text, const std::string &name);

  /// Runs the kernel; vectors are memory that it may touch and become their
  /// address, other arguments are passed as they are. Returns the number of
  /// operations executed.
  template <typename... Arguments>
  uint64_t run(const Shape &shape, Arguments &&...arguments) {
    ranges.clear();
    parameters.clear();
    (add(arguments), ...);
    return launch(shape);
  }

  RunOptions options;
  const Program &code() const { return program; }

private:
  template <typename T> void add(std::vector<T> &memory) {
    auto begin = reinterpret_cast<uint64_t>(memory.data());
    Range range;
    range.begin = begin;
    range.end = begin + memory.size() * sizeof(T);
    range.storage = reinterpret_cast<std::byte *>(memory.data());
    ranges.push_back(range);
    add(begin);
  }
  template <typename T> void add(const T &value) {
    auto *bytes = reinterpret_cast<const std::byte *>(&value);
    parameters.emplace_back(bytes, bytes + sizeof(T));
  }
  uint64_t launch(const Shape &shape);

  Program program;
  /// The module's variables.
  std::map<std::string, std::vector<std::byte>> variables;
  std::vector<Range> ranges;
  std::vector<std::vector<std::byte>> parameters;
};

/// A kernel `f` of one block of 32 threads: each computes `body` from %a, an
/// element of each of the inputs, and stores %d. Registers %r<9>, %s<9> (16
/// bits), %l<9> (64 bits), %f<9>, %g<9> (f64) and %p<9> are there.
///
///   map<float>(".f32", "neg.f32 %d, %a;", {1, 2}) is {-1, -2}
std::string mapKernel(const std::string &inputType,
                      const std::string &resultType, const std::string &body,
                      int inputs);

template <typename Result, typename Input>
std::vector<Result> map(const std::string &inputType,
                        const std::string &resultType, const std::string &body,
                        std::vector<Input> a, std::vector<Input> b = {},
                        std::vector<Input> c = {}) {
  PtxKernel kernel(mapKernel(inputType, resultType, body,
                             c.size()   ? 3
                             : b.size() ? 2
                                        : 1),
                   "f");
  std::vector<Result> result(a.size());
  PtxKernel::Shape shape{{1}, {static_cast<uint32_t>(a.size())}};
  b.resize(a.size());
  c.resize(a.size());
  kernel.run(shape, a, b, c, result);
  return result;
}

inline std::vector<uint32_t> u32(const std::string &body,
                                 std::vector<uint32_t> a,
                                 std::vector<uint32_t> b = {},
                                 std::vector<uint32_t> c = {}) {
  return map<uint32_t>("b32", "b32", body, a, b, c);
}

} // namespace weft::emulator

#endif // WEFT_EMULATOR_TEST_PTXKERNEL_H
