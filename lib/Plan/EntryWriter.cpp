//===- EntryWriter.cpp - One entry of a plan ------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EntryWriter.h"
#include "PlanTypes.h"

#include "weft/IR/AttentionSizes.h"
#include "weft/IR/ObservedValues.h"
#include "weft/IR/Origin.h"
#include "weft/IR/Segments.h"
#include "weft/IR/SourceLocation.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueSharding.h"
#include "weft/IR/VisitInstruction.h"
#include "weft/Plan/BufferContents.h"
#include "weft/Schedule/ArenaPlanner.h"
#include "weft/Schedule/StepCost.h"
#include "weft/runtime/PlanFormat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <functional>
#include <map>
#include <numeric>

using namespace mlir;
using weft::cost::CollectiveKind;

namespace weft {

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

namespace {

class EntryWriter {
public:
  EntryWriter(func::FuncOp entry, const ProgramStates &states,
              PlanTables &tables)
      : entry(entry), states(states), tables(tables),
        buffers(entry, states, ResultBinding::Bound) {}

  FailureOr<std::unique_ptr<plan::EntryT>> write();

private:
  llvm::DenseMap<int32_t, int32_t> findEqualParts() const;
  LogicalResult writeBuffers();
  void writeBindings();
  uint32_t indexOf(Value value) const {
    return indices.lookup(buffers.bufferOf(value));
  }

  void write(plan::OperationUnion &operation, GemmOp gemm);
  void write(plan::OperationUnion &operation, GroupedDotOp dot);
  void write(plan::OperationUnion &operation, GroupedOuterOp outer);
  void write(plan::OperationUnion &operation, ArgsortOp sort);
  void write(plan::OperationUnion &operation, ConvolveOp convolve);
  void write(plan::OperationUnion &operation, AttentionOp attention);
  void write(plan::OperationUnion &operation, AttentionGradOp grad);
  void write(plan::OperationUnion &operation, LaunchOp launch);
  void write(plan::OperationUnion &operation, StartOp start);
  void write(plan::OperationUnion &operation, WaitOp wait);
  void write(plan::OperationUnion &operation, CopyOp copy);
  void write(plan::OperationUnion &operation, RepeatOp loop);

