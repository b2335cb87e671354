//===- CutWeights.cpp - Cut a weight instead of what it makes -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Slices of a matmul's result along columns of a weight are matmuls by slices
// of the weight:
//
//   q, k, v = slices of x @ w     q = x @ (slice of w), ...
//
// Backward, what is put together of the three gradients is not needed whole:
//
//   dy = concat dq, dk, dv        dw = concat (x^T @ dq), ...
//   dw = x^T @ dy                 dx = dq @ (slice of w)^T + ...
//   dx = dy @ w^T
//
// Where an axis splits the columns, slices and concatenations exchange
// elements: rows of the weight instead of rows of the batch.
//
//===----------------------------------------------------------------------===//

#include "ElementMoves.h"

#include "weft/IR/Origin.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueSharding.h"
#include "weft/Partition/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/SetVector.h"

#include <limits>
#include <map>

namespace weft {
#define GEN_PASS_DEF_CUTWEIGHTS
#include "weft/Partition/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

namespace {

/// A dimension of a value.
using ValueDim = std::pair<Value, int64_t>;

/// Elements [start, start + size) of a dimension.
struct Part {
  int64_t start, size;
};

/// The operand that the dimension of a matmul's result is of. Nothing if it is
/// a batching dimension.
std::optional<std::pair<unsigned, int64_t>> freeOperandDim(DotGeneralOp op,
                                                           int64_t dim) {
  SmallVector<int64_t> lhs = op.getLhsFree(), rhs = op.getRhsFree();
  dim -= static_cast<int64_t>(op.getLhsBatching().size());
  if (dim < 0)
    return std::nullopt;
  if (dim < static_cast<int64_t>(lhs.size()))
    return std::pair(0U, lhs[dim]);
  return std::pair(1U, rhs[dim - lhs.size()]);
}

/// The dimension of the result that a free one of an operand becomes, or -1.
int64_t resultDimOf(DotGeneralOp op, unsigned operand, int64_t dim) {
  for (int64_t result = 0; result < op.getType().getRank(); ++result)
    if (freeOperandDim(op, result) == std::pair(operand, dim))
      return result;
  return -1;
}

/// The dimension of the other operand that is contracted with one, or -1.
int64_t contractedWith(DotGeneralOp op, unsigned operand, int64_t dim) {
  ArrayRef<int64_t> own = op.getLhsContracting(),
                    other = op.getRhsContracting();
  if (operand == 1)
    std::swap(own, other);
  const auto *found = llvm::find(own, dim);
  return found == own.end() ? -1 : other[found - own.begin()];
}

bool isElementwise(Operation *op) {
  return isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
         op->getNumResults() == 1 && op->getNumOperands() > 0 &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return typeOf(operand).getShape() ==
                  typeOf(op->getResult(0)).getShape();
         });
}

int64_t numShards(Value value, int64_t dim, const sharding::Mesh &mesh) {
  ShardingAttr attr = getSharding(value);
  if (!attr)
    return 1;
  FailureOr<sharding::Sharding> sharding = attr.toSharding(mesh);
  return succeeded(sharding) ? sharding::numShards(sharding->dims[dim].axes)
                             : 1;
}

class Cutter {
public:
  Cutter(Block &block, sharding::Mesh mesh)
      : block(block), mesh(std::move(mesh)) {}

  void run();

private:
  double bytesOfElement(ValueDim cut) const;
  double bytesToCut(ValueDim cut) const;
  bool movesElements(ValueDim cut, ArrayRef<Part> parts) const;
  bool isCut(ValueDim cut, ArrayRef<Part> parts, Operation *user) const;

  void findSources(ValueDim cut, SetVector<ValueDim> &sources) const;
  Value sliceOf(ValueDim cut, const Part &part, Operation *user);
  Value takePart(ValueDim cut, const Part &part, DictionaryAttr attrs);
  void cutResult(Value value);

  std::optional<double> bytesOfUsers(ValueDim joined,
                                     ArrayRef<Part> parts) const;
  void cutUser(OpOperand &use, ConcatOp concat);
  void cutConcat(ConcatOp concat);

  Block &block;
  sharding::Mesh mesh;
  /// By value, dimension, start, size and pipeline stage.
  std::map<std::tuple<const void *, int64_t, int64_t, int64_t, int64_t>, Value>
      slices;
  /// What has been replaced.
  SetVector<Operation *> replaced;
};

} // namespace

