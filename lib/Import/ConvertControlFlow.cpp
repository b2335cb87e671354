//===- ConvertControlFlow.cpp - Calls and branches ------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Converters.h"
#include "Importer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

static Values convertCall(Conversion &c) {
  auto callee =
      dyn_cast_or_null<FlatSymbolRefAttr>(c.getSource()->getAttr("callee"));
  return c.getImporter().importCall(c, callee, c.getOperands());
}

/// The marks that the Python package makes of weft.stage_boundary.
static Values convertBoundary(Conversion &c, bool isBack) {
  if (!c.hasOperands(isBack ? 2 : 1))
    return {nullptr};
  Value operand = c.operand(0);
  if (!operand)
    return {nullptr};
  if (!isBack)
    return {c.make<StageBoundaryOp>(TypeRange(operand.getType()),
                                    ValueRange(operand))};
  Value of = c.operand(1);
  // What is recomputed keeps it behind a barrier.
  while (auto barrier = of ? of.getDefiningOp<BarrierOp>() : BarrierOp())
    of = barrier.getOperand();
  auto forward = of ? of.getDefiningOp<StageBoundaryOp>() : StageBoundaryOp();
  if (!forward || forward.getOf() || of.getType() != operand.getType())
    return {c.malformed("its second operand is no result of a "
                        "weft.stage_boundary of the type of the first; put a "
                        "boundary behind a lax.cond, not into a branch")};
  return {c.make<StageBoundaryOp>(operand, of)};
}

/// An op of one library, with a function that says what it does.
static Values convertComposite(Conversion &c) {
  auto name = dyn_cast_or_null<StringAttr>(c.getSource()->getAttr("name"));
  if (name && name.getValue().starts_with("weft.stage_boundary"))
    return convertBoundary(c, name.getValue().ends_with("_back"));
  auto callee = dyn_cast_or_null<FlatSymbolRefAttr>(
      c.getSource()->getAttr("decomposition"));
  return c.getImporter().importCall(c, callee, c.getOperands());
}

/// What keeps others from propagating shardings means nothing in a graph.
static Values convertIdentity(Conversion &c) { return Values(c.getOperands()); }

static bool isComputed(Value value) {
  return value && value.getDefiningOp() &&
         !value.getDefiningOp<arith::ConstantOp>();
}

/// `jax.checkpoint` puts what the backward pass recomputes behind barriers:
/// it is not to be merged with what the forward pass has computed. All operands
/// are there once the one that is computed last is.
static Values convertBarrier(Conversion &c) {
  Values results(c.getOperands());
  Value last;
  for (Value value : results)
    if (isComputed(value) &&
        (!last || last.getDefiningOp()->isBeforeInBlock(value.getDefiningOp())))
      last = value;
  for (Value &value : results)
    if (value && last && value != last &&
        !value.getDefiningOp<arith::ConstantOp>())
      value = c.make<BarrierOp>(value, last);
  return results;
}

