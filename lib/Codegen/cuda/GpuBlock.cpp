//===- GpuBlock.cpp - Threads that work together --------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuBlock.h"

#include "../EmitPosition.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace weft;

/// Threads of the device see what is ordered by it.
static constexpr StringLiteral deviceScope = "device";
static constexpr unsigned sharedSpace = 3;
static constexpr int64_t sharedAlignment = 16;

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

SharedMemory::SharedMemory(OpBuilder &b, LLVM::LLVMFuncOp kernel)
    : kernel(kernel), global(declare(b, "_shared", LLVM::Linkage::Internal)) {}

LLVM::GlobalOp SharedMemory::declare(OpBuilder &b, Twine name,
                                     LLVM::Linkage linkage) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(kernel);
  return LLVM::GlobalOp::create(
      b, kernel.getLoc(), LLVM::LLVMArrayType::get(b.getI8Type(), 0),
      /*isConstant=*/false, linkage, (kernel.getName() + name).str(),
      Attribute(), sharedAlignment, sharedSpace);
}

static Value byteOf(OpBuilder &b, LLVM::GlobalOp global, int64_t byte) {
  Location loc = global.getLoc();
  Value base = LLVM::AddressOfOp::create(b, loc, global);
  return LLVM::GEPOp::create(b, loc, base.getType(), b.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{int32_t(byte)});
}

Value SharedMemory::launchMemoryAt(OpBuilder &b, int64_t byte) {
  if (!ofLaunch)
    ofLaunch = declare(b, "_launch_shared", LLVM::Linkage::External);
  return byteOf(b, ofLaunch, byte);
}

Value SharedMemory::allocate(OpBuilder &b, int64_t bytes) {
  int64_t offset = used;
  used = llvm::alignTo(used + bytes, sharedAlignment);
  most = std::max(most, used);
  return byteOf(b, global, offset);
}

int64_t SharedMemory::finish() {
  if (most == 0)
    global.erase();
  else
    global.setGlobalType(LLVM::LLVMArrayType::get(
        IntegerType::get(global.getContext(), 8), most));
  return most;
}

//===----------------------------------------------------------------------===//
// Numbers and loops
//===----------------------------------------------------------------------===//

GpuBlock::GpuBlock(ElementEmitter &e, SharedMemory &shared,
                   const GridPlan &plan, const GridJob &job, Value block,
                   Value workspace)
    : threads(plan.threads), e(e), b(e.b), loc(e.loc), shared(shared),
      workspace(workspace) {
  thread = toI64(NVVM::ThreadIdXOp::create(b, loc, b.getI32Type()));
  lane = remainder(thread, warpThreads);
  warp = divide(thread, warpThreads);
  this->block = block;
  if (job.firstBlock > 0)
    this->block = arith::SubIOp::create(b, loc, block, number(job.firstBlock));
}

Value GpuBlock::i32(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
}

Value GpuBlock::toI64(Value x) {
  return arith::ExtUIOp::create(b, loc, b.getI64Type(), x);
}

Value GpuBlock::add(Value x, Value y) {
  return arith::AddIOp::create(b, loc, x, y);
}

Value GpuBlock::subtract(Value x, Value y) {
  return arith::SubIOp::create(b, loc, x, y);
}

Value GpuBlock::multiply(Value x, int64_t factor) {
  return factor == 1 ? x : arith::MulIOp::create(b, loc, x, number(factor));
}

Value GpuBlock::divide(Value x, int64_t divisor) {
  return divisor == 1 ? x : arith::DivUIOp::create(b, loc, x, number(divisor));
}

Value GpuBlock::remainder(Value x, int64_t divisor) {
  return arith::RemUIOp::create(b, loc, x, number(divisor));
}

Value GpuBlock::less(Value x, Value y) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, x, y);
}

Value GpuBlock::equals(Value x, int64_t value) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x,
                               number(value));
}

Value GpuBlock::smaller(Value x, int64_t value) {
  return arith::MinUIOp::create(b, loc, x, number(value));
}

Value GpuBlock::both(Value x, Value y) {
  return arith::AndIOp::create(b, loc, x, y);
}

void GpuBlock::when(Value condition, llvm::function_ref<void()> body) {
  if (!condition)
    return body();
  scf::IfOp::create(b, loc, condition, [&](OpBuilder &, Location) {
    e.enterScope();
    body();
    scf::YieldOp::create(b, loc);
    e.leaveScope();
  });
}

