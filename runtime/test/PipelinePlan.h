//===- PipelinePlan.h - A pipelined step built by hand ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One step of p roles in the order 1F1B, on a mesh <["data"=d, "pipe"=p]>, all
// values f32[16]. Role r has a parameter w<r>; roles 0 and p-1 share t.
//
//   begin(r)        sum = [0, 1, ..., 15]
//   forward(r, i)   h<r+1> = h<r> + w<r>     h0 is x[i], h<p> is out[i]
//   backward(r, i)  sum += e; g<r> = e + h<r>    e is g<r+1>, of the last role
//                   out[i]
//   update(r)       w<r> += all_reduce(sum) over data; of role 0 also t, which
//                   it copies and sends to the last role
//   finish(p - 1)   t = what it was sent, loss = sum of t
//
// What a role sends has the same name at both ends.
//
// With early reductions a segment of its own makes the all_reduce and is
// awaited by the update, and another one that has collectives, too, runs in
// between:
//
//   reduce(r)       sum = all_reduce(sum) over data, by way of a temporary
//   beside(r)       norm = all_reduce(w<r>) over data, the same
//
// Receives come just before what reads them, or where their messages are sent:
// then all transfers of the job have one order that every row keeps, which a
// device needs that does one thing at a time.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_TEST_PIPELINEPLAN_H
#define WEFT_RUNTIME_TEST_PIPELINEPLAN_H

#include "PlanBuilder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace weft::runtime {

enum class Receives { BeforeUse, WhenSent };
enum class Reductions { InUpdate, Early };

class PipelinePlan : public PlanBuilder {
public:
  PipelinePlan(uint32_t roles, uint32_t microbatches, int64_t data = 1,
               Receives receives = Receives::BeforeUse,
               Reductions reductions = Reductions::InUpdate)
      : PlanBuilder({{"data", data}, {"pipe", roles}}), roles(roles),
        microbatches(microbatches), data(data), receives(receives),
        reductions(reductions) {
    pipeline("pipe");
    dataGroup = group({"data"});
    addInit();
    for (uint32_t role = 0; role < roles; ++role)
      addStates(role);
    for (uint32_t role = 0; role < roles; ++role)
      addSegments(role);
    addTimeline();
  }

  TimelineBuilder step() {
    return TimelineBuilder(*this, table.entries.size() - 1);
  }
  static std::string of(std::string_view name, uint32_t role) {
    return fmt::format("{}{}", name, role);
  }

  const uint32_t roles, microbatches;
  const int64_t data;
  const Receives receives;
  const Reductions reductions;

private:
  uint32_t last() const { return roles - 1; }
  plan::TensorTypeT value() const { return type(DType::F32, {16}); }
  plan::TensorTypeT batch() const {
    return type(DType::F32, {microbatches, 16 * data}, {{}, {"data"}});
  }

  void addStates(uint32_t role) {
    const auto internal = [&](const std::string &name, uint32_t slots) {
      state(name, value(), {.role = role, .slots = slots, .isInternal = true});
    };
    state(of("w", role), value(), {.role = role});
    if (role == 0 || role == last()) {
      state("t", value(), {.role = role});
      internal("new t", 1);
    }
    if (role == last())
      state("loss_of_t", type(DType::F32, {}),
            {.role = role, .isInternal = true});
    // What arrives early waits longer.
    const bool isEarly = receives == Receives::WhenSent;
    internal(of("h", role), role == 0 || isEarly ? microbatches : roles - role);
    internal(of("h", role + 1), role == last() ? microbatches : 2);
    internal("sum", 1);
    if (reductions == Reductions::Early)
      internal("norm", 1);
    if (role != last())
      internal(of("g", role + 1), isEarly ? microbatches : 2);
    if (role != 0)
      internal(of("g", role), 2);
  }

  void addSegments(uint32_t role) {
    EntryBuilder begin = segment(of("begin", role), role);
    begin.launch("fill", {{begin.state("sum", false, true), write}}, {{}, {}});

    EntryBuilder forward = segment(of("forward", role), role);
    forward.launch("add",
                   {{forward.state(of("h", role), true, false), read},
                    {forward.state(of("w", role), true, false), read},
                    {forward.state(of("h", role + 1), false, true), write}});

    EntryBuilder backward = segment(of("backward", role), role);
    const uint32_t e =
        backward.state(of(role == last() ? "h" : "g", role + 1), true, false);
    const uint32_t sum = backward.state("sum", true, true);
    const uint32_t next = backward.temporary(DType::F32, {16});
    backward.launch("add", {{e, read}, {sum, read}, {next, write}});
    backward.copy(next, sum);
    if (role != 0)
      backward.launch("add",
                      {{e, read},
                       {backward.state(of("h", role), true, false), read},
                       {backward.state(of("g", role), false, true), write}});
    addUpdate(role);
  }

