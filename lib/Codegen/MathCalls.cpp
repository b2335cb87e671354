//===- MathCalls.cpp - Functions that kernels call ------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MathCalls.h"
#include "ExpandMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace weft;

/// Functions of a kernel from which on it calls them: those of a layer, with
/// its gradient, stay inlined.
static constexpr int64_t manyFunctions = 16;

bool MathCalls::isLong(Operation *op) {
  return needsMathExpansion(op) &&
         !isa<arith::MaxNumFOp, arith::MinNumFOp, math::ClampFOp, math::RoundOp,
              math::RsqrtOp, math::IsFiniteOp, math::IsInfOp, math::IsNaNOp,
              math::IsNormalOp>(op);
}

bool MathCalls::areFor(func::FuncOp kernel) {
  int64_t count = 0;
  kernel.walk([&](Operation *op) { count += isLong(op); });
  return count >= manyFunctions;
}

/// Such as math.sin.16xf32: of what, in how many lanes.
static std::string nameOf(Operation *op, ValueRange operands) {
  std::string name;
  llvm::raw_string_ostream stream(name);
  stream << op->getName();
  for (Type type : operands.getTypes()) {
    stream << '.';
    if (auto lanes = dyn_cast<VectorType>(type))
      stream << lanes.getNumElements() << 'x';
    stream << getElementTypeOrSelf(type);
  }
  return name;
}

LLVM::LLVMFuncOp MathCalls::emit(Operation *op, ValueRange operands,
                                 StringRef name) {
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  Location loc = b.getUnknownLoc();
  auto type = LLVM::LLVMFunctionType::get(
      operands[0].getType(), SmallVector<Type>(operands.getTypes()));
  auto function =
      LLVM::LLVMFuncOp::create(b, loc, name, type, LLVM::Linkage::Internal);
  function.setNoInline(true);
  Block *block = function.addEntryBlock(b);
  b.setInsertionPointToStart(block);
  Value result = expandMath(b, op, block->getArguments());
  LLVM::ReturnOp::create(b, loc, result);
  return function;
}

Value MathCalls::call(OpBuilder &b, Operation *op, ValueRange operands) {
  std::string name = nameOf(op, operands);
  LLVM::LLVMFuncOp &function = functions[name];
  if (!function)
    function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!function)
    function = emit(op, operands, name);
  return LLVM::CallOp::create(b, op->getLoc(), function, operands).getResult();
}
