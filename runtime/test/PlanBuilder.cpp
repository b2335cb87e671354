//===- PlanBuilder.cpp - Plans built by hand --------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanBuilder.h"

#include "weft/runtime/PlanFormat.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

namespace weft::runtime {

static std::vector<uint8_t> testKernels() {
  std::ifstream file(WEFT_TEST_KERNELS, std::ios::binary);
  EXPECT_TRUE(file.good()) << WEFT_TEST_KERNELS;
  return {std::istreambuf_iterator<char>(file), {}};
}

PlanBuilder::PlanBuilder(std::vector<std::pair<std::string, int64_t>> mesh) {
  table.producer = "weft test";
  table.target = std::make_unique<plan::TargetT>();
  table.target->kind = "cpu";
  table.target->processor = "x86-64";
  for (auto &[name, size] : mesh) {
    auto axis = std::make_unique<plan::MeshAxisT>();
    axis->name = name;
    axis->size = size;
    table.mesh.push_back(std::move(axis));
  }
}

plan::AxisRef PlanBuilder::axis(const std::string &text) const {
  const size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  for (uint32_t i = 0; i < table.mesh.size(); ++i) {
    if (table.mesh[i]->name != name)
      continue;
    if (colon == std::string::npos)
      return plan::AxisRef(i, 1, table.mesh[i]->size);
    const size_t close = text.find(')');
    return plan::AxisRef(i, std::stoll(text.substr(colon + 2)),
                         std::stoll(text.substr(close + 1)));
  }
  ADD_FAILURE() << "no axis " << text;
  return {};
}

std::unique_ptr<plan::AxisListT>
PlanBuilder::axes(const std::vector<std::string> &names) const {
  auto list = std::make_unique<plan::AxisListT>();
  for (const std::string &name : names)
    list->axes.push_back(axis(name));
  return list;
}

plan::TensorTypeT PlanBuilder::type(DType dtype, std::vector<int64_t> global,
                                    std::vector<std::vector<std::string>> dims,
                                    std::vector<std::string> unreduced) const {
  plan::TensorTypeT type;
  dims.resize(global.size());
  type.dtype = static_cast<plan::DType>(dtype);
  type.global_shape = global;
  for (size_t d = 0; d < global.size(); ++d) {
    int64_t parts = 1;
    type.dim_axes.push_back(axes(dims[d]));
    for (const plan::AxisRef &ref : type.dim_axes.back()->axes)
      parts *= ref.size();
    type.local_shape.push_back((global[d] + parts - 1) / parts);
  }
  if (!unreduced.empty())
    type.unreduced = axes(unreduced);
  return type;
}

uint32_t PlanBuilder::group(const std::vector<std::string> &names) {
  table.groups.push_back(axes(names));
  return static_cast<uint32_t>(table.groups.size() - 1);
}

static uint64_t bytesOf(DType dtype, const std::vector<int64_t> &shape) {
  return elementCountOf(shape) * byteSize(dtype);
}

static constexpr uint64_t aligned(uint64_t bytes) {
  return (bytes + bufferAlignment - 1) / bufferAlignment * bufferAlignment;
}

static flatbuffers::Optional<uint32_t>
optionalOf(std::optional<uint32_t> value) {
  return value ? flatbuffers::Optional<uint32_t>(*value) : flatbuffers::nullopt;
}

void PlanBuilder::state(std::string name, const plan::TensorTypeT &type,
                        const StateOptions &options) {
  auto state = std::make_unique<plan::StateT>();
  state->name = std::move(name);
  state->type = std::make_unique<plan::TensorTypeT>(type);
  state->bytes = bytesOf(static_cast<DType>(type.dtype), type.local_shape);
  state->slots = options.slots;
  state->slot_bytes = options.slots == 1 ? 0 : aligned(state->bytes);
  state->role = optionalOf(options.role);
  state->internal = options.isInternal;
  state->counts = options.counts;
  state->offset = allocate(aligned(state->bytes) * options.slots, options.role);
  table.states.push_back(std::move(state));
}

uint32_t PlanBuilder::stateIndex(const std::string &name,
                                 std::optional<uint32_t> role) const {
  for (uint32_t i = 0; i < table.states.size(); ++i)
    if (const auto &state = table.states[i];
        state->name == name &&
        (!state->role || state->role == optionalOf(role)))
      return i;
  ADD_FAILURE() << "no state " << name;
  return 0;
}

void PlanBuilder::pipeline(const std::string &axis) {
  table.pipeline = std::make_unique<plan::PipelineT>();
  const plan::AxisRef ref = this->axis(axis);
  table.pipeline->axis = ref.axis();
  for (int64_t role = 0; role < ref.size(); ++role) {
    table.pipeline->roles.push_back(std::make_unique<plan::RoleT>());
    table.pipeline->roles.back()->arena_bytes = table.arena_bytes;
  }
}

EntryBuilder PlanBuilder::segment(std::string name, uint32_t role) {
  EntryBuilder segment = entry(std::move(name));
  segment.table().role = role;
  return segment;
}

TimelineBuilder PlanBuilder::timeline(std::string name, uint32_t microbatches) {
  entry(std::move(name)).table().timeline = std::make_unique<plan::TimelineT>();
  TimelineBuilder made(*this, table.entries.size() - 1);
  made.timeline().microbatches = microbatches;
  made.timeline().group = group({table.mesh[table.pipeline->axis]->name});
  for (size_t role = 0; role < table.pipeline->roles.size(); ++role)
    made.timeline().rows.push_back(std::make_unique<plan::TimelineRowT>());
  return made;
}

EntryBuilder PlanBuilder::entry(std::string name) {
  table.entries.push_back(std::make_unique<plan::EntryT>());
  table.entries.back()->name = std::move(name);
  return {*this, table.entries.size() - 1};
}

uint32_t PlanBuilder::kernel(const std::string &symbol) {
  if (table.object.empty())
    table.object = testKernels();
  for (uint32_t i = 0; i < table.kernels.size(); ++i)
    if (table.kernels[i]->symbol == symbol)
      return i;
  table.kernels.push_back(std::make_unique<plan::KernelT>());
  table.kernels.back()->symbol = symbol;
  table.kernels.back()->summary = symbol + " of 16";
  return static_cast<uint32_t>(table.kernels.size() - 1);
}

uint64_t PlanBuilder::allocate(uint64_t bytes, std::optional<uint32_t> role) {
  const auto *pipeline = table.pipeline.get();
  const uint64_t offset =
      role ? pipeline->roles[*role]->arena_bytes : table.arena_bytes;
  const uint64_t end = offset + aligned(bytes);
  table.arena_bytes = std::max(table.arena_bytes, end);
  if (role)
    pipeline->roles[*role]->arena_bytes = end;
  else if (pipeline)
    for (const auto &each : pipeline->roles)
      each->arena_bytes = end;
  return offset;
}

std::vector<uint8_t> PlanBuilder::payload() const {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(plan::Plan::Pack(builder, &table));
  return {builder.GetBufferPointer(),
          builder.GetBufferPointer() + builder.GetSize()};
}

std::vector<std::byte> PlanBuilder::wrap(const std::vector<uint8_t> &payload) {
  flatbuffers::FlatBufferBuilder builder;
  builder.ForceVectorAlignment(payload.size(), 1, payloadAlignment);
  const auto contents = builder.CreateVector(payload);
  builder.Finish(plan::CreateContainer(
                     builder, planFormatVersion,
                     XXH3_64bits(payload.data(), payload.size()), contents),
                 plan::ContainerIdentifier());
  const auto *data =
      reinterpret_cast<const std::byte *>(builder.GetBufferPointer());
  return {data, data + builder.GetSize()};
}

Plan PlanBuilder::build() const {
  Result<Plan> plan = Plan::parse(bytes());
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return *std::move(plan);
}

plan::EntryT &EntryBuilder::table() { return *builder.table.entries[index]; }

uint32_t EntryBuilder::buffer(plan::BufferKind kind, DType dtype,
                              std::vector<int64_t> shape, std::string name) {
  auto buffer = std::make_unique<plan::BufferT>();
  buffer->kind = kind;
  buffer->dtype = static_cast<plan::DType>(dtype);
  buffer->bytes = bytesOf(dtype, shape);
  buffer->shape = std::move(shape);
  buffer->name = std::move(name);
  if (kind != plan::BufferKind::State)
    buffer->offset = builder.allocate(
        buffer->bytes,
        table().role ? std::optional<uint32_t>(*table().role) : std::nullopt);
  table().buffers.push_back(std::move(buffer));
  return static_cast<uint32_t>(table().buffers.size() - 1);
}

static std::unique_ptr<plan::BindingT>
makeBinding(std::string name, const plan::TensorTypeT &type, uint32_t buffer) {
  auto binding = std::make_unique<plan::BindingT>();
  binding->name = std::move(name);
  binding->type = std::make_unique<plan::TensorTypeT>(type);
  binding->buffer = buffer;
  return binding;
}

uint32_t EntryBuilder::input(std::string name, const plan::TensorTypeT &type) {
  const uint32_t place =
      buffer(plan::BufferKind::Input, static_cast<DType>(type.dtype),
             type.local_shape, name);
  table().inputs.push_back(makeBinding(std::move(name), type, place));
  return place;
}

uint32_t EntryBuilder::output(std::string name, const plan::TensorTypeT &type) {
  const uint32_t place =
      buffer(plan::BufferKind::Output, static_cast<DType>(type.dtype),
             type.local_shape, name);
  outputAt(std::move(name), type, place);
  return place;
}

void EntryBuilder::outputAt(std::string name, const plan::TensorTypeT &type,
                            uint32_t buffer) {
  table().outputs.push_back(makeBinding(std::move(name), type, buffer));
}

/// A buffer that lies where a state does.
static std::unique_ptr<plan::BufferT> bufferOf(const plan::StateT &state) {
  auto buffer = std::make_unique<plan::BufferT>();
  buffer->kind = plan::BufferKind::State;
  buffer->dtype = state.type->dtype;
  buffer->shape = state.type->local_shape;
  buffer->bytes = state.bytes;
  buffer->offset = state.offset;
  buffer->slots = state.slots;
  buffer->slot_bytes = state.slot_bytes;
  buffer->name = state.name;
  return buffer;
}

uint32_t EntryBuilder::state(const std::string &name, bool isInput,
                             bool isOutput) {
  const auto role =
      table().role ? std::optional<uint32_t>(*table().role) : std::nullopt;
  const plan::StateT &state =
      *builder.table.states[builder.stateIndex(name, role)];
  table().buffers.push_back(bufferOf(state));
  const auto place = static_cast<uint32_t>(table().buffers.size() - 1);
  if (isInput)
    table().inputs.push_back(makeBinding(name, *state.type, place));
  if (isOutput)
    table().outputs.push_back(makeBinding(name, *state.type, place));
  return place;
}

//===----------------------------------------------------------------------===//
// Timelines
//===----------------------------------------------------------------------===//

void TimelineBuilder::bind(
    std::vector<std::unique_ptr<plan::BindingT>> &bindings,
    const std::string &name, const plan::TensorTypeT &type,
    const std::vector<uint32_t> &buffers) {
  bindings.push_back(makeBinding(name, type, buffers.front()));
  bindings.back()->copies.assign(buffers.begin() + 1, buffers.end());
}

std::vector<uint32_t> TimelineBuilder::place(plan::BufferKind kind,
                                             const std::string &name,
                                             const plan::TensorTypeT &type,
                                             const Values &states) {
  std::vector<uint32_t> buffers;
  for (const auto &[role, state] : states) {
    auto buffer =
        bufferOf(*builder.table.states[builder.stateIndex(state, role)]);
    buffer->role = role;
    if (kind != plan::BufferKind::State) {
      buffer->kind = kind;
      buffer->dtype = type.dtype;
      buffer->shape = type.local_shape;
      buffer->bytes = bytesOf(static_cast<DType>(type.dtype), type.local_shape);
      buffer->slots = 1;
      buffer->slot_bytes = 0;
      buffer->name = name;
    }
    table().buffers.push_back(std::move(buffer));
    buffers.push_back(static_cast<uint32_t>(table().buffers.size() - 1));
  }
  return buffers;
}

void TimelineBuilder::input(const std::string &name,
                            const plan::TensorTypeT &type,
                            const Values &states) {
  bind(table().inputs, name, type,
       place(plan::BufferKind::Input, name, type, states));
}

void TimelineBuilder::output(const std::string &name,
                             const plan::TensorTypeT &type,
                             const Values &states) {
  bind(table().outputs, name, type,
       place(plan::BufferKind::Output, name, type, states));
}

void TimelineBuilder::state(const std::string &name,
                            const std::vector<uint32_t> &roles, bool isInput,
                            bool isOutput) {
  Values values;
  for (uint32_t role : roles)
    values.emplace_back(role, name);
  const plan::TensorTypeT type =
      *builder.table.states[builder.stateIndex(name, roles.front())]->type;
  const auto buffers = place(plan::BufferKind::State, name, type, values);
  if (isInput)
    bind(table().inputs, name, type, buffers);
  if (isOutput)
    bind(table().outputs, name, type, buffers);
}

uint32_t TimelineBuilder::message(const std::string &label, uint32_t queue,
                                  uint32_t source, uint32_t destination,
                                  const std::string &state) {
  auto message = std::make_unique<plan::MessageT>();
  message->label = label;
  message->queue = queue;
  message->source_role = source;
  message->destination_role = destination;
  message->source_states = {builder.stateIndex(state, source)};
  message->destination_states = {builder.stateIndex(state, destination)};
  timeline().messages.push_back(std::move(message));
  return static_cast<uint32_t>(timeline().messages.size() - 1);
}

void TimelineBuilder::run(uint32_t role, const std::string &segment,
                          uint32_t microbatch) {
  for (uint32_t i = 0; i < builder.table.entries.size(); ++i)
    if (builder.table.entries[i]->name == segment)
      return add(role, plan::ActionKind::Run, i, microbatch);
  ADD_FAILURE() << "no segment " << segment;
}

uint32_t EntryBuilder::constant(const Array &value) {
  const uint32_t place =
      buffer(plan::BufferKind::Constant, value.dtype, value.shape);
  auto &data = builder.table.constant_data;
  table().buffers[place]->data_offset = data.size();
  const auto *begin = reinterpret_cast<const uint8_t *>(value.data.data());
  data.insert(data.end(), begin, begin + value.data.size());
  return place;
}

template <typename T> T &EntryBuilder::add(T operation, uint8_t stream) {
  auto instruction = std::make_unique<plan::InstructionT>();
  instruction->stream = stream;
  instruction->operation.Set(std::move(operation));
  table().instructions.push_back(std::move(instruction));
  return *static_cast<T *>(table().instructions.back()->operation.value);
}

plan::GemmT &EntryBuilder::gemm(uint32_t lhs, uint32_t rhs, uint32_t out,
                                int64_t m, int64_t n, int64_t k) {
  plan::GemmT gemm;
  gemm.lhs = lhs;
  gemm.rhs = rhs;
  gemm.out = out;
  gemm.batch = 1;
  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  gemm.lhs_m_stride = k;
  gemm.lhs_k_stride = 1;
  gemm.rhs_k_stride = n;
  gemm.rhs_n_stride = 1;
  gemm.out_m_stride = n;
  gemm.out_n_stride = 1;
  return add(std::move(gemm), 0);
}

plan::AttentionT &EntryBuilder::attention(uint32_t query, uint32_t key,
                                          uint32_t value, uint32_t out,
                                          uint32_t logsumexp,
                                          plan::AttentionSizes sizes) {
  plan::AttentionT attention;
  attention.query = query;
  attention.key = key;
  attention.value = value;
  attention.out = out;
  attention.logsumexp = logsumexp;
  attention.sizes = std::make_unique<plan::AttentionSizes>(sizes);
  attention.scale = 0.5;
  return add(std::move(attention), 0);
}

plan::AttentionGradT &EntryBuilder::attentionGrad(plan::AttentionGradT grad,
                                                  plan::AttentionSizes sizes) {
  grad.sizes = std::make_unique<plan::AttentionSizes>(sizes);
  grad.scale = 0.5;
  return add(std::move(grad), 0);
}

plan::LaunchT &
EntryBuilder::launch(std::string symbol,
                     std::vector<std::pair<uint32_t, uint8_t>> buffers,
                     std::vector<std::vector<std::string>> positions) {
  plan::LaunchT launch;
  launch.kernel = builder.kernel(symbol);
  for (auto [place, access] : buffers) {
    launch.buffers.push_back(place);
    launch.access.push_back(access);
  }
  for (const auto &names : positions)
    launch.positions.push_back(builder.axes(names));
  return add(std::move(launch), 0);
}

plan::LaunchT &EntryBuilder::launchBatch(
    std::string symbol,
    std::vector<std::vector<std::pair<uint32_t, uint8_t>>> sets,
    std::vector<std::vector<std::string>> positions) {
  plan::LaunchT &made = launch(std::move(symbol), sets.front(), positions);
  made.batch = sets.size();
  for (size_t set = 1; set < sets.size(); ++set)
    for (auto [place, access] : sets[set])
      made.buffers.push_back(place);
  return made;
}

plan::CollectiveStartT &EntryBuilder::start(plan::CollectiveKind kind,
                                            uint32_t group, uint32_t source,
                                            uint32_t destination, int64_t outer,
                                            int64_t inner) {
  plan::CollectiveStartT start;
  start.id = collectives++;
  start.kind = kind;
  start.group = group;
  start.source = source;
  start.destination = destination;
  start.outer = outer;
  start.inner = inner;
  return add(std::move(start), 1);
}

void EntryBuilder::wait(uint32_t id) {
  plan::CollectiveWaitT wait;
  wait.id = id;
  add(std::move(wait), 1);
}

void EntryBuilder::copy(uint32_t source, uint32_t destination) {
  plan::CopyT copy;
  copy.source = source;
  copy.destination = destination;
  add(std::move(copy), 0);
}

void EntryBuilder::repeat(uint32_t count, uint32_t instructions) {
  plan::RepeatT repeat;
  repeat.count = count;
  repeat.instructions = instructions;
  add(std::move(repeat), 0);
}

Array countingArray(std::vector<int64_t> shape, float factor) {
  Array array(DType::F32, std::move(shape));
  for (int64_t i = 0; i < array.size(); ++i)
    array.as<float>()[i] = static_cast<float>(i) * factor;
  return array;
}

std::vector<float> floats(const Array &array) {
  const auto values = array.as<float>();
  return {values.begin(), values.end()};
}

} // namespace weft::runtime
