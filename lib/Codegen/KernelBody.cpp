//===- KernelBody.cpp - What a kernel may contain -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBody.h"
#include "LaneOps.h"

#include "weft/IR/NarrowFloats.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace weft;

unsigned weft::countBufferArguments(func::FuncOp kernel) {
  unsigned count = 0;
  while (count < kernel.getNumArguments() &&
         !kernel.getArgAttr(count, "weft.position"))
    ++count;
  return count;
}

static bool isElementType(Type type) {
  return type.isF32() || type.isF64() || isNarrowFloat(type) ||
         type.isInteger(1) || type.isInteger(8) || type.isInteger(16) ||
         type.isInteger(32) || type.isInteger(64);
}

static LogicalResult checkTensor(Operation *op, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor && tensor.hasStaticShape() &&
      isElementType(tensor.getElementType()))
    return success();
  return op->emitOpError("has the type ")
         << type
         << "; kernels take tensors of static shape with elements f32, f64, "
            "bf16, f16, i1, i8, i16, i32 or i64";
}

static LogicalResult checkGeneric(linalg::GenericOp generic) {
  for (Operation &op : generic.getBody()->without_terminator())
    if (!isa<linalg::IndexOp, tensor::ExtractOp>(op) &&
        failed(LaneOps::check(&op)))
      return failure();
  for (AffineMap map : generic.getIndexingMapsArray())
    if (map.getNumSymbols() != 0)
      // no test: the verifier of linalg refuses them before
      return generic.emitOpError("has an indexing map with symbols: ")
             << AffineMapAttr::get(map);
  for (Value result : generic->getResults())
    if (!generic.getIndexingMapMatchingResult(cast<OpResult>(result))
             .isProjectedPermutation())
      return generic.emitOpError("writes a result through the map ")
             << AffineMapAttr::get(generic.getIndexingMapMatchingResult(
                    cast<OpResult>(result)))
             << "; expected a permutation of dimensions";
  return success();
}

/// The sums lie in the result's buffer.
static LogicalResult checkScatterAdd(ScatterAddOp op) {
  if (Type element = op.getType().getElementType(); isNarrowFloat(element))
    return op.emitOpError("adds up ")
           << element
           << ", which would round at every step; convert the updates to f32 "
              "and the result back";
  for (Operation *user : op->getUsers())
    if (!isa<func::ReturnOp>(user))
      return op.emitOpError("is used by ")
             << user->getName()
             << " in its kernel, but its sums are complete only at the end; "
                "return it and use it in another kernel";
  return success();
}

static LogicalResult checkOperation(Operation *op) {
  for (Type type : op->getResultTypes())
    if (isa<ShapedType>(type) && failed(checkTensor(op, type)))
      return failure();
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return checkGeneric(generic);
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (isa<ShapedType>(constant.getType()) &&
        !isa<DenseElementsAttr>(constant.getValue()))
      return op->emitOpError("is not a dense constant");
    return success();
  }
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    bool isStatic =
        llvm::none_of(slice.getStaticStrides(), ShapedType::isDynamic) &&
        llvm::none_of(slice.getStaticSizes(), ShapedType::isDynamic);
    if (!isStatic ||
        slice.getType().getRank() != slice.getSourceType().getRank())
      return op->emitOpError(
          "must have static sizes and strides and keep all dimensions");
    return success();
  }
  if (auto scatter = dyn_cast<ScatterAddOp>(op))
    return checkScatterAdd(scatter);
  if (isa<linalg::FillOp, tensor::EmptyOp, tensor::ConcatOp,
          tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::ExtractOp>(
          op))
    return success();
  if (llvm::any_of(op->getResultTypes(), llvm::IsaPred<ShapedType>))
    return op->emitOpError("is not lowered to linalg; run "
                           "--weft-lower-kernels on the kernel first");
  return LaneOps::check(op);
}

LogicalResult weft::checkKernelBody(func::FuncOp kernel) {
  if (!kernel.getBody().hasOneBlock())
    return kernel.emitOpError("is a kernel and must have a body of one block");
  for (Type type : kernel.getArgumentTypes())
    if (failed(checkTensor(kernel, type)))
      return failure();
  for (unsigned i = countBufferArguments(kernel); i < kernel.getNumArguments();
       ++i)
    if (kernel.getArgumentTypes()[i] !=
        RankedTensorType::get({}, IntegerType::get(kernel.getContext(), 32)))
      return kernel.emitOpError("argument ")
             << i << " is a position and must be tensor<i32>, not "
             << kernel.getArgumentTypes()[i];
  bool valid = true;
  for (Operation &op : kernel.getBody().front().without_terminator())
    valid &= succeeded(checkOperation(&op));
  return success(valid);
}
