//===- PlanDump.cpp - A plan as text ----------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "plan/PlanDump.h"

#include "plan/Mesh.h"
#include "plan/Text.h"
#include "weft/runtime/PlanFormat.h"
#include "weft/runtime/VisitOperation.h"

#include <fmt/ranges.h>

#include <functional>
#include <iterator>

namespace weft::runtime {
namespace {

/// Appends the sections to a text.
class Dumper {
public:
  Dumper(const plan::Plan &plan, uint64_t hash)
      : plan(plan), mesh(plan), hash(hash) {}

  void header();
  void groups();
  void states();
  void kernels();
  void observed(const plan::ObservedValue &value);
  void dumpEntry(const plan::Entry &entry);

  std::string text;

private:
  template <typename... Args>
  void print(fmt::format_string<Args...> format, Args &&...args) {
    fmt::format_to(std::back_inserter(text), format,
                   std::forward<Args>(args)...);
  }
  std::string type(const plan::TensorType &type) const;
  void
  bindings(std::string_view kind, const plan::Entry &entry,
           const flatbuffers::Vector<flatbuffers::Offset<plan::Binding>> &list);
  void buffer(uint32_t index, const plan::Buffer &buffer);
  void slots(const auto &slotted);
  void message(uint32_t index, const plan::Message &message);
  void timeline(const plan::Timeline &timeline);
  void instruction(uint32_t index, const plan::Instruction &instruction);
  void operation(const plan::Gemm &gemm);
  void attentionDetails(const AttentionOperation auto &operation);
  void operation(const plan::Attention &attention);
  void operation(const plan::AttentionGrad &grad);
  void operation(const plan::Launch &launch);
  void operation(const plan::CollectiveStart &start);
  void operation(const plan::CollectiveWait &wait) {
    print("wait #{}", wait.id());
  }
  void operation(const plan::Repeat &repeat);
  void operation(const plan::Sort &sort) {
    print("sort %{} -> %{} outer {} size {} inner {} count {}{}",
          sort.operand(), sort.out(), sort.outer(), sort.size(), sort.inner(),
          sort.count(), sort.descending() ? " descending" : "");
  }
  void operation(const plan::Convolution &convolution);
  void operation(const plan::Copy &copy) {
    print("copy %{} -> %{}", copy.source(), copy.destination());
  }