/// What of an element along the dimension is on a device.
double Cutter::bytesOfElement(ValueDim cut) const {
  auto [value, dim] = cut;
  double bytes = static_cast<double>(bytesOf(value));
  for (int64_t other = 0; other < typeOf(value).getRank(); ++other)
    bytes /= static_cast<double>(other == dim ? typeOf(value).getDimSize(dim)
                                              : numShards(value, other, mesh));
  return bytes;
}

/// The same of a weight or a gradient to exchange. One that is split along
/// another dimension too is gathered: in parts this takes a call for each.
double Cutter::bytesToCut(ValueDim cut) const {
  auto [value, dim] = cut;
  for (int64_t other = 0; other < typeOf(value).getRank(); ++other)
    if (other != dim && numShards(value, other, mesh) > 1)
      return std::numeric_limits<double>::infinity();
  return bytesOfElement(cut);
}

/// Whether the dimension is split, and parts of it that are split alike have
/// elements on other devices.
bool Cutter::movesElements(ValueDim cut, ArrayRef<Part> parts) const {
  auto [value, dim] = cut;
  const int64_t members = numShards(value, dim, mesh);
  if (members == 1 || parts.size() < 2)
    return false;
  sharding::ElementMap map{{typeOf(value).getDimSize(dim)}, {}, {}};
  int64_t end = 0;
  for (const Part &part : parts) {
    map.runs.push_back({part.start, end, part.size});
    map.to.push_back(part.size);
    end += part.size;
  }
  return map.isDivisibleBy(members) &&
         map.dividedBy(members).mostSent(members) > 0;
}

/// Whether all of these slices are there already.
bool Cutter::isCut(ValueDim cut, ArrayRef<Part> parts, Operation *user) const {
  return llvm::all_of(parts, [&](const Part &part) {
    return slices.contains({cut.first.getAsOpaquePointer(), cut.second,
                            part.start, part.size, stageOf(getOrigin(user))});
  });
}

//===----------------------------------------------------------------------===//
// Slices of results
//===----------------------------------------------------------------------===//

static bool isSplat(Operation *op) {
  auto constant = dyn_cast_or_null<arith::ConstantOp>(op);
  return constant && isa<SplatElementsAttr>(constant.getValue());
}

/// Of what a part of the value can be computed.
void Cutter::findSources(ValueDim cut, SetVector<ValueDim> &sources) const {
  auto [value, dim] = cut;
  Operation *op = value.getDefiningOp();
  if (isSplat(op))
    return;
  if (auto matmul = dyn_cast_or_null<DotGeneralOp>(op))
    if (auto operand = freeOperandDim(matmul, dim)) {
      sources.insert({matmul->getOperand(operand->first), operand->second});
      return;
    }
  if (auto broadcast = dyn_cast_or_null<BroadcastOp>(op)) {
    const auto *found = llvm::find(broadcast.getDims(), dim);
    if (found == broadcast.getDims().end())
      return;
    const int64_t from = found - broadcast.getDims().begin();
    if (typeOf(broadcast.getOperand()).getDimSize(from) != 1)
      sources.insert({broadcast.getOperand(), from});
    return;
  }
  if (op && isElementwise(op)) {
    for (Value operand : op->getOperands())
      if (operand.hasOneUse())
        findSources({operand, dim}, sources);
      else
        sources.insert({operand, dim});
    return;
  }
  sources.insert(cut);
}

Value Cutter::sliceOf(ValueDim cut, const Part &part, Operation *user) {
  auto [value, dim] = cut;
  const OriginAttr origin = withoutGradient(getOrigin(user));
  Value &slice = slices[{value.getAsOpaquePointer(), dim, part.start, part.size,
                         stageOf(origin)}];
  if (slice)
    return slice;
  OpBuilder builder(block.getParentOp()->getContext());
  builder.setInsertionPointAfterValue(value);
  RankedTensorType type = typeOf(value);
  SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape()),
      strides(type.getRank(), 1);
  starts[dim] = part.start;
  limits[dim] = part.start + part.size;
  auto op =
      SliceOp::create(builder, user->getLoc(), value, starts, limits, strides);
  slice = op.getResult();
  if (ShardingAttr sharding = getSharding(value))
    setSharding(slice, sharding);
  setOrigin(op, origin);
  return slice;
}

static RankedTensorType withSize(RankedTensorType type, int64_t dim,
                                 int64_t size) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  return type.clone(shape);
}

/// A copy of the op, of other operands, for a part of its result.
static Operation *copyFor(Operation *op, ValueRange operands,
                          RankedTensorType type) {
  OpBuilder builder(op);
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  copy->getResult(0).setType(type);
  return copy;
}

