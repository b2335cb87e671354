//===- MeshDevices.h - The devices of a mesh --------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which device each row-major position of a mesh is. Devices are numbered node
// by node, so that the list says which axes lie in nodes:
//
//   weft.mesh @mesh = <["data"=2, "model"=2]>
//       {weft.devices = array<i64: 0, 2, 1, 3>}
//
// Only costs and the plan read it: shardings, groups and everything computed
// are in terms of positions.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_MESHDEVICES_H
#define WEFT_IR_MESHDEVICES_H

#include "weft/Cost/DeviceList.h"
#include "weft/IR/WeftOps.h"

namespace weft {

/// On a mesh: a DenseI64ArrayAttr with each device once.
inline constexpr llvm::StringLiteral kDevicesAttrName = "weft.devices";

/// Why these cannot be the devices of so many positions; empty if they can.
std::string checkDevices(llvm::ArrayRef<int64_t> devices, int64_t positions);

/// Of a verified mesh; empty where each device is its own position.
cost::DeviceList devicesOf(MeshOp mesh);

} // namespace weft

#endif // WEFT_IR_MESHDEVICES_H