  func::FuncOp entry;
  const ProgramStates &states;
  PlanTables &tables;
  EntryBuffers buffers;
  /// From the buffers of the analysis to those of the plan.
  llvm::DenseMap<int32_t, uint32_t> indices;
  llvm::DenseMap<Operation *, uint32_t> startIds;
  std::unique_ptr<plan::EntryT> result = std::make_unique<plan::EntryT>();
};

} // namespace

void EntryWriter::write(plan::OperationUnion &operation, GemmOp gemm) {
  plan::GemmT step;
  step.lhs = indexOf(gemm.getLhs());
  step.rhs = indexOf(gemm.getRhs());
  step.out = indexOf(gemm.getResult());
  step.batch = gemm.getBatch();
  step.m = gemm.getM();
  step.n = gemm.getN();
  step.k = gemm.getK();
  ArrayRef<int64_t> lhs = gemm.getLhsStrides(), rhs = gemm.getRhsStrides(),
                    out = gemm.getOutStrides();
  step.lhs_batch_stride = lhs[0];
  step.lhs_m_stride = lhs[1];
  step.lhs_k_stride = lhs[2];
  step.rhs_batch_stride = rhs[0];
  step.rhs_k_stride = rhs[1];
  step.rhs_n_stride = rhs[2];
  step.out_batch_stride = out[0];
  step.out_m_stride = out[1];
  step.out_n_stride = out[2];
  step.accumulate = bool(gemm.getAddend());
  // The enumerations list the same in one order, but for the sums.
  if (!step.accumulate)
    step.epilogue = static_cast<plan::GemmEpilogue>(gemm.getEpilogue());
  step.precision = static_cast<plan::GemmPrecision>(gemm.getPrecision());
  if (Value bias = gemm.getBias())
    step.bias = indexOf(bias);
  if (Value aux = gemm.getAux())
    step.aux = indexOf(aux);
  operation.Set(std::move(step));
}

/// What both kinds of GEMMs of groups have of their rows.
static plan::GemmT gemmOfGroups(RankedTensorType lhs) {
  plan::GemmT step;
  step.batch = lhs.getDimSize(0);
  step.lhs_batch_stride = lhs.getDimSize(1) * lhs.getDimSize(2);
  return step;
}

void EntryWriter::write(plan::OperationUnion &operation, GroupedDotOp dot) {
  RankedTensorType lhs = dot.getLhs().getType(), out = dot.getType();
  plan::GemmT step = gemmOfGroups(lhs);
  step.lhs = indexOf(dot.getLhs());
  step.rhs = indexOf(dot.getRhs());
  step.out = indexOf(dot.getResult());
  step.grouped = plan::GemmGroups::Rows;
  step.group_sizes = indexOf(dot.getSizes());
  step.m = lhs.getDimSize(1);
  step.n = out.getDimSize(2);
  step.k = lhs.getDimSize(2);
  step.lhs_m_stride = step.k;
  step.lhs_k_stride = 1;
  step.rhs_batch_stride = step.k * step.n;
  step.rhs_k_stride = dot.getTransposed() ? 1 : step.n;
  step.rhs_n_stride = dot.getTransposed() ? step.k : 1;
  step.out_batch_stride = step.m * step.n;
  step.out_m_stride = step.n;
  step.out_n_stride = 1;
  operation.Set(std::move(step));
}

void EntryWriter::write(plan::OperationUnion &operation, GroupedOuterOp outer) {
  RankedTensorType lhs = outer.getLhs().getType(), out = outer.getType();
  plan::GemmT step = gemmOfGroups(lhs);
  step.lhs = indexOf(outer.getLhs());
  step.rhs = indexOf(outer.getRhs());
  step.out = indexOf(outer.getResult());
  step.grouped = plan::GemmGroups::Sums;
  step.group_sizes = indexOf(outer.getSizes());
  step.m = out.getDimSize(1);
  step.n = out.getDimSize(2);
  step.k = lhs.getDimSize(1);
  step.lhs_m_stride = 1;
  step.lhs_k_stride = step.m;
  step.rhs_batch_stride = step.k * step.n;
  step.rhs_k_stride = step.n;
  step.rhs_n_stride = 1;
  step.out_batch_stride = step.m * step.n;
  step.out_m_stride = step.n;
  step.out_n_stride = 1;
  operation.Set(std::move(step));
}

void EntryWriter::write(plan::OperationUnion &operation, ArgsortOp sort) {
  ArrayRef<int64_t> shape = sort.getOperand().getType().getShape();
  size_t dim = sort.getDim();
  auto product = [](ArrayRef<int64_t> sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t{1},
                           std::multiplies<>());
  };
  plan::SortT step;
  step.operand = indexOf(sort.getOperand());
  step.out = indexOf(sort.getResult());
  step.outer = product(shape.take_front(dim));
  step.size = shape[dim];
  step.inner = product(shape.drop_front(dim + 1));
  step.count = sort.getType().getDimSize(dim);
  step.descending = sort.getDescending();
  operation.Set(std::move(step));
}

