//===- VerifyBinding.cpp - What callers hand over is checked --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "plan/PlanVerifier.h"
#include "plan/Text.h"

#include <algorithm>

namespace weft::runtime {

static bool sameAxes(const plan::AxisList *a, const plan::AxisList *b) {
  const auto x = axesOf(a), y = axesOf(b);
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](const plan::AxisRef &l, const plan::AxisRef &r) {
                      return l.axis() == r.axis() &&
                             l.pre_size() == r.pre_size() &&
                             l.size() == r.size();
                    });
}

bool isSameType(const plan::TensorType &a, const plan::TensorType &b) {
  auto sameShape = [](const auto &x, const auto &y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end());
  };
  if (a.dtype() != b.dtype() ||
      !sameShape(*a.global_shape(), *b.global_shape()) ||
      !sameShape(*a.local_shape(), *b.local_shape()) ||
      !sameAxes(a.unreduced(), b.unreduced()) ||
      a.unreduced_kind() != b.unreduced_kind())
    return false;
  for (uint32_t d = 0; d < a.dim_axes()->size(); ++d)
    if (!sameAxes(a.dim_axes()->Get(d), b.dim_axes()->Get(d)))
      return false;
  return true;
}

static Status verifyHeldType(const VerifiedHeader &header,
                             const plan::TensorType &type,
                             const plan::Buffer &bound, uint32_t index) {
  WEFT_RETURN_IF_ERROR(verifyType(header.mesh, type));
  const DType dtype = dtypeOf(type.dtype());
  WEFT_ASSIGN_OR_RETURN(const int64_t elements,
                        elementCount(*type.local_shape(), dtype));
  WEFT_ASSIGN_OR_RETURN(const int64_t held,
                        elementCount(*bound.shape(), dtypeOf(bound.dtype())));
  if (dtype != dtypeOf(bound.dtype()) || elements != held)
    return invalidArgument(
        fmt::format("is {} on a rank, but buffer {} is {}",
                    typeName(dtype, *type.local_shape()), index,
                    typeName(dtypeOf(bound.dtype()), *bound.shape())));
  return {};
}

Status verifyBinding(const VerifiedHeader &header, const plan::Entry &entry,
                     const plan::Binding &binding, uint32_t index) {
  if (index >= entry.buffers()->size())
    return invalidArgument(fmt::format("is bound to buffer {}, but the entry "
                                       "has {}",
                                       index, entry.buffers()->size()));
  const plan::Buffer &bound = *entry.buffers()->Get(index);
  const plan::State *state = header.states.find(
      view(binding.name()), entry.timeline() ? bound.role() : entry.role());
  if (state && state->internal() && !entry.role())
    state = nullptr;
  const plan::TensorType *type = binding.type();
  if (!type && entry.role() && state)
    type = state->type();
  if (!type)
    return invalidArgument("has no type");
  WEFT_RETURN_IF_ERROR(verifyHeldType(header, *type, bound, index));
  const bool inState = bound.kind() == plan::BufferKind::State;
  if (inState != (state != nullptr))
    return invalidArgument(fmt::format(
        "{} a state of the plan, but buffer {} is of kind {}",
        state ? "is" : "is not", index, bufferKindName(bound.kind())));
  if (!state)
    return {};
  if (!isSameType(*type, *state->type()))
    return invalidArgument("its type differs from that of the state");
  if (bound.offset() != state->offset() || bound.bytes() > state->bytes())
    return invalidArgument(fmt::format(
        "buffer {} at {} ({} bytes) is not at the state's offset {} ({} bytes)",
        index, bound.offset(), bound.bytes(), state->offset(), state->bytes()));
  if (bound.slots() != state->slots() ||
      (bound.slots() != 1 && bound.slot_bytes() != state->slot_bytes()))
    return invalidArgument(fmt::format(
        "buffer {} has {} slots every {} bytes, the state {} every {}", index,
        bound.slots(), bound.slot_bytes(), state->slots(),
        state->slot_bytes()));
  return {};
}

} // namespace weft::runtime
