//===- Mesh.cpp - Coordinates of devices and names of axes ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Sharding/Mesh.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>

namespace weft::sharding {

std::optional<int32_t> Mesh::find(llvm::StringRef name) const {
  for (size_t axis = 0; axis < axes_.size(); ++axis)
    if (axes_[axis].name == name)
      return static_cast<int32_t>(axis);
  return std::nullopt;
}

int64_t Mesh::numDevices() const {
  int64_t devices = 1;
  for (const MeshAxis &axis : axes_)
    devices *= axis.size;
  return devices;
}

int64_t Mesh::coordinate(int64_t device, const AxisRef &ref) const {
  for (size_t axis = axes_.size(); axis-- > size_t(ref.axis) + 1;)
    device /= axes_[axis].size;
  int64_t alongAxis = device % axisSize(ref.axis);
  int64_t minorDigits = axisSize(ref.axis) / ref.next();
  return alongAxis / minorDigits % ref.size;
}

int64_t Mesh::position(int64_t device, llvm::ArrayRef<AxisRef> axes) const {
  int64_t position = 0;
  for (const AxisRef &ref : axes)
    position = position * ref.size + coordinate(device, ref);
  return position;
}

int64_t Mesh::stride(int32_t axis) const {
  if (!strides_.empty())
    return strides_[axis];
  int64_t stride = 1;
  for (size_t minor = axis + 1; minor < axes_.size(); ++minor)
    stride *= axes_[minor].size;
  return stride;
}

std::vector<cost::GroupDimension>
Mesh::positions(llvm::ArrayRef<AxisRef> axes) const {
  std::vector<cost::GroupDimension> group;
  for (const AxisRef &ref : axes)
    group.push_back(
        {ref.size, stride(ref.axis) * (axisSize(ref.axis) / ref.next())});
  return group;
}

void Mesh::place(const Mesh &whole, cost::DeviceList devices) {
  std::vector<int64_t> strides;
  if (!devices.empty())
    for (size_t axis = 0; axis < axes_.size(); ++axis)
      strides.push_back(whole.stride(static_cast<int32_t>(axis)));
  strides_ = std::move(strides);
  devices_.assign(devices.begin(), devices.end());
}

int64_t Mesh::span(llvm::ArrayRef<AxisRef> axes) const {
  if (!devices_.empty())
    return cost::spanOf(positions(axes), devices_);
  int64_t span = 1;
  for (const AxisRef &ref : axes) {
    int64_t block = axisSize(ref.axis) / ref.pre;
    for (size_t axis = ref.axis + 1; axis < axes_.size(); ++axis)
      block *= axes_[axis].size;
    span = std::max(span, block);
  }
  return span;
}

std::string Mesh::print(const AxisRef &ref) const {
  std::string text = ("\"" + axisName(ref.axis) + "\"").str();
  if (!isFull(ref))
    text += ":(" + std::to_string(ref.pre) + ")" + std::to_string(ref.size);
  return text;
}

std::string Mesh::print(llvm::ArrayRef<AxisRef> axes) const {
  return "{" +
         llvm::join(llvm::map_range(
                        axes, [&](const AxisRef &ref) { return print(ref); }),
                    ", ") +
         "}";
}

} // namespace weft::sharding
