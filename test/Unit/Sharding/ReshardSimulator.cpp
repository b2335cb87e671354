//===- ReshardSimulator.cpp - Reshard steps on actual arrays --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReshardSimulator.h"

#include <limits>

using namespace weft;
using namespace weft::sharding;

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

static Array makeArray(std::vector<int64_t> shape) {
  int64_t size = 1;
  for (int64_t extent : shape)
    size *= extent;
  return {std::move(shape), std::vector<int64_t>(size)};
}

/// Calls `visit(index, offset)` for every element.
template <typename Visit>
static void forEachIndex(const std::vector<int64_t> &shape, Visit visit) {
  std::vector<int64_t> index(shape.size());
  int64_t size = makeArray(shape).values.size();
  for (int64_t offset = 0; offset < size; ++offset) {
    int64_t rest = offset;
    for (size_t d = shape.size(); d-- > 0;) {
      index[d] = rest % shape[d];
      rest /= shape[d];
    }
    visit(index, offset);
  }
}

static int64_t offsetOf(const Array &array, llvm::ArrayRef<int64_t> index) {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d)
    offset = offset * array.shape[d] + index[d];
  return offset;
}

/// Part `part` of `count` of `array` along `dim`.
static Array slicePart(const Array &array, int64_t dim, int64_t part,
                       int64_t count) {
  std::vector<int64_t> shape = array.shape;
  shape[dim] /= count;
  Array result = makeArray(shape);
  forEachIndex(shape, [&](std::vector<int64_t> index, int64_t offset) {
    index[dim] += part * shape[dim];
    result.values[offset] = array.values[offsetOf(array, index)];
  });
  return result;
}

static Array concatenate(const std::vector<Array> &parts, int64_t dim) {
  std::vector<int64_t> shape = parts.front().shape;
  int64_t extent = shape[dim];
  shape[dim] *= parts.size();
  Array result = makeArray(shape);
  forEachIndex(shape, [&](std::vector<int64_t> index, int64_t offset) {
    const Array &part = parts[index[dim] / extent];
    index[dim] %= extent;
    result.values[offset] = part.values[offsetOf(part, index)];
  });
  return result;
}

static int64_t combine(Reduction reduction, int64_t a, int64_t b) {
  switch (reduction) {
  case Reduction::Sum:
    return a + b;
  case Reduction::Max:
    return std::max(a, b);
  case Reduction::Min:
    return std::min(a, b);
  }
  return a;
}

static int64_t neutral(Reduction reduction) {
  switch (reduction) {
  case Reduction::Sum:
    return 0;
  case Reduction::Max:
    return std::numeric_limits<int64_t>::min();
  case Reduction::Min:
    return std::numeric_limits<int64_t>::max();
  }
  return 0;
}

/// The term that position `position` of `count` holds of `value`.
static int64_t term(Reduction reduction, int64_t value, int64_t position,
                    int64_t count) {
  int64_t spread = (position + 1) * 1000 + value % 7;
  switch (reduction) {
  case Reduction::Sum:
    if (position + 1 < count)
      return spread;
    for (int64_t other = 0, residue = value % 7; other + 1 < count; ++other)
      value -= (other + 1) * 1000 + residue;
    return value;
  case Reduction::Max:
    return position == value % count ? value : value - spread;
  case Reduction::Min:
    return position == value % count ? value : value + spread;
  }
  return value;
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

/// `device` with the digit `ref` set to `value`.
static int64_t withDigit(const Mesh &mesh, int64_t device, const AxisRef &ref,
                         int64_t value) {
  int64_t stride = 1;
  for (size_t axis = mesh.axes().size();
       --axis > static_cast<size_t>(ref.axis);)
    stride *= mesh.axisSize(axis);
  int64_t below = mesh.axisSize(ref.axis) / ref.next();
  int64_t digit = device / stride % mesh.axisSize(ref.axis) / below % ref.size;
  return device + (value - digit) * below * stride;
}

static int64_t withPosition(const Mesh &mesh, int64_t device,
                            llvm::ArrayRef<AxisRef> axes, int64_t position) {
  for (const AxisRef &ref : llvm::reverse(axes)) {
    device = withDigit(mesh, device, ref, position % ref.size);
    position /= ref.size;
  }
  return device;
}

std::vector<int64_t>
ReshardSimulator::group(int64_t device, llvm::ArrayRef<AxisRef> axes) const {
  std::vector<int64_t> members;
  for (int64_t p = 0; p < numShards(axes); ++p)
    members.push_back(withPosition(mesh, device, axes, p));
  return members;
}

//===----------------------------------------------------------------------===//
// Placing and comparing
//===----------------------------------------------------------------------===//

int64_t ReshardSimulator::valueAt(llvm::ArrayRef<int64_t> index) const {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d)
    offset = offset * shape[d] + index[d];
  return offset + 1;
}

