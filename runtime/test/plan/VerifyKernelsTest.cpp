//===- VerifyKernelsTest.cpp - Broken code of plans -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaPlan.h"
#include "Verify.h"

#include <elf.h>

#include <cstring>

namespace weft::runtime {
namespace {

/// PTX with an entry for each kernel of the sample. Nobody compiles it here.
std::string entriesOf(const SamplePlan &sample) {
  std::string ptx = ".version 9.0\n.target sm_80\n.address_size 64\n";
  for (const auto &kernel : sample.table.kernels)
    ptx += ".visible .entry " + kernel->symbol + "(\n)\n{\n\tret;\n}\n";
  return ptx;
}

void expectCudaVerdicts(const std::vector<Breakage> &breakages) {
  for (const Breakage &breakage : breakages) {
    SamplePlan sample(2);
    makeCudaPlan(sample, entriesOf(sample));
    ASSERT_EQ(verdict(sample), "");
    breakage.change(sample);
    if (breakage.message.empty())
      EXPECT_EQ(verdict(sample), "");
    else
      EXPECT_THAT(verdict(sample), testing::HasSubstr(breakage.message));
  }
}

TEST(VerifyKernels, Grids) {
  expectCudaVerdicts({
      {[](SamplePlan &p) { p.table.kernels[1]->grid.reset(); },
       "kernel 1 @add has no grid"},
      {[](SamplePlan &p) { p.table.kernels[0]->grid->blocks = 0; },
       "a grid of 0 blocks, must be 1 to 2147483647"},
      {[](SamplePlan &p) { p.table.kernels[0]->grid->blocks = 1u << 31; },
       "a grid of 2147483648 blocks, must be 1 to 2147483647"},
      {[](SamplePlan &p) { p.table.kernels[0]->grid->threads = 0; },
       "blocks of 0 threads, must be 1 to 1024"},
      {[](SamplePlan &p) { p.table.kernels[0]->grid->threads = 1025; },
       "blocks of 1025 threads, must be 1 to 1024"},
      {[](SamplePlan &p) { p.table.kernels[0]->grid->shared_bytes = 49153; },
       "blocks with 49153 bytes of shared memory, must be at most 49152"},
      {[](SamplePlan &p) {
         p.table.kernels[0]->grid->shared_bytes = 449;
         p.table.kernels[0]->grid->launch_shared_bytes = 232000;
       },
       "blocks with 232449 bytes of shared memory, 232000 of them of the "
       "launch, must be at most 232448"},
      {[](SamplePlan &p) {
         p.table.kernels[0]->grid->shared_bytes = 448;
         p.table.kernels[0]->grid->launch_shared_bytes = 232000;
       },
       ""},
      {[](SamplePlan &p) { p.table.kernels[0]->grid->registers = 256; },
       "16 threads of 256 registers, must be at most 255 for each and 65536"},
      {[](SamplePlan &p) {
         p.table.kernels[0]->grid->threads = 1024;
         p.table.kernels[0]->grid->registers = 80;
       },
       "1024 threads of 80 registers"},
      {[](SamplePlan &p) {
         p.table.kernels[0]->grid->threads = 1024;
         p.table.kernels[0]->grid->registers = 64;
       },
       ""},
  });
}

TEST(VerifyKernels, Ptx) {
  expectCudaVerdicts({
      {[](SamplePlan &p) { p.table.ptx.clear(); },
       "the plan names 3 kernels but has no PTX"},
      {[](SamplePlan &p) { p.table.kernels[2]->symbol = "tot"; },
       "kernel 2 @tot is not in the plan's PTX"},
      {[](SamplePlan &p) { p.table.ptx.resize(p.table.ptx.size() / 2); },
       "is not in the plan's PTX"},
  });
}

TEST(VerifyKernels, Processor) {
  const auto withProcessor = [](std::string name) {
    return [name](SamplePlan &p) { p.table.target->processor = name; };
  };
  expectCudaVerdicts({
      {withProcessor("sm_90"), ""},
      {withProcessor("sm_100a"), ""},
      {withProcessor("sm_"), "the target's processor is \"sm_\", must be like"},
      {withProcessor("sm_1234"), "must be like \"sm_90\" for \"cuda\""},
      {withProcessor("sm_90x"), "must be like \"sm_90\" for \"cuda\""},
      {withProcessor("x86-64"), "must be like \"sm_90\" for \"cuda\""},
      {withProcessor(""), "the target's processor is \"\""},
  });
}

/// An ELF header of a file of 64 bytes for a machine. Read as a section, it is
/// one that begins far behind the end.
std::vector<uint8_t> elfHeader(uint16_t machine, uint16_t sections,
                               uint64_t offset) {
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_machine = machine;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_entry = 1 << 20;
  header.e_shnum = sections;
  header.e_shoff = offset;
  const auto *bytes = reinterpret_cast<const uint8_t *>(&header);
  return {bytes, bytes + sizeof(header)};
}

TEST(VerifyKernels, Cubin) {
  expectCudaVerdicts({
      {[](SamplePlan &p) { p.table.object = elfHeader(EM_CUDA, 0, 0); }, ""},
      {[](SamplePlan &p) { p.table.object.resize(10); },
       "cubin: 10 bytes are too few for an ELF file"},
      {[](SamplePlan &p) { p.table.object.resize(100); },
       "cubin: is not an ELF file"},
      {[](SamplePlan &p) { p.table.object = elfHeader(EM_X86_64, 0, 0); },
       "cubin: is for machine 62 of ELF, GPUs are machine 190"},
      {[](SamplePlan &p) { p.table.object = elfHeader(EM_CUDA, 0, 65); },
       "cubin: its section headers lie outside the file"},
      {[](SamplePlan &p) { p.table.object = elfHeader(EM_CUDA, 1, 0); },
       "cubin: section 0 lies outside its 64 bytes"},
  });
}

TEST(VerifyKernels, Parameters) {
  expectCudaVerdicts({{[](SamplePlan &p) {
                         auto *launch = p.instruction(0).operation.AsLaunch();
                         ASSERT_NE(launch, nullptr);
                         for (int i = 0; i < 4096; ++i)
                           launch->positions.push_back(p.axes({"data"}));
                       },
                       "bytes, a GPU takes 32764"}});
}

TEST(VerifyKernels, Batches) {
  // Instruction 0 adds x and w to t; now also to u.
  const auto batch = [](SamplePlan &p, uint32_t room) -> plan::GridT & {
    auto &launch = *p.instruction(0).operation.AsLaunch();
    launch.batch = 2;
    launch.buffers = {p.x, p.w, p.t, p.x, p.w, p.u};
    plan::GridT &grid = *p.table.kernels[launch.kernel]->grid;
    grid.max_batch = room;
    return grid;
  };
  expectCudaVerdicts({
      {[&](SamplePlan &p) { batch(p, 2); }, ""},
      {[&](SamplePlan &p) { batch(p, 1365); }, ""},
      {[&](SamplePlan &p) { batch(p, 1); },
       "step 0 launch: a batch of 2 sets of arguments, the kernel takes 1"},
      {[&](SamplePlan &p) { batch(p, 1366); },
       "the parameters take 32784 bytes, a GPU takes 32764"},
      {[&](SamplePlan &p) { batch(p, 0); },
       "kernel 1 @add: batches of up to 0 sets of arguments, must be 1 to "
       "65535"},
      {[&](SamplePlan &p) { batch(p, 65536); },
       "batches of up to 65536 sets of arguments, must be 1 to 65535"},
      {[&](SamplePlan &p) { batch(p, 2).workspace_bytes = 64; },
       "kernel 1 @add: batches of up to 2 sets of arguments, which would share "
       "its workspace"},
  });
}

TEST(VerifyKernels, OnlyPlansForCudaHaveGrids) {
  expectVerdicts({
      {[](SamplePlan &p) {
         p.table.kernels[1]->grid = std::make_unique<plan::GridT>();
       },
       "kernel 1 has a grid, which only plans for \"cuda\" have"},
      {[](SamplePlan &p) { p.table.ptx = ".version 9.0"; },
       "it has PTX, which only plans for \"cuda\" have"},
  });
}

/// Every byte of a plan for GPUs may be wrong: it is refused, or it can be
/// dumped.
TEST(VerifyKernels, FlippedBytesAreRefusedOrHarmless) {
  SamplePlan sample(2);
  makeCudaPlan(sample, entriesOf(sample));
  const std::vector<uint8_t> payload = sample.payload();
  for (size_t at = 0; at < payload.size(); ++at)
    for (const uint8_t flip : {0x01, 0x80, 0xff}) {
      std::vector<uint8_t> damaged = payload;
      damaged[at] ^= flip;
      if (const auto plan = Plan::parse(PlanBuilder::wrap(damaged)); plan.ok())
        EXPECT_FALSE(plan->dump().empty());
    }
}

TEST(VerifyKernels, Dump) {
  SamplePlan sample(2);
  makeCudaPlan(sample, entriesOf(sample), "sm_90");
  auto &grid = *sample.table.kernels[0]->grid;
  grid.blocks = 264, grid.threads = 256, grid.shared_bytes = 1024;
  grid.workspace_bytes = 4096, grid.registers = 40, grid.spill_bytes = 8;
  const std::string text = sample.build().dump();
  EXPECT_THAT(text, testing::HasSubstr("target cuda sm_90 features []"));
  EXPECT_THAT(text, testing::HasSubstr(", object 0 bytes, ptx " +
                                       std::to_string(sample.table.ptx.size()) +
                                       " bytes\n"));
  EXPECT_THAT(text, testing::HasSubstr(
                        " grid 264 x 256 batch 1 shared 1024 bytes workspace "
                        "4096 bytes registers 40 spills 8 bytes\n"));
  grid.launch_shared_bytes = 101536;
  EXPECT_THAT(sample.build().dump(),
              testing::HasSubstr(" shared 1024 + 101536 bytes workspace "));
}

} // namespace
} // namespace weft::runtime