  const plan::Plan &plan;
  Mesh mesh;
  uint64_t hash;
};

} // namespace

static std::string quoted(const flatbuffers::String *text) {
  return fmt::format("\"{}\"", escaped(view(text)));
}

void Dumper::header() {
  print("plan version {} hash {:016x} producer {}\n", planFormatVersion, hash,
        quoted(plan.producer()));
  print("target {} {} features [", escaped(view(plan.target()->kind())),
        escaped(view(plan.target()->processor())));
  if (const auto *features = plan.target()->features())
    for (uint32_t i = 0; i < features->size(); ++i)
      print("{}{}", i ? ", " : "", escaped(view(features->Get(i))));
  print("]\nmesh <[");
  for (uint32_t i = 0; i < plan.mesh()->size(); ++i)
    print("{}{}={}", i ? ", " : "", quoted(plan.mesh()->Get(i)->name()),
          plan.mesh()->Get(i)->size());
  print("]");
  if (plan.devices())
    print(", devices=[{}]", fmt::join(*plan.devices(), ", "));
  print("> ranks {}\n", mesh.ranks());
  print("arena {} bytes, constants {} bytes, object {} bytes",
        plan.arena_bytes(),
        plan.constant_data() ? plan.constant_data()->size() : 0,
        plan.object() ? plan.object()->size() : 0);
  if (plan.ptx())
    print(", ptx {} bytes", plan.ptx()->size());
  print("\n");
  if (const plan::Pipeline *pipeline = plan.pipeline()) {
    print("pipeline over {}\n",
          quoted(plan.mesh()->Get(pipeline->axis())->name()));
    for (uint32_t role = 0; role < pipeline->roles()->size(); ++role)
      print("  role {} arena {} bytes\n", role,
            pipeline->roles()->Get(role)->arena_bytes());
  }
  if (const auto *metadata = plan.metadata())
    for (const plan::Metadata *item : *metadata)
      print("metadata {} {} bytes\n", quoted(item->key()),
            item->value()->size());
}

void Dumper::groups() {
  print("groups {}\n", plan.groups()->size());
  for (uint32_t i = 0; i < plan.groups()->size(); ++i) {
    const auto axes = axesOf(plan.groups()->Get(i));
    print("  group {} {} size {}\n", i, mesh.toString(axes), groupSize(axes));
  }
}

std::string Dumper::type(const plan::TensorType &type) const {
  std::string axes;
  for (const plan::AxisList *list : *type.dim_axes())
    axes += (axes.empty() ? "" : ", ") + mesh.toString(axesOf(list));
  const auto unreduced = axesOf(type.unreduced());
  const char *kinds[] = {" unreduced ", " unreduced=max", " unreduced=min"};
  return fmt::format("{} local [{}] sharding [{}]{}",
                     typeName(dtypeOf(type.dtype()), *type.global_shape()),
                     extents(*type.local_shape()), axes,
                     unreduced.empty()
                         ? ""
                         : kinds[static_cast<int>(type.unreduced_kind())] +
                               mesh.toString(unreduced));
}

void Dumper::states() {
  print("states {}\n", plan.states()->size());
  for (const plan::State *state : *plan.states()) {
    print("  state {} {} offset {} bytes {} {}", quoted(state->name()),
          type(*state->type()), state->offset(), state->bytes(),
          purposeName(state->purpose()));
    slots(*state);
    print("{}{}\n", state->internal() ? " internal" : "",
          state->counts() ? " counts" : "");
  }
}

/// Which ranks have it, and how often.
void Dumper::slots(const auto &slotted) {
  if (slotted.role())
    print(" role {}", *slotted.role());
  if (slotted.slots() != 1)
    print(" slots {} every {}", slotted.slots(), slotted.slot_bytes());
}

void Dumper::kernels() {
  print("kernels {}\n", plan.kernels()->size());
  for (uint32_t i = 0; i < plan.kernels()->size(); ++i) {
    const plan::Kernel &kernel = *plan.kernels()->Get(i);
    print("  kernel {} @{} {}", i, escaped(view(kernel.symbol())),
          quoted(kernel.summary()));
    if (const plan::Grid *grid = kernel.grid())
      print(" grid {} x {} batch {} shared {}{} bytes workspace {} bytes "
            "registers {} spills {} bytes\n",
            grid->blocks(), grid->threads(), grid->max_batch(),
            grid->shared_bytes(),
            grid->launch_shared_bytes() == 0
                ? ""
                : fmt::format(" + {}", grid->launch_shared_bytes()),
            grid->workspace_bytes(), grid->registers(), grid->spill_bytes());
    else
      print(" parts {}\n", kernel.max_parts());
    if (const auto *functions = kernel.functions())
      for (const plan::FunctionCount *function : *functions)
        print("    calls {} {} times\n", quoted(function->name()),
              function->count());
  }
}

void Dumper::bindings(
    std::string_view kind, const plan::Entry &entry,
    const flatbuffers::Vector<flatbuffers::Offset<plan::Binding>> &list) {
  for (const plan::Binding *binding : list) {
    const plan::Buffer &held = *entry.buffers()->Get(binding->buffer());
    print("  {} {} {} %{}", kind, quoted(binding->name()),
          binding->type() ? type(*binding->type())
                          : typeName(dtypeOf(held.dtype()), *held.shape()),
          binding->buffer());
    if (const auto *copies = binding->copies())
      for (uint32_t copy : *copies)
        print(", %{}", copy);
    print("{}\n", held.kind() == plan::BufferKind::State ? " state" : "");
  }
}

void Dumper::buffer(uint32_t index, const plan::Buffer &buffer) {
  print("    %{} {} {} offset {} bytes {} alive {}..{}", index,
        bufferKindName(buffer.kind()),
        typeName(dtypeOf(buffer.dtype()), *buffer.shape()), buffer.offset(),
        buffer.bytes(), buffer.first(), buffer.last());
  if (buffer.kind() == plan::BufferKind::Constant)
    print(" data {}", buffer.data_offset());
  if (buffer.part_of())
    print(" part of %{}", *buffer.part_of());
  slots(buffer);
  if (!view(buffer.name()).empty())
    print(" {}", quoted(buffer.name()));
  if (const auto *contents = buffer.contents())
    for (const plan::Content *content : *contents)
      print(" holds {} {} from {}", purposeName(content->purpose()),
            quoted(content->source()), content->first());
  print("\n");
}

void Dumper::operation(const plan::Convolution &convolution) {
  print("convolution %{} * %{} -> %{} groups {} batch {} features {} to {}",
        convolution.lhs(), convolution.rhs(), convolution.out(),
        convolution.groups(), convolution.batch(), convolution.input_features(),
        convolution.output_features());
  for (const plan::ConvolutionWindow *w : *convolution.windows())
    print(" [{} by {} to {} stride {} low {} dilations {} x {} strides {} x {} "
          "-> {}]",
          w->lhs(), w->rhs(), w->out(), w->stride(), w->low(),
          w->lhs_dilation(), w->rhs_dilation(), w->lhs_stride(),
          w->rhs_stride(), w->out_stride());
  print(" strides [{}] x [{}] -> [{}]",
        fmt::join(*convolution.lhs_strides(), ", "),
        fmt::join(*convolution.rhs_strides(), ", "),
        fmt::join(*convolution.out_strides(), ", "));
}

void Dumper::operation(const plan::Gemm &gemm) {
  print("gemm %{} {} %{} * %{} batch {} m {} n {} k {} strides lhs [{}, {}, "
        "{}] rhs [{}, {}, {}] out [{}, {}, {}]",
        gemm.out(), gemm.accumulate() ? "+=" : "=", gemm.lhs(), gemm.rhs(),
        gemm.batch(), gemm.m(), gemm.n(), gemm.k(), gemm.lhs_batch_stride(),
        gemm.lhs_m_stride(), gemm.lhs_k_stride(), gemm.rhs_batch_stride(),
        gemm.rhs_k_stride(), gemm.rhs_n_stride(), gemm.out_batch_stride(),
        gemm.out_m_stride(), gemm.out_n_stride());
  if (gemm.precision() == plan::GemmPrecision::TF32)
    print(" tf32");
  if (gemm.epilogue() != plan::GemmEpilogue::None)
    print(" then {}", epilogueName(gemm.epilogue()));
  if (gemm.bias())
    print(" bias %{}", *gemm.bias());
  if (gemm.aux())
    print(" aux %{}", *gemm.aux());
  if (gemm.group_sizes())
    print(" groups of {} %{}",
          gemm.grouped() == plan::GemmGroups::Rows ? "rows" : "sums",
          *gemm.group_sizes());
}

/// What the two instructions of attention say alike.
void Dumper::attentionDetails(const AttentionOperation auto &operation) {
  if (operation.causal())
    print(" causal");
  if (operation.diagonal())
    print(" diagonal %{}", *operation.diagonal());
  const plan::AttentionSizes &sizes = *operation.sizes();
  print(" scale {} batch {} queries {} keys {} heads {} of {} head size {}",
        operation.scale(), sizes.batch(), sizes.queries(), sizes.keys(),
        sizes.heads(), sizes.key_heads(), sizes.head_size());
}

void Dumper::operation(const plan::Attention &attention) {
  print("attention %{}, %{} = %{}, %{}, %{}", attention.out(),
        attention.logsumexp(), attention.query(), attention.key(),
        attention.value());
  attentionDetails(attention);
}

void Dumper::operation(const plan::AttentionGrad &grad) {
  print("attention_grad %{}, %{}, %{} = %{}, %{}, %{}, %{}, %{}, %{}",
        grad.query_cotangent(), grad.key_cotangent(), grad.value_cotangent(),
        grad.query(), grad.key(), grad.value(), grad.out(), grad.logsumexp(),
        grad.out_cotangent());
  if (grad.logsumexp_cotangent())
    print(" logsumexp %{}", *grad.logsumexp_cotangent());
  attentionDetails(grad);
}

void Dumper::operation(const plan::Launch &launch) {
  static constexpr std::string_view access[] = {"none", "read", "write",
                                                "update"};
  print("launch @{}(",
        escaped(view(plan.kernels()->Get(launch.kernel())->symbol())));
  const uint32_t size = launch.access()->size();
  for (uint32_t i = 0; i < launch.buffers()->size(); ++i)
    print("{}{} %{}",
          i == 0          ? ""
          : i % size == 0 ? "; "
                          : ", ",
          access[launch.access()->Get(i % size)], launch.buffers()->Get(i));
  print(")");
  if (launch.batch() != 1)
    print(" batch {}", launch.batch());
  if (launch.positions() && launch.positions()->size() != 0) {
    print(" positions [");
    for (uint32_t i = 0; i < launch.positions()->size(); ++i)
      print("{}{}", i ? ", " : "",
            mesh.toString(axesOf(launch.positions()->Get(i))));
    print("]");
  }
}

void Dumper::operation(const plan::CollectiveStart &start) {
  print("start #{} {}", start.id(), collectiveName(start.kind()));
  if (start.kind() == plan::CollectiveKind::AllReduce ||
      start.kind() == plan::CollectiveKind::ReduceScatter)
    print(" {}", reductionName(start.reduction()));
  print(" %{} -> %{}", start.source(), start.destination());
  if (start.kind() == plan::CollectiveKind::Permute)
    print(" from {} to {}", mesh.toString(axesOf(start.permute_from())),
          mesh.toString(axesOf(start.permute_to())));
  if (start.exchange_runs()) {
    print(" [{}] to [{}]", fmt::join(*start.exchange_from(), ", "),
          fmt::join(*start.exchange_to(), ", "));
    for (const plan::ElementRun *run : *start.exchange_runs())
      print(", {} to {} for {} by {}", run->from(), run->to(), run->length(),
            run->step());
  }
  if (start.permute_shift() != 0)
    print(" shift {}", start.permute_shift());
  print(" over group {} {}", start.group(),
        mesh.toString(axesOf(plan.groups()->Get(start.group()))));
  if (start.kind() == plan::CollectiveKind::AllToAll)
    print(" split {} outer {} middle {} inner {}",
          start.split_first() ? "first" : "last", start.outer(), start.middle(),
          start.inner());
  else
    print(" outer {} inner {}", start.outer(), start.inner());
  print(" wire {}", start.wire_bytes());
  if (start.behind())
    print(" behind {}", *start.behind());
  if (start.queue() != 0)
    print(" queue {}", start.queue());
}

void Dumper::operation(const plan::Repeat &repeat) {
  print("repeat {} times the next {}", repeat.count(), repeat.instructions());
}

void Dumper::instruction(uint32_t index, const plan::Instruction &instruction) {
  print("    {}: {} ", index, instruction.stream() ? "comm" : "compute");
  visitOperation(instruction, [&](const auto &each) { operation(each); });
  if (instruction.flops() != 0)
    print(" flops {}", instruction.flops());
  if (instruction.bytes() != 0)
    print(" bytes {}", instruction.bytes());
  if (!view(instruction.cause()).empty())
    print(" cause {}", quoted(instruction.cause()));
  if (instruction.recomputes())
    print(" again");
  if (!view(instruction.location()).empty())
    print(" at {}", quoted(instruction.location()));
  print("\n");
}

void Dumper::message(uint32_t index, const plan::Message &message) {
  const auto names = [&](const flatbuffers::Vector<uint32_t> &states) {
    std::string text;
    for (uint32_t state : states)
      text += fmt::format("{}{}", text.empty() ? "" : ", ",
                          quoted(plan.states()->Get(state)->name()));
    return text;
  };
  print("    message {} {} role {} -> {} queue {} [{}] -> [{}]", index,
        quoted(message.label()), message.source_role(),
        message.destination_role(), message.queue(),
        names(*message.source_states()), names(*message.destination_states()));
  if (!view(message.location()).empty())
    print(" at {}", quoted(message.location()));
  print("\n");
}

void Dumper::timeline(const plan::Timeline &timeline) {
  print("  timeline of {} micro-batches over group {}\n",
        timeline.microbatches(), timeline.group());
  for (uint32_t i = 0; i < timeline.messages()->size(); ++i)
    message(i, *timeline.messages()->Get(i));
  for (uint32_t role = 0; role < timeline.rows()->size(); ++role) {
    const auto &actions = *timeline.rows()->Get(role)->actions();
    print("    role {} actions {}\n", role, actions.size());
    for (uint32_t i = 0; i < actions.size(); ++i) {
      const plan::Action &action = *actions.Get(i);
      print("      {}: {} {} of {}\n", i, actionName(action.kind()),
            action.kind() == plan::ActionKind::Run
                ? quoted(plan.entries()->Get(action.index())->name())
                : fmt::format("message {}", action.index()),
            action.microbatch());
    }
  }
}

void Dumper::observed(const plan::ObservedValue &value) {
  std::string sources;
  if (value.sources())
    for (uint32_t source : *value.sources())
      sources += fmt::format("{}{}", sources.empty() ? "" : ", ", source);
  print("    output {} is value {} {}", value.output(), value.number(),
        observedName(value.kind()));
  if (value.terms())
    print(" of {} terms", value.terms());
  print(" made of [{}] {}\n", sources, quoted(value.name()));
}

void Dumper::dumpEntry(const plan::Entry &entry) {
  print("entry {}{} arena {} bytes, liveness {} bytes\n", quoted(entry.name()),
        entry.role() ? fmt::format(" role {}", *entry.role()) : "",
        entry.arena_bytes(), entry.liveness_bytes());
  bindings("input", entry, *entry.inputs());
  bindings("output", entry, *entry.outputs());
  print("  buffers {}\n", entry.buffers()->size());
  for (uint32_t i = 0; i < entry.buffers()->size(); ++i)
    buffer(i, *entry.buffers()->Get(i));
  if (entry.observed()) {
    print("  observed {}\n", entry.observed()->size());
    for (const plan::ObservedValue *value : *entry.observed())
      observed(*value);
  }
  if (entry.timeline())
    return timeline(*entry.timeline());
  print("  instructions {}{}\n", entry.instructions()->size(),
        entry.deferred_from()
            ? fmt::format(", deferred from {}", *entry.deferred_from())
            : "");
  for (uint32_t i = 0; i < entry.instructions()->size(); ++i)
    instruction(i, *entry.instructions()->Get(i));
}

std::string dumpPlan(const plan::Plan &plan, uint64_t hash) {
  Dumper dumper(plan, hash);
  dumper.header();
  dumper.groups();
  dumper.states();
  dumper.kernels();
  for (const plan::Entry *entry : *plan.entries())
    dumper.dumpEntry(*entry);
  return std::move(dumper.text);
}

Result<std::string> dumpSection(const plan::Plan &plan, uint64_t hash,
                                std::string_view section) {
  Dumper dumper(plan, hash);
  std::string names = "header, groups, states, kernels";
  if (section == "header")
    dumper.header();
  else if (section == "groups")
    dumper.groups();
  else if (section == "states")
    dumper.states();
  else if (section == "kernels")
    dumper.kernels();
  else {
    bool found = false;
    for (const plan::Entry *entry : *plan.entries()) {
      names += fmt::format(", {}", escaped(view(entry->name())));
      if (view(entry->name()) != section)
        continue;
      dumper.dumpEntry(*entry);
      found = true;
    }
    if (!found)
      return notFound(fmt::format("the plan has no section \"{}\"; it has {}",
                                  escaped(section), names));
  }
  return std::move(dumper.text);
}

} // namespace weft::runtime
