//===- VerifyOperation.cpp - The fields of an instruction are checked -*- C++
//-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "plan/ExchangeMap.h"
#include "plan/PlanVerifier.h"
#include "plan/Text.h"
#include "weft/runtime/CollectiveQueues.h"
#include "weft/runtime/VisitOperation.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

namespace weft::runtime {
namespace {

/// Checks the operation of one instruction.
class OperationVerifier {
public:
  OperationVerifier(const VerifiedHeader &header, const plan::Entry &entry,
                    std::vector<Touch> &touches)
      : header(header), entry(entry), touches(touches) {}

  Status verify(const plan::Instruction &instruction);

private:
  Status check(const plan::Gemm &gemm) {
    return verifyGemm(header, entry, gemm, touches);
  }
  Status check(const plan::Launch &launch);
  Status check(const plan::CollectiveStart &start);
  /// Paired with its start by the entry's verifier.
  Status check(const plan::CollectiveWait &) { return {}; }
  /// What is in a loop is for the entry's verifier.
  Status check(const plan::Repeat &) { return {}; }
  Status check(const plan::Copy &copy);
  Status check(const plan::Sort &sort);
  Status check(const plan::Convolution &convolution) {
    return verifyConvolution(header, entry, convolution, touches);
  }
  Status check(const AttentionOperation auto &attention) {
    return verifyAttention(entry, attention, touches);
  }

  Status verifySets(const plan::Launch &launch);
  Status verifyCollectiveSizes(const plan::CollectiveStart &start,
                               const Operand &source,
                               const Operand &destination);
  Status verifyPermutation(const plan::CollectiveStart &start);
  Status verifyExchange(const plan::CollectiveStart &start,
                        const Operand &source, const Operand &destination);
  Result<Operand> operand(uint32_t index, std::string_view what) const {
    return findOperand(entry, index, what);
  }

