//===- OutlineKernel.cpp - A group of ops as a function -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutlineKernel.h"

#include "weft/IR/Origin.h"
#include "weft/IR/SourceLocation.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace weft;

/// Whether two functions are the same but for their names and locations. Their
/// texts would not do: flags say what of an op is printed.
static bool areEqual(func::FuncOp a, func::FuncOp b) {
  auto withoutName = [](func::FuncOp kernel) {
    NamedAttrList attrs(kernel->getAttrDictionary());
    attrs.erase(SymbolTable::getSymbolAttrName());
    return attrs.getDictionary(kernel.getContext());
  };
  return withoutName(a) == withoutName(b) &&
         OperationEquivalence::isRegionEquivalentTo(
             &a.getBody(), &b.getBody(), OperationEquivalence::IgnoreLocations);
}

static llvm::hash_code hashOf(func::FuncOp kernel) {
  llvm::hash_code hash = hash_value(kernel.getFunctionType());
  kernel.getBody().walk([&](Operation *op) {
    hash =
        llvm::hash_combine(hash, OperationEquivalence::computeHash(
                                     op, OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::IgnoreLocations));
  });
  return hash;
}

func::FuncOp KernelLibrary::insert(func::FuncOp kernel) {
  SmallVector<func::FuncOp> &alike = byHash[hashOf(kernel)];
  auto known = llvm::find_if(
      alike, [&](func::FuncOp other) { return areEqual(kernel, other); });
  if (known != alike.end()) {
    kernel.erase();
    return *known;
  }
  alike.push_back(kernel);
  ++count;
  std::string name;
  do
    name = "kernel_" + std::to_string(next++);
  while (module.lookupSymbol(name));
  kernel.setName(name);
  module.push_back(kernel);
  return kernel;
}

namespace {

/// What a group needs from outside and gives to it.
struct Interface {
  llvm::SetVector<Value> operands, results;
  /// Axes whose position it needs, numbered.
  llvm::MapVector<Attribute, unsigned> positions;
};

/// Builds the body of one kernel.
class Outliner {
public:
  Outliner(func::FuncOp kernel, const Interface &interface)
      : b(OpBuilder::atBlockBegin(kernel.addEntryBlock())), kernel(kernel),
        interface(interface) {
    for (auto [number, operand] : llvm::enumerate(interface.operands))
      mapping.map(operand, kernel.getArgument(number));
  }

  void copy(Operation *op);
  void finish();

private:
  Value positionAlong(Attribute axes) {
    return kernel.getArgument(interface.operands.size() +
                              interface.positions.lookup(axes));
  }
  void copyAllSlice(AllSliceOp op);

  OpBuilder b;
  func::FuncOp kernel;
  const Interface &interface;
  IRMapping mapping;
};

} // namespace

static Interface findInterface(ArrayRef<Operation *> ops) {
  Interface interface;
  DenseSet<Operation *> inside(ops.begin(), ops.end());
  auto needsPosition = [&](Attribute axes) {
    interface.positions.insert({axes, interface.positions.size()});
  };
  for (Operation *op : ops) {
    if (auto slice = dyn_cast<AllSliceOp>(op))
      needsPosition(slice.getAxesAttr());
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (auto position = dyn_cast_or_null<PositionOp>(producer))
        needsPosition(position.getAxesAttr());
      else if (!producer || (!inside.contains(producer) &&
                             !isa<arith::ConstantOp>(producer)))
        interface.operands.insert(operand);
    }
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return !inside.contains(user); }))
        interface.results.insert(result);
  }
  return interface;
}

