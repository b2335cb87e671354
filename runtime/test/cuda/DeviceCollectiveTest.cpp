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

#include "CollectivePlan.h"
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
  case DType::I16:
    each(int16_t(), [&] { return static_cast<int16_t>(random()); });
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

/// Group size, all at once, element type.
struct DeviceCollectives
    : testing::TestWithParam<std::tuple<int64_t, bool, int>> {
  DeviceLibraries libraries;
};

TEST_P(DeviceCollectives, HaveTheBitsOfTheHost) {
  const auto [size, atOnce, type] = GetParam();
  const DType dtype = static_cast<DType>(type);
  PlanBuilder host = collectivePlan(dtype, 2, size, atOnce);
  PlanBuilder device = collectivePlan(dtype, 2, size, atOnce);
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