  const VerifiedHeader &header;
  const plan::Entry &entry;
  std::vector<Touch> &touches;
};

} // namespace

Result<Operand> findOperand(const plan::Entry &entry, uint32_t index,
                            std::string_view what) {
  const auto &buffers = *entry.buffers();
  if (index >= buffers.size())
    return invalidArgument(fmt::format("{} is buffer {}, but the entry has {}",
                                       what, index, buffers.size()));
  const plan::Buffer &buffer = *buffers.Get(index);
  const DType dtype = dtypeOf(buffer.dtype());
  WEFT_ASSIGN_OR_RETURN(const int64_t elements,
                        elementCount(*buffer.shape(), dtype));
  return Operand{index, dtype, elements};
}

Status OperationVerifier::check(const plan::Launch &launch) {
  const auto &kernels = *header.plan.kernels();
  if (launch.kernel() >= kernels.size())
    return invalidArgument(fmt::format("kernel {} of {} does not exist",
                                       launch.kernel(), kernels.size()));
  if (launch.batch() < 1 || launch.batch() > maxLaunchBatch)
    return invalidArgument(
        fmt::format("a batch of {} sets of arguments, must be 1 to {}",
                    launch.batch(), maxLaunchBatch));
  const auto &buffers = *launch.buffers();
  const auto &access = *launch.access();
  if (buffers.size() != uint64_t{access.size()} * launch.batch())
    return invalidArgument(fmt::format(
        "{} buffers but {} kinds of access{}", buffers.size(), access.size(),
        launch.batch() == 1
            ? ""
            : fmt::format(" in a batch of {}", launch.batch())));
  for (uint32_t i = 0; i < access.size(); ++i)
    if (access.Get(i) < 1 || access.Get(i) > 3)
      return invalidArgument(fmt::format(
          "operand {} has access {}, must be 1, 2 or 3", i, access.Get(i)));
  WEFT_RETURN_IF_ERROR(verifySets(launch));
  if (launch.positions())
    for (uint32_t i = 0; i < launch.positions()->size(); ++i)
      WEFT_RETURN_IF_ERROR(header.mesh.checkAxes(
          axesOf(launch.positions()->Get(i)), fmt::format("position {}", i)));
  return verifyParameters(header.plan, launch);
}

/// The buffers of all sets: those of a set are like those of the first one, and
/// no set writes what another one, or the same one at another index, uses.
Status OperationVerifier::verifySets(const plan::Launch &launch) {
  const auto &buffers = *launch.buffers();
  const uint32_t size = launch.access()->size();
  struct Use {
    uint32_t buffer, set;
    bool writes;
  };
  std::vector<Use> uses;
  for (uint32_t i = 0; i < buffers.size(); ++i) {
    const uint32_t set = i / size, index = i % size;
    WEFT_ASSIGN_OR_RETURN(
        const Operand used,
        operand(buffers.Get(i), fmt::format("operand {}", i)));
    WEFT_ASSIGN_OR_RETURN(const Operand first,
                          operand(buffers.Get(index), "operand"));
    if (used.dtype != first.dtype || used.elements != first.elements)
      return invalidArgument(fmt::format(
          "operand {} of set {} has {} elements of {}, that of set 0 has {} of "
          "{}",
          index, set, used.elements, name(used.dtype), first.elements,
          name(first.dtype)));
    const uint8_t access = launch.access()->Get(index);
    uses.push_back({buffers.Get(i), set, (access & 2) != 0});
    touches.push_back({buffers.Get(i), (access & 1) != 0, (access & 2) != 0});
  }
  // Writers first.
  std::sort(uses.begin(), uses.end(), [](const Use &a, const Use &b) {
    return std::tuple(a.buffer, !a.writes, a.set) <
           std::tuple(b.buffer, !b.writes, b.set);
  });
  for (size_t i = 1; i < uses.size(); ++i) {
    const Use &a = uses[i - 1], &b = uses[i];
    if (a.buffer != b.buffer)
      continue;
    if (a.set == b.set)
      return invalidArgument(
          fmt::format("buffer {} is listed twice", a.buffer));
    if (a.writes)
      return invalidArgument(
          fmt::format("set {} writes buffer {}, which set {} uses as well",
                      a.set, a.buffer, b.set));
  }
  return {};
}

Status OperationVerifier::check(const plan::Copy &copy) {
  WEFT_ASSIGN_OR_RETURN(const Operand source, operand(copy.source(), "source"));
  WEFT_ASSIGN_OR_RETURN(const Operand destination,
                        operand(copy.destination(), "destination"));
  const uint64_t from = source.elements * byteSize(source.dtype);
  const uint64_t to = destination.elements * byteSize(destination.dtype);
  if (from != to)
    return invalidArgument(
        fmt::format("source has {} bytes, destination {}", from, to));
  if (source.index == destination.index)
    return invalidArgument(
        fmt::format("buffer {} is copied to itself", source.index));
  touches.push_back({source.index, true, false});
  touches.push_back({destination.index, false, true});
  return {};
}

static std::optional<int64_t> product(std::initializer_list<int64_t> factors) {
  int64_t result = 1;
  for (int64_t factor : factors)
    if (factor < 1 || __builtin_mul_overflow(result, factor, &result))
      return std::nullopt;
  return result;
}

Status OperationVerifier::check(const plan::Sort &sort) {
  WEFT_ASSIGN_OR_RETURN(const Operand from, operand(sort.operand(), "operand"));
  WEFT_ASSIGN_OR_RETURN(const Operand to, operand(sort.out(), "out"));
  if (view(header.plan.target()->kind()) == "cuda")
    return invalidArgument("a sort, which plans for \"cuda\" do not have");
  if (to.dtype != DType::I32)
    return invalidArgument(
        fmt::format("out is {}, must be i32", name(to.dtype)));
  const int64_t size = sort.size(), count = sort.count();
  if (count > size || size > std::numeric_limits<int32_t>::max() ||
      product({sort.outer(), size, sort.inner()}) != from.elements ||
      product({sort.outer(), count, sort.inner()}) != to.elements)
    return invalidArgument(fmt::format(
        "outer {}, inner {} and the first {} of {} elements in between do not "
        "fit buffers of {} and {} elements",
        sort.outer(), sort.inner(), count, size, from.elements, to.elements));
  if (from.index == to.index)
    return invalidArgument(
        fmt::format("out is buffer {}, which is also an operand", to.index));
  touches.push_back({from.index, true, false});
  touches.push_back({to.index, false, true});
  return {};
}

Status
OperationVerifier::verifyCollectiveSizes(const plan::CollectiveStart &start,
                                         const Operand &source,
                                         const Operand &destination) {
  const int64_t group =
      groupSize(axesOf(header.plan.groups()->Get(start.group())));
  const int64_t outer = start.outer(), middle = start.middle(),
                inner = start.inner();
  std::optional<int64_t> from, to;
  switch (start.kind()) {
  case plan::CollectiveKind::AllReduce:
    from = to = product({outer, inner});
    break;
  case plan::CollectiveKind::AllGather:
    from = product({outer, inner});
    to = product({outer, group, inner});
    break;
  case plan::CollectiveKind::ReduceScatter:
    from = product({outer, group, inner});
    to = product({outer, inner});
    break;
  case plan::CollectiveKind::AllToAll:
    from = to = product({outer, group, middle, inner});
    break;
  case plan::CollectiveKind::Permute:
    from = to = product({inner});
    break;
  case plan::CollectiveKind::Exchange:
    return verifyExchange(start, source, destination);
  }
  if (from != source.elements || to != destination.elements)
    return invalidArgument(fmt::format(
        "outer {}, middle {}, inner {} over a group of {} take {} elements to "
        "{}, but the buffers have {} and {}",
        outer, middle, inner, group, from.value_or(-1), to.value_or(-1),
        source.elements, destination.elements));
  return {};
}

/// The sizes of buffers, and that nobody was told of other traffic than there
/// is.
Status OperationVerifier::verifyExchange(const plan::CollectiveStart &start,
                                         const Operand &source,
                                         const Operand &destination) {
  const int64_t group =
      groupSize(axesOf(header.plan.groups()->Get(start.group())));
  WEFT_RETURN_IF_ERROR(checkExchange(start, group));
  const Exchange exchange = exchangeOf(start, group, 0);
  const int64_t outer = start.outer(), inner = start.inner();
  const auto from = product({outer, exchange.before, inner});
  const auto to = product({outer, exchange.after, inner});
  if (from != source.elements || to != destination.elements)
    return invalidArgument(fmt::format(
        "outer {}, inner {} and {} elements to {} in between take {} elements "
        "to {}, but the buffers have {} and {}",
        outer, inner, exchange.before, exchange.after, from.value_or(-1),
        to.value_or(-1), source.elements, destination.elements));
  const uint64_t sent = static_cast<uint64_t>(outer * inner) *
                        static_cast<uint64_t>(mostSent(start, group)) *
                        byteSize(source.dtype);
  if (sent != start.wire_bytes())
    return invalidArgument(
        fmt::format("the map sends {} bytes at most, wire_bytes says {}", sent,
                    start.wire_bytes()));
  return {};
}

Status
OperationVerifier::verifyPermutation(const plan::CollectiveStart &start) {
  const auto from = axesOf(start.permute_from());
  const auto to = axesOf(start.permute_to());
  const auto group = axesOf(header.plan.groups()->Get(start.group()));
  WEFT_RETURN_IF_ERROR(header.mesh.checkAxes(from, "permute_from"));
  WEFT_RETURN_IF_ERROR(header.mesh.checkAxes(to, "permute_to"));
  WEFT_RETURN_IF_ERROR(header.mesh.checkPermutation(from, to));
  if (start.permute_shift() < 0 || start.permute_shift() >= groupSize(from))
    return invalidArgument(
        fmt::format("permute_shift is {}, must be at least 0 and less than {}",
                    start.permute_shift(), groupSize(from)));
  for (const auto &digits : {from, to})
    for (const plan::AxisRef &ref : digits)
      if (!header.mesh.covers(group, ref))
        return invalidArgument(fmt::format(
            "group {} {} does not contain {}", start.group(),
            header.mesh.toString(group), header.mesh.toString({ref})));
  return {};
}

Status OperationVerifier::check(const plan::CollectiveStart &start) {
  if (start.kind() > plan::CollectiveKind::MAX)
    return invalidArgument(fmt::format("unknown kind of collective {}",
                                       static_cast<int>(start.kind())));
  if (start.reduction() > plan::Reduction::MAX)
    return invalidArgument(fmt::format("unknown reduction {}",
                                       static_cast<int>(start.reduction())));
  if (start.group() >= header.plan.groups()->size())
    return invalidArgument(fmt::format("group {} of {} does not exist",
                                       start.group(),
                                       header.plan.groups()->size()));
  if (start.queue() >= maxQueues)
    return invalidArgument(
        fmt::format("queue {} of {} does not exist", start.queue(), maxQueues));
  const auto group = axesOf(header.plan.groups()->Get(start.group()));
  if (entry.role() && header.roles.split(group))
    return invalidArgument(fmt::format(
        "group {} {} is along the axis of the pipeline, where ranks execute "
        "other segments",
        start.group(), header.mesh.toString(group)));
  WEFT_ASSIGN_OR_RETURN(const Operand source,
                        operand(start.source(), "source"));
  WEFT_ASSIGN_OR_RETURN(const Operand destination,
                        operand(start.destination(), "destination"));
  if (source.dtype != destination.dtype)
    return invalidArgument(fmt::format("source is {}, destination {}",
                                       name(source.dtype),
                                       name(destination.dtype)));
  const bool reduces = start.kind() == plan::CollectiveKind::AllReduce ||
                       start.kind() == plan::CollectiveKind::ReduceScatter;
  if (reduces && start.reduction() == plan::Reduction::Sum &&
      source.dtype == DType::Pred)
    return invalidArgument("pred values have no sum");
  if (source.index == destination.index &&
      start.kind() != plan::CollectiveKind::AllReduce)
    return invalidArgument(fmt::format(
        "source and destination are both buffer {}, only all_reduce may work "
        "in place",
        source.index));
  if (start.kind() == plan::CollectiveKind::Permute)
    WEFT_RETURN_IF_ERROR(verifyPermutation(start));
  WEFT_RETURN_IF_ERROR(verifyCollectiveSizes(start, source, destination));
  touches.push_back({source.index, true, false});
  touches.push_back({destination.index, false, true});
  return {};
}

Status OperationVerifier::verify(const plan::Instruction &instruction) {
  if (instruction.stream() > 1)
    return invalidArgument(fmt::format("stream {} is neither computation (0) "
                                       "nor communication (1)",
                                       instruction.stream()));
  if (!isKnown(instruction.operation_type()))
    return invalidArgument(
        fmt::format("unknown operation {}",
                    static_cast<int>(instruction.operation_type())));
  return visitOperation(
      instruction, [&](const auto &operation) { return check(operation); });
}

Status verifyOperation(const VerifiedHeader &header, const plan::Entry &entry,
                       const plan::Instruction &instruction,
                       std::vector<Touch> &touches) {
  return OperationVerifier(header, entry, touches).verify(instruction);
}

} // namespace weft::runtime