void GpuBlock::loop(
    Value begin, Value end, int64_t step, MutableArrayRef<Value> carried,
    llvm::function_ref<void(Value, MutableArrayRef<Value>)> body) {
  auto loop = scf::ForOp::create(
      b, loc, begin, end, number(step), carried,
      [&](OpBuilder &, Location, Value at, ValueRange arguments) {
        e.enterScope();
        SmallVector<Value> next(arguments);
        body(at, next);
        scf::YieldOp::create(b, loc, next);
        e.leaveScope();
      });
  llvm::copy(loop.getResults(), carried.begin());
}

LaneIndex GpuBlock::columnsAt(Value base) {
  if (e.ops.width == 1)
    return e.indices.uniform(base);
  return {base, 1, {}, e.ops.width};
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

void GpuBlock::loopSums(
    Value begin, Value end, int64_t step,
    MutableArrayRef<CompensatedSum> carried,
    llvm::function_ref<void(Value, MutableArrayRef<CompensatedSum>)> body) {
  SmallVector<CompensatedSum> sums(carried);
  auto flatten = [&] {
    SmallVector<Value> values;
    for (const CompensatedSum &sum : sums) {
      values.push_back(sum.sum);
      if (sum.error)
        values.push_back(sum.error);
    }
    return values;
  };
  auto set = [&](ArrayRef<Value> values) {
    for (CompensatedSum &sum : sums) {
      sum.sum = values.consume_front();
      if (sum.error)
        sum.error = values.consume_front();
    }
  };
  SmallVector<Value> values = flatten();
  loop(begin, end, step, values, [&](Value at, MutableArrayRef<Value> next) {
    set(next);
    body(at, sums);
    llvm::copy(flatten(), next.begin());
  });
  set(values);
  llvm::copy(sums, carried.begin());
}

CompensatedSum GpuBlock::neutral(linalg::GenericOp reduction, bool lanes) {
  Value none = e.ops.constant(*arith::getNeutralElement(getCombiner(reduction)),
                              lanes && e.ops.width > 1);
  return {none, isCompensated(reduction) ? none : Value()};
}

CompensatedSum GpuBlock::combine(linalg::GenericOp reduction, CompensatedSum x,
                                 CompensatedSum y) {
  Value sum = e.ops.apply(getCombiner(reduction), {x.sum, y.sum});
  if (!x.error)
    return {sum, {}};
  Value error = arith::AddFOp::create(b, loc, x.error, y.error);
  return addTerm(b, {x.sum, error}, sum);
}

CompensatedSum GpuBlock::addPlace(linalg::GenericOp reduction,
                                  CompensatedSum sum) {
  Value next = emitTerm(e, reduction, sum.sum);
  return sum.error ? addTerm(b, sum, next) : CompensatedSum{next, {}};
}

CompensatedSum GpuBlock::select(Value mask, CompensatedSum x,
                                CompensatedSum y) {
  return {e.ops.select(mask, x.sum, y.sum),
          x.error ? e.ops.select(mask, x.error, y.error) : Value()};
}

Value GpuBlock::finish(linalg::GenericOp reduction, Value init,
                       CompensatedSum sum) {
  Value total = sum.error ? totalOf(b, sum) : sum.sum;
  return e.ops.apply(getCombiner(reduction), {init, total});
}

static Value halfOf(OpBuilder &b, Location loc, Value pointer, int64_t bytes) {
  return LLVM::GEPOp::create(b, loc, pointer.getType(), b.getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{int32_t(bytes / 2)});
}

void GpuBlock::store(CompensatedSum sum, Value pointer, int64_t bytes,
                     LaneIndex at) {
  e.store(sum.sum, pointer, at);
  if (sum.error)
    e.store(sum.error, halfOf(b, loc, pointer, bytes), at);
}

CompensatedSum GpuBlock::load(linalg::GenericOp reduction, Value pointer,
                              int64_t bytes, LaneIndex at) {
  Type element = getElementTypeOrSelf(reduction->getResult(0).getType());
  CompensatedSum sum{e.load(pointer, element, at), {}};
  if (isCompensated(reduction))
    sum.error = e.load(halfOf(b, loc, pointer, bytes), element, at);
  return sum;
}

/// The value of the thread whose lane differs in the bits of `distance`.
Value GpuBlock::shuffle(Value x, int distance) {
  Type type = x.getType(), word = b.getI32Type();
  unsigned width = type.getIntOrFloatBitWidth();
  Type integer = b.getIntegerType(width);
  auto exchange = [&](Value bits) -> Value {
    return NVVM::ShflOp::create(b, loc, word, warpMask(), bits, i32(distance),
                                i32(warpThreads - 1), NVVM::ShflKind::bfly,
                                UnitAttr());
  };
  Value bits =
      type == integer ? x : arith::BitcastOp::create(b, loc, integer, x);
  if (width == 64) {
    Value high = arith::ShRUIOp::create(b, loc, bits, number(32));
    high = exchange(arith::TruncIOp::create(b, loc, word, high));
    Value low = exchange(arith::TruncIOp::create(b, loc, word, bits));
    high = arith::ShLIOp::create(b, loc, toI64(high), number(32));
    bits = arith::OrIOp::create(b, loc, high, toI64(low));
  } else if (width < 32) {
    bits = exchange(arith::ExtUIOp::create(b, loc, word, bits));
    bits = arith::TruncIOp::create(b, loc, integer, bits);
  } else {
    bits = exchange(bits);
  }
  return type == integer ? bits : arith::BitcastOp::create(b, loc, type, bits);
}

void GpuBlock::reduceWarps(MutableArrayRef<Sum> sums, int64_t together) {
  for (Sum &sum : sums)
    for (int distance = together / 2; distance >= 1; distance /= 2) {
      auto [value, error] = sum.value;
      CompensatedSum other{shuffle(value, distance),
                           error ? shuffle(error, distance) : Value()};
      sum.value = combine(sum.reduction, sum.value, other);
    }
}

/// Each warp leaves its sum in shared memory, and every warp adds them up.
void GpuBlock::reduceBlock(MutableArrayRef<Sum> sums) {
  reduceWarps(sums);
  int64_t warps = threads / warpThreads;
  if (warps == 1 || sums.empty())
    return;
  auto bytesOf = [&](const Sum &sum) {
    return sum.value.error ? warps * sumBytes : warps * sumBytes / 2;
  };
  SmallVector<Value> slots;
  LaneIndex own = e.indices.uniform(warp);
  for (Sum &sum : sums) {
    slots.push_back(allocateShared(bytesOf(sum)));
    when(equals(lane, 0),
         [&] { store(sum.value, slots.back(), bytesOf(sum), own); });
  }
  barrier();
  int64_t together = llvm::PowerOf2Ceil(warps);
  Value other = remainder(lane, together), isWarp;
  if (together > warps) {
    isWarp = less(other, number(warps));
    other = smaller(other, warps - 1);
  }
  for (auto [sum, slot] : llvm::zip_equal(sums, slots)) {
    CompensatedSum loaded =
        load(sum.reduction, slot, bytesOf(sum), e.indices.uniform(other));
    sum.value = select(isWarp, loaded, neutral(sum.reduction, false));
  }
  reduceWarps(sums, together);
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void GpuBlock::barrier() { NVVM::BarrierOp::create(b, loc); }

void GpuBlock::warpBarrier() { NVVM::SyncWarpOp::create(b, loc, warpMask()); }

Value GpuBlock::workspaceAt(Value byte) {
  return LLVM::GEPOp::create(b, loc, workspace.getType(), b.getI8Type(),
                             workspace, ValueRange{byte});
}

Value GpuBlock::arriveLast(Value counter, int64_t count) {
  auto fence = [&] {
    LLVM::FenceOp::create(b, loc, LLVM::AtomicOrdering::acq_rel, deviceScope);
  };
  Type word = b.getI32Type();
  Value flag = allocateShared(counterBytes);
  fence();
  barrier();
  when(equals(thread, 0), [&] {
    Value address = LLVM::GEPOp::create(b, loc, workspace.getType(), word,
                                        workspace, ValueRange{counter});
    // Behind the last block it is zero again.
    Value before = LLVM::AtomicRMWOp::create(
        b, loc, LLVM::AtomicBinOp::uinc_wrap, address, i32(count - 1),
        LLVM::AtomicOrdering::acq_rel, deviceScope);
    Value isLast = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                         before, i32(count - 1));
    LLVM::StoreOp::create(b, loc, arith::ExtUIOp::create(b, loc, word, isLast),
                          flag);
  });
  barrier();
  fence();
  Value known = LLVM::LoadOp::create(b, loc, word, flag);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, known, i32(0));
}

Value GpuBlock::ballot(Value condition) {
  return NVVM::VoteSyncOp::create(b, loc, b.getI32Type(), i32(-1), condition,
                                  NVVM::VoteSyncKind::ballot);
}
