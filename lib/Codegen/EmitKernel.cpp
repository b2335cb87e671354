//===- EmitKernel.cpp - Kernels as loops over pointers --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmitKernel.h"
#include "ColumnAccumulators.h"
#include "CompensatedSum.h"
#include "EmitColumns.h"
#include "EmitPosition.h"
#include "EmitScatter.h"
#include "KernelAccesses.h"
#include "KernelBody.h"
#include "MathCalls.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace weft;

namespace {

class NestEmitter {
public:
  /// `part` of `parts` is what a call of the kernel computes.
  NestEmitter(ElementEmitter &e, ArrayRef<Value> results, Value part,
              Value parts)
      : e(e), b(e.b), loc(e.loc), results(results), part(part), parts(parts),
        entry(b.getInsertionBlock()), accumulators(e, results, entry) {}

  void emit(const KernelNest &nest, unsigned number);

private:
  using Body = llvm::function_ref<void()>;
  using Sums = ColumnSums;
  void forEachSum(const KernelNest &nest,
                  llvm::function_ref<void(const ColumnLoop &)> body);
  void emitTiles(const KernelNest &nest, const ColumnLoop &loop);
  void emitOnePart(unsigned number, Body body);
  std::pair<Value, Value> rangeOf(const KernelNest &nest, int64_t units);
  void emitNest(const KernelNest &nest);
  void emitRow(const KernelNest &nest);
  void emitBlocks(const KernelNest &nest);
  void emitRowLoop(Value begin, Value end, int64_t step,
                   llvm::function_ref<void(Value)> body);
  void emitRowBlocks(const KernelNest &nest,
                     llvm::function_ref<void(Value first, Value end)> body);
  void emitColumnLoop(const ColumnLoop &loop);
  void emitBody(const ColumnLoop &loop, Sums &sums);

  ElementEmitter &e;
  OpBuilder &b;
  Location loc;
  ArrayRef<Value> results;
  Value part, parts;
  /// Where the function begins: memory taken in a loop is never given back.
  Block *entry;
  /// Set in a nest whose columns are cut.
  ColumnRange columnRange;
  ColumnAccumulators accumulators;
};

} // namespace

/// Everything is computed before anything is stored, so that a result may take
/// the buffer of an operand that another result reads at the same element.
void NestEmitter::emitBody(const ColumnLoop &loop, Sums &sums) {
  setColumn(e, e.position.column);
  e.startBody();
  Value *error = sums.begin() + loop.reductions.size();
  for (auto [reduction, sum] : llvm::zip(loop.reductions, sums)) {
    Value next = emitTerm(e, reduction, sum);
    if (error != sums.end() && isCompensated(reduction)) {
      *error = addTerm(b, {sum, *error}, next).error;
      ++error;
    }
    sum = next;
  }
  std::vector<ElementStore> stores;
  for (const KernelRoot &root : loop.writes)
    stores.push_back(
        {emitWritten(e, root), results[root.result], e.position.ownElement});
  accumulators.addTerms(loop, stores);
  for (auto &[value, pointer, offset] : stores)
    e.store(value, pointer, offset);
}

void NestEmitter::emitColumnLoop(const ColumnLoop &loop) {
  e.enterScope();
  e.position.columns = loop.columns;
  e.position.ownElement = {};
  SmallVector<Value> inits;
  for (linalg::GenericOp reduction : loop.reductions)
    inits.push_back(emitRowInit(e, reduction));
  if (loop.columns == 1) {
    e.position.column = e.indices.constant(0);
    emitBody(loop, inits);
  } else {
    Sums sums;
    for (linalg::GenericOp reduction : loop.reductions)
      sums.push_back(e.ops.constant(
          *arith::getNeutralElement(getCombiner(reduction)), /*lanes=*/true));
    for (linalg::GenericOp reduction : loop.reductions)
      if (isCompensated(reduction))
        sums.push_back(e.ops.constant(b.getF64FloatAttr(0), /*lanes=*/true));
    if (columnRange.part)
      emitColumns(e, loop.columns, columnRange, [&] { emitBody(loop, sums); });
    else
      emitColumns(e, loop.columns, sums,
                  [&](Sums &next) { emitBody(loop, next); });
    Value *error = sums.begin() + loop.reductions.size();
    for (auto [init, sum, reduction] :
         llvm::zip(inits, sums, loop.reductions)) {
      Operation *combiner = getCombiner(reduction);
      Value row = isCompensated(reduction)
                      ? totalOf(b, addLanes(b, {sum, *error++}))
                      : e.ops.reduceLanes(combiner, sum);
      init = e.ops.apply(combiner, {init, row});
    }
  }
  e.leaveScope();
  for (auto [reduction, value] : llvm::zip_equal(loop.reductions, inits))
    e.knowRow(reduction, value);
}

