//===- Alignment.cpp - Vectors lie where scalars may be loaded --*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "plan/Alignment.h"

#include "weft/runtime/VisitOperation.h"

#include <algorithm>
#include <cstdint>

namespace weft::runtime {

/// Writers do not align vectors without elements.
static bool isAligned(const uint8_t *data, size_t size, size_t alignment) {
  return size == 0 || reinterpret_cast<uintptr_t>(data) % alignment == 0;
}

static bool isAligned(const flatbuffers::Vector<int64_t> *shape) {
  return isAligned(shape->Data(), shape->size(), alignof(int64_t));
}

static bool isAligned(const plan::AxisList *list) {
  return !list || isAligned(list->axes()->Data(), list->axes()->size(),
                            alignof(plan::AxisRef));
}

/// All elements of an optional vector of tables.
template <typename Tables, typename Predicate>
static bool allOf(const Tables *tables, Predicate &&predicate) {
  return !tables || std::all_of(tables->begin(), tables->end(), predicate);
}

static bool isAligned(const plan::TensorType &type) {
  return isAligned(type.global_shape()) && isAligned(type.local_shape()) &&
         isAligned(type.unreduced()) &&
         allOf(type.dim_axes(),
               [](const plan::AxisList *axes) { return isAligned(axes); });
}

static bool isAligned(const plan::Instruction &instruction) {
  if (!isKnown(instruction.operation_type()))
    return true;
  return visitOperation(
      instruction,
      [](const plan::Launch &launch) {
        return allOf(launch.positions(), [](const plan::AxisList *axes) {
          return isAligned(axes);
        });
      },
      [](const plan::CollectiveStart &start) {
        return isAligned(start.permute_from()) && isAligned(start.permute_to());
      },
      [](const OneOf<plan::Gemm, plan::CollectiveWait, plan::Copy,
                     plan::Attention, plan::AttentionGrad, plan::Repeat,
                     plan::Sort, plan::Convolution> auto &) { return true; });
}

static bool isAligned(const plan::Entry &entry) {
  const auto isBindingAligned = [](const plan::Binding *binding) {
    return !binding->type() || isAligned(*binding->type());
  };
  return allOf(entry.inputs(), isBindingAligned) &&
         allOf(entry.outputs(), isBindingAligned) &&
         allOf(entry.buffers(),
               [](const plan::Buffer *buffer) {
                 return isAligned(buffer->shape());
               }) &&
         allOf(entry.instructions(), [](const plan::Instruction *instruction) {
           return isAligned(*instruction);
         });
}

bool hasAlignedVectors(const plan::Plan &plan) {
  return allOf(plan.groups(),
               [](const plan::AxisList *axes) { return isAligned(axes); }) &&
         allOf(plan.states(),
               [](const plan::State *state) {
                 return isAligned(*state->type());
               }) &&
         allOf(plan.entries(),
               [](const plan::Entry *entry) { return isAligned(*entry); });
}

} // namespace weft::runtime