void EntryWriter::write(plan::OperationUnion &operation, ConvolveOp convolve) {
  static_assert(ConvolveOp::maxSpatialDims == runtime::maxConvolutionDims);
  constexpr size_t apart = 3; // the strides before those of dimensions
  ArrayRef<int64_t> lhs = convolve.getLhsLayout(),
                    rhs = convolve.getRhsLayout(),
                    out = convolve.getOutLayout();
  plan::ConvolutionT step;
  step.lhs = indexOf(convolve.getLhs());
  step.rhs = indexOf(convolve.getRhs());
  step.out = indexOf(convolve.getResult());
  step.groups = convolve.getGroups();
  step.batch = convolve.getBatch();
  step.input_features = convolve.getInputFeatures();
  step.output_features = convolve.getOutputFeatures();
  step.lhs_strides.assign(lhs.begin(), lhs.begin() + apart);
  step.rhs_strides.assign(rhs.begin(), rhs.begin() + apart);
  step.out_strides.assign(out.begin(), out.begin() + apart);
  for (size_t i = 0; i < convolve.getLhsSizes().size(); ++i)
    step.windows.emplace_back(
        convolve.getLhsSizes()[i], convolve.getRhsSizes()[i],
        convolve.getOutSizes()[i], convolve.getStrides()[i],
        convolve.getLow()[i], convolve.getLhsDilation()[i],
        convolve.getRhsDilation()[i], lhs[apart + i], rhs[apart + i],
        out[apart + i]);
  operation.Set(std::move(step));
}

template <typename Op>
static std::unique_ptr<plan::AttentionSizes> sizesOf(Op op) {
  AttentionSizes sizes =
      AttentionSizes::of(op.getQuery().getType(), op.getKey().getType());
  return std::make_unique<plan::AttentionSizes>(sizes.batch, sizes.queries,
                                                sizes.keys, sizes.heads,
                                                sizes.keyHeads, sizes.headSize);
}

void EntryWriter::write(plan::OperationUnion &operation,
                        AttentionOp attention) {
  plan::AttentionT step;
  step.query = indexOf(attention.getQuery());
  step.key = indexOf(attention.getKey());
  step.value = indexOf(attention.getValue());
  if (Value diagonal = attention.getDiagonal())
    step.diagonal = indexOf(diagonal);
  step.out = indexOf(attention.getOut());
  step.logsumexp = indexOf(attention.getLogsumexp());
  step.sizes = sizesOf(attention);
  step.causal = attention.getCausal();
  step.scale = attention.getScale().convertToDouble();
  operation.Set(std::move(step));
}

void EntryWriter::write(plan::OperationUnion &operation, AttentionGradOp grad) {
  plan::AttentionGradT step;
  step.query = indexOf(grad.getQuery());
  step.key = indexOf(grad.getKey());
  step.value = indexOf(grad.getValue());
  step.out = indexOf(grad.getOut());
  step.logsumexp = indexOf(grad.getLogsumexp());
  step.out_cotangent = indexOf(grad.getOutCotangent());
  if (Value ofLogsumexp = grad.getLogsumexpCotangent())
    step.logsumexp_cotangent = indexOf(ofLogsumexp);
  if (Value diagonal = grad.getDiagonal())
    step.diagonal = indexOf(diagonal);
  step.query_cotangent = indexOf(grad.getQueryCotangent());
  step.key_cotangent = indexOf(grad.getKeyCotangent());
  step.value_cotangent = indexOf(grad.getValueCotangent());
  step.sizes = sizesOf(grad);
  step.causal = grad.getCausal();
  step.scale = grad.getScale().convertToDouble();
  operation.Set(std::move(step));
}

void EntryWriter::write(plan::OperationUnion &operation, LaunchOp launch) {
  constexpr uint8_t reads = 1, writes = 2;
  plan::LaunchT step;
  step.kernel = tables.kernelOf(launch);
  step.batch = launch.getBatch();
  step.access.assign(launch.getSetOperands(0).size(), reads);
  for (unsigned i = 0; i < launch.getSetResults(0).size(); ++i) {
    if (int64_t operand = launch.getInPlaceOperand(i); operand >= 0)
      step.access[operand] |= writes;
    else
      step.access.push_back(writes);
  }
  for (unsigned set = 0; set < step.batch; ++set) {
    for (Value operand : launch.getSetOperands(set))
      step.buffers.push_back(indexOf(operand));
    for (OpResult result : launch.getSetResults(set))
      if (launch.getInPlaceOperand(result.getResultNumber()) < 0)
        step.buffers.push_back(indexOf(result));
  }
  if (launch.getPositions())
    for (auto axes : launch.getPositions()->getAsRange<AxesAttr>())
      step.positions.push_back(
          std::make_unique<plan::AxisListT>(toAxisList(tables.mesh, axes)));
  operation.Set(std::move(step));
}