Array ReshardSimulator::wholePart(int64_t device,
                                  const Sharding &sharding) const {
  Shape local = *localShape(shape, sharding);
  Shape start = localOffsets(mesh, device, shape, sharding);
  Array array = makeArray({local.begin(), local.end()});
  forEachIndex(array.shape, [&](std::vector<int64_t> index, int64_t offset) {
    for (size_t d = 0; d < index.size(); ++d)
      index[d] += start[d];
    array.values[offset] = valueAt(index);
  });
  return array;
}

ReshardSimulator::ReshardSimulator(const Mesh &mesh, std::vector<int64_t> shape,
                                   const Sharding &sharding)
    : mesh(mesh), shape(std::move(shape)), reduction(sharding.unreducedKind) {
  int64_t count = numShards(sharding.unreduced);
  for (int64_t device = 0; device < mesh.numDevices(); ++device) {
    Array array = wholePart(device, sharding);
    if (!sharding.unreduced.empty())
      for (int64_t &value : array.values)
        value = term(reduction, value,
                     mesh.position(device, sharding.unreduced), count);
    held.push_back(std::move(array));
  }
}

std::string ReshardSimulator::compare(const Sharding &sharding) const {
  for (int64_t device = 0; device < mesh.numDevices(); ++device) {
    Array got = combineGroup(device, sharding.unreduced);
    if (got != wholePart(device, sharding))
      return "device " + std::to_string(device) + " does not hold " +
             print(mesh, sharding);
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Array ReshardSimulator::combineGroup(int64_t device,
                                     llvm::ArrayRef<AxisRef> axes) const {
  std::vector<int64_t> members = group(device, axes);
  Array result = held[members.front()];
  for (size_t i = 1; i < members.size(); ++i)
    for (size_t j = 0; j < result.values.size(); ++j)
      result.values[j] =
          combine(reduction, result.values[j], held[members[i]].values[j]);
  return result;
}

/// Every device that may be the source has to hold the same: then the step
/// means the same whichever of them an implementation takes.
Array ReshardSimulator::permuted(int64_t device, const ReshardStep &step,
                                 std::string &problem) const {
  int64_t position = mesh.position(device, step.toAxes);
  const Array *found = nullptr;
  for (int64_t i = 0; i < numShards(step.toAxes); ++i) {
    // Any setting of the axes of `to`, then the given position along `from`.
    int64_t source = withPosition(
        mesh, withPosition(mesh, device, step.toAxes, i), step.axes, position);
    if (found && *found != held[source])
      problem = "the sources of a permute hold different parts";
    found = &held[source];
  }
  return *found;
}

std::string ReshardSimulator::execute(const ReshardStep &step) {
  std::string problem;
  std::vector<Array> next;
  int64_t count = numShards(step.axes);
  for (int64_t device = 0; device < mesh.numDevices(); ++device) {
    int64_t position = mesh.position(device, step.axes);
    std::vector<Array> parts;
    switch (step.kind) {
    case ReshardKind::AllSlice:
      next.push_back(slicePart(held[device], step.dim, position, count));
      break;
    case ReshardKind::AllGather:
      for (int64_t member : group(device, step.axes))
        parts.push_back(held[member]);
      next.push_back(concatenate(parts, step.dim));
      break;
    case ReshardKind::AllToAll:
      for (int64_t member : group(device, step.axes))
        parts.push_back(slicePart(held[member], step.dim, position, count));
      next.push_back(concatenate(parts, step.concatDim));
      break;
    case ReshardKind::Permute:
      if (numShards(step.toAxes) != count)
        return "the lists of a permute differ in size";
      next.push_back(permuted(device, step, problem));
      break;
    case ReshardKind::ReduceScatter:
      next.push_back(slicePart(combineGroup(device, step.axes), step.dim,
                               position, count));
      break;
    case ReshardKind::AllReduce:
      next.push_back(combineGroup(device, step.axes));
      break;
    case ReshardKind::MaskToUnreduced:
      reduction = step.result.unreducedKind;
      next.push_back(held[device]);
      if (position != 0)
        std::fill(next.back().values.begin(), next.back().values.end(),
                  neutral(reduction));
      break;
    }
  }
  held = std::move(next);
  return problem;
}
