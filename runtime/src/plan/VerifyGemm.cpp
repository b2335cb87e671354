//===- VerifyGemm.cpp - The fields of a GEMM ------------------*- C++
//-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "plan/PlanVerifier.h"
#include "plan/Text.h"

#include <algorithm>
#include <array>

namespace weft::runtime {
namespace {

/// What an epilogue has beside the GEMM, and what it does to it.
struct EpilogueTensors {
  bool readsBias = false, writesBias = false;
  bool readsAux = false, writesAux = false;
};

/// Checks one GEMM.
class GemmVerifier {
public:
  GemmVerifier(const VerifiedHeader &header, const plan::Entry &entry,
               const plan::Gemm &gemm, std::vector<Touch> &touches)
      : header(header), entry(entry), gemm(gemm), touches(touches) {}

  Status verify();

private:
  Status verifyGroups(const Operand &lhs, const Operand &rhs,
                      const Operand &out);
  Status verifyPrecision(DType operands) const;
  Status verifyEpilogue(const Operand &out);
  Status verifyBias(EpilogueTensors tensors, const Operand &out);
  Status verifyAux(EpilogueTensors tensors, const Operand &out);
  /// Notes what is done to a buffer; one that is written has no other use.
  Status touch(const Operand &operand, std::string_view what, bool reads,
               bool writes);
  Result<Operand> operand(uint32_t index, std::string_view what) const {
    return findOperand(entry, index, what);
  }
  Extent batch() const { return {gemm.batch(), gemm.out_batch_stride()}; }
  Extent rows() const { return {gemm.m(), gemm.out_m_stride()}; }
  Extent columns() const { return {gemm.n(), gemm.out_n_stride()}; }

