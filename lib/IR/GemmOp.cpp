//===- GemmOp.cpp - Verifier of gemm --------------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/NarrowFloats.h"
#include "weft/IR/WeftOps.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft;

//===----------------------------------------------------------------------===//
// Strides
//===----------------------------------------------------------------------===//

/// One tensor of a gemm: sizes and strides of [batch, row, column].
static LogicalResult verifyMatrix(GemmOp op, StringRef name, ShapedType type,
                                  ArrayRef<int64_t> sizes,
                                  ArrayRef<int64_t> strides) {
  if (strides.size() != 3)
    return op.emitOpError()
           << name << " must have 3 strides, got " << strides.size();
  if (strides[1] != 1 && strides[2] != 1)
    return op.emitOpError()
           << "one matrix stride of " << name << " must be 1, got "
           << strides[1] << " and " << strides[2];
  int64_t last = 0;
  for (auto [size, stride] : llvm::zip_equal(sizes, strides)) {
    if (stride < 0)
      return op.emitOpError() << name << " must not have a negative stride, "
                              << "got " << stride;
    int64_t reach = 0;
    if (llvm::MulOverflow(size - 1, stride, reach) ||
        llvm::AddOverflow(last, reach, last))
      return op.emitOpError()
             << "strides of " << name << " reach beyond element "
             << std::numeric_limits<int64_t>::max();
  }
  if (last >= type.getNumElements())
    return op.emitOpError() << "strides of " << name << " reach element "
                            << last << " of " << type.getNumElements();
  return success();
}

/// Whether the index spaces [0, size) times stride cover each element once.
static bool coversEachElementOnce(ArrayRef<int64_t> sizes,
                                  ArrayRef<int64_t> strides, int64_t elements) {
  SmallVector<std::pair<int64_t, int64_t>> digits;
  for (auto [size, stride] : llvm::zip_equal(sizes, strides))
    if (size > 1)
      digits.emplace_back(stride, size);
  llvm::sort(digits);
  int64_t covered = 1;
  for (auto [stride, size] : digits) {
    if (stride != covered)
      return false;
    covered *= size;
  }
  return covered == elements;
}

//===----------------------------------------------------------------------===//
// Epilogue
//===----------------------------------------------------------------------===//

namespace {

/// What an epilogue has beside the operands and the result of a GEMM.
enum class Beside { Nothing, Bias, Aux, Addend };

struct EpilogueTensors {
  Beside operand = Beside::Nothing, result = Beside::Nothing;
};

} // namespace

static EpilogueTensors tensorsOf(GemmEpilogue epilogue) {
  using enum Beside;
  switch (epilogue) {
  case GemmEpilogue::None:
  case GemmEpilogue::Gelu:
    return {};
  case GemmEpilogue::Bias:
  case GemmEpilogue::BiasGelu:
    return {Bias, Nothing};
  case GemmEpilogue::GeluAux:
    return {Nothing, Aux};
  case GemmEpilogue::BiasGeluAux:
    return {Bias, Aux};
  case GemmEpilogue::GeluGrad:
    return {Aux, Nothing};
  case GemmEpilogue::GeluGradBiasGrad:
    return {Aux, Bias};
  case GemmEpilogue::LhsBiasGrad:
  case GemmEpilogue::RhsBiasGrad:
    return {Nothing, Bias};
  case GemmEpilogue::Accumulate:
    return {Addend, Nothing};
  }
  return {};
}

/// The one of the operand and the result of an epilogue that is of a kind.
static Value find(GemmOp op, Beside kind) {
  EpilogueTensors tensors = tensorsOf(op.getEpilogue());
  if (tensors.operand == kind)
    return op.getEpilogueOperand();
  return tensors.result == kind ? op.getEpilogueResult() : Value();
}

Value GemmOp::getBias() { return find(*this, Beside::Bias); }
Value GemmOp::getAux() { return find(*this, Beside::Aux); }
Value GemmOp::getAddend() { return find(*this, Beside::Addend); }

int64_t GemmOp::getInPlaceOperand(unsigned index) {
  if (index != 0 || !getAddend())
    return -1;
  return getEpilogueOperandMutable().begin()->getOperandNumber();
}

/// A GEMM without more has no names, as other ops of one result.
void GemmOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (!getEpilogueResult())
    return;
  setName(getResult(), "out");
  setName(getEpilogueResult(),
          getEpilogueResult() == getAux() ? "aux" : "bias_grad");
}

static StringRef nameOf(Beside kind) {
  switch (kind) {
  case Beside::Nothing:
    return "nothing";
  case Beside::Bias:
    return "the bias";
  case Beside::Aux:
    return "aux";
  case Beside::Addend:
    return "the addend";
  }
  return {};
}

