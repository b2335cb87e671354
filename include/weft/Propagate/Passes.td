//===- Passes.td - From graph to sharded graph -------------*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PROPAGATE_PASSES_TD
#define WEFT_PROPAGATE_PASSES_TD

include "weft/IR/FormPass.td"

def SplitConstants : FormPass<"weft-split-constants", "Graph"> {
  let summary = "Give every use of a constant expression its own copy";
  let description = [{
    **Needs** a graph (form 1).

    **Does** copy each constant expression (a constant, an iota, a scalar that
    is broadcast, or an op of pass-through math, a broadcast, reshape, transpose
    or slice of constant expressions only) once for each use by another op, so
    that propagation does not carry the sharding of one use to another: a
    learning rate that two parameters of one shape share does not make them
    sharded alike. Tensors of rank 0 are shared.

    **Leaves** a graph that computes the same. Duplicates that end with equal
    shardings are for CSE to join.

    **Example** `test/Propagate/split-constants.mlir`.
  }];
  let statistics = [
    Statistic<"numCopies", "copies", "Number of ops copied">
  ];
}

def Propagate : Pass<"weft-propagate", "::mlir::ModuleOp"> {
  let summary = "Complete the shardings of a program";
  let description = [{
    **Needs** a graph (form 1): shardings on some arguments and results, and
    constraints. Constants are best split before (`--weft-split-constants`).

    **Does** propagate them to every value, by user priority, then op priority,
    then program order, as described in docs/Sharding.md. The occurrences of a
    state (a name that is an argument of one entry and a result of one) in all
    entries are one value, so they end with one sharding. A module without a
    mesh gets the mesh of one device.

    **Leaves** a sharded graph (form 2): every value has a sharding, closed in
    every dimension; what nothing reached is replicated. Unreduced axes of
    annotations are kept.

    **Example** `test/Propagate/propagate.mlir`.
  }];
  let options = [
    Option<"strategy", "strategy", "::weft::propagation::Strategy",
           "::weft::propagation::Strategy::Aggressive",
           "How conflicts between the tensors of an op are resolved.",
           [{::llvm::cl::values(
             clEnumValN(::weft::propagation::Strategy::Basic, "basic",
                        "All tensors take the axes that suit every one"),
             clEnumValN(::weft::propagation::Strategy::Aggressive,
                        "aggressive", "Each tensor takes what suits itself"),
             clEnumValN(::weft::propagation::Strategy::BasicThenAggressive,
                        "basic-then-aggressive",
                        "Each round runs basic, then aggressive"))}]>,
    Option<"conservative", "conservative", "bool", "false",
           "Spread full axes only, never sub-axes.">,
    Option<"allowUneven", "allow-uneven", "bool", "true",
           "Let axes spread to dimensions that they do not divide.">,
    Option<"explain", "explain", "bool", "false",
           "Report as a remark, for each axis of each value, the annotation it "
           "came from and the last op on the way.">,
    Option<"provenance", "provenance", "bool", "false",
           "Leave with each value, in `weft.provenance`, the annotation that "
           "each of its axes came from and the ops on the way.">
  ];
  let statistics = [
    Statistic<"numVisits", "visits", "Number of visits to ops and ties">,
    Statistic<"numUpdates", "updates", "Number of changes of a sharding">
  ];
  let dependentDialects = ["::weft::WeftDialect"];
}

#endif // WEFT_PROPAGATE_PASSES_TD
