//===- GeneratorTest.cpp - What the random programs cover -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generator.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <map>
#include <set>

using namespace weft;
using namespace weft::test;
using testing::ElementsAre;
using testing::IsEmpty;

static constexpr uint64_t numPrograms = 2000;

static Program programOf(uint64_t seed) {
  Random random(seed);
  return generateProgram(random, hasWindows(seed));
}

/// Every sharding of the program with the shape of its value.
static std::vector<std::pair<sharding::Sharding, sharding::Shape>>
shardingsOf(const Program &program) {
  std::vector<std::pair<sharding::Sharding, sharding::Shape>> result;
  for (const auto *ports : {&program.arguments, &program.results})
    for (const Port &port : *ports)
      if (port.sharding)
        result.push_back({*port.sharding, program.values[port.value].shape});
  for (const Step &step : program.steps)
    if (step.constraint)
      result.push_back({*step.constraint, program.values[step.result].shape});
  return result;
}

TEST(Generator, GivesTheSameProgramForTheSameSeed) {
  EXPECT_EQ(programOf(17).print(), programOf(17).print());
  EXPECT_NE(programOf(17).print(), programOf(18).print());
}

TEST(Generator, DrawsLegalShardings) {
  int even = 0, uneven = 0;
  for (uint64_t seed = 1; seed <= numPrograms; ++seed) {
    const Program program = programOf(seed);
    for (const auto &[sharding, shape] : shardingsOf(program)) {
      EXPECT_THAT(checkSharding(program.mesh, sharding, shape.size()),
                  IsEmpty())
          << "seed " << seed;
      ++(localShape(shape, sharding) ? even : uneven);
      for (size_t dim = 0; dim < shape.size(); ++dim)
        EXPECT_LE(numShards(sharding.dims[dim].axes), shape[dim])
            << "seed " << seed;
    }
  }
  EXPECT_GT(uneven, 20);
  EXPECT_GT(even, uneven);
}

TEST(Generator, CoversOpsMeshesAndKindsOfShardings) {
  std::map<std::string, int> ops;
  std::set<int64_t> devices;
  std::set<size_t> meshRanks;
  std::map<sharding::Reduction, int> kinds;
  std::map<Element, int> dots, elements;
  int subAxes = 0, replicated = 0, unreduced = 0, open = 0, closed = 0;
  for (uint64_t seed = 1; seed <= numPrograms; ++seed) {
    const Program program = programOf(seed);
    devices.insert(program.mesh.numDevices());
    meshRanks.insert(program.mesh.axes().size());
    for (const Step &step : program.steps) {
      const Element element = program.values[step.result].element;
      ++ops[step.op.substr(0, step.op.find(' '))];
      ++elements[element];
      dots[element] += step.op == "weft.dot_general";
    }
    for (const auto &[sharding, shape] : shardingsOf(program)) {
      replicated += !sharding.replicated.empty();
      unreduced += !sharding.unreduced.empty();
      kinds[sharding.unreducedKind] += !sharding.unreduced.empty();
      for (const sharding::DimSharding &dim : sharding.dims) {
        ++(dim.closed ? closed : open);
        for (const sharding::AxisRef &axis : dim.axes)
          subAxes += !program.mesh.isFull(axis);
      }
    }
  }
  EXPECT_THAT(devices, ElementsAre(2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(meshRanks, ElementsAre(1, 2, 3));
  for (const char *op :
       {"weft.dot_general",   "weft.reduce",      "weft.transpose",
        "weft.reshape",       "weft.broadcast",   "weft.slice",
        "weft.concat",        "weft.iota",        "weft.pad",
        "weft.gather",        "weft.scatter_add", "weft.constraint",
        "arith.addf",         "arith.mulf",       "arith.maximumf",
        "arith.select",       "arith.cmpi",       "arith.cmpf",
        "arith.xori",         "arith.shrui",      "arith.truncf",
        "arith.extf",         "arith.extui",      "arith.sitofp",
        "arith.divf",         "math.tanh",        "math.exp",
        "math.log",           "math.sin",         "math.erf",
        "arith.maxsi",        "weft.convolution", "weft.reduce_window",
        "weft.spread_windows"})
    EXPECT_GE(ops[op], 5) << op;
  for (auto kind : {sharding::Reduction::Sum, sharding::Reduction::Max,
                    sharding::Reduction::Min})
    EXPECT_GE(kinds[kind], 10);
  for (Element element :
       {Element::F32, Element::BF16, Element::F16, Element::F64, Element::I32,
        Element::I64, Element::I16, Element::I8, Element::I1})
    EXPECT_GE(elements[element], 20) << name(element);
  for (Element element :
       {Element::F32, Element::BF16, Element::F16, Element::F64})
    EXPECT_GE(dots[element], 10) << name(element);
  for (int count : {subAxes, replicated, unreduced, open, closed})
    EXPECT_GE(count, 30);
}
