//===- PlanBuilder.h - Plans built by hand ----------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes plans without the compiler: what tests of the runtime start from. The
// tables are open to change, so that a test can break one field and see what
// the verifier says.
//
//   PlanBuilder builder({{"data", 2}});
//   EntryBuilder entry = builder.entry("step");
//   uint32_t x = entry.input("x", builder.type(DType::F32, {32}, {{"data"}}));
//   uint32_t y = entry.output("y", builder.type(DType::F32, {32}, {{"data"}}));
//   entry.launch("add", {{x, read}, {x, read}, {y, write}});
//   Plan plan = builder.build();
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_TEST_PLANBUILDER_H
#define WEFT_RUNTIME_TEST_PLANBUILDER_H

#include "PrintStatus.h"
#include "weft/runtime/Array.h"
#include "weft/runtime/Plan.h"
#include "weft/runtime/plan_generated.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft::runtime {

inline constexpr uint8_t read = 1, write = 2, update = 3;

class PlanBuilder;

/// What a state of a pipeline has beside its name and type.
struct StateOptions {
  std::optional<uint32_t> role = std::nullopt;
  uint32_t slots = 1;
  bool isInternal = false;
  bool counts = false;
};

/// Appends to one entry of a plan. Buffers get offsets of their own.
class EntryBuilder {
public:
  EntryBuilder(PlanBuilder &builder, size_t index)
      : builder(builder), index(index) {}

  plan::EntryT &table();
  uint32_t buffer(plan::BufferKind kind, DType dtype,
                  std::vector<int64_t> shape, std::string name = "");
  uint32_t temporary(DType dtype, std::vector<int64_t> shape) {
    return buffer(plan::BufferKind::Temporary, dtype, std::move(shape));
  }
  uint32_t input(std::string name, const plan::TensorTypeT &type);
  uint32_t output(std::string name, const plan::TensorTypeT &type);
  /// Binds an output to a buffer that exists.
  void outputAt(std::string name, const plan::TensorTypeT &type,
                uint32_t buffer);
  /// A state as input, as output, or both.
  uint32_t state(const std::string &name, bool isInput, bool isOutput);
  uint32_t constant(const Array &value);

  /// out[m, n] = lhs[m, k] * rhs[k, n], all row-major.
  plan::GemmT &gemm(uint32_t lhs, uint32_t rhs, uint32_t out, int64_t m,
                    int64_t n, int64_t k);
  /// query [batch, queries, heads, size] of key and value [batch, keys, key
  /// heads, size].
  plan::AttentionT &attention(uint32_t query, uint32_t key, uint32_t value,
                              uint32_t out, uint32_t logsumexp,
                              plan::AttentionSizes sizes);
  plan::AttentionGradT &attentionGrad(plan::AttentionGradT grad,
                                      plan::AttentionSizes sizes);
  plan::LaunchT &launch(std::string symbol,
                        std::vector<std::pair<uint32_t, uint8_t>> buffers,
                        std::vector<std::vector<std::string>> positions = {});
  /// A launch for several sets of buffers, alike in their access.
  plan::LaunchT &
  launchBatch(std::string symbol,
              std::vector<std::vector<std::pair<uint32_t, uint8_t>>> sets,
              std::vector<std::vector<std::string>> positions = {});
  plan::CollectiveStartT &start(plan::CollectiveKind kind, uint32_t group,
                                uint32_t source, uint32_t destination,
                                int64_t outer, int64_t inner);
  void wait(uint32_t id);
  void copy(uint32_t source, uint32_t destination);
  /// A loop of the instructions that follow.
  void repeat(uint32_t count, uint32_t instructions);

protected:
  PlanBuilder &builder;

private:
  template <typename T> T &add(T operation, uint8_t stream);

  size_t index;
  uint32_t collectives = 0;
};

/// Fills an entry with a timeline. Inputs and outputs lie in states of the
/// given names and roles, the first first.
class TimelineBuilder : public EntryBuilder {
public:
  using Values = std::vector<std::pair<uint32_t, std::string>>;
  using EntryBuilder::EntryBuilder;

  plan::TimelineT &timeline() { return *table().timeline; }
  void input(const std::string &name, const plan::TensorTypeT &type,
             const Values &states);
  void output(const std::string &name, const plan::TensorTypeT &type,
              const Values &states);
  /// A state of these roles, as input, as output, or both.
  void state(const std::string &name, const std::vector<uint32_t> &roles,
             bool isInput, bool isOutput);
  /// A state of the source, for that of the destination.
  uint32_t message(const std::string &label, uint32_t queue, uint32_t source,
                   uint32_t destination, const std::string &state);
  void run(uint32_t role, const std::string &segment, uint32_t microbatch = 0);
  void send(uint32_t role, uint32_t message, uint32_t microbatch = 0) {
    add(role, plan::ActionKind::Send, message, microbatch);
  }
  void receive(uint32_t role, uint32_t message, uint32_t microbatch = 0) {
    add(role, plan::ActionKind::Receive, message, microbatch);
  }
  std::vector<plan::Action> &row(uint32_t role) {
    return timeline().rows[role]->actions;
  }

private:
  void add(uint32_t role, plan::ActionKind kind, uint32_t index,
           uint32_t microbatch) {
    row(role).emplace_back(kind, index, microbatch);
  }
  void bind(std::vector<std::unique_ptr<plan::BindingT>> &bindings,
            const std::string &name, const plan::TensorTypeT &type,
            const std::vector<uint32_t> &buffers);
  std::vector<uint32_t> place(plan::BufferKind kind, const std::string &name,
                              const plan::TensorTypeT &type,
                              const Values &states);
};

class PlanBuilder {
public:
  explicit PlanBuilder(std::vector<std::pair<std::string, int64_t>> mesh);

  /// "data", or "model:(1)2" for a part of an axis.
  plan::AxisRef axis(const std::string &name) const;
  std::unique_ptr<plan::AxisListT>
  axes(const std::vector<std::string> &names) const;
  /// A value split over `dims`; local sizes follow.
  plan::TensorTypeT type(DType dtype, std::vector<int64_t> global,
                         std::vector<std::vector<std::string>> dims = {},
                         std::vector<std::string> unreduced = {}) const;
  uint32_t group(const std::vector<std::string> &names);
  void state(std::string name, const plan::TensorTypeT &type,
             const StateOptions &options = {});
  /// Of that name, of a role or of all.
  uint32_t stateIndex(const std::string &name,
                      std::optional<uint32_t> role) const;
  EntryBuilder entry(std::string name);

  /// A pipeline over an axis.
  void pipeline(const std::string &axis);
  EntryBuilder segment(std::string name, uint32_t role);
  TimelineBuilder timeline(std::string name, uint32_t microbatches);

  uint32_t kernel(const std::string &symbol);
  /// `bytes` of the arena, or of that of a role, at the next aligned offset.
  uint64_t allocate(uint64_t bytes,
                    std::optional<uint32_t> role = std::nullopt);

  /// The finished payload, and the plan file around a payload.
  std::vector<uint8_t> payload() const;
  static std::vector<std::byte> wrap(const std::vector<uint8_t> &payload);
  std::vector<std::byte> bytes() const { return wrap(payload()); }
  /// The plan; fails the test when it is refused.
  Plan build() const;

  plan::PlanT table;
};

/// A tensor of floats 0, 1, 2, ... times `factor`.
Array countingArray(std::vector<int64_t> shape, float factor = 1);
std::vector<float> floats(const Array &array);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_TEST_PLANBUILDER_H
