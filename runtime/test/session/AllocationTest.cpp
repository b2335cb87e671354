//===- AllocationTest.cpp - A step allocates nothing ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts calls of operator new in all threads while an entry runs. The product
// is one of integers: oneDNN builds a table of its arguments in every call.
//
//===----------------------------------------------------------------------===//

#include "PipelinePlan.h"
#include "weft/runtime/Session.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

static std::atomic<bool> isCounting{false};
static std::atomic<int> allocations{0};

static void *countedAllocation(size_t size) noexcept {
  if (isCounting.load(std::memory_order_relaxed))
    allocations.fetch_add(1);
  return std::malloc(size ? size : 1);
}

static void *required(void *memory) {
  return memory ? memory : throw std::bad_alloc();
}

void *operator new(size_t size) { return required(countedAllocation(size)); }
void *operator new[](size_t size) { return required(countedAllocation(size)); }
void *operator new(size_t size, const std::nothrow_t &) noexcept {
  return countedAllocation(size);
}
void *operator new[](size_t size, const std::nothrow_t &) noexcept {
  return countedAllocation(size);
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
void operator delete[](void *memory, size_t) noexcept { std::free(memory); }

namespace weft::runtime {
namespace {

/// In all runs but the first.
void expectNoAllocations(Session &session, const char *entry) {
  ASSERT_EQ(session.run(entry), Status());
  allocations = 0;
  isCounting = true;
  Status status;
  for (int step = 0; step < 20 && status.ok(); ++step)
    status = session.run(entry);
  isCounting = false;
  EXPECT_EQ(status, Status());
  EXPECT_EQ(allocations.load(), 0);
}

TEST(Allocation, StepsDoNotAllocate) {
  PlanBuilder builder({{"data", 4}});
  const uint32_t group = builder.group({"data"});
  EntryBuilder entry = builder.entry("e");
  const auto type = builder.type(DType::F32, {16, 16}, {{"data"}});
  const uint32_t x = entry.input("x", type);
  const uint32_t whole = entry.temporary(DType::F32, {16, 16});
  const uint32_t y = entry.output("y", type);
  const uint32_t z = entry.output("z", builder.type(DType::F32, {16}));
  const auto integers = builder.type(DType::I32, {4, 4});
  const uint32_t i = entry.input("i", integers);
  const uint32_t j = entry.input("j", integers);
  const uint32_t k = entry.output("k", integers);
  const uint32_t sum = entry.output("sum", builder.type(DType::F32, {4, 16}));
  entry.start(plan::CollectiveKind::AllGather, group, x, whole, 1, 64);
  entry.wait(0);
  entry.gemm(i, j, k, 4, 4, 4);
  entry.copy(x, y);
  entry.start(plan::CollectiveKind::AllReduce, group, y, sum, 1, 64);
  entry.launch("fill", {{z, write}}, {{"data"}, {}});
  entry.wait(1);
  entry.copy(x, sum);
  auto session = Session::create(builder.build());
  ASSERT_TRUE(session.ok()) << session.status().message();
  ASSERT_TRUE((*session)->setInput("e", "x", countingArray({16, 16})).ok());
  ASSERT_TRUE((*session)->setInput("e", "i", Array(DType::I32, {4, 4})).ok());
  ASSERT_TRUE((*session)->setInput("e", "j", Array(DType::I32, {4, 4})).ok());
  expectNoAllocations(**session, "e");
}

TEST(Allocation, TimelinesDoNotAllocate) {
  auto session = Session::create(PipelinePlan(3, 5, 2).build());
  ASSERT_TRUE(session.ok()) << session.status().message();
  for (const char *state : {"w0", "w1", "w2", "t"})
    ASSERT_TRUE((*session)->setState(state, countingArray({16})).ok());
  ASSERT_TRUE((*session)->setInput("step", "x", countingArray({5, 32})).ok());
  expectNoAllocations(**session, "step");
}

} // namespace
} // namespace weft::runtime