void NestEmitter::emitRow(const KernelNest &nest) {
  for (auto &pass : nest.passes) {
    for (const ColumnLoop &loop : pass)
      emitColumnLoop(loop);
    e.kept.finishPass();
  }
}

void NestEmitter::emitRowLoop(Value begin, Value end, int64_t step,
                              llvm::function_ref<void(Value)> body) {
  scf::ForOp::create(b, loc, begin, end, e.ops.i64(step), ValueRange(),
                     [&](OpBuilder &, Location, Value at, ValueRange) {
                       e.enterScope();
                       body(at);
                       scf::YieldOp::create(b, loc);
                       e.leaveScope();
                     });
}

/// The part's rows, some at a time.
void NestEmitter::emitRowBlocks(
    const KernelNest &nest,
    llvm::function_ref<void(Value first, Value end)> body) {
  auto [firstBlock, lastBlock] =
      rangeOf(nest, llvm::divideCeil(nest.rows, blockedRows));
  auto rowAt = [&](Value block) -> Value {
    return arith::MulIOp::create(b, loc, block, e.ops.i64(blockedRows));
  };
  emitRowLoop(
      rowAt(firstBlock), rowAt(lastBlock), blockedRows, [&](Value first) {
        Value end =
            arith::AddIOp::create(b, loc, first, e.ops.i64(blockedRows));
        body(first, arith::MinSIOp::create(b, loc, end, e.ops.i64(nest.rows)));
      });
}

void NestEmitter::emitBlocks(const KernelNest &nest) {
  emitRowBlocks(nest, [&](Value first, Value end) {
    for (const ColumnLoop &loop : nest.passes.front()) {
      e.position.columns = loop.columns;
      Sums none;
      auto body = [&](Sums &) {
        LaneIndex column = e.position.column;
        emitRowLoop(first, end, 1, [&](Value row) {
          e.position.row = e.indices.uniform(row);
          e.position.column = column;
          emitBody(loop, none);
        });
      };
      if (loop.columns == 1) {
        e.position.column = e.indices.constant(0);
        body(none);
      } else {
        emitColumns(e, loop.columns, none, body);
      }
    }
  });
}

//===----------------------------------------------------------------------===//
// Sums over rows
//===----------------------------------------------------------------------===//

/// Of a nest without reductions of rows: tiles of columns, whose sums stay in
/// the first cache, and within them blocks of rows, in which they stay in
/// registers.
void NestEmitter::emitTiles(const KernelNest &nest, const ColumnLoop &loop) {
  constexpr int64_t tileColumns = 2048;
  e.position.columns = loop.columns;
  accumulators.allocate(loop, std::min(tileColumns, loop.columns));
  auto emitTile = [&](Value first, TileWalk walk) {
    accumulators.setFirstColumn(first);
    walk([&] { accumulators.clear(loop); });
    emitRowBlocks(nest, [&](Value firstRow, Value endRow) {
      walk([&] {
        LaneIndex column = e.position.column;
        Sums none;
        emitRowLoop(firstRow, endRow, 1, [&](Value row) {
          e.position.row = e.indices.uniform(row);
          e.position.column = column;
          emitBody(loop, none);
        });
      });
    });
    walk([&] { accumulators.finish(loop); });
    accumulators.setFirstColumn(Value());
  };
  if (loop.columns > 1)
    return emitColumnTiles(e, loop.columns, columnRange, tileColumns, emitTile);
  emitTile(e.ops.i64(0), [&](llvm::function_ref<void()> body) {
    e.enterScope();
    e.position.column = e.indices.constant(0);
    body();
    e.leaveScope();
  });
}

