//===- ClusterCost.cpp - Ops on a described cluster -----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/ClusterCost.h"

#include "weft/Cost/ClusterFile.h"
#include "weft/IR/AttentionSizes.h"
#include "weft/IR/MeshDevices.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueSharding.h"

#include <numeric>

using namespace mlir;
using namespace weft;

/// Of the largest mesh of the module that holds an op, or that it is.
static int64_t countRanks(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  int64_t ranks = 1;
  if (module)
    for (auto mesh : module.getOps<MeshOp>())
      ranks = std::max(ranks, mesh.getMesh().toMesh().numDevices());
  return ranks;
}

FailureOr<cost::CostModel> weft::loadCostModel(Operation *op,
                                               const std::string &cluster) {
  cost::ParsedCluster parsed = cost::loadCluster(cluster);
  for (const std::string &problem : parsed.problems)
    op->emitError() << problem;
  if (!parsed.cluster)
    return failure();
  return cost::CostModel(*parsed.cluster).ofRanks(countRanks(op));
}

cost::Placement weft::placeGroups(const cost::CostModel &model, MeshOp meshOp,
                                  ArrayRef<sharding::AxisRef> axes) {
  const sharding::Mesh mesh = meshOp.getMesh().toMesh();
  if (const cost::DeviceList devices = devicesOf(meshOp); !devices.empty())
    return placeGroup(model.cluster(), mesh.positions(axes), devices);
  std::vector<cost::MeshAxis> all;
  for (const sharding::MeshAxis &axis : mesh.axes())
    all.push_back({axis.name, axis.size});
  std::vector<cost::GroupDimension> group;
  for (const sharding::AxisRef &ref : axes)
    for (cost::GroupDimension whole :
         groupOf(model.cluster(), all, {all[ref.axis].name}))
      group.push_back({ref.size, whole.stride * (whole.size / ref.next())});
  return model.place(std::move(group));
}

cost::CollectiveCall weft::callOf(CommunicationOpInterface op,
                                  const cost::CostModel &model) {
  cost::CollectiveCall call;
  call.kind = op.getCollectiveKind();
  int64_t bytes = 0;
  for (Value operand : op->getOperands())
    bytes = std::max(bytes, bytesOf(operand));
  for (Value result : op->getResults())
    bytes = std::max(bytes, bytesOf(result));
  call.bytes = double(op.getElementMap() ? countWireBytes(op) : bytes);
  if (MeshOp mesh = findMesh(op, op.getAxes().getMesh())) {
    sharding::Mesh all = mesh.getMesh().toMesh();
    call.group = placeGroups(
        model, mesh, op.getAxes().toAxes(all).value_or(sharding::AxisList()));
  }
  return call;
}

template <typename Op> static cost::Attention describe(Op op) {
  AttentionSizes sizes =
      AttentionSizes::of(op.getQuery().getType(), op.getKey().getType());
  cost::Attention attention;
  attention.batch = sizes.batch;
  attention.heads = attention.keyValueHeads = sizes.heads;
  attention.queryLength = sizes.queries;
  attention.keyLength = sizes.keys;
  attention.headSize = sizes.headSize;
  // Where a diagonal is known at run time only, all blocks count.
  attention.isCausal = op.getCausal() && !op.getDiagonal();
  attention.isBackward = std::is_same_v<Op, AttentionGradOp>;
  attention.precision = precisionOf(op.getQuery().getType().getElementType());
  return attention;
}
cost::Attention weft::costOf(AttentionOp op) { return describe(op); }
cost::Attention weft::costOf(AttentionGradOp op) { return describe(op); }

cost::Precision weft::precisionOf(Type type) {
  if (type.isF64())
    return cost::Precision::F64;
  if (type.isBF16())
    return cost::Precision::BF16;
  if (type.isF16())
    return cost::Precision::F16;
  return cost::Precision::F32;
}