/// Whether the epilogue has the operand, or result, that it must have.
static LogicalResult verifyPresence(GemmOp op, StringRef what, Beside kind,
                                    Value value) {
  if (bool(value) == (kind != Beside::Nothing))
    return success();
  return op.emitOpError("epilogue ")
         << stringifyGemmEpilogue(op.getEpilogue()) << " needs " << nameOf(kind)
         << " as its " << what << ", got " << (value ? "one" : "none");
}

static LogicalResult verifyBias(GemmOp op, ShapedType bias) {
  Type element = op.getResult().getType().getElementType();
  bool ofRows = op.getEpilogue() == GemmEpilogue::LhsBiasGrad;
  int64_t length = ofRows ? op.getM() : op.getN();
  if (bias.getElementType() != element || bias.getNumElements() != length)
    return op.emitOpError("bias must have ")
           << length << " elements (" << (ofRows ? "m" : "n") << ") of "
           << element << ", got " << bias;
  if (op.getBatch() != 1)
    return op.emitOpError("with a bias, batch must be 1, got ")
           << op.getBatch();
  return success();
}

static LogicalResult verifyAux(GemmOp op, Type aux) {
  constexpr int64_t multiple = 8;
  if (aux != op.getResult().getType())
    return op.emitOpError("aux must have the type of the result, ")
           << op.getResult().getType() << ", got " << aux;
  if (op.getN() % multiple != 0)
    return op.emitOpError("with aux, n must be a multiple of ")
           << multiple << ", got " << op.getN();
  return success();
}

static LogicalResult verifyEpilogue(GemmOp op) {
  GemmEpilogue epilogue = op.getEpilogue();
  EpilogueTensors tensors = tensorsOf(epilogue);
  if (failed(verifyPresence(op, "operand", tensors.operand,
                            op.getEpilogueOperand())) ||
      failed(
          verifyPresence(op, "result", tensors.result, op.getEpilogueResult())))
    return failure();
  if (epilogue == GemmEpilogue::None)
    return success();
  if (Value addend = op.getAddend()) {
    if (addend.getType() != op.getResult().getType())
      return op.emitOpError("the addend must have the type of the result, ")
             << op.getResult().getType() << ", got " << addend.getType();
    return success();
  }
  Type element = op.getResult().getType().getElementType();
  if (!element.isF32() && !isNarrowFloat(element))
    return op.emitOpError("with an epilogue, the result must be of f32, "
                          "bf16 or f16, got ")
           << element;
  bool ofFactor = epilogue == GemmEpilogue::LhsBiasGrad ||
                  epilogue == GemmEpilogue::RhsBiasGrad;
  if (!ofFactor && op.getOutStrides()[2] != 1)
    return op.emitOpError("epilogue ")
           << stringifyGemmEpilogue(epilogue)
           << " needs an n stride of 1 in the result, got "
           << op.getOutStrides()[2];
  if (Value bias = op.getBias();
      bias && failed(verifyBias(op, cast<ShapedType>(bias.getType()))))
    return failure();
  Value aux = op.getAux();
  return aux ? verifyAux(op, aux.getType()) : success();
}

//===----------------------------------------------------------------------===//
// gemm
//===----------------------------------------------------------------------===//

LogicalResult GemmOp::verify() {
  RankedTensorType result = getResult().getType();
  int64_t batch = getBatch(), m = getM(), n = getN(), k = getK();
  for (auto [name, size] :
       {std::pair("batch", batch), {"m", m}, {"n", n}, {"k", k}})
    if (size < 1)
      return emitOpError() << name << " must be at least 1, got " << size;
  if (failed(verifyMatrix(*this, "lhs", getLhs().getType(), {batch, m, k},
                          getLhsStrides())) ||
      failed(verifyMatrix(*this, "rhs", getRhs().getType(), {batch, k, n},
                          getRhsStrides())) ||
      failed(
          verifyMatrix(*this, "out", result, {batch, m, n}, getOutStrides())))
    return failure();
  if (!coversEachElementOnce({batch, m, n}, getOutStrides(),
                             result.getNumElements()))
    return emitOpError("out strides must write every element of the result "
                       "once, got [")
           << getOutStrides() << "]";

  Type element = getLhs().getType().getElementType();
  Type out = result.getElementType();
  if (!isNarrowFloat(element) && !element.isF32() && !element.isF64() &&
      !element.isInteger(32) && !element.isInteger(64))
    return emitOpError("operands must be of bf16, f16, f32, f64, i32 or i64, "
                       "got ")
           << element;
  if (getRhs().getType().getElementType() != element)
    return emitOpError("operands must have one element type, got ")
           << element << " and " << getRhs().getType().getElementType();
  if (out != element && !(isNarrowFloat(element) && out.isF32()))
    return emitOpError("result must be of ")
           << element << (isNarrowFloat(element) ? " or f32" : "") << ", got "
           << out;
  if (getPrecision() == GemmPrecision::TF32 && !element.isF32())
    return emitOpError("precision tf32 is for operands of f32, got ")
           << element;
  return verifyEpilogue(*this);
}