  void addReduction(EntryBuilder &segment, uint32_t buffer) {
    segment.start(plan::CollectiveKind::AllReduce, dataGroup, buffer, buffer, 1,
                  16);
    segment.wait(0);
  }

  void addEarlyReduction(uint32_t role) {
    EntryBuilder reduce = segment(of("reduce", role), role);
    const uint32_t sum = reduce.state("sum", true, true);
    const uint32_t reduced = reduce.temporary(DType::F32, {16});
    reduce.copy(sum, reduced);
    addReduction(reduce, reduced);
    reduce.copy(reduced, sum);
    table.entries.back()->deferred_from = 2;
    EntryBuilder beside = segment(of("beside", role), role);
    const uint32_t w = beside.state(of("w", role), true, false);
    const uint32_t total = beside.temporary(DType::F32, {16});
    beside.copy(w, total);
    addReduction(beside, total);
    beside.copy(total, beside.state("norm", false, true));
  }

  void addUpdate(uint32_t role) {
    const bool isEarly = reductions == Reductions::Early;
    if (isEarly)
      addEarlyReduction(role);
    EntryBuilder update = segment(of("update", role), role);
    const uint32_t sum = update.state("sum", true, !isEarly);
    const uint32_t next = update.temporary(DType::F32, {16});
    if (!isEarly)
      addReduction(update, sum);
    const auto add = [&](uint32_t to) {
      update.launch("add", {{to, read}, {sum, read}, {next, write}});
      update.copy(next, to);
    };
    add(update.state(of("w", role), true, true));
    if (role == 0) {
      const uint32_t t = update.state("t", true, true);
      add(t);
      update.copy(t, update.state("new t", false, true));
    }
    if (role != last())
      return;
    EntryBuilder finish = segment("finish", role);
    const uint32_t received = finish.state("new t", true, false);
    finish.launch("total", {{received, read},
                            {finish.state("loss_of_t", false, true), write}});
    finish.copy(received, finish.state("t", false, true));
  }

  /// Executed by all ranks alike.
  void addInit() {
    state("seed", value());
    EntryBuilder init = entry("init");
    init.launch("fill", {{init.state("seed", false, true), write}}, {{}, {}});
  }

  void addTimeline() {
    TimelineBuilder step = timeline("step", microbatches);
    step.input("x", batch(), {{0, "h0"}});
    for (uint32_t role = 0; role < roles; ++role)
      step.state(of("w", role), {role}, true, true);
    step.state("t", {0, last()}, true, true);
    step.output("out", batch(), {{last(), of("h", roles)}});
    step.output("loss", type(DType::F32, {}), {{last(), "loss_of_t"}});
    uint32_t queue = 0;
    for (uint32_t role = 0; role + 1 < roles; ++role) {
      forwards[role] = step.message(of("activation of stage ", role), queue++,
                                    role, role + 1, of("h", role + 1));
      backwards[role + 1] =
          step.message(of("gradient of stage ", role), queue++, role + 1, role,
                       of("g", role + 1));
    }
    tied = step.message("tied parameter", queue, 0, last(), "new t");
    step.timeline().messages[tied]->kind = plan::MessageKind::Update;
    std::vector<std::vector<Work>> work;
    for (uint32_t role = 0; role < roles; ++role)
      work.push_back(workOf(role));
    if (receives == Receives::BeforeUse)
      addRows(step, work);
    else
      addRowsInOneOrder(step, work);
  }

  /// A run of a segment, the message that it needs and the one that it sends.
  struct Work {
    std::string segment;
    uint32_t microbatch = 0;
    std::optional<uint32_t> needs = std::nullopt, sends = std::nullopt;
  };

