//===- VjpArithModels.cpp - Derivatives of the ops of arith ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// g is the cotangent of the result r, x and y are the operands.
//
//===----------------------------------------------------------------------===//

#include "AttachVjp.h"
#include "weft/IR/VjpModels.h"
#include "weft/IR/WeftDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/DialectRegistry.h"

using namespace mlir;
using namespace weft;

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

static void addVjp(arith::AddFOp, VjpBuilder &b) {
  b.addCotangent(0, b.getCotangent());
  b.addCotangent(1, b.getCotangent());
}

static void subVjp(arith::SubFOp, VjpBuilder &b) {
  b.addCotangent(0, b.getCotangent());
  if (b.wants(1))
    b.addCotangent(1, b.neg(b.getCotangent()));
}

static void mulVjp(arith::MulFOp op, VjpBuilder &b) {
  Value g = b.getCotangent();
  if (b.wants(0))
    b.addCotangent(0, b.mul(g, op.getRhs()));
  if (b.wants(1))
    b.addCotangent(1, b.mul(g, op.getLhs()));
}

/// dx = g / y, dy = -(g / y) x / y: the result may have overflowed where its
/// cotangent is 0.
static void divVjp(arith::DivFOp op, VjpBuilder &b) {
  Value quotient = b.div(b.getCotangent(), op.getRhs());
  b.addCotangent(0, quotient);
  if (b.wants(1))
    b.addCotangent(1, b.neg(b.div(b.mul(quotient, op.getLhs()), op.getRhs())));
}

/// r = x - y trunc(x / y).
static void remVjp(arith::RemFOp op, VjpBuilder &b) {
  Value g = b.getCotangent();
  b.addCotangent(0, g);
  if (!b.wants(1))
    return;
  Value times = math::TruncOp::create(b, b.div(op.getLhs(), op.getRhs()));
  b.addCotangent(1, b.neg(b.mul(g, times)));
}

static Value negVjp(VjpBuilder &b, Value g, Value, Value) { return b.neg(g); }

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

/// The operand that the result equals gets the cotangent; both get half of it
/// where they are equal.
template <typename Op> static void extremumVjp(Op op, VjpBuilder &b) {
  Value g = b.getCotangent(), r = op.getResult();
  Value isLhs = b.equal(op.getLhs(), r), isRhs = b.equal(op.getRhs(), r);
  Value tied = b.createOrFold<arith::AndIOp>(isLhs, isRhs);
  Value share = b.select(tied, b.scale(g, 0.5), g);
  if (b.wants(0))
    b.addCotangent(0, b.keepWhere(isLhs, share));
  if (b.wants(1))
    b.addCotangent(1, b.keepWhere(isRhs, share));
}

static void selectVjp(arith::SelectOp op, VjpBuilder &b) {
  Value g = b.getCotangent();
  if (b.wants(1))
    b.addCotangent(1, b.keepWhere(op.getCondition(), g));
  if (b.wants(2))
    b.addCotangent(2, b.select(op.getCondition(), b.constant(0, g), g));
}

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

static Value extendVjp(VjpBuilder &b, Value g, Value x, Value) {
  return arith::TruncFOp::create(b, x.getType(), g);
}

static Value truncateVjp(VjpBuilder &b, Value g, Value x, Value) {
  return arith::ExtFOp::create(b, x.getType(), g);
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

template <typename... Ops> static void attachExtrema(MLIRContext *context) {
  (attachVjp<Ops, extremumVjp<Ops>>(context), ...);
}

void weft::attachArithVjps(MLIRContext *context) {
  attachVjp<arith::AddFOp, addVjp>(context);
  attachVjp<arith::SubFOp, subVjp>(context);
  attachVjp<arith::MulFOp, mulVjp>(context);
  attachVjp<arith::DivFOp, divVjp>(context);
  attachVjp<arith::RemFOp, remVjp>(context);
  attachUnary<arith::NegFOp, negVjp>(context);
  attachExtrema<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
                arith::MinNumFOp>(context);
  attachVjp<arith::SelectOp, selectVjp>(context);
  attachUnary<arith::ExtFOp, extendVjp>(context);
  attachUnary<arith::TruncFOp, truncateVjp>(context);
}

void weft::registerVjpModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    // Derivatives of arith ops contain math ops.
    context->loadDialect<math::MathDialect>();
    attachArithVjps(context);
  });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    attachMathVjps(context);
  });
  registry.addExtension(+[](MLIRContext *context, WeftDialect *) {
    attachRearrangeVjp(context);
  });
}
