//===- Updates.cpp - Parts of a tensor that are replaced ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Updates.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

/// An update is held as a cast of two values to one, of which no other maker
/// exists here.
static constexpr StringLiteral kStarts = "starts";

namespace {
/// A view of an op as an update.
struct Update {
  UnrealizedConversionCastOp op;

  static Update of(Operation *op) {
    auto cast = dyn_cast_or_null<UnrealizedConversionCastOp>(op);
    return {cast && cast->hasAttr(kStarts) ? cast : nullptr};
  }
  static Update of(Value value) {
    return of(value ? value.getDefiningOp() : nullptr);
  }
  explicit operator bool() const { return static_cast<bool>(op); }

  Value base() const { return op->getOperand(0); }
  Value update() const { return op->getOperand(1); }
  Value result() const { return op->getResult(0); }
  ArrayRef<int64_t> starts() const {
    return op->getAttrOfType<DenseI64ArrayAttr>(kStarts).asArrayRef();
  }
  int64_t start(int64_t dim) const { return starts()[dim]; }
  int64_t limit(int64_t dim) const {
    return start(dim) + typeOf(update()).getDimSize(dim);
  }

  /// The only dimension that is replaced in part; none if there are several.
  std::optional<int64_t> partialDim() const {
    std::optional<int64_t> partial;
    for (int64_t dim = 0; dim < typeOf(base()).getRank(); ++dim) {
      if (typeOf(update()).getDimSize(dim) == typeOf(base()).getDimSize(dim))
        continue;
      if (partial)
        return std::nullopt;
      partial = dim;
    }
    return partial;
  }
};
} // namespace

/// `x`, or what it constrains if that is an update: a program whose axes are
/// all explicit constrains every stack after every update.
static Value skipConstraints(Value x) {
  Value inner = x;
  while (auto constraint =
             inner ? inner.getDefiningOp<ConstraintOp>() : nullptr)
    inner = constraint.getOperand();
  return inner && Update::of(inner) ? inner : x;
}

//===----------------------------------------------------------------------===//
// Making and reading
//===----------------------------------------------------------------------===//

Value weft::stablehlo::updateSlice(Emitter &emit, Value base, Value update,
                                   ArrayRef<int64_t> starts) {
  if (!base || !update || update.getType() == base.getType())
    return update;
  auto op = UnrealizedConversionCastOp::create(
      emit.builder, emit.loc, base.getType(), ValueRange{base, update});
  op->setAttr(kStarts, emit.builder.getDenseI64ArrayAttr(starts));
  return op.getResult(0);
}

std::optional<ArrayRef<int64_t>>
weft::stablehlo::getUpdateStarts(Operation *op) {
  if (Update update = Update::of(op))
    return update.starts();
  return std::nullopt;
}

/// `slice`, a part of a tensor with the sharding of `constraint`: as that along
/// the dimensions that it has all of.
static Value constrainSlice(Emitter &emit, Value slice,
                            ConstraintOp constraint) {
  ShardingAttr whole = constraint.getSharding();
  if (!slice || !whole.getUnreduced().empty())
    return slice;
  SmallVector<DimShardingAttr> dims(whole.getDims());
  for (auto [dim, size] : llvm::enumerate(typeOf(slice).getShape()))
    if (size != constraint.getType().getDimSize(dim))
      dims[dim] = DimShardingAttr::get(slice.getContext(), {},
                                       /*isClosed=*/true, std::nullopt);
  return emit.make<ConstraintOp>(
      slice, ShardingAttr::get(slice.getContext(), whole.getMesh(), dims,
                               whole.getReplicated(), whole.getUnreduced(),
                               whole.getUnreducedKind()));
}

