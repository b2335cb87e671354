//===- Mesh.cpp - Ranks as coordinates of a mesh ----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "plan/Mesh.h"

#include "plan/Text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace weft::runtime {

using Axes = std::vector<plan::AxisRef>;

Axes axesOf(const plan::AxisList *list) {
  Axes axes;
  if (list)
    for (const plan::AxisRef *ref : *list->axes())
      axes.push_back(*ref);
  return axes;
}

int64_t groupSize(const Axes &axes) {
  int64_t size = 1;
  for (const plan::AxisRef &ref : axes)
    size *= ref.size();
  return size;
}

Mesh::Mesh(const plan::Plan &plan) {
  for (const plan::MeshAxis *axis : *plan.mesh())
    axes.push_back({axis->name()->str(), axis->size(), 1});
  for (size_t i = axes.size(); i-- > 0;) {
    axes[i].stride = rankCount;
    rankCount *= axes[i].size;
  }
  if (!plan.devices())
    return;
  rankOfPosition.assign(plan.devices()->begin(), plan.devices()->end());
  positionOfRank.resize(rankOfPosition.size());
  for (size_t at = 0; at < rankOfPosition.size(); ++at)
    positionOfRank[rankOfPosition[at]] = static_cast<int64_t>(at);
}

/// Whether one factorisation of the axis has both parts as different digits.
static bool areSeparateDigits(const plan::AxisRef &a, const plan::AxisRef &b) {
  const plan::AxisRef &major = a.pre_size() <= b.pre_size() ? a : b;
  const plan::AxisRef &minor = a.pre_size() <= b.pre_size() ? b : a;
  const int64_t end = major.pre_size() * major.size();
  return end <= minor.pre_size() && minor.pre_size() % end == 0;
}

Status Mesh::checkAxes(const Axes &refs, const std::string &what) const {
  for (size_t i = 0; i < refs.size(); ++i) {
    const plan::AxisRef &ref = refs[i];
    if (ref.axis() >= axes.size())
      return invalidArgument(fmt::format("{} names mesh axis {}, but the mesh "
                                         "has {} axes",
                                         what, ref.axis(), axes.size()));
    const Axis &axis = axes[ref.axis()];
    int64_t end;
    if (ref.pre_size() < 1 || ref.size() < 1 ||
        __builtin_mul_overflow(ref.pre_size(), ref.size(), &end) ||
        axis.size % end != 0)
      return invalidArgument(fmt::format(
          "{}: part ({}){} does not divide mesh axis \"{}\" of size {}", what,
          ref.pre_size(), ref.size(), escaped(axis.name), axis.size));
    for (size_t j = 0; j < i; ++j) {
      const plan::AxisRef &other = refs[j];
      if (other.axis() == ref.axis() && !areSeparateDigits(ref, other))
        return invalidArgument(fmt::format("{}: {} and {} overlap", what,
                                           toString({other}), toString({ref})));
    }
  }
  return {};
}

Status Mesh::checkPermutation(const Axes &from, const Axes &to) const {
  if (groupSize(from) != groupSize(to))
    return invalidArgument(fmt::format(
        "permutation from {} to {}: sizes {} and {} differ", toString(from),
        toString(to), groupSize(from), groupSize(to)));
  for (uint32_t axis = 0; axis < axes.size(); ++axis) {
    std::set<int64_t> cuts{1, axes[axis].size};
    for (const Axes *list : {&from, &to})
      for (const plan::AxisRef &ref : *list)
        if (ref.axis() == axis) {
          cuts.insert(ref.pre_size());
          cuts.insert(ref.pre_size() * ref.size());
        }
    int64_t previous = 1;
    for (int64_t cut : cuts) {
      if (cut % previous != 0)
        return invalidArgument(fmt::format(
            "permutation from {} to {}: mesh axis \"{}\" has no factorisation "
            "with the cuts {} and {}",
            toString(from), toString(to), escaped(axes[axis].name), previous,
            cut));
      previous = cut;
    }
  }
  return {};
}