  std::vector<Work> workOf(uint32_t role) const {
    const auto message = [](const std::map<uint32_t, uint32_t> &messages,
                            uint32_t from) -> std::optional<uint32_t> {
      const auto found = messages.find(from);
      return found == messages.end() ? std::nullopt
                                     : std::optional(found->second);
    };
    std::vector<Work> work = {{of("begin", role)}};
    const auto forward = [&](uint32_t i) {
      work.push_back({of("forward", role), i, message(forwards, role - 1),
                      message(forwards, role)});
    };
    const uint32_t warmUp = std::min(microbatches, last() - role);
    for (uint32_t i = 0; i < warmUp; ++i)
      forward(i);
    for (uint32_t i = 0; i < microbatches; ++i) {
      if (warmUp + i < microbatches)
        forward(warmUp + i);
      work.push_back({of("backward", role), i, message(backwards, role + 1),
                      message(backwards, role)});
    }
    if (reductions == Reductions::Early) {
      work.push_back({of("reduce", role)});
      work.push_back({of("beside", role)});
    }
    work.push_back({of("update", role)});
    if (role == 0)
      work.back().sends = tied;
    if (role == last())
      work.push_back({"finish", 0, tied});
    return work;
  }

  void addRows(TimelineBuilder &step,
               const std::vector<std::vector<Work>> &work) {
    for (uint32_t role = 0; role < roles; ++role)
      for (const Work &each : work[role]) {
        if (each.needs)
          step.receive(role, *each.needs, each.microbatch);
        step.run(role, each.segment, each.microbatch);
        if (each.sends)
          step.send(role, *each.sends, each.microbatch);
      }
  }

  void addRowsInOneOrder(TimelineBuilder &step,
                         const std::vector<std::vector<Work>> &work) {
    std::set<std::pair<uint32_t, uint32_t>> sent;
    std::vector<size_t> at(roles);
    for (bool moves = true; std::exchange(moves, false);)
      for (uint32_t role = 0; role < roles; ++role)
        while (at[role] < work[role].size()) {
          const Work &next = work[role][at[role]];
          if (next.needs && !sent.contains({*next.needs, next.microbatch}))
            break;
          step.run(role, next.segment, next.microbatch);
          if (next.sends) {
            step.send(role, *next.sends, next.microbatch);
            step.receive(
                step.timeline().messages[*next.sends]->destination_role,
                *next.sends, next.microbatch);
            sent.insert({*next.sends, next.microbatch});
          }
          ++at[role];
          moves = true;
        }
  }

  uint32_t dataGroup = 0;
  /// By role that sends.
  std::map<uint32_t, uint32_t> forwards, backwards;
  uint32_t tied = 0;
};

/// What the plan computes, in the same order of sums.
class PipelineReference {
public:
  using Value = std::array<float, 16>;

  PipelineReference(uint32_t roles, uint32_t microbatches, int64_t data)
      : microbatches(microbatches), data(data), w(roles), t{} {}

  /// x and out are [micro-batches, 16 * data].
  void step(std::span<const float> x) {
    out.assign(x.size(), 0);
    std::vector<std::vector<Value>> sums(w.size(), std::vector<Value>(data));
    for (int64_t d = 0; d < data; ++d)
      stepOf(x, d, sums);
    for (size_t role = 0; role < w.size(); ++role)
      for (size_t k = 0; k < 16; ++k) {
        float sum = sums[role][0][k];
        for (int64_t d = 1; d < data; ++d)
          sum += sums[role][d][k];
        w[role][k] += sum;
        if (role == 0)
          t[k] += sum;
      }
    loss = 0;
    for (float each : t)
      loss += each;
  }

  const uint32_t microbatches;
  const int64_t data;
  std::vector<Value> w;
  Value t;
  std::vector<float> out;
  float loss = 0;

private:
  void stepOf(std::span<const float> x, int64_t d,
              std::vector<std::vector<Value>> &sums) {
    for (size_t k = 0; k < 16; ++k) {
      for (auto &sum : sums)
        sum[d][k] = static_cast<float>(k);
      for (uint32_t i = 0; i < microbatches; ++i) {
        const size_t at = i * 16 * data + d * 16 + k;
        std::vector<float> h = {x[at]};
        for (const Value &each : w)
          h.push_back(h.back() + each[k]);
        out[at] = h.back();
        float e = h.back();
        for (size_t role = w.size(); role-- > 0;) {
          sums[role][d][k] += e;
          e += h[role];
        }
      }
    }
  }
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_TEST_PIPELINEPLAN_H
