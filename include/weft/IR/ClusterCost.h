//===- ClusterCost.h - Ops on a described cluster ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How passes ask the cost model: they load the cluster of their option, and
// communication is placed on it along the axes of the mesh.
//
//   FailureOr<cost::CostModel> model = loadCostModel(module, cluster);
//   double seconds = model->collective(callOf(op, *model)).seconds;
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_CLUSTERCOST_H
#define WEFT_IR_CLUSTERCOST_H

#include "weft/Cost/CostModel.h"
#include "weft/IR/CommunicationOpInterface.h"
#include "weft/IR/WeftOps.h"
#include "weft/Sharding/Mesh.h"

#include "mlir/IR/Operation.h"

namespace weft {

/// What the option `cluster` of a pass names, as each rank of the module's mesh
/// has it. Errors are reported at `op`.
mlir::FailureOr<cost::CostModel> loadCostModel(mlir::Operation *op,
                                               const std::string &cluster);

/// Where the groups along axes of a mesh lie.
cost::Placement placeGroups(const cost::CostModel &model, MeshOp mesh,
                            llvm::ArrayRef<sharding::AxisRef> axes);

/// Verified ops have a mesh that knows their axes.
cost::CollectiveCall callOf(CommunicationOpInterface op,
                            const cost::CostModel &model);

/// Whether communication is worth starting before its result is needed.
inline bool hides(CommunicationOpInterface op, const cost::CostModel &model) {
  return model.hides(callOf(op, model));
}

/// Attention and its gradient.
cost::Attention costOf(AttentionOp op);
cost::Attention costOf(AttentionGradOp op);

/// The precision of products of a type; that of f32 for what has none.
cost::Precision precisionOf(mlir::Type elementType);

} // namespace weft

#endif // WEFT_IR_CLUSTERCOST_H