  const VerifiedHeader &header;
  const plan::Entry &entry;
  const plan::Gemm &gemm;
  std::vector<Touch> &touches;
  const size_t firstTouch = touches.size();
};

} // namespace

//===----------------------------------------------------------------------===//
// Strides
//===----------------------------------------------------------------------===//

/// Whether a matrix stack stays inside its buffer, and whether libraries can
/// read it: one of the matrix strides is 1.
static Status verifyStrides(const Operand &operand, std::string_view what,
                            Extent batch, Extent rows, Extent columns) {
  int64_t last = 0;
  for (const Extent &extent : {batch, rows, columns}) {
    int64_t span;
    if (extent.stride < 0)
      return invalidArgument(
          fmt::format("{} has the negative stride {}", what, extent.stride));
    if (__builtin_mul_overflow(extent.size - 1, extent.stride, &span) ||
        __builtin_add_overflow(last, span, &last))
      return invalidArgument(fmt::format("{}: strides overflow", what));
  }
  if (last >= operand.elements)
    return invalidArgument(
        fmt::format("{} reaches element {} of buffer {}, which has {}", what,
                    last, operand.index, operand.elements));
  if (rows.size > 1 && columns.size > 1 && rows.stride != 1 &&
      columns.stride != 1)
    return invalidArgument(
        fmt::format("{} has the matrix strides {} and {}, one must be 1", what,
                    rows.stride, columns.stride));
  return {};
}

/// Whether no two indices of a written matrix stack name the same element.
static bool isInjective(std::array<Extent, 3> extents) {
  std::sort(
      extents.begin(), extents.end(),
      [](const Extent &a, const Extent &b) { return a.stride < b.stride; });
  int64_t reach = 0;
  for (const Extent &extent : extents) {
    if (extent.size == 1)
      continue;
    if (extent.stride <= reach)
      return false;
    reach += (extent.size - 1) * extent.stride;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Epilogue
//===----------------------------------------------------------------------===//

static EpilogueTensors tensorsOf(plan::GemmEpilogue epilogue) {
  using plan::GemmEpilogue;
  EpilogueTensors tensors;
  switch (epilogue) {
  case GemmEpilogue::None:
  case GemmEpilogue::Gelu:
    break;
  case GemmEpilogue::Bias:
  case GemmEpilogue::BiasGelu:
    tensors.readsBias = true;
    break;
  case GemmEpilogue::GeluAux:
    tensors.writesAux = true;
    break;
  case GemmEpilogue::BiasGeluAux:
    tensors.readsBias = tensors.writesAux = true;
    break;
  case GemmEpilogue::GeluGrad:
    tensors.readsAux = true;
    break;
  case GemmEpilogue::GeluGradBiasGrad:
    tensors.readsAux = tensors.writesBias = true;
    break;
  case GemmEpilogue::LhsBiasGrad:
  case GemmEpilogue::RhsBiasGrad:
    tensors.writesBias = true;
    break;
  }
  return tensors;
}

Status GemmVerifier::touch(const Operand &operand, std::string_view what,
                           bool reads, bool writes) {
  const auto isSame = [&](const Touch &other) {
    return other.buffer == operand.index && (writes || other.writes);
  };
  if (std::any_of(touches.begin() + firstTouch, touches.end(), isSame))
    return invalidArgument(fmt::format(
        "{} is buffer {}, which is also an operand", what, operand.index));
  touches.push_back({operand.index, reads, writes});
  return {};
}

Status GemmVerifier::verifyPrecision(DType operands) const {
  if (gemm.precision() > plan::GemmPrecision::MAX)
    return invalidArgument(fmt::format("unknown precision {}",
                                       static_cast<int>(gemm.precision())));
  if (gemm.precision() == plan::GemmPrecision::TF32 && operands != DType::F32)
    return invalidArgument(fmt::format(
        "precision tf32 is for operands of f32, got {}", name(operands)));
  return {};
}

/// Whether a buffer is named by what has it, and by nothing else.
static Status verifyPresence(plan::GemmEpilogue epilogue, std::string_view what,
                             bool isNeeded,
                             flatbuffers::Optional<uint32_t> index) {
  if (isNeeded && !index)
    return invalidArgument(
        fmt::format("epilogue {} needs {}", epilogueName(epilogue), what));
  if (!isNeeded && index)
    return invalidArgument(fmt::format("epilogue {} has no {}, got buffer {}",
                                       epilogueName(epilogue), what, *index));
  return {};
}

Status GemmVerifier::verifyBias(EpilogueTensors tensors, const Operand &out) {
  const bool has = tensors.readsBias || tensors.writesBias;
  WEFT_RETURN_IF_ERROR(
      verifyPresence(gemm.epilogue(), "bias", has, gemm.bias()));
  if (!has)
    return {};
  WEFT_ASSIGN_OR_RETURN(const Operand bias, operand(*gemm.bias(), "bias"));
  const int64_t length =
      gemm.epilogue() == plan::GemmEpilogue::LhsBiasGrad ? gemm.m() : gemm.n();
  if (bias.dtype != out.dtype || bias.elements != length)
    return invalidArgument(
        fmt::format("bias has {} elements of {}, must have {} of {}",
                    bias.elements, name(bias.dtype), length, name(out.dtype)));
  if (gemm.batch() != 1)
    return invalidArgument(
        fmt::format("with a bias, batch must be 1, got {}", gemm.batch()));
  return touch(bias, "bias", tensors.readsBias, tensors.writesBias);
}

Status GemmVerifier::verifyAux(EpilogueTensors tensors, const Operand &out) {
  const bool has = tensors.readsAux || tensors.writesAux;
  WEFT_RETURN_IF_ERROR(verifyPresence(gemm.epilogue(), "aux", has, gemm.aux()));
  if (!has)
    return {};
  WEFT_ASSIGN_OR_RETURN(const Operand aux, operand(*gemm.aux(), "aux"));
  if (aux.dtype != out.dtype)
    return invalidArgument(
        fmt::format("aux is {}, out {}", name(aux.dtype), name(out.dtype)));
  WEFT_RETURN_IF_ERROR(verifyStrides(aux, "aux", batch(), rows(), columns()));
  return touch(aux, "aux", tensors.readsAux, tensors.writesAux);
}

Status GemmVerifier::verifyEpilogue(const Operand &out) {
  const plan::GemmEpilogue epilogue = gemm.epilogue();
  if (epilogue > plan::GemmEpilogue::MAX)
    return invalidArgument(
        fmt::format("unknown epilogue {}", static_cast<int>(epilogue)));
  const EpilogueTensors tensors = tensorsOf(epilogue);
  const bool ofFactor = epilogue == plan::GemmEpilogue::LhsBiasGrad ||
                        epilogue == plan::GemmEpilogue::RhsBiasGrad;
  if (epilogue != plan::GemmEpilogue::None && !ofFactor &&
      gemm.out_n_stride() != 1)
    return invalidArgument(
        fmt::format("epilogue {} needs an out_n_stride of 1, got {}",
                    epilogueName(epilogue), gemm.out_n_stride()));
  WEFT_RETURN_IF_ERROR(verifyBias(tensors, out));
  return verifyAux(tensors, out);
}

//===----------------------------------------------------------------------===//
// GEMM
//===----------------------------------------------------------------------===//

static bool isGemmType(DType in, DType out) {
  switch (in) {
  case DType::F32:
  case DType::F64:
  case DType::I32:
  case DType::I64:
    return out == in;
  case DType::BF16:
  case DType::F16:
    return out == in || out == DType::F32;
  case DType::Pred:
  case DType::I8:
  case DType::I16:
    return false;
  }
  return false;
}

/// Of the operands the one with a matrix for each group has another batch than
/// the others.
Status GemmVerifier::verifyGroups(const Operand &lhs, const Operand &rhs,
                                  const Operand &out) {
  const plan::GemmGroups grouped = gemm.grouped();
  if (grouped > plan::GemmGroups::MAX || grouped == plan::GemmGroups::None ||
      !gemm.group_sizes())
    return invalidArgument(
        fmt::format("groups of kind {} {} sizes", static_cast<int>(grouped),
                    gemm.group_sizes() ? "with" : "without"));
  WEFT_ASSIGN_OR_RETURN(const Operand sizes,
                        operand(*gemm.group_sizes(), "group_sizes"));
  if (sizes.dtype != DType::I32 || sizes.elements < 1 ||
      sizes.elements % gemm.batch() != 0)
    return invalidArgument(fmt::format(
        "group_sizes has {} elements of {}, must have as many of i32 for each "
        "of {} batches",
        sizes.elements, name(sizes.dtype), gemm.batch()));
  if (!isFloat(lhs.dtype) || lhs.dtype != out.dtype)
    return invalidArgument(fmt::format("no GEMM of groups of {} into {}",
                                       name(lhs.dtype), name(out.dtype)));
  if (gemm.accumulate() || gemm.epilogue() != plan::GemmEpilogue::None ||
      gemm.precision() != plan::GemmPrecision::Full || gemm.bias() ||
      gemm.aux())
    return invalidArgument("groups together with accumulate, an epilogue or "
                           "precision tf32");
  if (view(header.plan.target()->kind()) == "cuda")
    return invalidArgument("groups, which plans for \"cuda\" do not have");
  if (gemm.out_n_stride() != 1)
    return invalidArgument(fmt::format(
        "groups need an out_n_stride of 1, got {}", gemm.out_n_stride()));
  if (out.index == sizes.index)
    return invalidArgument(
        fmt::format("out is buffer {}, which is also an operand", out.index));
  const bool isByRows = grouped == plan::GemmGroups::Rows;
  const int64_t groups = sizes.elements / gemm.batch();
  const Extent ofRhs{isByRows ? groups : gemm.batch(), gemm.rhs_batch_stride()};
  const Extent ofOut{isByRows ? gemm.batch() : groups, gemm.out_batch_stride()};
  WEFT_RETURN_IF_ERROR(verifyStrides(
      lhs, "lhs", {gemm.batch(), gemm.lhs_batch_stride()},
      {gemm.m(), gemm.lhs_m_stride()}, {gemm.k(), gemm.lhs_k_stride()}));
  WEFT_RETURN_IF_ERROR(verifyStrides(rhs, "rhs", ofRhs,
                                     {gemm.k(), gemm.rhs_k_stride()},
                                     {gemm.n(), gemm.rhs_n_stride()}));
  WEFT_RETURN_IF_ERROR(verifyStrides(out, "out", ofOut, rows(), columns()));
  if (!isInjective({ofOut, rows(), columns()}))
    return invalidArgument(
        fmt::format("out with strides {}, {}, {} has elements that overlap",
                    ofOut.stride, rows().stride, columns().stride));
  for (const Operand &each : {lhs, rhs, sizes})
    touches.push_back({each.index, true, false});
  touches.push_back({out.index, false, true});
  return {};
}

Status GemmVerifier::verify() {
  WEFT_ASSIGN_OR_RETURN(const Operand lhs, operand(gemm.lhs(), "lhs"));
  WEFT_ASSIGN_OR_RETURN(const Operand rhs, operand(gemm.rhs(), "rhs"));
  WEFT_ASSIGN_OR_RETURN(const Operand out, operand(gemm.out(), "out"));
  if (lhs.dtype != rhs.dtype || !isGemmType(lhs.dtype, out.dtype))
    return invalidArgument(fmt::format("no GEMM of {} and {} into {}",
                                       name(lhs.dtype), name(rhs.dtype),
                                       name(out.dtype)));
  if (gemm.batch() < 1 || gemm.m() < 1 || gemm.n() < 1 || gemm.k() < 1)
    return invalidArgument(
        fmt::format("batch {}, m {}, n {} and k {} must be at least 1",
                    gemm.batch(), gemm.m(), gemm.n(), gemm.k()));
  if (out.index == lhs.index || out.index == rhs.index)
    return invalidArgument(
        fmt::format("out is buffer {}, which is also an operand", out.index));
  if (gemm.grouped() != plan::GemmGroups::None || gemm.group_sizes())
    return verifyGroups(lhs, rhs, out);
  WEFT_RETURN_IF_ERROR(verifyStrides(
      lhs, "lhs", {gemm.batch(), gemm.lhs_batch_stride()},
      {gemm.m(), gemm.lhs_m_stride()}, {gemm.k(), gemm.lhs_k_stride()}));
  WEFT_RETURN_IF_ERROR(verifyStrides(
      rhs, "rhs", {gemm.batch(), gemm.rhs_batch_stride()},
      {gemm.k(), gemm.rhs_k_stride()}, {gemm.n(), gemm.rhs_n_stride()}));
  WEFT_RETURN_IF_ERROR(verifyStrides(out, "out", batch(), rows(), columns()));
  if (!isInjective({batch(), rows(), columns()}))
    return invalidArgument(
        fmt::format("out with strides {}, {}, {} has elements that overlap",
                    batch().stride, rows().stride, columns().stride));
  touches.push_back({lhs.index, true, false});
  touches.push_back({rhs.index, true, false});
  touches.push_back({out.index, gemm.accumulate(), true});
  const bool isForCpu = view(header.plan.target()->kind()) == "cpu";
  if (isForCpu && (gemm.epilogue() != plan::GemmEpilogue::None ||
                   gemm.precision() != plan::GemmPrecision::Full))
    return invalidArgument(
        "an epilogue or precision tf32, which plans for \"cpu\" do not have");
  WEFT_RETURN_IF_ERROR(verifyPrecision(lhs.dtype));
  return verifyEpilogue(out);
}

Status verifyGemm(const VerifiedHeader &header, const plan::Entry &entry,
                  const plan::Gemm &gemm, std::vector<Touch> &touches) {
  return GemmVerifier(header, entry, gemm, touches).verify();
}

} // namespace weft::runtime
