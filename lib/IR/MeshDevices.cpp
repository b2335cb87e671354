//===- MeshDevices.cpp - The devices of a mesh ----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/MeshDevices.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace weft;

std::string weft::checkDevices(ArrayRef<int64_t> devices, int64_t positions) {
  const std::string mesh =
      "a mesh of " + std::to_string(positions) + " positions ";
  if (static_cast<int64_t>(devices.size()) != positions)
    return mesh + "needs as many devices, got " +
           std::to_string(devices.size());
  llvm::BitVector named(positions);
  for (int64_t device : devices) {
    if (device < 0 || device >= positions)
      return mesh + "has the devices 0 to " + std::to_string(positions - 1) +
             ", got " + std::to_string(device);
    if (named.test(device))
      return mesh + "has each device once, got " + std::to_string(device) +
             " twice";
    named.set(device);
  }
  return {};
}

cost::DeviceList weft::devicesOf(MeshOp mesh) {
  auto attr = mesh->getAttrOfType<DenseI64ArrayAttr>(kDevicesAttrName);
  if (!attr ||
      llvm::equal(attr.asArrayRef(), llvm::seq<int64_t>(0, attr.size())))
    return {};
  return attr.asArrayRef();
}
