//===- EmitGpuKernel.cpp - Kernels as grids of threads --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmitGpuKernel.h"
#include "GpuJobs.h"

#include "../KernelBody.h"

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
                StringRef symbol, const GridPlan &plan)
      : b(b), kernel(kernel), inPlace(inPlace), symbol(symbol), plan(plan) {}

  KernelGrid emit();

private:
  LLVM::LLVMFuncOp declare();
  void bindParameters();
  void emitJobs(Value block, size_t number);
  void emitJob(const GridJob &job, size_t number, Value block);

  OpBuilder &b;
  func::FuncOp kernel;
  ArrayRef<int64_t> inPlace;
  StringRef symbol;
  const GridPlan &plan;
  LLVM::LLVMFuncOp function;
  std::optional<SharedMemory> shared;
  /// For the arguments of the kernel, and its results.
  SmallVector<Value> arguments, results;
  Value workspace;
};

} // namespace

LLVM::LLVMFuncOp KernelEmitter::declare() {
  MLIRContext *context = b.getContext();
  unsigned operands = countBufferArguments(kernel);
  unsigned buffers = operands + llvm::count(inPlace, -1);
  unsigned positions = kernel.getNumArguments() - operands;
  Type pointer = LLVM::LLVMPointerType::get(context, globalSpace);
  SmallVector<Type> types(buffers, pointer);
  types.append(positions, b.getI64Type());
  if (plan.workspaceBytes > 0)
    types.push_back(pointer);
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types);
  auto made = LLVM::LLVMFuncOp::create(b, kernel.getLoc(), symbol, type);
  // Not where threads wait for one another between reading and writing: a load
  // of what nothing else points to could be moved over a barrier.
  for (unsigned i = 0; i < buffers; ++i)
    if (!llvm::is_contained(inPlace, int64_t(i)))
      made.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                      b.getUnitAttr());
  made->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  made->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(),
                b.getDenseI32ArrayAttr({int32_t(plan.threads)}));
  made.addEntryBlock(b);
  return made;
}

void KernelEmitter::bindParameters() {
  unsigned operands = countBufferArguments(kernel);
  SmallVector<Value> all(function.getArguments());
  if (plan.workspaceBytes > 0)
    workspace = all.pop_back_val();
  unsigned next = operands;
  for (int64_t operand : inPlace)
    results.push_back(operand < 0 ? all[next++] : all[operand]);
  arguments.assign(all.begin(), all.begin() + operands);
  arguments.append(all.begin() + next, all.end());
}

void KernelEmitter::emitJob(const GridJob &job, size_t number, Value block) {
  ElementEmitter elements(b, kernel, function, arguments, job.lanes);
  elements.vectorAlignment = bufferAlignment;
  elements.tablePrefix = (symbol + "_job" + Twine(number)).str();
  elements.nest = job.nest;
  elements.place.nest = job.nestNumber;
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
  bindParameters();
  b.setInsertionPointToStart(&function.getBody().front());
  Value block = NVVM::BlockIdXOp::create(b, loc, b.getI32Type());
  block = arith::ExtUIOp::create(b, loc, b.getI64Type(), block);
  emitJobs(block, 0);
  LLVM::ReturnOp::create(b, loc, ValueRange());

  KernelGrid grid;
  grid.blocks = plan.blocks;
  grid.threads = plan.threads;
  grid.sharedBytes = shared->finish();
  grid.workspaceBytes = plan.workspaceBytes;
  return grid;
}

FailureOr<KernelGrid> weft::emitGpuKernel(ModuleOp module, func::FuncOp kernel,
                                          ArrayRef<int64_t> inPlace,
                                          StringRef symbol) {
  FailureOr<KernelPlan> nests = planKernel(kernel, /*finishSums=*/true);
  if (failed(nests))
    return failure();
  GridPlan plan = planGrid(std::move(*nests));
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  return KernelEmitter(b, kernel, inPlace, symbol, plan).emit();
}
