//===- Generator.cpp - Random graphs with random shardings ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramGenerator.h"

#include "llvm/ADT/STLExtras.h"

using namespace weft;
using namespace weft::sharding;
using namespace weft::test;

static constexpr int64_t maxElements = 4096;
static constexpr double maxMagnitude = 1e4;

/// Beyond it a comparison says little. bf16 has three digits.
static double maxError(Element element) {
  return isNarrow(element) ? 0.5 : 0.05;
}

static int64_t product(llvm::ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

double weft::test::rounding(Element element, double magnitude) {
  switch (element) {
  case Element::F32:
    return magnitude * 0x1p-23;
  case Element::BF16:
    return magnitude * 0x1p-7;
  case Element::F16:
    return std::max(magnitude, 0x1p-14) * 0x1p-10;
  case Element::F64:
    return magnitude * 0x1p-52;
  default:
    return 0;
  }
}

std::string weft::test::list(llvm::ArrayRef<int64_t> numbers) {
  std::string result = "[";
  for (int64_t number : numbers)
    result += (result.size() > 1 ? ", " : "") + std::to_string(number);
  return result + "]";
}

Shape ProgramGenerator::randomShape() {
  Shape result;
  const int64_t rank = random.between(1, 3);
  for (int64_t i = 0; i < rank; ++i)
    result.push_back(random.oneIn(8)   ? random.between(1, 5)
                     : random.oneIn(3) ? unit
                                       : unit * random.between(1, 3));
  while (product(result) > maxElements)
    result.pop_back();
  return result;
}

Sharding ProgramGenerator::shardingOf(const Value &value) {
  AxisList unreduced;
  if (value.element != Element::I1 && !value.fromTerms && random.oneIn(10))
    unreduced.push_back(anyAxis());
  Sharding result =
      randomSharding(random, program.mesh, value.shape, unreduced);
  if (!unreduced.empty())
    result.unreducedKind = anyReduction();
  return result;
}

Reduction ProgramGenerator::anyReduction() {
  static const std::vector<Reduction> kinds = {Reduction::Sum, Reduction::Sum,
                                               Reduction::Max, Reduction::Min};
  return random.pick(kinds);
}

AxisRef ProgramGenerator::anyAxis() {
  return program.mesh.fullAxis(static_cast<int32_t>(
      random.below(static_cast<int64_t>(program.mesh.axes().size()))));
}

int ProgramGenerator::newArgument(Shape shape, Element element) {
  Port port{static_cast<int>(program.values.size()), {}};
  Value argument{std::move(shape), element};
  if (!random.oneIn(3)) {
    port.sharding = shardingOf(argument);
    argument.fromTerms = !port.sharding->unreduced.empty();
  }
  program.values.push_back(std::move(argument));
  program.arguments.push_back(port);
  return port.value;
}

int ProgramGenerator::add(Step step, Value result) {
  if (product(result.shape) > maxElements ||
      (isFloat(result.element) && !(result.magnitude <= maxMagnitude &&
                                    result.error <= maxError(result.element))))
    return -1;
  result.fromTerms = step.constraint ? !step.constraint->unreduced.empty()
                                     : llvm::any_of(step.operands, [&](int x) {
                                         return value(x).fromTerms;
                                       });
  step.result = static_cast<int>(program.values.size());
  program.values.push_back(std::move(result));
  program.steps.push_back(std::move(step));
  return program.steps.back().result;
}

int ProgramGenerator::partner(int number) {
  std::vector<int> same;
  for (size_t i = 0; i < program.values.size(); ++i)
    if (value(i).shape == value(number).shape &&
        value(i).element == value(number).element)
      same.push_back(static_cast<int>(i));
  const Element element = value(number).element;
  if (same.size() == 1 && program.arguments.size() < 6 &&
      element != Element::I1 && random.oneIn(2))
    return newArgument(value(number).shape, element);
  return random.pick(same);
}

int ProgramGenerator::constant(Element element, const std::string &text,
                               double magnitude) {
  return add({.op = "arith.constant", .attributes = "dense<" + text + ">"},
             {{}, element, magnitude, 0});
}

int ProgramGenerator::broadcastTo(int scalar, llvm::ArrayRef<int64_t> shape) {
  Value result = value(scalar);
  result.shape = Shape(shape.begin(), shape.end());
  return add({.op = "weft.broadcast",
              .operands = {scalar},
              .attributes = "dims = []",
              .style = TypeStyle::OperandToResult},
             std::move(result));
}

Program ProgramGenerator::generate() {
  program.mesh = randomMesh(random);
  unit = program.mesh.numDevices();
  newArgument(hasWindows ? imageShape() : randomShape(), Element::F32);
  static const std::vector<Element> elements = {
      Element::F32, Element::F32, Element::F32, Element::F64, Element::BF16,
      Element::F16, Element::I32, Element::I32, Element::I16, Element::I8};
  if (!random.oneIn(3))
    newArgument(randomShape(), random.pick(elements));
  const size_t count = static_cast<size_t>(random.between(3, 15));
  for (int tries = 0; program.steps.size() < count && tries < 200; ++tries)
    addSomething();
  addResults();
  program.removeUnused();
  return std::move(program);
}

void ProgramGenerator::addSomething() {
  const int x = anyValue();
  if (hasWindows && random.oneIn(2))
    return random.oneIn(2) ? addConvolution(x) : addWindows(x);
  switch (random.below(26)) {
  case 0:
  case 1:
  case 2:
    return addDotGeneral(x);
  case 3:
  case 4:
    return addReduce(x);
  case 5:
    return addTranspose(x);
  case 6:
  case 7:
    return addReshape(x);
  case 8:
    return addBroadcast(x);
  case 9:
    return addSlice(x);
  case 10:
    return addConcat(x);
  case 11:
    return addIota();
  case 12:
  case 13:
  case 14:
    return addConstraint(x);
  case 15:
    return addUnreduced();
  case 16:
    return addFunction(x);
  case 17:
    return addConversion(x);
  case 18:
    return random.oneIn(2) ? addShift(x) : addComparison(x);
  case 19:
    return addPad(x);
  case 20:
    return addGather(x);
  case 21:
    return addScatterAdd(x);
  case 22:
    return addIntegerToFloat(x);
  default:
    return addElementwise(x);
  }
}

void ProgramGenerator::addResults() {
  std::vector<bool> used(program.values.size());
  for (const Step &step : program.steps)
    for (int operand : step.operands)
      used[operand] = true;
  for (const Step &step : program.steps) {
    if (used[step.result] && !random.oneIn(6))
      continue;
    Port port{step.result, {}};
    if (random.oneIn(2))
      port.sharding = shardingOf(value(step.result));
    program.results.push_back(std::move(port));
  }
}

Program weft::test::generateProgram(Random &random, bool hasWindows) {
  return ProgramGenerator(random, hasWindows).generate();
}