/// Elements of dimensions [begin, end).
static int64_t elements(ArrayRef<int64_t> shape, int64_t begin, int64_t end) {
  int64_t product = 1;
  for (int64_t size : shape.slice(begin, end - begin))
    product *= size;
  return product;
}

/// How the data of a collective lies in its buffers; see plan.fbs.
static void setShape(plan::CollectiveStartT &step, StartOp start) {
  ArrayRef<int64_t> from = start.getOperand().getType().getShape();
  ArrayRef<int64_t> to = start.getPending().getType().getTensor().getShape();
  int64_t rank = from.size(), dim = start.getDim().value_or(0);
  switch (start.getKind()) {
  case CollectiveKind::AllReduce:
  case CollectiveKind::Permute:
    step.inner = elements(from, 0, rank);
    return;
  case CollectiveKind::AllGather:
    step.outer = elements(from, 0, dim);
    step.inner = elements(from, dim, rank);
    return;
  case CollectiveKind::ReduceScatter:
    step.outer = elements(to, 0, dim);
    step.inner = elements(to, dim, rank);
    return;
  case CollectiveKind::AllToAll: {
    int64_t concat = *start.getConcat();
    step.split_first = dim < concat;
    step.outer = elements(from, 0, std::min(dim, concat));
    // The split dimension counts with the part that stays.
    step.middle = step.split_first ? elements(to, dim, concat)
                                   : elements(from, concat, dim);
    step.inner = step.split_first ? elements(from, concat, rank)
                                  : elements(to, dim, rank);
    return;
  }
  case CollectiveKind::Exchange:
    step.outer = elements(from, 0, dim);
    step.inner = elements(from, dim + 1, rank);
    return;
  }
}

/// The whole axes that a permutation touches, in mesh order.
static sharding::AxisList axesOfPermutation(const sharding::Mesh &mesh,
                                            sharding::AxisList axes,
                                            const sharding::AxisList &to) {
  axes.append(to);
  for (sharding::AxisRef &ref : axes)
    ref = mesh.fullAxis(ref.axis);
  llvm::sort(axes);
  axes.erase(llvm::unique(axes), axes.end());
  return axes;
}

void EntryWriter::write(plan::OperationUnion &operation, StartOp start) {
  plan::CollectiveStartT step;
  step.id = startIds.size();
  startIds[start] = step.id;
  step.kind = toCollectiveKind(start.getKind());
  sharding::AxisList axes =
      start.getAxes().toAxes(tables.mesh).value_or(sharding::AxisList());
  if (start.getTo()) {
    sharding::AxisList to =
        start.getTo()->toAxes(tables.mesh).value_or(sharding::AxisList());
    step.permute_from = std::make_unique<plan::AxisListT>(toAxisList(axes));
    step.permute_to = std::make_unique<plan::AxisListT>(toAxisList(to));
    step.permute_shift = start.getShift();
    axes = axesOfPermutation(tables.mesh, axes, to);
  }
  if (start.getMap()) {
    sharding::ElementMap map = start.getMap()->toMap();
    step.exchange_from = map.from;
    step.exchange_to = map.to;
    for (const sharding::ElementRun &run : map.runs)
      step.exchange_runs.emplace_back(run.from, run.to, run.length, run.step);
  }
  step.group = tables.groupOf(axes);
  if (start.getReduction())
    step.reduction = static_cast<plan::Reduction>(*start.getReduction());
  step.source = indexOf(start.getOperand());
  step.destination = indexOf(start.getPending());
  if (start->hasAttr(behindAttrName))
    step.behind = buffers.beginOf(start);
  if (auto queue = start->getAttrOfType<IntegerAttr>(queueAttrName))
    step.queue = uint8_t(queue.getInt());
  setShape(step, start);
  step.wire_bytes = countWireBytes(start);
  operation.Set(std::move(step));
}

