//===- ReshardPrices.h - Remembered prices of reshards ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Equal layers ask for equal reshards. Shardings are numbered, so that a
// problem solved before is one look into a table.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_RESHARDPRICES_H
#define WEFT_LIB_PARTITION_RESHARDPRICES_H

#include "weft/Cost/CostModel.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftAttrs.h"
#include "weft/Sharding/ReshardPlanner.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/DenseMap.h"

#include <deque>
#include <map>

namespace weft {

/// Most small collectives become part of another one, so a call costs a part of
/// its latency where shardings are chosen.
inline constexpr double combinedShare = 0.25;

/// The axes without those of size 1; parts of an axis that only such a one kept
/// apart are one.
sharding::AxisList withoutUnitAxes(const sharding::AxisList &axes);

/// None if the step is local.
std::optional<cost::CollectiveKind>
collectiveOf(const sharding::ReshardStep &step);

class ReshardPrices {
public:
  /// Number of a sharding. Two shardings that place data alike on the mesh have
  /// one number: axes of size 1, openness and names of replicated axes do not
  /// count.
  using Id = int32_t;

  /// Calls cost a share of their latency where many become one.
  ReshardPrices(mlir::FlatSymbolRefAttr symbol, sharding::Mesh mesh,
                const cost::CostModel &model, double latencyShare = 1,
                bool sumsInFloat32 = false,
                sharding::PlanEffort effort = sharding::PlanEffort::Best)
      : symbol(symbol), mesh(std::move(mesh)), links(model.links()),
        latencyShare(latencyShare), sumsInFloat32(sumsInFloat32),
        effort(effort), cost(links.withLatencyShare(latencyShare)),
        flopSeconds(model.secondsPerFlop(cost::Precision::BF16)),
        byteSeconds(model.secondsPerByte()),
        memoryBytes(model.cluster().device.memoryBytes) {}

  const sharding::Mesh &getMesh() const { return mesh; }

  Id intern(const sharding::Sharding &sharding);
  /// The number of an attribute; of the replicated sharding if there is none.
  Id intern(ShardingAttr attr, size_t rank);
  const sharding::Sharding &get(Id id) const { return shardings[id]; }
  ShardingAttr getAttr(Id id);

  /// Time of the cheapest reshard of a tensor of a global type; infinite if one
  /// of the two does not divide the type.
  double seconds(Id from, Id to, mlir::RankedTensorType type) {
    return price(from, to, type).seconds;
  }
  /// A collective of a reshard.
  struct Call {
    cost::CollectiveKind kind;
    /// Of what can become one call: one kind, group, reduction and element
    /// type. Negative if it stays a call of its own.
    int32_t combinable = -1;
    /// All of it.
    double latencySeconds = 0;
  };
  llvm::SmallVector<Call, 2> calls(Id from, Id to,
                                   mlir::RankedTensorType type) {
    return price(from, to, type).calls;
  }
  /// As seconds(), without what calls count of their latencies.
  double secondsWithoutLatency(Id from, Id to, mlir::RankedTensorType type);
  /// As seconds(), without what all-reduces count of their latencies: all of
  /// them, or those of `free` (see Call::combinable).
  double secondsWithFreeSums(
      Id from, Id to, mlir::RankedTensorType type,
      std::optional<llvm::ArrayRef<int32_t>> free = std::nullopt);
  /// What is sent while a call to the nearest devices begins.
  double smallBytes() const;
  /// Bytes that each device sends for it.
  int64_t wireBytes(Id from, Id to, mlir::RankedTensorType type) {
    return price(from, to, type).wireBytes;
  }
  /// Time of an exchange in which a device sends `bytes`.
  double secondsToSend(int64_t bytes,
                       llvm::ArrayRef<sharding::AxisRef> axes) const {
    return cost.seconds(bytes, mesh.span(axes));
  }
  /// Another byte sent to all devices of the mesh.
  double secondsPerSentByte() const {
    return cost.link(mesh.numDevices()).secondsPerByte;
  }
  /// Another flop of a matmul, and another byte that a kernel reads or writes.
  double secondsPerFlop() const { return flopSeconds; }
  double secondsPerByte() const { return byteSeconds; }
  /// Whether terms are added up, or made, on the way.
  bool reduces(Id from, Id to) const {
    return !get(from).unreduced.empty() || !get(to).unreduced.empty();
  }
  /// The type in which terms of the value are added up over devices.
  mlir::RankedTensorType typeToSum(mlir::Value value) const;
  double memoryOfDevice() const { return memoryBytes; }
  size_t numPlanned() const { return prices.size(); }

private:
  struct Price {
    double seconds = 0;
    int64_t wireBytes = 0;
    llvm::SmallVector<Call, 2> calls;
  };
  const Price &price(Id from, Id to, mlir::RankedTensorType type);

  Call describe(const sharding::ReshardStep &step,
                sharding::Reduction reduction, mlir::Type element);

  mlir::FlatSymbolRefAttr symbol;
  sharding::Mesh mesh;
  cost::CollectiveCost links;
  double latencyShare;
  /// Of gradients of 16 bits.
  bool sumsInFloat32;
  sharding::PlanEffort effort;
  /// The links with that share of their latencies.
  cost::CollectiveCost cost;
  double flopSeconds, byteSeconds, memoryBytes;
  /// Where they are, others may be added while one is looked at.
  std::deque<sharding::Sharding> shardings;
  std::vector<ShardingAttr> attrs;
  std::map<std::vector<int64_t>, Id> ids;
  llvm::DenseMap<ShardingAttr, Id> attrIds;
  /// Numbers of what can become one call, by all that it has in common.
  std::map<std::pair<std::vector<int64_t>, const void *>, int32_t> combinables;
  llvm::DenseMap<std::tuple<Id, Id, mlir::Type>, Price> prices;
};

} // namespace weft

#endif // WEFT_LIB_PARTITION_RESHARDPRICES_H