/// The own part of a dimension is a slice at a multiple of its size.
void Outliner::copyAllSlice(AllSliceOp op) {
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getResult().getType());
  Value position = tensor::ExtractOp::create(
      b, loc, positionAlong(op.getAxesAttr()), ValueRange());
  position = arith::IndexCastOp::create(b, loc, b.getIndexType(), position);
  Value size =
      arith::ConstantIndexOp::create(b, loc, type.getDimSize(op.getDim()));
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0));
  offsets[op.getDim()] =
      arith::MulIOp::create(b, loc, position, size).getResult();
  SmallVector<OpFoldResult> strides(type.getRank(), b.getIndexAttr(1));
  Value slice = tensor::ExtractSliceOp::create(
      b, loc, type, mapping.lookup(op.getOperand()), offsets,
      getAsIndexOpFoldResult(b.getContext(), type.getShape()), strides);
  mapping.map(op.getResult(), slice);
}

void Outliner::copy(Operation *op) {
  for (Value operand : op->getOperands()) {
    if (mapping.contains(operand))
      continue;
    if (auto position = operand.getDefiningOp<PositionOp>())
      mapping.map(operand, positionAlong(position.getAxesAttr()));
    else
      copy(operand.getDefiningOp()); // a constant
  }
  if (auto slice = dyn_cast<AllSliceOp>(op))
    return copyAllSlice(slice);
  Operation *copied = b.clone(*op, mapping);
  copied->setDiscardableAttrs(DictionaryAttr::get(b.getContext()));
}

void Outliner::finish() {
  SmallVector<Value> returned;
  for (Value result : interface.results)
    returned.push_back(mapping.lookup(result));
  func::ReturnOp::create(b, kernel.getLoc(), returned);
}

/// Of a value that is read both behind a barrier and as it is, only one is an
/// operand: the kernel is behind the barrier anyway.
static void readBehindBarriers(ArrayRef<Operation *> ops) {
  DenseMap<Value, Value> behind;
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (auto barrier = operand.getDefiningOp<BarrierOp>())
        behind.try_emplace(barrier.getOperand(), operand);
  for (Operation *op : ops)
    for (OpOperand &operand : op->getOpOperands())
      if (Value later = behind.lookup(operand.get()))
        operand.set(later);
}

static func::FuncOp createFunction(OpBuilder &b, Location loc,
                                   const Interface &interface) {
  SmallVector<Type> inputs, results;
  for (Value operand : interface.operands)
    inputs.push_back(operand.getType());
  inputs.append(interface.positions.size(),
                RankedTensorType::get({}, b.getI32Type()));
  for (Value result : interface.results)
    results.push_back(result.getType());
  auto kernel =
      func::FuncOp::create(loc, "kernel", b.getFunctionType(inputs, results));
  kernel.setPrivate();
  kernel->setAttr(WeftDialect::kKernelAttrName, b.getUnitAttr());
  for (unsigned i = interface.operands.size(); i < inputs.size(); ++i)
    kernel.setArgAttr(i, "weft.position", b.getUnitAttr());
  return kernel;
}

void weft::outlineKernel(ArrayRef<Operation *> ops, KernelLibrary &library) {
  readBehindBarriers(ops);
  Interface interface = findInterface(ops);
  OpBuilder b(ops.back());
  SmallVector<Location> locations;
  for (Operation *op : ops)
    locations.push_back(op->getLoc());
  SmallVector<Location> ofResults;
  for (Value result : interface.results)
    ofResults.push_back(result.getLoc());
  Location loc = fusedLocation(locations, ofResults, b.getContext());

  func::FuncOp kernel = createFunction(b, loc, interface);
  Outliner outliner(kernel, interface);
  for (Operation *op : ops)
    outliner.copy(op);
  outliner.finish();
  kernel = library.insert(kernel);

  SmallVector<Attribute> positions;
  for (const auto &position : interface.positions)
    positions.push_back(position.first);
  auto launch = LaunchOp::create(
      b, loc, kernel.getResultTypes(), kernel.getName(),
      interface.operands.getArrayRef(),
      positions.empty() ? ArrayAttr() : b.getArrayAttr(positions),
      DenseI64ArrayAttr());
  setFusedOrigin(launch, ops, interface.results.getArrayRef());
  for (auto [old, result] :
       llvm::zip_equal(interface.results, launch.getResults()))
    Value(old).replaceAllUsesWith(result);
  for (Operation *op : llvm::reverse(ops))
    op->erase();
}