void EntryWriter::write(plan::OperationUnion &operation, WaitOp wait) {
  plan::CollectiveWaitT step;
  step.id = startIds.lookup(wait.getPending().getDefiningOp());
  operation.Set(std::move(step));
}

void EntryWriter::write(plan::OperationUnion &operation, CopyOp copy) {
  plan::CopyT step;
  step.source = indexOf(copy.getOperand());
  step.destination = indexOf(copy.getResult());
  operation.Set(std::move(step));
}

void EntryWriter::write(plan::OperationUnion &operation, RepeatOp loop) {
  plan::RepeatT step;
  step.count = loop.getCount();
  step.instructions = buffers.endOf(loop) - buffers.timeOf(loop);
  operation.Set(std::move(step));
}

//===----------------------------------------------------------------------===//
// Buffers and bindings
//===----------------------------------------------------------------------===//

static plan::BufferKind toKind(BufferKind kind) {
  switch (kind) {
  case BufferKind::Input:
    return plan::BufferKind::Input;
  case BufferKind::Output:
    return plan::BufferKind::Output;
  case BufferKind::State:
    return plan::BufferKind::State;
  case BufferKind::Constant:
    return plan::BufferKind::Constant;
  case BufferKind::Temporary:
    break;
  }
  return plan::BufferKind::Temporary;
}

static std::unique_ptr<plan::ContentT> toContent(const HeldValue &held) {
  auto content = std::make_unique<plan::ContentT>();
  content->first = held.first;
  content->purpose = held.purpose;
  content->source = locationText(locationOf(held.value));
  return content;
}

/// Whether both are the gradient of one parameter: tables call its sum so from
/// the zero that it begins with to the mean.
static bool areOneGradient(const HeldValue &a, const HeldValue &b) {
  StringRef parameter = gradientOf(getValueOrigin(a.value));
  return a.purpose == b.purpose && !parameter.empty() &&
         parameter == gradientOf(getValueOrigin(b.value));
}

/// What is taken of a buffer where another part of it lies is one with that.
llvm::DenseMap<int32_t, int32_t> EntryWriter::findEqualParts() const {
  llvm::DenseMap<int32_t, int32_t> equal;
  for (const EntryBuffer &whole : buffers.buffers()) {
    std::map<std::pair<int64_t, int64_t>, int32_t> known;
    for (Value value : whole.parts) {
      const EntryBuffer &part = buffers.bufferFor(value);
      int32_t index = buffers.bufferOf(value);
      auto [found, isNew] =
          known.try_emplace({part.offsetInWhole, part.bytes}, index);
      if (!isNew && found->second != index)
        equal[index] = found->second;
    }
  }
  return equal;
}

LogicalResult EntryWriter::writeBuffers() {
  BufferContents contents(buffers, tables.statePurposes);
  llvm::DenseMap<int32_t, int32_t> equalParts = findEqualParts();
  for (auto [index, buffer] : llvm::enumerate(buffers.buffers())) {
    if (buffer.values.empty() || equalParts.contains(index))
      continue;
    Value value = buffer.values.front();
    int64_t offset = getOffset(value);
    if (offset < 0)
      return mlir::emitError(value.getLoc())
             << "value has no offset in the arena; run --weft-plan-memory";
    indices[index] = result->buffers.size();
    auto out = std::make_unique<plan::BufferT>();
    out->kind = toKind(buffer.kind);
    out->dtype = toDType(typeOf(value).getElementType());
    out->shape = typeOf(value).getShape();
    out->offset = offset;
    out->bytes = buffer.bytes;
    out->first = buffer.first;
    out->last = buffer.last;
    if (auto constant = value.getDefiningOp<arith::ConstantOp>())
      out->data_offset =
          tables.contentsOf(cast<ElementsAttr>(constant.getValue()));
    if (buffer.state >= 0) {
      const ProgramState &state = states.states()[buffer.state];
      out->name = state.name;
      out->slots = state.slots;
      out->slot_bytes = state.role < 0 ? 0 : state.slotBytes();
    }
    std::vector<HeldValue> held;
    if (!buffer.whole)
      held = contents.of(buffer);
    held.erase(std::unique(held.begin(), held.end(), areOneGradient),
               held.end());
    for (const HeldValue &each : held)
      out->contents.push_back(toContent(each));
    result->buffers.push_back(std::move(out));
  }
  for (auto [index, buffer] : llvm::enumerate(buffers.buffers())) {
    if (!buffer.whole)
      continue;
    if (auto equal = equalParts.find(index); equal != equalParts.end())
      indices[index] = indices.at(equal->second);
    plan::BufferT &part = *result->buffers[indices.at(index)];
    part.first = std::min<uint32_t>(part.first, buffer.first);
    part.last = std::max<uint32_t>(part.last, buffer.last);
    part.part_of = indexOf(buffer.whole);
  }
  return success();
}