/// Emits `body` at each column of each sum over rows.
void NestEmitter::forEachSum(
    const KernelNest &nest, llvm::function_ref<void(const ColumnLoop &)> body) {
  for (auto &pass : nest.passes)
    for (const ColumnLoop &loop : pass) {
      if (loop.accumulations.empty())
        continue;
      e.position.columns = loop.columns;
      if (loop.columns > 1) {
        ColumnSums none;
        emitColumns(e, loop.columns, none, [&](ColumnSums &) { body(loop); });
        continue;
      }
      e.enterScope();
      e.position.column = e.indices.constant(0);
      body(loop);
      e.leaveScope();
    }
}

//===----------------------------------------------------------------------===//
// Nests
//===----------------------------------------------------------------------===//

/// Nests that are not cut are dealt out to the parts.
void NestEmitter::emitOnePart(unsigned number, Body body) {
  Value chosen = arith::RemUIOp::create(b, loc, e.ops.i64(number), parts);
  Value isChosen =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, part, chosen);
  scf::IfOp::create(b, loc, isChosen, [&](OpBuilder &, Location) {
    e.enterScope();
    body();
    scf::YieldOp::create(b, loc);
    e.leaveScope();
  });
}

/// Which of `units` groups of rows the part walks.
std::pair<Value, Value> NestEmitter::rangeOf(const KernelNest &nest,
                                             int64_t units) {
  if (nest.cut() != NestCut::Rows)
    return {e.ops.i64(0), e.ops.i64(units)};
  Value next = arith::AddIOp::create(b, loc, part, e.ops.i64(1));
  return {emitCut(e, units, part, parts), emitCut(e, units, next, parts)};
}

void NestEmitter::emit(const KernelNest &nest, unsigned number) {
  e.enterScope();
  e.position = {.rows = nest.rows};
  NestCut cut = nest.cut();
  columnRange = {};
  if (cut == NestCut::Columns)
    columnRange = {part, parts};
  if (cut == NestCut::None)
    emitOnePart(number, [&] { emitNest(nest); });
  else
    emitNest(nest);
  e.leaveScope();
}

void NestEmitter::emitNest(const KernelNest &nest) {
  if (nest.scatter) {
    emitScatterAdd(e, nest.scatter->value.getDefiningOp<ScatterAddOp>(),
                   results[nest.scatter->result], entry);
    return;
  }
  for (auto [value, count] : nest.kept)
    e.kept.add(value,
               allocateElements(b, loc, entry,
                                getElementTypeOrSelf(value.getType()), count));
  e.position.ownElement = {};
  bool accumulates = llvm::any_of(nest.passes, [](const auto &loops) {
    return llvm::any_of(loops, [](const ColumnLoop &loop) {
      return !loop.accumulations.empty();
    });
  });
  if (accumulates && nest.reductions.empty() && nest.passes.size() == 1) {
    for (const ColumnLoop &loop : nest.passes.front())
      emitTiles(nest, loop);
  } else if (nest.blocked && nest.rows > 1) {
    emitBlocks(nest);
  } else if (nest.rows == 1) {
    e.position.row = e.indices.constant(0);
    emitRow(nest);
  } else {
    for (auto &pass : nest.passes)
      for (const ColumnLoop &loop : pass)
        accumulators.allocate(loop, loop.columns);
    forEachSum(nest, [&](const ColumnLoop &loop) { accumulators.clear(loop); });
    auto [first, last] = rangeOf(nest, nest.rows);
    emitRowLoop(first, last, 1, [&](Value row) {
      e.position.row = e.indices.uniform(row);
      emitRow(nest);
    });
    forEachSum(nest,
               [&](const ColumnLoop &loop) { accumulators.finish(loop); });
  }
  e.kept.clear();
  e.forgetRows();
}

/// The most parts in which the kernel may be computed at once. Where a nest
/// writes over what another one reads, their order counts.
static int64_t countParts(func::FuncOp kernel, const KernelPlan &plan,
                          ArrayRef<int64_t> inPlace) {
  KernelAccesses accesses = findAccesses(kernel, plan, NestOrder::InTurn);
  for (auto [result, operand] : llvm::enumerate(inPlace))
    if (operand >= 0 &&
        llvm::any_of(accesses.reads[operand], [&](const KernelAccess &read) {
          return !accesses.writes[result] ||
                 read.time.nest != accesses.writes[result]->nest;
        }))
      return 1;
  int64_t most = 1;
  for (const KernelNest &nest : plan.nests)
    most = std::max(most, nest.maxParts());
  return most;
}

