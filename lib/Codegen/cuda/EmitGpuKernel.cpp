//===- EmitGpuKernel.cpp - Kernels as grids of threads --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmitGpuKernel.h"
#include "GpuJobs.h"

#include "../KernelBody.h"

#include "weft/Cost/GpuLimits.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace weft;

/// Buffers are in the memory of the device.
static constexpr unsigned globalSpace = 1;
/// What every buffer of an arena is aligned to, as far as loads can use it.
static constexpr unsigned bufferAlignment = 16;

namespace {

class KernelEmitter {
public:
  KernelEmitter(OpBuilder &b, func::FuncOp kernel, ArrayRef<int64_t> inPlace,
                StringRef symbol, int64_t maxBatch, const GridPlan &plan)
      : b(b), kernel(kernel), inPlace(inPlace), symbol(symbol),
        maxBatch(maxBatch), plan(plan), operands(countBufferArguments(kernel)),
        buffers(operands + llvm::count(inPlace, -1)),
        positions(kernel.getNumArguments() - operands) {}

  LogicalResult checkBatch();
  LogicalResult checkParameters();
  KernelGrid emit();

private:
  bool hasTable() const { return maxBatch > 1; }
  LLVM::LLVMFuncOp declare();
  void addTable(LLVM::LLVMFuncOp made);
  void addNoAlias(LLVM::LLVMFuncOp made);
  void bindParameters();
  SmallVector<Value> loadBuffers(Value table);
  void emitJobs(Value block, size_t number);
  void emitJob(const GridJob &job, size_t number, Value block);

  OpBuilder &b;
  func::FuncOp kernel;
  ArrayRef<int64_t> inPlace;
  StringRef symbol;
  int64_t maxBatch;
  const GridPlan &plan;
  /// Numbers of buffers of operands, of all buffers, and of positions.
  unsigned operands, buffers, positions;
  LLVM::LLVMFuncOp function;
  std::optional<SharedMemory> shared;
  /// For the arguments of the kernel, and its results.
  SmallVector<Value> arguments, results;
  Value workspace;
};

} // namespace

/// The sets of a batch would count blocks, and add up, in one workspace.
LogicalResult KernelEmitter::checkBatch() {
  if (!hasTable())
    return success();
  if (plan.workspaceBytes > 0)
    return kernel.emitOpError("is launched for ")
           << maxBatch
           << " sets of arguments at once, which would share its workspace";
  return success();
}

LogicalResult KernelEmitter::checkParameters() {
  int64_t words = maxBatch * buffers + positions + (plan.workspaceBytes > 0);
  int64_t bytes = cost::addressBytes * words;
  if (bytes <= cost::kernelParameterBytes)
    return success();
  if (hasTable())
    return kernel.emitOpError("is launched for ")
           << maxBatch << " sets of arguments at once, whose parameters take "
           << bytes << " bytes; a GPU takes " << cost::kernelParameterBytes;
  return kernel.emitOpError("has ")
         << buffers << " buffers, whose addresses take " << bytes
         << " bytes as parameters; a GPU takes " << cost::kernelParameterBytes
         << ": combine fewer tensors at once";
}

LLVM::LLVMFuncOp KernelEmitter::declare() {
  MLIRContext *context = b.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context, globalSpace);
  SmallVector<Type> types(buffers, pointer);
  if (hasTable())
    types = {LLVM::LLVMPointerType::get(context)};
  types.append(positions, b.getI64Type());
  if (plan.workspaceBytes > 0)
    types.push_back(pointer);
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types);
  auto made = LLVM::LLVMFuncOp::create(b, kernel.getLoc(), symbol, type);
  if (hasTable())
    addTable(made);
  else
    addNoAlias(made);
  made->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  made->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(),
                b.getDenseI32ArrayAttr({int32_t(plan.threads)}));
  made.addEntryBlock(b);
  return made;
}

/// The first parameter is the table itself, not its address.
void KernelEmitter::addTable(LLVM::LLVMFuncOp made) {
  auto table = LLVM::LLVMArrayType::get(b.getI64Type(), maxBatch * buffers);
  made.setArgAttr(0, LLVM::LLVMDialect::getByValAttrName(),
                  TypeAttr::get(table));
  made.setArgAttr(0, LLVM::LLVMDialect::getAlignAttrName(),
                  b.getI64IntegerAttr(cost::addressBytes));
}

/// Not where threads wait for one another between reading and writing: a load
/// of what nothing else points to could be moved over a barrier.
void KernelEmitter::addNoAlias(LLVM::LLVMFuncOp made) {
  for (unsigned i = 0; i < buffers; ++i)
    if (!llvm::is_contained(inPlace, int64_t(i)))
      made.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                      b.getUnitAttr());
}

