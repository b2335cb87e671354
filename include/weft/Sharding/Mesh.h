//===- Mesh.h - Named axes of devices and references to them ----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mesh is a list of named axes; device number = row-major position in the
// grid of the axes (the first axis is the major one). Everything in the
// sharding algebra names axes by their index in the mesh, so that comparing
// two references compares three integers.
//
// Example: mesh <["data"=2, "model"=8]>
//   AxisRef{1, 1, 8}  the full axis "model"
//   AxisRef{1, 2, 4}  its sub-axis "model":(2)4
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SHARDING_MESH_H
#define WEFT_SHARDING_MESH_H

#include "weft/Cost/DeviceList.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::sharding {

/// A mesh axis or a part of one. The axis is seen as three digits, major to
/// minor, [pre, size, rest]; the reference names the middle one. A full axis
/// has pre = 1 and size = the size of the axis; that is its only spelling.
struct AxisRef {
  int32_t axis = 0;
  int64_t pre = 1;
  int64_t size = 1;

  /// End of the interval [pre, next) that the reference covers.
  int64_t next() const { return pre * size; }

  bool operator==(const AxisRef &other) const = default;
  /// Mesh order: by axis, then by pre, then by size.
  auto operator<=>(const AxisRef &other) const = default;

  /// Whether every part of `other` is a part of this.
  bool contains(const AxisRef &other) const;
  bool overlaps(const AxisRef &other) const;
  /// Whether this is `other` or a major part of it that starts where it starts.
  bool isPrefixOf(const AxisRef &other) const;
  bool isStrictPrefixOf(const AxisRef &other) const;
  /// Whether a factorisation of the axis exists in which both are products of
  /// neighbouring digits, so that one sharding may mention both.
  bool canCoexistWith(const AxisRef &other) const;
  /// The largest prefix of this that does not overlap `other`, if any.
  std::optional<AxisRef> prefixWithoutOverlap(const AxisRef &other) const;
  /// Whether this followed by `minor` is one longer reference.
  bool canMergeWith(const AxisRef &minor) const;
  AxisRef mergedWith(const AxisRef &minor) const;
};

using AxisList = llvm::SmallVector<AxisRef, 2>;

struct MeshAxis {
  std::string name;
  int64_t size = 1;

  bool operator==(const MeshAxis &other) const = default;
};

class Mesh {
public:
  Mesh() = default;
  explicit Mesh(std::vector<MeshAxis> axes) : axes_(std::move(axes)) {}

  llvm::ArrayRef<MeshAxis> axes() const { return axes_; }
  int64_t axisSize(int32_t axis) const { return axes_[axis].size; }
  llvm::StringRef axisName(int32_t axis) const { return axes_[axis].name; }
  std::optional<int32_t> find(llvm::StringRef name) const;

  AxisRef fullAxis(int32_t axis) const { return {axis, 1, axisSize(axis)}; }
  bool isFull(const AxisRef &ref) const {
    return ref.size == axisSize(ref.axis);
  }

  int64_t numDevices() const;
  /// Coordinate of `device` along a full or sub-axis, in [0, ref.size).
  int64_t coordinate(int64_t device, const AxisRef &ref) const;
  /// The mixed-radix number that the coordinates of `device` along `axes`
  /// spell, major to minor.
  int64_t position(int64_t device, llvm::ArrayRef<AxisRef> axes) const;

  /// The group along `axes`, in positions of the mesh that was placed, or of
  /// this one.
  std::vector<cost::GroupDimension>
  positions(llvm::ArrayRef<AxisRef> axes) const;

  /// Says on which devices the positions of `whole` lie: this mesh, or one with
  /// the same axes of which this is a part, in which some have the size 1. An
  /// empty list says nothing.
  void place(const Mesh &whole, cost::DeviceList devices);

  /// Size of the aligned blocks of consecutive devices that hold the groups
  /// along `axes`: 1 if there are none. In <["data"=2, "model"=8]> groups along
  /// "model":(2)4 span 4 devices, those along "data" all 16; placed on the
  /// devices 0, 2, ..., 14, 1, 3, ..., 15 it is 8 and 2.
  int64_t span(llvm::ArrayRef<AxisRef> axes) const;

  /// `"data"` or `"model":(2)4`.
  std::string print(const AxisRef &ref) const;
  std::string print(llvm::ArrayRef<AxisRef> axes) const;

  bool operator==(const Mesh &other) const = default;

private:
  /// Positions between neighbours along an axis.
  int64_t stride(int32_t axis) const;

  std::vector<MeshAxis> axes_;
  /// Of a mesh that was placed: the strides of its axes in the list, and the
  /// devices.
  std::vector<int64_t> strides_, devices_;
};

/// Product of the sizes.
int64_t numShards(llvm::ArrayRef<AxisRef> axes);

/// Whether `list` is a prefix of `other`: all but its last element equal, the
/// last one a prefix of the element at its index. The empty list is a prefix
/// of every list.
bool isPrefix(llvm::ArrayRef<AxisRef> list, llvm::ArrayRef<AxisRef> other);
bool isStrictPrefix(llvm::ArrayRef<AxisRef> list,
                    llvm::ArrayRef<AxisRef> other);

/// Appends `ref`, merging it with the last element where the two are
/// neighbours.
void appendMerging(AxisList &list, AxisRef ref);

} // namespace weft::sharding

#endif // WEFT_SHARDING_MESH_H