/// The function that computes: one `noalias` pointer for each buffer, then the
/// positions, the part and the number of parts.
static LLVM::LLVMFuncOp createBody(OpBuilder &b, func::FuncOp kernel,
                                   StringRef symbol, unsigned buffers,
                                   unsigned positions) {
  auto *context = b.getContext();
  SmallVector<Type> types(buffers, LLVM::LLVMPointerType::get(context));
  types.append(positions + 2, b.getI64Type());
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types);
  auto body =
      LLVM::LLVMFuncOp::create(b, kernel.getLoc(), (symbol + "_body").str(),
                               type, LLVM::Linkage::Internal);
  auto noAlias = b.getDictionaryAttr(
      b.getNamedAttr(LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr()));
  SmallVector<DictionaryAttr> attributes(buffers, noAlias);
  attributes.append(positions + 2, b.getDictionaryAttr({}));
  // All at once: one by one, they take memory quadratic in their number.
  body.setAllArgAttrs(attributes);
  // Inlined, it would lose what `noalias` says.
  body.setNoInline(true);
  body.addEntryBlock(b);
  return body;
}

static void createEntry(OpBuilder &b, LLVM::LLVMFuncOp body, StringRef symbol,
                        unsigned buffers) {
  OpBuilder::InsertionGuard guard(b);
  Location loc = body.getLoc();
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(b.getContext()),
      {pointer, pointer, b.getI64Type(), b.getI64Type()});
  auto entry = LLVM::LLVMFuncOp::create(b, loc, symbol, type);
  Block *block = entry.addEntryBlock(b);
  b.setInsertionPointToStart(block);
  SmallVector<Value> arguments;
  for (auto [number, type] :
       llvm::enumerate(body.getArgumentTypes().drop_back(2))) {
    bool isBuffer = number < buffers;
    int32_t at = isBuffer ? number : number - buffers;
    Value address = LLVM::GEPOp::create(b, loc, pointer, type,
                                        block->getArgument(!isBuffer),
                                        ArrayRef<LLVM::GEPArg>{at});
    arguments.push_back(LLVM::LoadOp::create(b, loc, type, address));
  }
  arguments.push_back(block->getArgument(2));
  arguments.push_back(block->getArgument(3));
  LLVM::CallOp::create(b, loc, body, arguments);
  LLVM::ReturnOp::create(b, loc, ValueRange());
}

FailureOr<int64_t> weft::emitKernel(ModuleOp module, func::FuncOp kernel,
                                    ArrayRef<int64_t> inPlace,
                                    StringRef symbol) {
  FailureOr<KernelPlan> plan = planKernel(kernel);
  if (failed(plan))
    return failure();
  unsigned operands = countBufferArguments(kernel);
  unsigned positions = kernel.getNumArguments() - operands;
  unsigned buffers = operands + llvm::count(inPlace, -1);

  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  auto body = createBody(b, kernel, symbol, buffers, positions);
  createEntry(b, body, symbol, buffers);
  b.setInsertionPointToStart(&body.getBody().front());

  SmallVector<Value> all(body.getArguments()), arguments(all), results;
  arguments.erase(arguments.begin() + operands, arguments.begin() + buffers);
  unsigned next = operands;
  for (int64_t operand : inPlace)
    results.push_back(operand < 0 ? all[next++] : all[operand]);

  ElementEmitter elements(b, kernel, body, arguments,
                          {.tablePrefix = body.getName().str()});
  MathCalls calls(module);
  if (MathCalls::areFor(kernel))
    elements.ops.calls = &calls;
  NestEmitter nests(elements, results, all[all.size() - 2], all.back());
  for (auto [number, nest] : llvm::enumerate(plan->nests))
    nests.emit(nest, number);
  LLVM::ReturnOp::create(b, kernel.getLoc(), ValueRange());
  return countParts(kernel, *plan, inPlace);
}
