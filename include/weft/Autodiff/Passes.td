//===- Passes.td - Gradients in a graph --------------------*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_AUTODIFF_PASSES_TD
#define WEFT_AUTODIFF_PASSES_TD

include "weft/IR/FormPass.td"

def Autodiff : FormPass<"weft-autodiff", "Gradients"> {
  let summary = "Resolve gradients into forward and backward ops";
  let description = [{
    **Needs** a graph (form 1) without calls (`--weft-inline-calls`).

    **Does** replace every `weft.value_and_grad` by the ops of its function and,
    behind them, the ops of the derivative in reverse order, each asked for
    through `VjpOpInterface`. Values that do not depend on a differentiated
    argument, or do not reach the loss, get no cotangent. `weft.origin` says
    which ops are backward, recompute, or make the gradient of a parameter, and
    `weft.parameter` by which arguments the loss is differentiated. For messages,
    the location of a backward op is `transpose of <file:line>`. A
    function that takes a gradient may be differentiated itself. Ops on the way
    that have no derivative are reported in one error. Where the derivative
    goes through a `weft.checkpoint`, what its policy does not keep is
    recomputed behind a `weft.barrier`. See docs/Autodiff.md.

    **Leaves** a graph without `weft.value_and_grad`, `weft.checkpoint`,
    `weft.checkpoint_name` and `weft.stop_gradient`.

    **Example** `test/Autodiff/autodiff.mlir`.
  }];
  let statistics = [
    Statistic<"numGradients", "gradients", "Number of ops resolved">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::weft::WeftDialect"
  ];
}

def JoinPaddings : FormPass<"weft-join-paddings", "Composites"> {
  let summary = "Make one concatenation of paddings that are added up";
  let description = [{
    **Needs** a graph (form 1) in which all gradients are resolved
    (`--weft-autodiff`).

    **Does** replace, in sums, tensors that zeros were put before and behind of
    along one dimension, at places that do not overlap, by their concatenation,
    with zeros in between. The derivative of a slice is such a padding, so the
    gradient of what was cut in slices, as a fused projection into query, key and
    value, is made without adding zeros, and in one piece. Paddings that
    something else uses stay.

    **Leaves** the same graph, with fewer paddings and sums.

    **Example** `test/Autodiff/join-paddings.mlir`.
  }];
  let statistics = [
    Statistic<"numJoined", "joined", "Number of paddings replaced">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::weft::WeftDialect"
  ];
}

def PlaceBoundaries : FormPass<"weft-place-boundaries", "Gradients"> {
  let summary = "Cut what is differentiated into pipeline stages";
  let description = [{
    **Needs** a graph (form 1) without calls (`--weft-inline-calls`) and without
    stage boundaries.

    **Does** put a `weft.stage_boundary` before each of the regions that
    `regions` lists, on what leads there from the regions before. Regions
    are those of `--weft-checkpoint-regions`; the first one has no boundary.

    **Leaves** the same graph, with boundaries.

    **Example** `test/Autodiff/place-boundaries.mlir`.
  }];
  let options = [
    ListOption<"regions", "regions", "int64_t",
               "The first regions of all stages but the first, ascending.">
  ];
}

def CheckpointRegions : FormPass<"weft-checkpoint-regions", "Gradients"> {
  let summary = "Cut what is differentiated into regions, and recompute some";
  let description = [{
    **Needs** a graph (form 1) without calls (`--weft-inline-calls`).

    **Does** cut each function that an entry takes a `weft.value_and_grad` of
    where a single value leads from the ops before to those behind, at most once
    between two matmuls; number the regions through all such functions,
    in `weft.origin` of their ops; and move the ops of each range of regions that
    `ranges` lists into a function that a `weft.checkpoint` calls. Ranges are
    disjoint or lie within each other. What depends on no argument is copied to
    each region that uses it.

    **Leaves** the same graph, with checkpoints, and on the module
    `weft.chains`: for each function the number of its regions and how often it
    is called.

    **Example** `test/Autodiff/checkpoint-regions.mlir`.
  }];
  let options = [
    ListOption<"ranges", "ranges", "std::string",
               "Regions to recompute in the backward pass: 2:5 keeps of the "
               "regions 2, 3 and 4 what goes into region 2, 3:4:dots keeps of "
               "region 3 the results of matmuls as well.">
  ];
  let dependentDialects = ["::mlir::func::FuncDialect", "::weft::WeftDialect"];
}

#endif // WEFT_AUTODIFF_PASSES_TD
