//===- ReshardOptimum.cpp - The cheapest reshard by trying all ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReshardOptimum.h"

#include <algorithm>

using namespace weft;
using namespace weft::sharding;

/// A key has room for as many.
static constexpr size_t maxDigits = 8;

static bool contains(llvm::ArrayRef<int> list, int digit) {
  return std::find(list.begin(), list.end(), digit) != list.end();
}

ReshardOptimum::ReshardOptimum(const Mesh &mesh, std::vector<int64_t> shape,
                               int64_t elementBytes,
                               std::vector<PriceLevel> levels)
    : shape(std::move(shape)), elementBytes(elementBytes),
      levels(std::move(levels)), classes(this->levels.size()) {
  int64_t devices = mesh.numDevices();
  for (size_t axis = 0; axis < mesh.axes().size(); ++axis) {
    int64_t size = mesh.axisSize(axis), pre = 1;
    for (int64_t prime = 2; pre < size; ++prime)
      for (; size / pre % prime == 0; pre *= prime) {
        digits.push_back({static_cast<int32_t>(axis), pre, prime});
        spans.push_back(devices / pre);
      }
    devices /= size;
  }
  Layout layout;
  layout.dims.resize(this->shape.size());
  enumerate(layout, 0);
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

/// Places the digits from `digit` on everywhere.
void ReshardOptimum::enumerate(Layout &layout, size_t digit) {
  if (!fits(layout))
    return;
  if (digit == digits.size()) {
    for (size_t level = 0; level < levels.size(); ++level)
      classes[level][classOf(layout, level)].push_back(keyOf(layout));
    return;
  }
  enumerate(layout, digit + 1);
  layout.unreduced.push_back(digit);
  enumerate(layout, digit + 1);
  layout.unreduced.pop_back();
  for (Digits &dim : layout.dims)
    for (size_t at = 0; at <= dim.size(); ++at) {
      dim.insert(dim.begin() + at, digit);
      enumerate(layout, digit + 1);
      dim.erase(dim.begin() + at);
    }
}

ReshardOptimum::Layout
ReshardOptimum::layoutOf(const Sharding &sharding) const {
  auto add = [&](const AxisList &axes, Digits &list) {
    for (const AxisRef &ref : axes)
      for (size_t digit = 0; digit < digits.size(); ++digit)
        if (ref.axis == digits[digit].axis && ref.pre <= digits[digit].pre &&
            digits[digit].pre < ref.pre * ref.size)
          list.push_back(digit);
  };
  Layout layout;
  for (const DimSharding &dim : sharding.dims)
    add(dim.axes, layout.dims.emplace_back());
  add(sharding.unreduced, layout.unreduced);
  std::sort(layout.unreduced.begin(), layout.unreduced.end());
  return layout;
}

/// Four bits a digit, with 15 behind each dimension; then what was reduced.
ReshardOptimum::Key ReshardOptimum::keyOf(const Layout &layout) const {
  Key key = 1;
  for (const Digits &dim : layout.dims) {
    for (int digit : dim)
      key = key << 4 | digit;
    key = key << 4 | 15;
  }
  for (int digit : layout.unreduced)
    key = key << 4 | digit;
  return key << maxDigits | layout.reduced;
}

ReshardOptimum::Layout ReshardOptimum::layoutAt(Key key) const {
  llvm::SmallVector<Digits, 4> lists(1);
  const uint64_t reduced = key & ((1u << maxDigits) - 1);
  for (key >>= maxDigits; key != 1; key >>= 4)
    if ((key & 15) == 15)
      lists.insert(lists.begin(), Digits());
    else
      lists.front().insert(lists.front().begin(), key & 15);
  Layout layout{{}, lists.back(), reduced};
  layout.dims.assign(lists.begin(), lists.end() - 1);
  return layout;
}

/// Of a dimension, all digits up to the last that the level does not reach, and
/// the number of shards behind it.
std::vector<int64_t> ReshardOptimum::classOf(const Layout &layout,
                                             size_t level) const {
  auto isOuter = [&](int digit) {
    return level + 1 < levels.size() && spans[digit] > levels[level].span;
  };
  std::vector<int64_t> result;
  for (const Digits &dim : layout.dims) {
    size_t kept = dim.size();
    while (kept > 0 && !isOuter(dim[kept - 1]))
      --kept;
    result.insert(result.end(), dim.begin(), dim.begin() + kept);
    result.push_back(-product(Digits(dim.begin() + kept, dim.end())));
  }
  Digits inner;
  for (int digit : layout.unreduced)
    if (isOuter(digit))
      result.push_back(digit);
    else
      inner.push_back(digit);
  result.push_back(-product(inner));
  return result;
}

int64_t ReshardOptimum::product(const Digits &list) const {
  int64_t result = 1;
  for (int digit : list)
    result *= digits[digit].size;
  return result;
}

int64_t ReshardOptimum::localBytes(const Layout &layout) const {
  int64_t bytes = elementBytes;
  for (size_t d = 0; d < shape.size(); ++d)
    bytes *= shape[d] / product(layout.dims[d]);
  return bytes;
}

bool ReshardOptimum::fits(const Layout &layout) const {
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] % product(layout.dims[d]) != 0)
      return false;
  return true;
}

