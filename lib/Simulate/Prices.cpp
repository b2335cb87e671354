//===- Prices.cpp - What the instructions of a plan take ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Prices.h"

#include "weft/Cost/CollectiveCost.h"
#include "weft/Report/PlanPrecision.h"
#include "weft/runtime/DType.h"
#include "weft/runtime/PlanNames.h"
#include "weft/runtime/VisitOperation.h"

#include <algorithm>
#include <cmath>

using namespace weft;
using namespace weft::simulate;

Prices::Prices(const plan::Plan &plan, const cost::CostModel &cost,
               const Groups &groups)
    : plan(plan), cost(cost), groups(groups) {}

static cost::Gemm toGemm(const plan::Entry &entry, const plan::Gemm &gemm) {
  return {gemm.m(),
          gemm.n(),
          gemm.k(),
          gemm.batch(),
          precisionOf(entry, gemm),
          gemm.lhs_k_stride() != 1,
          gemm.rhs_n_stride() != 1};
}

/// That of its windows.
static cost::Gemm toGemm(const plan::Entry &entry,
                         const plan::Convolution &convolution) {
  cost::Gemm gemm;
  gemm.batch = convolution.groups();
  gemm.m = convolution.batch();
  gemm.n = convolution.output_features();
  gemm.k = convolution.input_features();
  gemm.precision = precisionOf(entry, convolution.lhs());
  for (const plan::ConvolutionWindow *window : *convolution.windows()) {
    gemm.m *= window->out();
    gemm.k *= window->rhs();
    gemm.k = std::max<int64_t>(1, gemm.k / window->lhs_dilation());
  }
  return gemm;
}

template <runtime::AttentionOperation Operation>
static cost::Attention toAttention(const plan::Entry &entry,
                                   const Operation &attention) {
  const plan::AttentionSizes &sizes = *attention.sizes();
  return {sizes.batch(),
          sizes.heads(),
          sizes.key_heads(),
          sizes.queries(),
          sizes.keys(),
          sizes.head_size(),
          attention.causal(),
          std::is_same_v<Operation, plan::AttentionGrad>,
          precisionOf(entry, attention.query())};
}

/// A GPU's runtime launches a call as one graph, in which kernels follow each
/// other; a CPU's rank calls them one by one.
KernelTime Prices::kernelTime(KernelClass kind, double seconds,
                              const plan::Instruction &instruction) const {
  const Picoseconds launch =
      toPicoseconds(cost.launch() * cost.cluster().software.computeFactor);
  KernelTime time{kind, isCpu() ? launch : 0,
                  std::max<Picoseconds>(0, toPicoseconds(seconds) - launch), 0};
  if (time.duration > 0)
    time.memoryBytesPerSecond =
        static_cast<double>(instruction.bytes()) / toSeconds(time.duration);
  return time;
}

Picoseconds Prices::callLaunch() const {
  return isCpu() ? 0 : toPicoseconds(cost.launch());
}

/// The plan has the sum of what is read and written.
cost::MemoryTraffic Prices::traffic(const plan::Entry &entry,
                                    const plan::Instruction &instruction,
                                    const plan::Launch &launch) const {
  constexpr uint8_t writes = 2;
  double written = 0;
  const uint32_t set = launch.access()->size();
  for (uint32_t i = 0; set && i < launch.buffers()->size(); ++i)
    if (launch.access()->Get(i % set) & writes)
      written += static_cast<double>(
          entry.buffers()->Get(launch.buffers()->Get(i))->bytes());
  const double bytes = static_cast<double>(instruction.bytes());
  written = std::min(written, bytes);
  return {bytes - written, written};
}

cost::ElementWork Prices::work(const plan::Instruction &instruction,
                               const plan::Launch &launch) const {
  cost::ElementWork work{static_cast<double>(instruction.flops())};
  if (const auto *functions = plan.kernels()->Get(launch.kernel())->functions())
    for (const plan::FunctionCount *function : *functions)
      work.addCalls(function->name()->string_view(),
                    static_cast<double>(launch.batch()) *
                        static_cast<double>(function->count()));
  return work;
}

static double sizeOf(const plan::Entry &entry, uint32_t number) {
  const plan::Buffer &buffer = *entry.buffers()->Get(number);
  double elements = 1;
  for (int64_t size : *buffer.shape())
    elements *= static_cast<double>(size);
  return elements * static_cast<double>(runtime::byteSize(
                        static_cast<runtime::DType>(buffer.dtype())));
}

/// In a ring, ranks of a node are neighbours and one of them passes on to the
/// next node.
static std::vector<int64_t> spread(int64_t bytes, const cost::Placement &group,
                                   size_t levels) {
  std::vector<int64_t> sent(levels);
  const int64_t far = group.isInNode() ? 0 : bytes / group.ranksPerNode;
  sent[0] += bytes - far;
  sent[group.level] += far;
  return sent;
}