int64_t Mesh::digitStride(const plan::AxisRef &ref) const {
  const Axis &axis = axes[ref.axis()];
  return axis.stride * (axis.size / (ref.pre_size() * ref.size()));
}

int64_t Mesh::digit(int64_t at, const plan::AxisRef &ref) const {
  return at / digitStride(ref) % ref.size();
}

int64_t Mesh::position(int64_t rank, const Axes &refs) const {
  const int64_t at = gridPosition(rank);
  int64_t position = 0;
  for (const plan::AxisRef &ref : refs)
    position = position * ref.size() + digit(at, ref);
  return position;
}

int64_t Mesh::rankAt(int64_t rank, const Axes &refs, int64_t position) const {
  int64_t at = gridPosition(rank);
  for (size_t i = refs.size(); i-- > 0;) {
    const plan::AxisRef &ref = refs[i];
    at += (position % ref.size() - digit(at, ref)) * digitStride(ref);
    position /= ref.size();
  }
  return rankOfPosition.empty() ? at : rankOfPosition[at];
}

std::vector<std::vector<int>> Mesh::groups(const Axes &refs) const {
  const int64_t size = groupSize(refs);
  std::vector<std::vector<int>> groups;
  for (int64_t rank = 0; rank < rankCount; ++rank) {
    if (position(rank, refs) != 0)
      continue;
    std::vector<int> &members = groups.emplace_back();
    for (int64_t p = 0; p < size; ++p)
      members.push_back(static_cast<int>(rankAt(rank, refs, p)));
  }
  return groups;
}

bool Mesh::covers(const Axes &refs, const plan::AxisRef &ref) const {
  // Follow the parts from the start of `ref` to its end.
  const int64_t end = ref.pre_size() * ref.size();
  int64_t at = ref.pre_size();
  for (bool moved = true; moved && at < end;) {
    moved = false;
    for (const plan::AxisRef &part : refs) {
      const int64_t partEnd = part.pre_size() * part.size();
      if (part.axis() == ref.axis() && part.pre_size() <= at && at < partEnd &&
          at % part.pre_size() == 0 && partEnd % at == 0) {
        at = partEnd;
        moved = true;
      }
    }
  }
  return at >= end && at % end == 0;
}

Axes Mesh::difference(const Axes &of, const Axes &without) const {
  Axes rest;
  for (const plan::AxisRef &ref : of) {
    std::set<int64_t> cuts{ref.pre_size(), ref.pre_size() * ref.size()};
    for (const plan::AxisRef &other : without)
      if (other.axis() == ref.axis())
        for (int64_t cut : {other.pre_size(), other.pre_size() * other.size()})
          if (cut > *cuts.begin() && cut < *cuts.rbegin())
            cuts.insert(cut);
    for (auto cut = cuts.begin(); std::next(cut) != cuts.end(); ++cut) {
      const int64_t begin = *cut, end = *std::next(cut);
      const bool named = std::any_of(
          without.begin(), without.end(), [&](const plan::AxisRef &other) {
            return other.axis() == ref.axis() && other.pre_size() <= begin &&
                   end <= other.pre_size() * other.size();
          });
      if (!named)
        rest.emplace_back(ref.axis(), begin, end / begin);
    }
  }
  return rest;
}

int64_t Mesh::permuteSource(int64_t rank, const Axes &from, const Axes &to,
                            int64_t shift) const {
  const int64_t source =
      rankAt(rank, from, (position(rank, to) + shift) % groupSize(from));
  return rankAt(source, difference(to, from),
                position(rank, difference(from, to)));
}

std::string Mesh::toString(const Axes &refs) const {
  std::string text = "{";
  for (size_t i = 0; i < refs.size(); ++i) {
    const Axis &axis = axes[refs[i].axis()];
    text += fmt::format("{}\"{}\"", i ? ", " : "", escaped(axis.name));
    if (refs[i].size() != axis.size)
      text += fmt::format(":({}){}", refs[i].pre_size(), refs[i].size());
  }
  return text + "}";
}

} // namespace weft::runtime
