//===- FuseEpilogues.cpp - Element-wise work into GEMMs -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BiasGradient.h"
#include "GeluExpression.h"
#include "GemmDescription.h"

#include "weft/Schedule/Passes.h"

#include "weft/IR/NarrowFloats.h"
#include "weft/IR/Origin.h"
#include "weft/IR/SourceLocation.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace weft {
#define GEN_PASS_DEF_FUSEEPILOGUES
#include "weft/Schedule/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

/// Whether a GEMM may get an epilogue of cuBLASLt. What a loop reads of a GEMM
/// before it stays as it is.
static bool takesEpilogue(GemmOp gemm) {
  Type element = gemm.getResult().getType().getElementType();
  bool isReadInLoop = llvm::any_of(gemm->getUsers(), [&](Operation *user) {
    return user->getBlock() != gemm->getBlock();
  });
  return gemm.getEpilogue() == GemmEpilogue::None && !isReadInLoop &&
         (element.isF32() || isNarrowFloat(element));
}

/// Whether the rows of sums, n long, start at offsets that cuBLASLt can store
/// them at beside the result.
static bool takesAux(const GemmDescription &product) {
  return product.n % 8 == 0;
}

/// Whether an op takes the value from memory, so that no kernel can compute it
/// on its way.
static bool isReadFromMemory(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    if (isa<ReshapeOp>(user))
      return isReadFromMemory(user->getResult(0));
    return usesBuffers(user) || user->hasTrait<OpTrait::IsTerminator>();
  });
}

