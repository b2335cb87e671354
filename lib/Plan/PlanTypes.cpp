//===- PlanTypes.cpp - Types, axes and locations in the schema ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanTypes.h"

#include "weft/IR/ObservedValues.h"
#include "weft/IR/ValueSharding.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace weft {

plan::DType toDType(Type type) {
  if (type.isF32())
    return plan::DType::F32;
  if (type.isBF16())
    return plan::DType::BF16;
  if (type.isF16())
    return plan::DType::F16;
  if (type.isF64())
    return plan::DType::F64;
  if (type.isInteger(64))
    return plan::DType::I64;
  if (type.isInteger(16))
    return plan::DType::I16;
  if (type.isInteger(8))
    return plan::DType::I8;
  if (type.isInteger(1))
    return plan::DType::Pred;
  return plan::DType::I32;
}

plan::CollectiveKind toCollectiveKind(cost::CollectiveKind kind) {
  switch (kind) {
  case cost::CollectiveKind::AllReduce:
    return plan::CollectiveKind::AllReduce;
  case cost::CollectiveKind::AllGather:
    return plan::CollectiveKind::AllGather;
  case cost::CollectiveKind::ReduceScatter:
    return plan::CollectiveKind::ReduceScatter;
  case cost::CollectiveKind::AllToAll:
    return plan::CollectiveKind::AllToAll;
  case cost::CollectiveKind::Permute:
    return plan::CollectiveKind::Permute;
  case cost::CollectiveKind::Exchange:
    return plan::CollectiveKind::Exchange;
  }
  llvm_unreachable("all kinds are covered");
}

plan::AxisListT toAxisList(ArrayRef<sharding::AxisRef> axes) {
  plan::AxisListT list;
  for (const sharding::AxisRef &ref : axes)
    list.axes.emplace_back(ref.axis, ref.pre, ref.size);
  return list;
}

plan::AxisListT toAxisList(const sharding::Mesh &mesh, AxesAttr axes) {
  return toAxisList(axes.toAxes(mesh).value_or(sharding::AxisList()));
}

std::unique_ptr<plan::TensorTypeT> toTensorType(const sharding::Mesh &mesh,
                                                RankedTensorType local,
                                                RankedTensorType global,
                                                ShardingAttr sharding) {
  auto type = std::make_unique<plan::TensorTypeT>();
  type->dtype = toDType(local.getElementType());
  type->local_shape = local.getShape();
  type->global_shape = global.getShape();
  sharding::Sharding layout = sharding::Sharding::closed(local.getRank());
  if (sharding)
    layout = sharding.toSharding(mesh).value_or(layout);
  for (const sharding::DimSharding &dim : layout.dims)
    type->dim_axes.push_back(
        std::make_unique<plan::AxisListT>(toAxisList(dim.axes)));
  if (!layout.unreduced.empty())
    type->unreduced =
        std::make_unique<plan::AxisListT>(toAxisList(layout.unreduced));
  type->unreduced_kind = static_cast<plan::Reduction>(layout.unreducedKind);
  return type;
}

std::unique_ptr<plan::TensorTypeT>
argumentType(const sharding::Mesh &mesh, func::FuncOp entry, unsigned index) {
  return toTensorType(mesh,
                      cast<RankedTensorType>(entry.getArgumentTypes()[index]),
                      getGlobalArgumentType(entry, index),
                      // Also of a declaration, which has no values.
                      entry.getArgAttrOfType<ShardingAttr>(
                          index, WeftDialect::kShardingAttrName));
}

std::unique_ptr<plan::TensorTypeT>
resultType(const sharding::Mesh &mesh, func::FuncOp entry, unsigned index) {
  return toTensorType(
      mesh, cast<RankedTensorType>(entry.getResultTypes()[index]),
      getGlobalResultType(entry, index), getResultSharding(entry, index));
}

std::vector<std::unique_ptr<plan::ObservedValueT>>
toObserved(func::FuncOp entry) {
  std::vector<std::pair<ObservedValue, uint32_t>> values;
  for (unsigned index = 0; index < entry.getNumResults(); ++index)
    if (std::optional<ObservedValue> value = getObserved(entry, index))
      values.emplace_back(std::move(*value), index);
  llvm::sort(values, [](const auto &a, const auto &b) {
    return a.first.order < b.first.order;
  });
  std::vector<std::unique_ptr<plan::ObservedValueT>> written;
  for (const auto &[value, output] : values) {
    plan::ObservedValueT &observed =
        *written.emplace_back(std::make_unique<plan::ObservedValueT>());
    observed.output = output;
    observed.number = value.number;
    // The enumerations list the same in one order.
    observed.kind = static_cast<plan::ObservedKind>(value.kind);
    observed.terms = value.terms;
    observed.name = value.name;
    observed.sources.assign(value.sources.begin(), value.sources.end());
  }
  return written;
}

std::string toSourcePosition(Location location) {
  std::string text;
  location->walk([&](Location inner) {
    auto file = dyn_cast<FileLineColLoc>(inner);
    if (!file)
      return WalkResult::advance();
    text = (llvm::sys::path::filename(file.getFilename()) + ":" +
            Twine(file.getLine()))
               .str();
    return WalkResult::interrupt();
  });
  return text;
}

std::vector<uint8_t> toBytes(ElementsAttr elements) {
  std::vector<uint8_t> bytes;
  if (elements.getElementType().isInteger(1)) {
    for (bool value : elements.getValues<bool>())
      bytes.push_back(value);
    return bytes;
  }
  if (auto dense = dyn_cast<DenseElementsAttr>(elements)) {
    ArrayRef<char> raw = dense.getRawData();
    int64_t copies = dense.isSplat() ? dense.getNumElements() : 1;
    for (int64_t i = 0; i < copies; ++i)
      bytes.insert(bytes.end(), raw.begin(), raw.end());
    return bytes;
  }
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(elements))
    if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
      bytes.assign(blob->getData().begin(), blob->getData().end());
  return bytes;
}

} // namespace weft