void EntryWriter::writeBindings() {
  auto bind = [&](std::string name, std::unique_ptr<plan::TensorTypeT> type,
                  Value value) {
    auto binding = std::make_unique<plan::BindingT>();
    binding->name = std::move(name);
    if (roleOf(entry) < 0)
      binding->type = std::move(type);
    binding->buffer = indexOf(value);
    plan::BufferT &buffer = *result->buffers[binding->buffer];
    if (buffer.name.empty())
      buffer.name = binding->name;
    return binding;
  };
  for (auto [i, argument] : llvm::enumerate(entry.getArguments()))
    result->inputs.push_back(bind(getArgumentName(entry, i),
                                  argumentType(tables.mesh, entry, i),
                                  argument));
  Operation *terminator = entry.front().getTerminator();
  for (auto [i, value] : llvm::enumerate(terminator->getOperands()))
    result->outputs.push_back(bind(getResultName(entry, i),
                                   resultType(tables.mesh, entry, i), value));
}

/// What comes behind the last start of a collective, if anything does.
static flatbuffers::Optional<uint32_t> findDeferred(const plan::EntryT &entry) {
  uint32_t count = entry.instructions.size();
  for (uint32_t i = count; i-- > 0;)
    if (entry.instructions[i]->operation.AsCollectiveStart() && i + 1 < count)
      return i + 1;
  return flatbuffers::nullopt;
}

FailureOr<std::unique_ptr<plan::EntryT>> EntryWriter::write() {
  result->name = entry.getName();
  if (failed(writeBuffers()))
    return failure();
  writeBindings();
  result->observed = toObserved(entry);
  for (Operation *op : buffers.instructions()) {
    auto instruction = std::make_unique<plan::InstructionT>();
    visitInstruction(op, [&](auto op) { write(instruction->operation, op); });
    instruction->stream = isStart(op);
    if (auto cause = op->getAttrOfType<StringAttr>("cause"))
      instruction->cause = cause.str();
    instruction->location = toSourcePosition(op->getLoc());
    // A loop has no work but that of its instructions.
    instruction->flops = isa<RepeatOp>(op) ? 0 : countFlops(op);
    instruction->bytes = isa<RepeatOp>(op) ? 0 : countBytes(op);
    instruction->recomputes = isRecomputed(getOrigin(op));
    result->instructions.push_back(std::move(instruction));
  }
  if (canBeDeferred(entry))
    result->deferred_from = findDeferred(*result);
  auto bytes = [&](StringRef name) {
    auto attr = entry->getAttrOfType<IntegerAttr>(name);
    return attr ? attr.getInt() : 0;
  };
  result->arena_bytes = bytes(arenaBytesAttrName);
  result->liveness_bytes = bytes(livenessBytesAttrName);
  return std::move(result);
}

FailureOr<std::unique_ptr<plan::EntryT>> writeEntry(func::FuncOp entry,
                                                    const ProgramStates &states,
                                                    PlanTables &tables) {
  return EntryWriter(entry, states, tables).write();
}

} // namespace weft
