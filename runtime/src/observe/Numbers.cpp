//===- Numbers.cpp - Arrays of any type as numbers ------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "observe/Numbers.h"

#include "plan/Text.h"
#include "session/ShardCopy.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::runtime {

/// Calls `visit` with a value of the C++ type of the elements.
template <typename Visit> static void withElement(DType dtype, Visit &&visit) {
  switch (dtype) {
  case DType::F32:
    return visit(float());
  case DType::F64:
    return visit(double());
  case DType::BF16:
    return visit(BFloat16());
  case DType::F16:
    return visit(Float16());
  case DType::I32:
    return visit(int32_t());
  case DType::I64:
    return visit(int64_t());
  case DType::I8:
    return visit(int8_t());
  case DType::I16:
    return visit(int16_t());
  case DType::Pred:
    return visit(uint8_t());
  }
}

template <typename T> static double toDouble(T value) {
  if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>)
    return toFloat(value);
  else
    return static_cast<double>(value);
}

template <typename T> static T fromDouble(double value) {
  if constexpr (std::is_same_v<T, BFloat16>)
    return toBFloat16(static_cast<float>(value));
  else if constexpr (std::is_same_v<T, Float16>)
    return toFloat16(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

Numbers toNumbers(const ArrayView &array) {
  Numbers numbers(array.size());
  withElement(array.dtype, [&]<typename T>(T) {
    std::ranges::transform(array.as<T>(), numbers.begin(), toDouble<T>);
  });
  return numbers;
}

Array toArray(const Numbers &numbers, DType dtype, std::vector<int64_t> shape) {
  Array array(dtype, std::move(shape));
  withElement(dtype, [&]<typename T>(T) {
    std::ranges::transform(numbers, array.as<T>().begin(), fromDouble<T>);
  });
  return array;
}

double roundingOf(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return 0x1p-24;
  case DType::F64:
    return 0x1p-53;
  case DType::BF16:
    return 0x1p-8;
  case DType::F16:
    return 0x1p-11;
  case DType::I32:
  case DType::I64:
  case DType::I8:
  case DType::I16:
  case DType::Pred:
    return 0;
  }
  return 0;
}

double smallestOf(DType dtype) {
  if (dtype == DType::F64)
    return std::numeric_limits<double>::denorm_min();
  if (dtype == DType::F16)
    return 0x1p-24;
  return isFloat(dtype) ? 0x1p-133 : 0; // bf16; f32 has smaller ones
}

/// A sum of integers wraps around.
static double wrapped(double value, DType dtype) {
  withElement(dtype, [&]<typename T>(T) {
    if constexpr (std::is_integral_v<T>)
      value = static_cast<double>(
          static_cast<T>(static_cast<int64_t>(std::fmod(value, 0x1p63))));
  });
  return value;
}

static void combine(double &into, double term, plan::Reduction kind) {
  switch (kind) {
  case plan::Reduction::Sum:
    into += term;
    return;
  case plan::Reduction::Max:
    into = std::isnan(into) || into > term ? into : term;
    return;
  case plan::Reduction::Min:
    into = std::isnan(into) || into < term ? into : term;
    return;
  }
}

/// Of the elements of the rank's shard that are no padding, their places in the
/// shard and in the whole array.
static std::pair<std::vector<int64_t>, std::vector<int64_t>>
placesOf(const plan::TensorType &type, const Mesh &mesh, int64_t rank) {
  std::vector<int64_t> inPart, inWhole;
  const Box box = heldBox(type, mesh, rank);
  const std::vector<int64_t> origin(box.extent.size());
  const auto extents = [](const flatbuffers::Vector<int64_t> &shape) {
    return std::span(shape.data(), shape.size());
  };
  forEachRun({extents(*type.global_shape()), box.start},
             {extents(*type.local_shape()), origin}, box.extent,
             [&](int64_t whole, int64_t part, int64_t count) {
               for (int64_t i = 0; i < count; ++i) {
                 inWhole.push_back(whole + i);
                 inPart.push_back(part + i);
               }
             });
  return {std::move(inPart), std::move(inWhole)};
}

std::vector<Holding>
holdingsOf(const plan::TensorType &type, const Mesh &mesh,
           const std::function<const Array *(int64_t)> &shardOf) {
  const std::vector<plan::AxisRef> terms = axesOf(type.unreduced());
  std::vector<Holding> holdings;
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    if (mesh.position(rank, terms) != 0 || !shardOf(rank))
      continue;
    Holding &holding = holdings.emplace_back();
    auto [inPart, inWhole] = placesOf(type, mesh, rank);
    holding.where = std::move(inWhole);
    holding.magnitudes.assign(inPart.size(), 0);
    for (int64_t term = 0; term < groupSize(terms); ++term) {
      holding.ranks.push_back(mesh.rankAt(rank, terms, term));
      const Numbers shard = toNumbers(*shardOf(holding.ranks.back()));
      if (term == 0)
        for (int64_t place : inPart)
          holding.numbers.push_back(shard[place]);
      for (size_t i = 0; i < inPart.size(); ++i) {
        if (term != 0)
          combine(holding.numbers[i], shard[inPart[i]], type.unreduced_kind());
        holding.magnitudes[i] += std::abs(shard[inPart[i]]);
      }
    }
    if (!terms.empty())
      for (double &number : holding.numbers)
        number = wrapped(number, dtypeOf(type.dtype()));
  }
  return holdings;
}

} // namespace weft::runtime
