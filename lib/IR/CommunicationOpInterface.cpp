//===- CommunicationOpInterface.cpp - Data between devices ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/CommunicationOpInterface.h"

#include "weft/Cost/CollectiveCost.h"
#include "weft/IR/MeshDevices.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueSharding.h"

#include <numeric>

using namespace mlir;
using namespace weft;

#include "weft/IR/CommunicationOpInterface.cpp.inc"

GroupLayout weft::findGroups(CommunicationOpInterface op) {
  AxesAttr attr = op.getAxes();
  MeshOp meshOp = findMesh(op, attr.getMesh());
  if (!meshOp)
    return {};
  sharding::Mesh mesh = meshOp.getMesh().toMesh();
  auto axes = attr.toAxes(mesh).value_or(sharding::AxisList());
  mesh.place(mesh, devicesOf(meshOp));
  return {numShards(axes), mesh.span(axes)};
}

int64_t weft::countWireBytes(CommunicationOpInterface op) {
  if (ElementMapAttr attr = op.getElementMap()) {
    sharding::ElementMap map = attr.toMap();
    int64_t held =
        std::accumulate(map.from.begin(), map.from.end(), int64_t(0));
    return bytesOf(op->getOperand(0)) / held *
           map.mostSent(findGroups(op).size);
  }
  int64_t local = 0;
  for (Value operand : op->getOperands())
    local = std::max(local, bytesOf(operand));
  for (Value result : op->getResults())
    local = std::max(local, bytesOf(result));
  return cost::wireBytes(op.getCollectiveKind(), local, findGroups(op).size);
}
