//===- DeviceCollectiveTest.cpp - Collectives between ranks on a GPU ------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every collective of every type, on ranks that share a device, has the bits
// that it has in host memory.
//
//===----------------------------------------------------------------------===//

#include "DeviceLibraries.h"
#include "weft/runtime/Session.h"

#include <gmock/gmock.h>

#include <random>

namespace weft::runtime {
namespace {

/// Bytes that are a value of the type: any, except that a pred is 0 or 1.
/// Floats have no NaN, whose bits devices choose.
Array randomArray(DType dtype, int64_t size, unsigned seed) {
  std::mt19937 random(seed);
  Array array(dtype, {size});
  const auto each = [&]<typename T>(T, auto make) {
    for (T &value : array.as<T>())
      value = make();
  };
  std::uniform_real_distribution<float> real(-8, 8);
  switch (dtype) {
  case DType::F32:
    each(float(), [&] { return real(random); });
    break;
  case DType::F64:
    each(double(), [&] { return real(random) / 3.0; });
    break;
  case DType::BF16:
    each(BFloat16(), [&] { return toBFloat16(real(random)); });
    break;
  case DType::F16:
    each(Float16(), [&] { return toFloat16(real(random)); });
    break;
  case DType::I32:
    each(int32_t(), [&] { return static_cast<int32_t>(random()); });
    break;
  case DType::I64:
    each(int64_t(), [&] { return int64_t(random()) << 32 | random(); });
    break;
  case DType::I8:
    each(int8_t(), [&] { return static_cast<int8_t>(random()); });
    break;
  case DType::Pred:
    each(uint8_t(), [&] { return static_cast<uint8_t>(random() & 1); });
    break;
  }
  return array;
}

/// All kinds of collectives over one axis of a mesh <["a"=2, "b"=N]>, one
/// after the other or all in flight at once.
PlanBuilder collectives(DType dtype, int64_t size, bool atOnce) {
  PlanBuilder builder({{"a", 2}, {"b", size}});
  const uint32_t group = builder.group({"b"});
  EntryBuilder entry = builder.entry("e");
  const int64_t ranks = 2 * size, outer = 3, inner = 5, middle = 2;
  const int64_t elements = outer * size * middle * inner;
  const auto shard = [&](int64_t local) {
    return builder.type(dtype, {ranks * local}, {{"a", "b"}});
  };
  const uint32_t x = entry.input("x", shard(elements));
  uint32_t started = 0;
  const auto add = [&](plan::CollectiveKind kind, int64_t local, int64_t o,
                       int64_t m, int64_t i, plan::Reduction reduction,
                       bool splitFirst = false) {
    const uint32_t y =
        entry.output("y" + std::to_string(started), shard(local));
    auto &start = entry.start(kind, group, x, y, o, i);
    start.middle = m;
    start.reduction = reduction;
    start.split_first = splitFirst;
    if (kind == plan::CollectiveKind::Permute) {
      start.permute_from = builder.axes({"b"});
      start.permute_to = builder.axes({"b"});
      start.permute_shift = size > 1 ? 1 : 0;
    }
    if (!atOnce)
      entry.wait(started);
    ++started;
  };
  using Kind = plan::CollectiveKind;
  for (plan::Reduction reduction :
       {plan::Reduction::Max, plan::Reduction::Min, plan::Reduction::Sum}) {
    if (dtype == DType::Pred && reduction == plan::Reduction::Sum)
      continue;
    add(Kind::AllReduce, elements, outer, 1, elements / outer, reduction);
    add(Kind::ReduceScatter, elements / size, outer, 1, middle * inner,
        reduction);
  }
  add(Kind::AllGather, elements * size, outer, 1, elements / outer,
      plan::Reduction::Sum);
  add(Kind::AllToAll, elements, outer, middle, inner, plan::Reduction::Sum,
      true);
  add(Kind::AllToAll, elements, outer, middle, inner, plan::Reduction::Sum,
      false);
  add(Kind::Permute, elements, 1, 1, elements, plan::Reduction::Sum);
  if (atOnce)
    for (uint32_t id = started; id-- > 0;)
      entry.wait(id);
  return builder;
}

/// Group size, all at once, element type.
struct DeviceCollectives
    : testing::TestWithParam<std::tuple<int64_t, bool, int>> {
  DeviceLibraries libraries;
};

TEST_P(DeviceCollectives, HaveTheBitsOfTheHost) {
  const auto [size, atOnce, type] = GetParam();
  const DType dtype = static_cast<DType>(type);
  PlanBuilder host = collectives(dtype, size, atOnce);
  PlanBuilder device = collectives(dtype, size, atOnce);
  makeCudaPlan(device, ".version 9.0\n.target sm_80\n.address_size 64\n");
  const auto expected = Session::create(host.build());
  const auto session = Session::create(device.build());
  ASSERT_TRUE(session.ok()) << session.status().message();
  const ValueSpec &x = (*session)->plan().entries()[0].inputs[0];
  for (int run = 0; run < 3; ++run) {
    const Array value = randomArray(dtype, x.globalShape[0], run + 7);
    for (Session *each : {expected->get(), session->get()}) {
      ASSERT_TRUE(each->setInput("e", "x", value).ok());
      const Status status = each->run("e");
      ASSERT_TRUE(status.ok()) << status.message();
    }
    for (const ValueSpec &output : (*session)->plan().entries()[0].outputs)
      EXPECT_EQ((*session)->getOutput(output.name)->data,
                (*expected)->getOutput(output.name)->data)
          << output.name << " in run " << run;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, DeviceCollectives,
                         testing::Combine(testing::Values<int64_t>(1, 2, 4),
                                          testing::Bool(),
                                          testing::Range(0, dtypeCount)));

TEST(DeviceCollective, InPlace) {
  DeviceLibraries libraries;
  PlanBuilder builder({{"data", 4}});
  const uint32_t group = builder.group({"data"});
  EntryBuilder entry = builder.entry("e");
  const uint32_t x =
      entry.input("x", builder.type(DType::BF16, {4}, {{"data"}}));
  entry.start(plan::CollectiveKind::AllReduce, group, x, x, 1, 1);
  entry.wait(0);
  entry.outputAt("y", builder.type(DType::BF16, {1}), x);
  makeCudaPlan(builder, ".version 9.0\n.target sm_80\n.address_size 64\n");
  const auto session = Session::create(builder.build());
  ASSERT_TRUE(session.ok()) << session.status().message();
  Array values(DType::BF16, {4});
  for (int i = 0; i < 4; ++i)
    values.as<BFloat16>()[i] = toBFloat16(static_cast<float>(i == 0 ? 256 : 1));
  for (int run = 0; run < 3; ++run) {
    ASSERT_TRUE((*session)->setInput("e", "x", values).ok());
    ASSERT_TRUE((*session)->run("e").ok());
    // 259 in fp32, then rounded to even; bf16 sums would have stayed at 256.
    EXPECT_EQ(toFloat((*session)->getOutput("y")->as<BFloat16>()[0]), 260);
  }
}

} // namespace
} // namespace weft::runtime