/// The vector of length n that a tensor repeats in each row; null if it does
/// something else.
static Value vectorBehind(Value tensor, int64_t n) {
  auto broadcast = tensor.getDefiningOp<BroadcastOp>();
  if (!broadcast || broadcast.getOperand().getType().getNumElements() != n)
    return {};
  ArrayRef<int64_t> shape = broadcast.getType().getShape();
  // The dimensions that a row is made of.
  int64_t first = shape.size(), length = 1;
  while (first > 0 && length < n)
    length *= shape[--first];
  bool isRow =
      length == n && llvm::all_of(broadcast.getDims(), [&](int64_t dim) {
        return dim >= first || shape[dim] == 1;
      });
  return isRow ? broadcast.getOperand() : Value();
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

namespace {

/// GEMM -> (+ bias) -> (gelu)
struct Activation {
  GemmDescription product;
  /// Null if none is added.
  Value bias;
  /// The GEMM, with the bias.
  Value sums;
  std::optional<GeluExpression> gelu;
};

} // namespace

/// The bias that the only user of a GEMM adds to it.
static std::optional<Activation> findBias(GemmOp gemm,
                                          const GemmDescription &product) {
  if (!gemm.getResult().hasOneUse() || product.batch != 1)
    return std::nullopt;
  auto add = dyn_cast<arith::AddFOp>(*gemm.getResult().user_begin());
  if (!add)
    return std::nullopt;
  Value other = add.getLhs() == gemm.getResult() ? add.getRhs() : add.getLhs();
  Value bias = vectorBehind(other, product.n);
  if (!bias)
    return std::nullopt;
  return Activation{product, bias, add.getResult(), findGelu(add.getResult())};
}

static std::optional<Activation> findActivation(GemmOp gemm) {
  GemmDescription product(gemm);
  for (const GemmDescription &seen : {product, product.transposed()})
    if (seen.hasContiguousRows())
      if (auto found = findBias(gemm, seen))
        return found;
  if (!product.hasContiguousRows())
    product = product.transposed();
  auto gelu = findGelu(gemm.getResult());
  if (!gelu || !product.hasContiguousRows())
    return std::nullopt;
  return Activation{product, {}, gemm.getResult(), std::move(gelu)};
}

/// Whether GELU is not all that reads the sums.
static bool needsAux(const Activation &found) {
  return llvm::any_of(found.sums.getUsers(), [&](Operation *user) {
    return !found.gelu->ops.contains(user);
  });
}

/// Whether the GEMM should compute GELU: where the sums are needed too, it
/// writes both, for a reader that could not compute the one from the other.
static bool takesGelu(const Activation &found) {
  if (!found.gelu || !found.gelu->isClosed())
    return false;
  return !needsAux(found) ||
         (takesAux(found.product) && isReadFromMemory(found.gelu->result));
}

static GemmEpilogue epilogueOf(bool bias, bool gelu, bool aux) {
  if (!gelu)
    return GemmEpilogue::Bias;
  if (aux)
    return bias ? GemmEpilogue::BiasGeluAux : GemmEpilogue::GeluAux;
  return bias ? GemmEpilogue::BiasGelu : GemmEpilogue::Gelu;
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// Erases what makes a value that nothing uses, and what only that used, but no
/// products.
static void eraseIfDead(Value value) {
  llvm::SetVector<Operation *> pending;
  auto visit = [&](Value operand) {
    Operation *op = operand.getDefiningOp();
    if (isa_and_present<BarrierOp, BroadcastOp, ReshapeOp, ReduceOp>(op) ||
        (op && isa<arith::ArithDialect, math::MathDialect>(op->getDialect())))
      pending.insert(op);
  };
  visit(value);
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (!op->use_empty())
      continue;
    SmallVector<Value> operands(op->getOperands());
    op->erase();
    llvm::for_each(operands, visit);
  }
}

/// Behind `gemm`, and behind what computes `operand`.
static OpBuilder builderAfter(GemmOp gemm, Value operand) {
  Operation *last = gemm;
  Operation *definer = operand ? operand.getDefiningOp() : nullptr;
  if (definer && definer->getBlock() == gemm->getBlock() &&
      last->isBeforeInBlock(definer))
    last = definer;
  OpBuilder builder(gemm);
  builder.setInsertionPointAfter(last);
  return builder;
}

/// Makes the GEMM that computes `value`, and `beside` it another if there is
/// one, in place of `gemm`.
static GemmOp createFused(OpBuilder &builder, GemmOp gemm,
                          const GemmDescription &product, Value value,
                          Value beside, GemmEpilogue epilogue, Value operand,
                          Type type) {
  SmallVector<Value, 2> results = {value};
  if (beside)
    results.push_back(beside);
  auto locations =
      llvm::map_to_vector(results, [](Value v) { return v.getLoc(); });
  Location loc = fusedLocation({gemm.getLoc(), value.getLoc()}, locations,
                               gemm.getContext());
  GemmOp fused = product.create(builder, loc, epilogue, operand, type);
  setFusedOrigin(fused, {gemm, value.getDefiningOp()}, results);
  return fused;
}

namespace {

struct FuseEpilogues : weft::impl::FuseEpiloguesBase<FuseEpilogues> {
  void runOnInput() override {
    for (auto entry : getOperation().getOps<func::FuncOp>())
      entry.walk([&](Block *block) { fuse(*block); });
  }

private:
  void fuse(Block &body);
  bool fuseGeluGrad(GemmOp gemm, const DenseSet<Value> &sums);
  bool fuseActivation(GemmOp gemm);
  bool fuseBiasGrad(GemmOp gemm);
};

} // namespace

bool FuseEpilogues::fuseGeluGrad(GemmOp gemm, const DenseSet<Value> &sums) {
  GemmDescription product(gemm);
  if (!product.hasContiguousRows())
    product = product.transposed();
  if (!product.hasContiguousRows() || !takesAux(product))
    return false;
  // NVIDIA's own bindings refuse this epilogue where nothing is summed up, as
  // behind a layer with one output.
  if (product.k == 1)
    return false;
  auto found = findGeluGrad(gemm.getResult(), sums);
  if (!found)
    return false;
  std::optional<BiasGradient> bias;
  if (product.batch == 1)
    bias = findBiasGradient(found->result, product.m, product.n,
                            product.type.getElementType());
  Value beside = bias ? bias->value : Value();
  OpBuilder builder = builderAfter(gemm, found->x);
  GemmOp fused = createFused(builder, gemm, product, found->result, beside,
                             bias ? GemmEpilogue::GeluGradBiasGrad
                                  : GemmEpilogue::GeluGrad,
                             found->x, bias ? bias->type : Type());
  if (bias) {
    bias->replaceWith(fused.getEpilogueResult());
    eraseIfDead(bias->value);
  }
  found->result.replaceAllUsesWith(fused.getResult());
  eraseIfDead(found->result);
  gemm.erase();
  return true;
}

bool FuseEpilogues::fuseActivation(GemmOp gemm) {
  std::optional<Activation> found = findActivation(gemm);
  if (!found)
    return false;
  bool gelu = takesGelu(*found);
  // A kernel that reads the sums adds the bias at no cost.
  if (!gelu && (!found->bias || !isReadFromMemory(found->sums)))
    return false;
  bool aux = gelu && needsAux(*found);
  Value result = gelu ? found->gelu->result : found->sums;
  OpBuilder builder = builderAfter(gemm, found->bias);
  GemmOp fused = createFused(
      builder, gemm, found->product, result, aux ? found->sums : Value(),
      epilogueOf(bool(found->bias), gelu, aux), found->bias,
      aux ? Type(found->product.type) : Type());
  result.replaceAllUsesWith(fused.getResult());
  eraseIfDead(result);
  if (aux) {
    found->sums.replaceAllUsesWith(fused.getEpilogueResult());
    eraseIfDead(found->sums);
  }
  gemm.erase();
  return true;
}

bool FuseEpilogues::fuseBiasGrad(GemmOp gemm) {
  GemmDescription product(gemm);
  if (product.batch != 1)
    return false;
  Type element = product.type.getElementType();
  for (bool ofLhs : {false, true}) {
    Value factor = ofLhs ? product.lhs : product.rhs;
    int64_t length = ofLhs ? product.m : product.n;
    ArrayRef<int64_t> strides = ofLhs ? product.lhsStrides : product.rhsStrides;
    int64_t rowStride = strides[ofLhs ? 2 : 1];
    bool hasRows =
        strides[ofLhs ? 1 : 2] == 1 && (rowStride == length || product.k == 1);
    if (!hasRows)
      continue;
    auto bias = findBiasGradient(factor, product.k, length, element);
    if (!bias || !bias->canWaitFor(gemm))
      continue;
    OpBuilder builder(gemm);
    GemmOp fused = createFused(
        builder, gemm, product, gemm.getResult(), bias->value,
        ofLhs ? GemmEpilogue::LhsBiasGrad : GemmEpilogue::RhsBiasGrad, {},
        bias->type);
    bias->replaceWith(fused.getEpilogueResult());
    eraseIfDead(bias->value);
    gemm.getResult().replaceAllUsesWith(fused.getResult());
    gemm.erase();
    return true;
  }
  return false;
}

void FuseEpilogues::fuse(Block &body) {
  SmallVector<GemmOp> gemms;
  for (auto gemm : body.getOps<GemmOp>())
    if (takesEpilogue(gemm))
      gemms.push_back(gemm);
  size_t all = gemms.size();
  DenseSet<Value> sums;
  for (GemmOp gemm : gemms)
    if (auto found = findActivation(gemm); found && found->gelu)
      sums.insert(found->sums);
  // Backward first: what GELU keeps of its operand depends on who is left.
  llvm::erase_if(gemms, [&](GemmOp gemm) { return fuseGeluGrad(gemm, sums); });
  llvm::erase_if(gemms, [&](GemmOp gemm) { return fuseActivation(gemm); });
  size_t others = gemms.size();
  llvm::erase_if(gemms, [&](GemmOp gemm) { return fuseBiasGrad(gemm); });
  // What uses the gradient of a bias may stand before the GEMM that it is
  // part of now.
  if (gemms.size() != others)
    sortTopologically(&body);
  fused += all - gemms.size();
}