/// Computes a part of the value where the value is computed.
Value Cutter::takePart(ValueDim cut, const Part &part, DictionaryAttr attrs) {
  auto [value, dim] = cut;
  Operation *op = value.getDefiningOp();
  SmallVector<Value> operands;
  auto matmul = dyn_cast_or_null<DotGeneralOp>(op);
  auto broadcast = dyn_cast_or_null<BroadcastOp>(op);
  if (auto from = matmul ? freeOperandDim(matmul, dim) : std::nullopt) {
    llvm::append_range(operands, op->getOperands());
    operands[from->first] =
        sliceOf({operands[from->first], from->second}, part, op);
  } else if (broadcast) {
    Value operand = broadcast.getOperand();
    const auto *found = llvm::find(broadcast.getDims(), dim);
    const int64_t number = found - broadcast.getDims().begin();
    if (found != broadcast.getDims().end() &&
        typeOf(operand).getDimSize(number) != 1)
      operand = sliceOf({operand, number}, part, op);
    operands.push_back(operand);
  } else if (op && isElementwise(op)) {
    for (Value operand : op->getOperands())
      operands.push_back(operand.hasOneUse()
                             ? takePart({operand, dim}, part, {})
                             : sliceOf({operand, dim}, part, op));
  } else if (!isSplat(op)) {
    return sliceOf(cut, part, *value.user_begin());
  }
  RankedTensorType type = withSize(typeOf(value), dim, part.size);
  Operation *copy = copyFor(op, operands, type);
  if (auto constant = dyn_cast<arith::ConstantOp>(copy))
    constant.setValueAttr(
        cast<SplatElementsAttr>(constant.getValue()).resizeSplat(type));
  if (attrs)
    copy->setDiscardableAttrs(attrs);
  return copy->getResult(0);
}

static bool areDisjoint(SmallVector<Part> parts) {
  llvm::sort(parts,
             [](const Part &a, const Part &b) { return a.start < b.start; });
  for (size_t i = 1; i < parts.size(); ++i)
    if (parts[i - 1].start + parts[i - 1].size > parts[i].start)
      return false;
  return true;
}

/// If all users are slices of one dimension, computes each by itself where this
/// exchanges fewer bytes.
void Cutter::cutResult(Value value) {
  SmallVector<SliceOp> users;
  SmallVector<Part> parts;
  std::optional<int64_t> dim;
  for (Operation *user : value.getUsers()) {
    auto slice = dyn_cast<SliceOp>(user);
    auto move = slice ? findSlice(slice, typeOf(value)) : std::nullopt;
    if (!move || (dim && *dim != move->dim) || move->map.runs.front().step != 1)
      return;
    dim = move->dim;
    users.push_back(slice);
    parts.push_back({move->map.runs.front().from, move->map.to.front()});
  }
  // Users are listed last to first.
  std::reverse(users.begin(), users.end());
  std::reverse(parts.begin(), parts.end());
  if (!dim || !areDisjoint(parts) || !movesElements({value, *dim}, parts))
    return;
  SetVector<ValueDim> sources;
  findSources({value, *dim}, sources);
  double bytes = 0;
  for (const ValueDim &source : sources)
    if (!isCut(source, parts, users.front()))
      bytes += bytesToCut(source);
  if (bytes >= bytesOfElement({value, *dim}))
    return;
  for (auto [slice, part] : llvm::zip_equal(users, parts)) {
    slice.replaceAllUsesWith(
        takePart({value, *dim}, part, slice->getDiscardableAttrDictionary()));
    replaced.insert(slice);
  }
}

//===----------------------------------------------------------------------===//
// Users of concatenations
//===----------------------------------------------------------------------===//

static SmallVector<Part> partsOf(ConcatOp concat) {
  SmallVector<Part> parts;
  int64_t end = 0;
  for (Value operand : concat.getOperands()) {
    parts.push_back({end, typeOf(operand).getDimSize(concat.getDim())});
    end += parts.back().size;
  }
  return parts;
}

/// What of a row is exchanged if all users take the operands of a
/// concatenation; nothing if some user cannot.
std::optional<double> Cutter::bytesOfUsers(ValueDim joined,
                                           ArrayRef<Part> parts) const {
  auto [value, dim] = joined;
  double bytes = 0;
  SetVector<ValueDim> cut;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (auto matmul = dyn_cast<DotGeneralOp>(user)) {
      if (matmul.getLhs() == matmul.getRhs())
        return std::nullopt;
      const unsigned number = use.getOperandNumber();
      if (int64_t other = contractedWith(matmul, number, dim); other >= 0) {
        ValueDim weight(matmul->getOperand(1 - number), other);
        if (!isCut(weight, parts, user))
          cut.insert(weight);
      } else if (int64_t result = resultDimOf(matmul, number, dim); result >= 0)
        bytes += bytesToCut({matmul.getResult(), result});
      else
        return std::nullopt;
    } else if (auto reduce = dyn_cast<ReduceOp>(user);
               reduce && !llvm::is_contained(reduce.getDims(), dim)) {
      const int64_t before =
          llvm::count_if(reduce.getDims(), [&](int64_t d) { return d < dim; });
      bytes += bytesToCut({reduce.getResult(), dim - before});
    } else {
      return std::nullopt;
    }
  }
  for (const ValueDim &each : cut)
    bytes += bytesToCut(each);
  return bytes;
}

