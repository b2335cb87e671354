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
//   forward(r, i)   y = h + w<r>         h of role 0 is x[i], else y of r - 1;
//                                        y of the last role is out[i]
//   backward(r, i)  sum += e; g = e + h  e of the last role is out[i], else g
//   of
//                                        r + 1
//   update(r)       w<r> += all_reduce(sum) over data; of role 0 also t, which
//                   it sends to the last role
//   finish(p - 1)   loss = sum of t
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_TEST_PIPELINEPLAN_H
#define WEFT_RUNTIME_TEST_PIPELINEPLAN_H

#include "PlanBuilder.h"

#include <fmt/format.h>

#include <array>
#include <map>

namespace weft::runtime {

class PipelinePlan : public PlanBuilder {
public:
  PipelinePlan(uint32_t roles, uint32_t microbatches, int64_t data = 1)
      : PlanBuilder({{"data", data}, {"pipe", roles}}), roles(roles),
        microbatches(microbatches), data(data) {
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

private:
  uint32_t last() const { return roles - 1; }
  plan::TensorTypeT value() const { return type(DType::F32, {16}); }
  plan::TensorTypeT batch() const {
    return type(DType::F32, {microbatches, 16 * data}, {{}, {"data"}});
  }

  void addStates(uint32_t role) {
    const auto internal = [&](const char *name, uint32_t slots) {
      state(name, value(), {.role = role, .slots = slots, .isInternal = true});
    };
    state(of("w", role), value(), {.role = role});
    if (role == 0 || role == last())
      state("t", value(), {.role = role});
    if (role == last())
      state("loss_of_t", type(DType::F32, {}),
            {.role = role, .isInternal = true});
    internal("h", role == 0 ? microbatches : roles - role);
    internal("y", role == last() ? microbatches : 2);
    internal("sum", 1);
    if (role != last())
      internal("e", 2);
    if (role != 0)
      internal("g", 2);
  }

  void addSegments(uint32_t role) {
    EntryBuilder begin = segment(of("begin", role), role);
    begin.launch("fill", {{begin.state("sum", false, true), write}}, {{}, {}});

    EntryBuilder forward = segment(of("forward", role), role);
    forward.launch("add", {{forward.state("h", true, false), read},
                           {forward.state(of("w", role), true, false), read},
                           {forward.state("y", false, true), write}});

    EntryBuilder backward = segment(of("backward", role), role);
    const uint32_t e = backward.state(role == last() ? "y" : "e", true, false);
    const uint32_t sum = backward.state("sum", true, true);
    const uint32_t next = backward.temporary(DType::F32, {16});
    backward.launch("add", {{e, read}, {sum, read}, {next, write}});
    backward.copy(next, sum);
    if (role != 0)
      backward.launch("add", {{e, read},
                              {backward.state("h", true, false), read},
                              {backward.state("g", false, true), write}});
    addUpdate(role);
  }

  void addUpdate(uint32_t role) {
    EntryBuilder update = segment(of("update", role), role);
    const uint32_t sum = update.state("sum", true, true);
    const uint32_t next = update.temporary(DType::F32, {16});
    update.start(plan::CollectiveKind::AllReduce, dataGroup, sum, sum, 1, 16);
    update.wait(0);
    const auto add = [&](uint32_t to) {
      update.launch("add", {{to, read}, {sum, read}, {next, write}});
      update.copy(next, to);
    };
    add(update.state(of("w", role), true, true));
    if (role == 0)
      add(update.state("t", true, true));
    if (role != last())
      return;
    EntryBuilder finish = segment("finish", role);
    finish.launch("total", {{finish.state("t", true, false), read},
                            {finish.state("loss_of_t", false, true), write}});
  }

  /// Executed by all ranks alike.
  void addInit() {
    state("seed", value());
    EntryBuilder init = entry("init");
    init.launch("fill", {{init.state("seed", false, true), write}}, {{}, {}});
  }

  void addTimeline() {
    TimelineBuilder step = timeline("step", microbatches);
    step.input("x", batch(), {{0, "h"}});
    for (uint32_t role = 0; role < roles; ++role)
      step.state(of("w", role), {role}, true, true);
    step.state("t", {0, last()}, true, true);
    step.output("out", batch(), {{last(), "y"}});
    step.output("loss", type(DType::F32, {}), {{last(), "loss_of_t"}});
    uint32_t queue = 0;
    for (uint32_t role = 0; role + 1 < roles; ++role) {
      forwards[role] = step.message(of("activation of stage ", role), queue++,
                                    role, "y", role + 1, "h");
      backwards[role + 1] = step.message(of("gradient of stage ", role),
                                         queue++, role + 1, "g", role, "e");
    }
    tied = step.message("tied parameter", queue, 0, "t", last(), "t");
    for (uint32_t role = 0; role < roles; ++role)
      addRow(step, role);
  }

  void forward(TimelineBuilder &step, uint32_t role, uint32_t i) {
    if (role != 0)
      step.receive(role, forwards[role - 1], i);
    step.run(role, of("forward", role), i);
    if (role != last())
      step.send(role, forwards[role], i);
  }

  void backward(TimelineBuilder &step, uint32_t role, uint32_t i) {
    if (role != last())
      step.receive(role, backwards[role + 1], i);
    step.run(role, of("backward", role), i);
    if (role != 0)
      step.send(role, backwards[role], i);
  }

  void addRow(TimelineBuilder &step, uint32_t role) {
    step.run(role, of("begin", role));
    const uint32_t warmUp = std::min(microbatches, last() - role);
    for (uint32_t i = 0; i < warmUp; ++i)
      forward(step, role, i);
    for (uint32_t i = 0; i < microbatches; ++i) {
      if (warmUp + i < microbatches)
        forward(step, role, warmUp + i);
      backward(step, role, i);
    }
    step.run(role, of("update", role));
    if (role == 0)
      step.send(role, tied);
    if (role == last()) {
      step.receive(role, tied);
      step.run(role, "finish");
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
