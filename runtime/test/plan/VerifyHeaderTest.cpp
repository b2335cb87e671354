//===- VerifyHeaderTest.cpp - Broken headers --------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verify.h"

namespace weft::runtime {
namespace {

TEST(VerifyHeader, Mesh) {
  expectVerdicts({
      {[](SamplePlan &p) { p.table.mesh[0]->size = 0; },
       "mesh axis \"data\" has size 0, must be at least 1"},
      {[](SamplePlan &p) {
         p.table.mesh.push_back(std::make_unique<plan::MeshAxisT>());
         p.table.mesh[1]->name = "data";
         p.table.mesh[1]->size = 2;
       },
       "the mesh has two axes named \"data\""},
      {[](SamplePlan &p) { p.table.mesh[0]->size = int64_t(1) << 40; },
       "the mesh has more than 2147483647 devices"},
      {[](SamplePlan &p) { p.table.devices = {0}; },
       "the mesh has 2 positions and lists 1 devices"},
      {[](SamplePlan &p) { p.table.devices = {1, 1}; },
       "the mesh lists device 1, of 2 devices each once"},
      {[](SamplePlan &p) { p.table.devices = {0, 2}; },
       "the mesh lists device 2, of 2 devices each once"},
  });
}

TEST(VerifyHeader, Groups) {
  expectVerdicts({
      {[](SamplePlan &p) {
         p.table.groups[0]->axes = {plan::AxisRef(3, 1, 2)};
       },
       "group 0 names mesh axis 3, but the mesh has 1 axes"},
      {[](SamplePlan &p) {
         p.table.groups[0]->axes = {plan::AxisRef(0, 1, 3)};
       },
       "group 0: part (1)3 does not divide mesh axis \"data\" of size 2"},
      {[](SamplePlan &p) {
         p.table.groups[0]->axes.push_back(plan::AxisRef(0, 1, 2));
       },
       "group 0: {\"data\"} and {\"data\"} overlap"},
  });
}

TEST(VerifyHeader, States) {
  expectVerdicts({
      {[](SamplePlan &p) { p.table.states[0]->bytes = 32; },
       "state \"w\" has 32 bytes, its local shape needs 64"},
      {[](SamplePlan &p) { p.table.states[0]->offset = 4; },
       "state \"w\": offset 4 is not a multiple of 64"},
      {[](SamplePlan &p) { p.table.states[0]->offset = 1 << 20; },
       "state \"w\": bytes 1048576..1048640 lie outside the arena of 384 "
       "bytes"},
      {[](SamplePlan &p) { p.table.states[0]->bytes = UINT64_MAX; },
       "lie outside the arena"},
      {[](SamplePlan &p) { p.state("w", p.type(DType::F32, {4})); },
       "state \"w\" is listed twice"},
      {[](SamplePlan &p) {
         p.state("v", p.type(DType::F32, {16}));
         p.table.states[1]->offset = 0;
       },
       "state \"w\" (bytes 0..64) and state \"v\" (bytes 0..64) overlap"},
      {[](SamplePlan &p) {
         p.table.states[0]->type->dtype = static_cast<plan::DType>(99);
       },
       "state \"w\": unknown element type 99"},
      {[](SamplePlan &p) { p.table.states[0]->type->global_shape = {-16}; },
       "shape [-16] has a negative extent or too many bytes"},
      {[](SamplePlan &p) {
         p.table.states[0]->type->global_shape = {int64_t(1) << 60};
       },
       "has a negative extent or too many bytes"},
      {[](SamplePlan &p) { p.table.states[0]->type->local_shape = {16, 1}; },
       "global shape [16], local shape [16x1] and 1 lists of axes differ in "
       "rank"},
      {[](SamplePlan &p) { p.table.states[0]->type->local_shape = {8}; },
       "dimension 0: local size 8 is not global size 16 / 1 parts"},
  });
}

TEST(VerifyHeader, PredIsNoSum) {
  PlanBuilder builder({{"data", 2}});
  builder.state("p", builder.type(DType::Pred, {4}, {}, {"data"}));
  EXPECT_THAT(verdict(builder),
              testing::HasSubstr("a pred value cannot hold partial sums"));
}

TEST(VerifyHeader, Kernels) {
  expectVerdicts({
      {[](SamplePlan &p) { p.table.object.clear(); },
       "the plan names 3 kernels but has no object"},
      {[](SamplePlan &p) { p.table.kernels[1]->symbol = ""; },
       "kernel 1 has an empty symbol"},
      {[](SamplePlan &p) { p.table.kernels[1]->max_parts = 0; },
       "kernel 1 may be computed in 0 parts, need at least 1"},
      {[](SamplePlan &p) { p.table.object.resize(10); },
       "kernel object: 10 bytes are too few for an ELF file"},
      {[](SamplePlan &p) { p.table.object[0] = 0; },
       "kernel object: is not an ELF file"},
      {[](SamplePlan &p) { p.table.object[4] = 1; },
       "kernel object: is not a 64-bit little-endian shared object"},
      {[](SamplePlan &p) { p.table.object[32] = 0xff, p.table.object[36] = 1; },
       "kernel object: its program headers lie outside the file"},
      {[](SamplePlan &p) { p.table.object.resize(1000); },
       "lies outside its 1000 bytes"},
  });
}

TEST(VerifyHeader, Entries) {
  expectVerdicts({
      {[](SamplePlan &p) { p.table.entries[0]->name = "train_step"; },
       "two entries are named \"train_step\""},
  });
}

TEST(VerifyHeader, Buffers) {
  expectVerdicts({
      {[](SamplePlan &p) {
         p.step().buffers[2]->kind = static_cast<plan::BufferKind>(9);
       },
       "entry \"train_step\": buffer 2 has unknown kind 9"},
      {[](SamplePlan &p) {
         p.step().buffers[2]->dtype = static_cast<plan::DType>(77);
       },
       "buffer 2 has unknown element type 77"},
      {[](SamplePlan &p) { p.step().buffers[2]->shape = {-1}; },
       "buffer 2: shape [-1] has a negative extent or too many bytes"},
      {[](SamplePlan &p) { p.step().buffers[2]->shape = {17}; },
       "buffer 2 has 64 bytes, its shape f32[17] needs 68"},
      {[](SamplePlan &p) { p.step().buffers[2]->offset = 129; },
       "buffer 2: offset 129 is not a multiple of 64"},
      {[](SamplePlan &p) { p.step().buffers[2]->offset = UINT64_MAX - 63; },
       "buffer 2: bytes 18446744073709551552..18446744073709551616 lie "
       "outside the arena of 384 bytes"},
  });
}

TEST(VerifyHeader, Constants) {
  PlanBuilder builder({{"data", 1}});
  EntryBuilder entry = builder.entry("e");
  const uint32_t c = entry.constant(countingArray({16}));
  const uint32_t y = entry.output("y", builder.type(DType::F32, {16}));
  entry.copy(c, y);
  ASSERT_EQ(verdict(builder), "");
  entry.table().buffers[c]->data_offset = 4;
  EXPECT_THAT(verdict(builder),
              testing::HasSubstr("buffer 0: contents at 4..68 lie outside the "
                                 "64 bytes of constant data"));
  entry.table().buffers[c]->data_offset = 0;
  EntryBuilder other = builder.entry("f");
  const uint32_t d = other.constant(countingArray({16}, 2));
  other.table().buffers[d]->offset = entry.table().buffers[c]->offset;
  EXPECT_THAT(verdict(builder),
              testing::HasSubstr("constant buffer 0 of entry \"e\" (bytes "
                                 "0..64) and constant buffer 0 of entry \"f\" "
                                 "(bytes 0..64) overlap"));
  // The same contents at the same offset are one constant.
  other.table().buffers[d]->data_offset = 0;
  EXPECT_EQ(verdict(builder), "");
}

} // namespace
} // namespace weft::runtime
