//===- BufferMap.cpp - The memory of a kernel -----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BufferMap.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace weft;

Type weft::getStorageType(Type element) {
  if (element.isInteger(1))
    return IntegerType::get(element.getContext(), 8);
  return LaneOps::carrier(element);
}

static unsigned alignmentOf(Type storage) {
  return storage.getIntOrFloatBitWidth() / 8;
}

Value BufferMap::elementPointer(Value pointer, Type storage, LaneIndex offset) {
  Value at = offset.stride == 1 ? offset.base : indices.materialise(offset);
  Type type = pointer.getType();
  if (isa<VectorType>(at.getType()))
    type = VectorType::get({ops.width}, type);
  return LLVM::GEPOp::create(b, loc, type, storage, pointer, ValueRange{at},
                             LLVM::GEPNoWrapFlags::inbounds);
}

static Type atWidth(Type element, Value lanes) {
  auto vector = dyn_cast<VectorType>(lanes.getType());
  return vector ? vector.clone(element) : element;
}

/// How the elements from `offset` on are aligned.
unsigned BufferMap::alignmentAt(LaneIndex offset, Type storage) const {
  unsigned element = alignmentOf(storage);
  if (traits.vectorAlignment == 0 || offset.lanes || offset.stride != 1)
    return element;
  return std::max<uint64_t>(element, llvm::MinAlign(traits.vectorAlignment,
                                                    offset.divisor * element));
}

Value BufferMap::load(Value pointer, Type element, LaneIndex offset,
                      bool isInvariant) {
  Type storage = getStorageType(element);
  unsigned alignment = alignmentAt(offset, storage);
  Value address = elementPointer(pointer, storage, offset), value;
  bool lanes = !offset.isUniform();
  Type type = lanes ? VectorType::get({ops.width}, storage) : storage;
  bool contiguous = !offset.lanes && offset.stride == 1;
  if (!lanes || (contiguous && !lanesOn)) {
    value = LLVM::LoadOp::create(b, loc, type, address, alignment,
                                 /*isVolatile=*/false, /*isNonTemporal=*/false,
                                 isInvariant);
  } else {
    Value none = ops.constant(b.getZeroAttr(storage), /*lanes=*/true);
    Value on =
        lanesOn ? lanesOn : ops.constant(b.getBoolAttr(true), /*lanes=*/true);
    value = contiguous ? LLVM::MaskedLoadOp::create(b, loc, type, address, on,
                                                    none, alignment)
                             .getResult()
                       : LLVM::masked_gather::create(b, loc, type, address, on,
                                                     none, alignment)
                             .getResult();
  }
  if (element.isInteger(1))
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value,
                                 ops.constant(b.getZeroAttr(storage), lanes));
  return value;
}

static bool isFirstLaneOnly(Value mask) {
  DenseElementsAttr on;
  if (!mask || !matchPattern(mask, m_Constant(&on)))
    return false;
  auto lanes = llvm::to_vector(on.getValues<bool>());
  return lanes.front() && llvm::count(lanes, true) == 1;
}

void BufferMap::store(Value value, Value pointer, LaneIndex offset) {
  bool lanes = !offset.isUniform();
  if (lanes)
    value = ops.spread(value);
  Type element = getElementTypeOrSelf(value.getType());
  Type storage = getStorageType(element);
  if (element.isInteger(1))
    value = arith::ExtUIOp::create(b, loc, atWidth(storage, value), value);
  Value address = elementPointer(pointer, storage, offset);
  // LLVM 22 makes a store of four bytes of one lane of two, if the number was
  // wider before (combineMaskedStore with AVX-512).
  if (lanes && isFirstLaneOnly(lanesOn))
    LLVM::StoreOp::create(b, loc, vector::ExtractOp::create(b, loc, value, 0),
                          address, alignmentAt(offset, storage));
  else if (lanes && lanesOn)
    LLVM::MaskedStoreOp::create(b, loc, value, address, lanesOn,
                                alignmentAt(offset, storage));
  else
    LLVM::StoreOp::create(b, loc, value, address, alignmentAt(offset, storage));
}

Value BufferMap::loadArgument(unsigned number, Type element, LaneIndex offset) {
  return load(arguments[number], element, offset,
              !traits.isReadOnly.empty() && traits.isReadOnly[number]);
}