/// The sum, or what is put together, of what the user makes of each operand.
void Cutter::cutUser(OpOperand &use, ConcatOp concat) {
  Operation *user = use.getOwner();
  const unsigned number = use.getOperandNumber();
  const auto dim = static_cast<int64_t>(concat.getDim());
  auto matmul = dyn_cast<DotGeneralOp>(user);
  const int64_t contracted = matmul ? contractedWith(matmul, number, dim) : -1;
  int64_t joined = -1;
  if (auto reduce = dyn_cast<ReduceOp>(user))
    joined = dim - llvm::count_if(reduce.getDims(),
                                  [&](int64_t d) { return d < dim; });
  else if (contracted < 0)
    joined = resultDimOf(matmul, number, dim);
  RankedTensorType type = typeOf(user->getResult(0));
  SmallVector<Value> made;
  for (auto [operand, part] :
       llvm::zip_equal(concat.getOperands(), partsOf(concat))) {
    SmallVector<Value> operands(user->getOperands());
    operands[number] = operand;
    if (contracted >= 0)
      operands[1 - number] =
          sliceOf({operands[1 - number], contracted}, part, user);
    Operation *copy = copyFor(
        user, operands, joined < 0 ? type : withSize(type, joined, part.size));
    setOrigin(copy, withoutGradient(getOrigin(user)));
    made.push_back(copy->getResult(0));
  }
  OpBuilder builder(user);
  Value result;
  auto finish = [&](Operation *op) {
    op->setDiscardableAttrs(user->getDiscardableAttrDictionary());
    result = op->getResult(0);
  };
  if (joined >= 0) {
    finish(ConcatOp::create(builder, user->getLoc(), made, joined));
  } else {
    result = made.front();
    for (Value next : ArrayRef(made).drop_front())
      finish(isa<FloatType>(type.getElementType())
                 ? arith::AddFOp::create(builder, user->getLoc(), result, next)
                       .getOperation()
                 : arith::AddIOp::create(builder, user->getLoc(), result, next)
                       .getOperation());
  }
  user->getResult(0).replaceAllUsesWith(result);
  replaced.insert(user);
}

void Cutter::cutConcat(ConcatOp concat) {
  const auto dim = static_cast<int64_t>(concat.getDim());
  const SmallVector<Part> parts = partsOf(concat);
  if (concat.use_empty() || !movesElements({concat.getResult(), dim}, parts))
    return;
  std::optional<double> bytes = bytesOfUsers({concat.getResult(), dim}, parts);
  if (!bytes || *bytes >= bytesOfElement({concat.getResult(), dim}))
    return;
  SmallVector<OpOperand *> uses =
      llvm::to_vector(llvm::make_pointer_range(concat->getUses()));
  for (OpOperand *use : llvm::reverse(uses))
    cutUser(*use, concat);
}

static void eraseUnused(SetVector<Operation *> ops) {
  while (!ops.empty()) {
    Operation *op = ops.pop_back_val();
    if (!isOpTriviallyDead(op))
      continue;
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        ops.insert(producer);
    op->erase();
  }
}

void Cutter::run() {
  SetVector<Value> sliced;
  SmallVector<ConcatOp> concats;
  for (Operation &op : block) {
    if (auto slice = dyn_cast<SliceOp>(op))
      sliced.insert(slice.getOperand());
    if (auto concat = dyn_cast<ConcatOp>(op))
      concats.push_back(concat);
  }
  // First: its slices of weights serve the backward pass as well.
  for (Value value : sliced)
    cutResult(value);
  for (ConcatOp concat : concats)
    cutConcat(concat);
  eraseUnused(std::move(replaced));
}

namespace {
struct CutWeights : weft::impl::CutWeightsBase<CutWeights> {
  void runOnInput() override {
    MeshOp mesh = findMesh(getOperation());
    if (!mesh)
      return;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        Cutter(function.getBody().front(), mesh.getMesh().toMesh()).run();
  }
};
} // namespace