int64_t ReshardOptimum::price(int64_t bytes, const Digits &group) const {
  int64_t span = 1;
  for (int digit : group)
    span = std::max(span, spans[digit]);
  size_t level = 0;
  while (level + 1 < levels.size() && span > levels[level].span)
    ++level;
  return levels[level].fixed + bytes * levels[level].perByte;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

void ReshardOptimum::reachKey(Key key, int64_t price) {
  auto [known, isNew] = best.try_emplace(key, price);
  if (price >= bound || (!isNew && known->second <= price))
    return;
  known->second = price;
  queue.push({price, key});
}

void ReshardOptimum::reach(const Layout &layout, int64_t price) {
  if (price < bound && fits(layout))
    reachKey(keyOf(layout), price);
}

/// What all devices along a digit hold alike is split over it, or made terms of
/// which all but one are neutral elements.
void ReshardOptimum::slices(const Layout &layout, int64_t soFar) {
  for (int digit = 0; digit < static_cast<int>(digits.size()); ++digit) {
    bool isPlaced = contains(layout.unreduced, digit);
    for (const Digits &dim : layout.dims)
      isPlaced |= contains(dim, digit);
    if (isPlaced)
      continue;
    Layout to = layout;
    to.unreduced.push_back(digit);
    std::sort(to.unreduced.begin(), to.unreduced.end());
    reach(to, soFar);
    if (layout.reduced >> digit & 1)
      continue;
    for (size_t d = 0; d < layout.dims.size(); ++d) {
      to = layout;
      to.dims[d].push_back(digit);
      reach(to, soFar);
    }
  }
}

/// All-gathers and all-to-alls.
void ReshardOptimum::gathers(const Layout &layout, int64_t soFar) {
  const int64_t local = localBytes(layout);
  for (size_t s = 0; s < layout.dims.size(); ++s)
    for (size_t kept = 0; kept < layout.dims[s].size(); ++kept) {
      const Digits moved(layout.dims[s].begin() + kept, layout.dims[s].end());
      const int64_t n = product(moved);
      const int64_t gathered = soFar + price((n - 1) * local, moved),
                    exchanged = soFar + price((n - 1) * (local / n), moved);
      // The cheaper of the two.
      if (exchanged >= bound)
        continue;
      Layout to = layout;
      to.dims[s].resize(kept);
      reach(to, gathered);
      for (size_t t = 0; t < layout.dims.size(); ++t) {
        if (t == s)
          continue;
        Digits &dim = to.dims[t];
        dim.append(moved.begin(), moved.end());
        reach(to, exchanged);
        dim.resize(layout.dims[t].size());
      }
    }
}

/// All-reduces, and reduce-scatters in every order of the digits.
void ReshardOptimum::reductions(const Layout &layout, int64_t soFar) {
  int64_t local = localBytes(layout);
  size_t count = layout.unreduced.size();
  for (unsigned bits = 1; bits < 1u << count; ++bits) {
    Layout to = layout;
    to.unreduced.clear();
    Digits chosen;
    for (size_t i = 0; i < count; ++i)
      (bits >> i & 1 ? chosen : to.unreduced).push_back(layout.unreduced[i]);
    int64_t n = product(chosen), chunk = (local + n - 1) / n;
    Layout whole = to;
    if (!mayAllReduceAndSlice)
      for (int digit : chosen)
        whole.reduced |= 1u << digit;
    reach(whole, soFar + price(2 * (n - 1) * chunk, chosen));
    const int64_t scattered = soFar + price((n - 1) * (local / n), chosen);
    if (scattered >= bound)
      continue;
    do {
      for (size_t d = 0; d < layout.dims.size(); ++d) {
        Digits &dim = to.dims[d];
        dim.append(chosen.begin(), chosen.end());
        reach(to, scattered);
        dim.resize(layout.dims[d].size());
      }
    } while (std::next_permutation(chosen.begin(), chosen.end()));
  }
}

/// One permute leads to all layouts of a class, at one price; the first layout
/// of a class to be expanded is the cheapest.
void ReshardOptimum::permutes(const Layout &layout, int64_t soFar) {
  int64_t local = localBytes(layout);
  for (size_t level = 0; level < levels.size(); ++level) {
    int64_t next = soFar + levels[level].fixed + local * levels[level].perByte;
    std::vector<int64_t> permutedClass = classOf(layout, level);
    if (next >= bound ||
        !permuted.insert({level, permutedClass, layout.reduced}).second)
      continue;
    for (Key key : classes[level].at(permutedClass))
      reachKey(key | layout.reduced, next);
  }
}

void ReshardOptimum::expand(const Layout &layout, int64_t soFar) {
  slices(layout, soFar);
  gathers(layout, soFar);
  reductions(layout, soFar);
  permutes(layout, soFar);
}

std::optional<int64_t> ReshardOptimum::beats(int64_t limit,
                                             const Sharding &from,
                                             const Sharding &to,
                                             bool mayAllReduceThenSlice) {
  bound = limit;
  mayAllReduceAndSlice = mayAllReduceThenSlice;
  best.clear();
  permuted.clear();
  queue = {};
  reach(layoutOf(from), 0);
  const Key target = keyOf(layoutOf(to)) >> maxDigits;
  while (!queue.empty()) {
    auto [soFar, key] = queue.top();
    queue.pop();
    if (best.at(key) < soFar)
      continue;
    if (key >> maxDigits == target)
      return soFar;
    expand(layoutAt(key), soFar);
  }
  return std::nullopt;
}