/// The buffers of the block's own set.
SmallVector<Value> KernelEmitter::loadBuffers(Value table) {
  Location loc = kernel.getLoc();
  Type word = b.getI64Type();
  Value set = NVVM::BlockIdYOp::create(b, loc, b.getI32Type());
  set = arith::ExtUIOp::create(b, loc, word, set);
  Value size = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(buffers));
  Value first = arith::MulIOp::create(b, loc, set, size);
  Type pointer = LLVM::LLVMPointerType::get(b.getContext(), globalSpace);
  SmallVector<Value> loaded;
  for (unsigned i = 0; i < buffers; ++i) {
    Value number = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(i));
    Value at = arith::AddIOp::create(b, loc, first, number);
    Value address =
        LLVM::GEPOp::create(b, loc, table.getType(), word, table,
                            ValueRange{at}, LLVM::GEPNoWrapFlags::inbounds);
    loaded.push_back(
        LLVM::LoadOp::create(b, loc, pointer, address, cost::addressBytes));
  }
  return loaded;
}

void KernelEmitter::bindParameters() {
  SmallVector<Value> all(function.getArguments());
  if (plan.workspaceBytes > 0)
    workspace = all.pop_back_val();
  if (hasTable()) {
    SmallVector<Value> loaded = loadBuffers(all.front());
    all.erase(all.begin());
    all.insert(all.begin(), loaded.begin(), loaded.end());
  }
  unsigned next = operands;
  for (int64_t operand : inPlace)
    results.push_back(operand < 0 ? all[next++] : all[operand]);
  arguments.assign(all.begin(), all.begin() + operands);
  arguments.append(all.begin() + next, all.end());
}

void KernelEmitter::emitJob(const GridJob &job, size_t number, Value block) {
  EmitterOptions options{job.lanes,
                         (symbol + "_job" + Twine(number)).str(),
                         {.vectorAlignment = bufferAlignment}};
  // Parameters say it themselves.
  if (hasTable())
    for (unsigned i = 0; i < operands; ++i)
      options.buffers.isReadOnly.push_back(
          !llvm::is_contained(inPlace, int64_t(i)));
  ElementEmitter elements(b, kernel, function, arguments, std::move(options));
  elements.ops.convertsNarrowFloats = true;
  elements.position = {.rows = job.nest->rows};
  shared->startJob();
  GpuBlock threads(elements, *shared, plan, job, block, workspace);
  GpuJob context{elements, threads, job, inPlace, results};
  switch (job.kind) {
  case JobKind::Elements:
    return emitElements(context);
  case JobKind::Tiles:
    return emitTiles(context);
  case JobKind::ColumnSums:
    return emitColumnSums(context);
  case JobKind::Rows:
    return emitRows(context);
  case JobKind::SplitRows:
    return emitSplitRows(context);
  case JobKind::Scatter:
    return emitScatter(context);
  }
}

/// The jobs from `number` on, for the blocks that are left to them.
void KernelEmitter::emitJobs(Value block, size_t number) {
  if (number == plan.jobs.size())
    return;
  const GridJob &job = plan.jobs[number];
  if (number + 1 == plan.jobs.size())
    return emitJob(job, number, block);
  Location loc = kernel.getLoc();
  Value end = arith::ConstantOp::create(
      b, loc, b.getI64IntegerAttr(job.firstBlock + job.blocks));
  Value isOwn =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, block, end);
  scf::IfOp::create(
      b, loc, isOwn,
      [&](OpBuilder &, Location) {
        emitJob(job, number, block);
        scf::YieldOp::create(b, loc);
      },
      [&](OpBuilder &, Location) {
        emitJobs(block, number + 1);
        scf::YieldOp::create(b, loc);
      });
}

KernelGrid KernelEmitter::emit() {
  Location loc = kernel.getLoc();
  function = declare();
  shared.emplace(b, function);
  b.setInsertionPointToStart(&function.getBody().front());
  bindParameters();
  // With it LLVM knows that most numbers of elements have 32 bits, and divides
  // them in a fraction of the time.
  auto range = LLVM::ConstantRangeAttr::get(b.getContext(), 32, 0, plan.blocks);
  Value block = NVVM::BlockIdXOp::create(b, loc, b.getI32Type(), range);
  block = arith::ExtUIOp::create(b, loc, b.getI64Type(), block);
  emitJobs(block, 0);
  LLVM::ReturnOp::create(b, loc, ValueRange());

  KernelGrid grid;
  grid.blocks = plan.blocks;
  grid.threads = plan.threads;
  grid.sharedBytes = shared->finish();
  grid.launchSharedBytes = plan.launchSharedBytes;
  grid.workspaceBytes = plan.workspaceBytes;
  grid.maxBatch = maxBatch;
  return grid;
}

FailureOr<KernelGrid> weft::emitGpuKernel(ModuleOp module, func::FuncOp kernel,
                                          ArrayRef<int64_t> inPlace,
                                          StringRef symbol, int64_t maxBatch,
                                          int64_t sharedBytes) {
  FailureOr<KernelPlan> nests = planKernel(kernel);
  if (failed(nests))
    return failure();
  GridPlan plan = planGrid(std::move(*nests), sharedBytes);
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  KernelEmitter emitter(b, kernel, inPlace, symbol, maxBatch, plan);
  if (failed(emitter.checkBatch()) || failed(emitter.checkParameters()))
    return failure();
  return emitter.emit();
}