/// Fills in how a collective uses links.
static void findLinkUse(CollectiveTiming &timing, const cost::CostModel &cost) {
  const cost::Placement &group = timing.call.group;
  const double alone = timing.time.seconds;
  if (alone <= 0)
    return;
  const auto useOf = [&](cost::LinkShare share) {
    cost::CollectiveCall call = timing.call;
    call.share = share;
    const double halved = cost.collective(call).seconds / alone;
    return LinkUse{std::min(1.0, halved - 1), halved};
  };
  if (!group.isInNode())
    timing.network = useOf({1, 0.5});
  if (group.ranksPerNode == 1)
    return;
  timing.node = useOf({0.5, 1});
  // What goes on to other nodes at their rate crosses links of the node, too.
  if (const double rate = cost.cluster().node.link.bytesPerSecond; rate > 0)
    timing.node.used =
        std::clamp(static_cast<double>(timing.sentBytes[0]) / alone / rate,
                   timing.node.used, 1.0);
}

CollectiveTiming Prices::collective(const plan::Entry &entry,
                                    const plan::CollectiveStart &start) const {
  const cost::CollectiveKind kind =
      *cost::findCollectiveKind(runtime::collectiveName(start.kind()));
  const cost::Placement &group = groups.placementOf(start.group());
  const double bytes = kind == cost::CollectiveKind::Exchange
                           ? static_cast<double>(start.wire_bytes())
                           : std::max(sizeOf(entry, start.source()),
                                      sizeOf(entry, start.destination()));
  CollectiveTiming timing;
  timing.call = {kind, bytes, group};
  timing.time = cost.collective(timing.call);
  timing.duration = toPicoseconds(timing.time.seconds);
  timing.axes = groups.axesOf(start.group());
  timing.blocks = groups.blocks(start.group());
  timing.sentBytes =
      spread(cost::wireBytes(kind, static_cast<int64_t>(bytes), group.ranks),
             group, Streams::levelsOf(cost.cluster()));
  findLinkUse(timing, cost);
  return timing;
}

InstructionPrice Prices::of(const plan::Entry &entry,
                            const plan::Instruction &instruction) const {
  InstructionPrice price;
  const auto setFlops = [&](cost::Precision precision) {
    price.flops = static_cast<int64_t>(
        std::min<uint64_t>(instruction.flops(), INT64_MAX));
    price.atPeak = toPicoseconds(
        static_cast<double>(instruction.flops()) /
        cost::peakFlopsPerSecond(cost.cluster().device, precision));
  };
  runtime::visitOperation(
      instruction,
      [&](const plan::Gemm &gemm) {
        price.kernel = kernelTime(KernelClass::Gemm,
                                  cost.gemm(toGemm(entry, gemm)), instruction);
        setFlops(precisionOf(entry, gemm));
      },
      [&](const plan::Convolution &convolution) {
        const cost::Gemm gemm = toGemm(entry, convolution);
        price.kernel =
            kernelTime(KernelClass::Convolution, cost.gemm(gemm), instruction);
        setFlops(gemm.precision);
      },
      [&](const runtime::AttentionOperation auto &attention) {
        const cost::Attention sizes = toAttention(entry, attention);
        price.kernel = kernelTime(KernelClass::Attention, cost.attention(sizes),
                                  instruction);
        setFlops(sizes.precision);
      },
      [&](const plan::Launch &launch) {
        price.kernel =
            kernelTime(KernelClass::Other,
                       cost.kernel(traffic(entry, instruction, launch),
                                   work(instruction, launch)),
                       instruction);
      },
      [&](const plan::Copy &copy) {
        const double bytes = sizeOf(entry, copy.source());
        price.kernel = kernelTime(
            KernelClass::Other, cost.memoryKernel({bytes, bytes}), instruction);
      },
      [&](const plan::Sort &sort) { // looks at each element so often
        const double passes = std::ceil(std::log2(sort.size()));
        price.kernel = kernelTime(
            KernelClass::Other,
            passes * cost.memoryKernel({sizeOf(entry, sort.operand()),
                                        sizeOf(entry, sort.out())}),
            instruction);
      },
      [&](const plan::CollectiveStart &start) {
        price.collective = collective(entry, start);
      },
      [](const runtime::OneOf<plan::CollectiveWait, plan::Repeat> auto &) {});
  return price;
}

std::vector<InstructionPrice> Prices::of(const plan::Entry &entry) const {
  std::vector<InstructionPrice> prices;
  prices.reserve(entry.instructions()->size());
  for (const plan::Instruction *instruction : *entry.instructions())
    prices.push_back(of(entry, *instruction));
  return prices;
}

int64_t Prices::bytesOf(const plan::Message &message) const {
  int64_t bytes = 0;
  for (uint32_t state : *message.source_states())
    bytes += static_cast<int64_t>(plan.states()->Get(state)->bytes());
  return bytes;
}

Picoseconds Prices::message(const plan::Message &message) const {
  return toPicoseconds(cost.send(
      static_cast<double>(bytesOf(message)),
      groups.levelBetween(message.source_role(), message.destination_role())));
}
