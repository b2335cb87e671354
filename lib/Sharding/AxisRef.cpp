//===- AxisRef.cpp - Relations between parts of mesh axes -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Sharding/Mesh.h"

#include <algorithm>

namespace weft::sharding {

bool AxisRef::contains(const AxisRef &other) const {
  return axis == other.axis && pre <= other.pre && other.next() <= next();
}

bool AxisRef::overlaps(const AxisRef &other) const {
  if (axis != other.axis)
    return false;
  // An axis of size 1 covers an empty interval and overlaps only itself.
  return *this == other ||
         std::max(pre, other.pre) < std::min(next(), other.next());
}

bool AxisRef::isPrefixOf(const AxisRef &other) const {
  return pre == other.pre && other.contains(*this);
}

bool AxisRef::isStrictPrefixOf(const AxisRef &other) const {
  return *this != other && isPrefixOf(other);
}

bool AxisRef::canCoexistWith(const AxisRef &other) const {
  if (axis != other.axis)
    return true;
  auto [pre1, pre2] = std::minmax(pre, other.pre);
  int64_t next1 = std::min(next(), other.next());
  int64_t next2 = std::max(next(), other.next());
  if (next1 > pre2)
    return next1 % pre2 == 0 && pre2 % pre1 == 0 && next2 % next1 == 0;
  return pre2 % next1 == 0;
}

std::optional<AxisRef>
AxisRef::prefixWithoutOverlap(const AxisRef &other) const {
  if (!canCoexistWith(other))
    return std::nullopt;
  if (!overlaps(other))
    return *this;
  if (pre >= other.pre)
    return std::nullopt;
  return AxisRef{axis, pre, other.pre / pre};
}

bool AxisRef::canMergeWith(const AxisRef &minor) const {
  return axis == minor.axis && next() == minor.pre && *this != minor;
}

AxisRef AxisRef::mergedWith(const AxisRef &minor) const {
  return {axis, pre, size * minor.size};
}

int64_t numShards(llvm::ArrayRef<AxisRef> axes) {
  int64_t shards = 1;
  for (const AxisRef &ref : axes)
    shards *= ref.size;
  return shards;
}

bool isPrefix(llvm::ArrayRef<AxisRef> list, llvm::ArrayRef<AxisRef> other) {
  if (list.empty())
    return true;
  if (list.size() > other.size())
    return false;
  size_t last = list.size() - 1;
  return list.take_front(last) == other.take_front(last) &&
         list[last].isPrefixOf(other[last]);
}

bool isStrictPrefix(llvm::ArrayRef<AxisRef> list,
                    llvm::ArrayRef<AxisRef> other) {
  return list != other && isPrefix(list, other);
}

void appendMerging(AxisList &list, AxisRef ref) {
  if (!list.empty() && list.back().canMergeWith(ref))
    list.back() = list.back().mergedWith(ref);
  else
    list.push_back(ref);
}

} // namespace weft::sharding
