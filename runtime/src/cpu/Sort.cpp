//===- Sort.cpp - The order of elements -------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cpu/Sort.h"
#include "cpu/ThreadTeam.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

namespace weft::runtime {
namespace {

/// A key of up to 32 bits above an index.
using Packed = uint64_t;

struct Pair {
  uint64_t key;
  uint32_t index;
  bool operator<(const Pair &other) const {
    return key != other.key ? key < other.key : index < other.index;
  }
};

uint32_t indexOf(Packed pair) { return static_cast<uint32_t>(pair); }
uint32_t indexOf(const Pair &pair) { return pair.index; }
uint32_t keyIn(Packed pair) { return static_cast<uint32_t>(pair >> 32); }
uint64_t keyIn(const Pair &pair) { return pair.key; }

template <typename T> auto widened(T x) { return x; }
float widened(BFloat16 x) { return toFloat(x); }
float widened(Float16 x) { return toFloat(x); }

template <typename T> using Wide = decltype(widened(T()));
template <typename T>
using Key = std::conditional_t<sizeof(Wide<T>) == 8, uint64_t, uint32_t>;
template <typename T>
using Element = std::conditional_t<sizeof(Wide<T>) == 8, Pair, Packed>;

/// The bits of a positive float are ordered as the float, those of a negative
/// one the other way round.
template <typename T> Key<T> keyOf(T element) {
  using K = Key<T>;
  constexpr K sign = K(1) << (std::numeric_limits<K>::digits - 1);
  auto x = widened(element);
  if constexpr (std::is_floating_point_v<decltype(x)>) {
    if (std::isnan(x))
      x = std::numeric_limits<decltype(x)>::quiet_NaN();
    const K bits = std::bit_cast<K>(x == 0 ? decltype(x)(0) : x);
    return bits & sign ? ~bits : bits | sign;
  } else {
    return static_cast<K>(x) ^ sign;
  }
}

Packed elementOf(uint32_t key, uint32_t index) {
  return Packed{key} << 32 | index;
}
Pair elementOf(uint64_t key, uint32_t index) { return {key, index}; }

/// From the lowest digit of keys to the highest; what is of one digit stays in
/// its order, which is that of indices. `other` has as much memory.
void sortByDigits(Packed *elements, Packed *other, int64_t count) {
  constexpr int digitBits = 11, digits = 3;
  constexpr uint32_t mask = (1 << digitBits) - 1;
  std::array<std::array<uint32_t, mask + 1>, digits> places{};
  const auto digitOf = [](Packed element, int digit) {
    return static_cast<uint32_t>(element >> (32 + digit * digitBits)) & mask;
  };
  for (int64_t i = 0; i < count; ++i)
    for (int digit = 0; digit < digits; ++digit)
      ++places[digit][digitOf(elements[i], digit)];
  Packed *from = elements, *to = other;
  for (int digit = 0; digit < digits; ++digit) {
    uint32_t sum = 0;
    for (uint32_t &place : places[digit])
      sum += std::exchange(place, sum);
    for (int64_t i = 0; i < count; ++i)
      to[places[digit][digitOf(from[i], digit)]++] = from[i];
    std::swap(from, to);
  }
  std::copy_n(from, count, elements); // after an odd number of digits
}

void sortAll(Packed *elements, Packed *other, int64_t count) {
  constexpr int64_t fewest = 1024; // of which finding places pays
  if (count < fewest)
    std::sort(elements, elements + count);
  else
    sortByDigits(elements, other, count);
}

void sortAll(Pair *elements, Pair *, int64_t count) {
  std::sort(elements, elements + count);
}

/// The first `count` of `size` elements in order, to the front.
template <typename E> void sortFirst(E *elements, int64_t size, int64_t count) {
  std::nth_element(elements, elements + count, elements + size);
  std::sort(elements, elements + count);
}

template <typename T> class Sort final : public BoundOperation {
public:
  Sort(const SortProblem &problem, const void *operand, int32_t *out,
       ThreadTeam &team)
      : p(problem), operand(static_cast<const T *>(operand)), out(out),
        team(team) {}

  size_t scratchpadBytes() const override {
    return team.size() * bytesOfThread();
  }
  Status bindScratchpad(void *memory) override {
    scratchpad = static_cast<std::byte *>(memory);
    return {};
  }
  Status run() override {
    team.run(p.outer * p.inner, [this](int64_t row, int thread) {
      sortRow(row / p.inner, row % p.inner,
              reinterpret_cast<Element<T> *>(scratchpad +
                                             thread * bytesOfThread()));
    });
    return {};
  }

private:
  size_t bytesOfThread() const {
    const size_t bytes = 2 * static_cast<size_t>(p.size) * sizeof(Element<T>);
    return (bytes + 63) / 64 * 64;
  }
  Key<T> keyAt(const T *row, int64_t index) const {
    return keyOf(row[index * p.inner]) ^ flip;
  }
  void sortRow(int64_t outer, int64_t inner, Element<T> *elements) const;
  void keepFirst(const T *row, Element<T> *elements) const;

  const SortProblem p;
  const Key<T> flip = p.isDescending ? ~Key<T>(0) : Key<T>(0);
  const T *const operand;
  int32_t *const out;
  ThreadTeam &team;
  std::byte *scratchpad = nullptr;
};

template <typename T>
void Sort<T>::sortRow(int64_t outer, int64_t inner,
                      Element<T> *elements) const {
  const T *const row = operand + outer * p.size * p.inner + inner;
  if (p.count * 8 <= p.size) {
    keepFirst(row, elements);
  } else {
    for (int64_t i = 0; i < p.size; ++i)
      elements[i] = elementOf(keyAt(row, i), static_cast<uint32_t>(i));
    if (p.count == p.size)
      sortAll(elements, elements + p.size, p.size);
    else
      sortFirst(elements, p.size, p.count);
  }
  int32_t *const to = out + outer * p.count * p.inner + inner;
  for (int64_t i = 0; i < p.count; ++i)
    to[i * p.inner] = static_cast<int32_t>(indexOf(elements[i]));
}

/// In a heap, the greatest of those that are kept in front. Of most blocks of
/// elements no one comes before it.
template <typename T>
void Sort<T>::keepFirst(const T *row, Element<T> *elements) const {
  constexpr int64_t block = 64;
  Element<T> *const end = elements + p.count;
  for (int64_t i = 0; i < p.count; ++i)
    elements[i] = elementOf(keyAt(row, i), static_cast<uint32_t>(i));
  std::make_heap(elements, end);
  Key<T> limit = keyIn(*elements);
  for (int64_t first = p.count; first < p.size; first += block) {
    const int64_t count = std::min(block, p.size - first);
    Key<T> keys[block];
    unsigned isAny = 0;
    for (int64_t i = 0; i < count; ++i) {
      keys[i] = keyAt(row, first + i);
      isAny |= keys[i] < limit;
    }
    for (int64_t i = 0; isAny && i < count; ++i)
      if (keys[i] < limit) {
        std::pop_heap(elements, end);
        end[-1] = elementOf(keys[i], static_cast<uint32_t>(first + i));
        std::push_heap(elements, end);
        limit = keyIn(*elements);
      }
  }
  std::sort_heap(elements, end);
}

} // namespace

std::unique_ptr<BoundOperation> bindSort(const SortProblem &problem,
                                         const void *operand, int32_t *out,
                                         ThreadTeam &team) {
  const auto make = [&]<typename T>(T) -> std::unique_ptr<BoundOperation> {
    return std::make_unique<Sort<T>>(problem, operand, out, team);
  };
  switch (problem.dtype) {
  case DType::F32:
    return make(float());
  case DType::F64:
    return make(double());
  case DType::BF16:
    return make(BFloat16());
  case DType::F16:
    return make(Float16());
  case DType::I64:
    return make(int64_t());
  case DType::I32:
    return make(int32_t());
  case DType::I16:
    return make(int16_t());
  case DType::I8:
    return make(int8_t());
  case DType::Pred:
    return make(uint8_t());
  }
  return nullptr;
}

} // namespace weft::runtime