Value weft::stablehlo::sliceUpdated(Emitter &emit, Value x,
                                    ArrayRef<int64_t> starts,
                                    ArrayRef<int64_t> limits) {
  if (auto constraint = x ? x.getDefiningOp<ConstraintOp>() : nullptr)
    if (Value inner = skipConstraints(x); inner != x)
      return constrainSlice(emit, sliceUpdated(emit, inner, starts, limits),
                            constraint);
  Shape from(starts), to(limits);
  while (Update update = Update::of(x = skipConstraints(x))) {
    bool isInside = true, isOutside = false;
    for (size_t dim = 0; dim < from.size(); ++dim) {
      isInside &=
          from[dim] >= update.start(dim) && to[dim] <= update.limit(dim);
      isOutside |=
          from[dim] >= update.limit(dim) || to[dim] <= update.start(dim);
    }
    if (isInside) {
      for (size_t dim = 0; dim < from.size(); ++dim) {
        from[dim] -= update.start(dim);
        to[dim] -= update.start(dim);
      }
      x = update.update();
    } else if (isOutside) {
      x = update.base();
    } else {
      break;
    }
  }
  return emit.slice(x, from, to);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// The part of `x` from `start` to `limit` along `dim`.
static Value part(Emitter &emit, Value x, int64_t dim, int64_t start,
                  int64_t limit) {
  Shape starts(typeOf(x).getRank(), 0), limits(typeOf(x).getShape());
  starts[dim] = start;
  limits[dim] = limit;
  return emit.slice(x, starts, limits);
}

namespace {
/// A part of a tensor along one dimension, and whose elements it has.
struct Piece {
  int64_t start, limit;
  Value from;
  /// The number of the first element of `from`.
  int64_t offset;
};
} // namespace

/// Fills the gaps between `pieces` with elements of `from`, of which the first
/// is number `start`.
static void fillGaps(SmallVector<Piece> &pieces, int64_t start, int64_t limit,
                     Value from) {
  SmallVector<Piece> all;
  int64_t at = start;
  for (const Piece &piece : pieces) {
    if (int64_t end = std::min(piece.start, limit); end > at)
      all.push_back({at, end, from, start});
    all.push_back(piece);
    at = std::max(at, std::min(piece.limit, limit));
  }
  if (at < limit)
    all.push_back({at, limit, from, start});
  llvm::stable_sort(
      all, [](const Piece &a, const Piece &b) { return a.start < b.start; });
  pieces = std::move(all);
}

/// All updates of one stack at once.
static Value concatChain(Emitter &emit, Update update, int64_t dim) {
  SmallVector<Piece> pieces;
  Value base = update.result();
  while (Update next = Update::of(skipConstraints(base))) {
    if (next.partialDim() != dim)
      break;
    fillGaps(pieces, next.start(dim), next.limit(dim), next.update());
    base = next.base();
  }
  fillGaps(pieces, 0, typeOf(base).getDimSize(dim), base);
  SmallVector<Value> parts;
  for (const Piece &piece : pieces)
    parts.push_back(part(emit, piece.from, dim, piece.start - piece.offset,
                         piece.limit - piece.offset));
  return emit.concat(parts, dim);
}

/// A box within the base: what is before, in and after it, a dimension at a
/// time.
static Value concatAround(Emitter &emit, Value base, Value update,
                          ArrayRef<int64_t> starts, int64_t dim) {
  if (dim == typeOf(base).getRank())
    return update;
  int64_t start = starts[dim], size = typeOf(base).getDimSize(dim);
  int64_t limit = start + typeOf(update).getDimSize(dim);
  SmallVector<Value> parts;
  if (start > 0)
    parts.push_back(part(emit, base, dim, 0, start));
  parts.push_back(concatAround(emit, part(emit, base, dim, start, limit),
                               update, starts, dim + 1));
  if (limit < size)
    parts.push_back(part(emit, base, dim, limit, size));
  return emit.concat(parts, dim);
}

/// `update` with ops of a graph.
static Value lower(Update update) {
  OpBuilder builder(update.op);
  Emitter emit(builder, update.op.getLoc());
  if (std::optional<int64_t> dim = update.partialDim())
    return concatChain(emit, update, *dim);
  return concatAround(emit, update.base(), update.update(), update.starts(), 0);
}

void weft::stablehlo::lowerUpdates(func::FuncOp function) {
  // From the last op to the first, so that uses come before what they use.
  Operation *op = function.getBody().front().back().getPrevNode();
  while (op) {
    Operation *previous = op->getPrevNode();
    if (Update update = Update::of(op); update && !op->use_empty())
      update.result().replaceAllUsesWith(lower(update));
    // Every op here is free of side effects.
    if (op->use_empty())
      op->erase();
    op = previous;
  }
}