static Values convertRegion(Conversion &c) {
  return c.getImporter()
      .importRegion(c, 0, c.getOperands())
      .value_or(Values(c.getSource()->getNumResults()));
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

/// Computes both, as ops of a graph have no effects, and takes one.
static Values selectBetween(Conversion &c, Value condition, const Values &yes,
                            const Values &no) {
  Values results;
  for (auto [x, y] : llvm::zip(yes, no))
    results.push_back(
        x == y   ? x
        : x && y ? c.make<arith::SelectOp>(
                       c.broadcastScalar(condition, typeOf(x).getShape()), x, y)
                 : Value());
  return results;
}

/// The results of branch `index`, which takes no arguments.
static Values branch(Conversion &c, unsigned index) {
  size_t numResults = c.getSource()->getNumResults();
  std::optional<Values> results = c.getImporter().importRegion(c, index, {});
  if (results && results->size() != numResults)
    c.malformed("branch " + Twine(index) + " must return " + Twine(numResults) +
                " values, got " + Twine(results->size()));
  return results && results->size() == numResults ? *results
                                                  : Values(numResults);
}

static Values convertIf(Conversion &c) {
  Value condition = c.operand(0);
  if (!condition || c.getSource()->getNumRegions() != 2) {
    c.malformed("it has a condition and two branches");
    return {};
  }
  if (std::optional<int64_t> known = getSplatInteger(condition))
    return branch(c, *known ? 0 : 1);
  Values yes = branch(c, 0), no = branch(c, 1);
  return selectBetween(c, condition, yes, no);
}

static Values convertCase(Conversion &c) {
  Value index = c.operand(0);
  unsigned numBranches = c.getSource()->getNumRegions();
  if (!index || numBranches == 0) {
    c.malformed("it has an index and branches");
    return {};
  }
  // An index out of range takes the last branch.
  unsigned last = numBranches - 1;
  if (std::optional<int64_t> known = getSplatInteger(index))
    return branch(c, *known < 0 || *known > last ? last : *known);
  Values results = branch(c, last);
  for (unsigned i = 0; i < last; ++i) {
    Values taken = branch(c, i);
    Value isThis = c.make<arith::CmpIOp>(arith::CmpIPredicate::eq, index,
                                         c.splatLike(index, i));
    results = selectBetween(c, isThis, taken, results);
  }
  return results;
}

//===----------------------------------------------------------------------===//
// Calls of other programs
//===----------------------------------------------------------------------===//

/// What stands behind the name of a function that a program calls, and what may
/// be done about it.
static std::string describeCallee(StringRef name) {
  if (name == "Sharding" || name == "SPMDFullToShardShape" ||
      name == "SPMDShardToFullShape" || name.starts_with("xla.sdy."))
    return "shardings without names of axes; lower again with JAX 0.8 or "
           "later, and with jax_use_shardy_partitioner";
  if (name.starts_with("lapack_") || name.starts_with("cusolver_"))
    return "linear algebra, which a graph has no ops for; weft.from_jax writes "
           "out cholesky, triangular_solve, lu and qr of real matrices of up "
           "to "
           "128 columns, and what JAX makes of them; call others outside and "
           "pass their results as arguments, or write them with matmuls, such "
           "as Newton-Schulz iterations for inverses and roots";
  if (name.contains("callback"))
    return "a function of Python, which a plan cannot call; return what it "
           "reads, and remove debugging output and checks";
  if (name == "ApproxTopK" || name == "PartialReduce")
    return "elements that are nearly the largest; use lax.top_k";
  return "a function outside of the program; lower with "
         "lowering_platforms=(\"cpu\",) if it is one of a GPU, and otherwise "
         "call it outside and pass its results as arguments";
}

static Values convertCustomCall(Conversion &c) {
  auto target =
      dyn_cast_or_null<StringAttr>(c.getSource()->getAttr("call_target_name"));
  if (!target) {
    c.malformedAttribute("call_target_name");
    return {};
  }
  StringRef name = target.getValue();
  if (name == "annotate_device_placement") {
    c.getImporter().getProblems().ignored(
        c.loc, "the memory that a value is to be placed in");
    return Values(c.getOperands());
  }
  c.unsupported("@" + name + ": " + describeCallee(name));
  return {};
}

std::vector<Converter> weft::stablehlo::controlFlowConverters() {
  // An op with a result that could not be made still has others.
  constexpr bool takesNull = true;
  return {
      {"func.call", convertCall, {"callee"}, takesNull},
      {"stablehlo.composite",
       convertComposite,
       {"decomposition", "name", "version", "composite_attributes"},
       takesNull},
      {"stablehlo.optimization_barrier", convertBarrier, {}, takesNull},
      {"sdy.propagation_barrier", convertIdentity, {}, takesNull},
      {"sdy.named_computation", convertRegion, {"name"}, takesNull},
      {"stablehlo.if", convertIf},
      {"stablehlo.case", convertCase},
      {"stablehlo.custom_call",
       convertCustomCall,
       {"call_target_name", "api_version", "has_side_effect", "backend_config",
        "called_computations", "operand_layouts", "result_layouts",
        "output_operand_aliases"}},
  };
}
