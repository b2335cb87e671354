//===- Passes.td - Passes over any form --------------------*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_PASSES_TD
#define WEFT_IR_PASSES_TD

include "weft/IR/FormPass.td"

def InlineCalls : FormPass<"weft-inline-calls", "Calls"> {
  let summary = "Replace calls by the bodies of functions";
  let description = [{
    **Needs** a graph (form 1) in which functions may call private functions.

    **Does** replace every `func.call` by a copy of the body of the function
    called. The copies' locations name both lines. A sharding of an argument or
    result of a private function becomes a `weft.constraint` in its body. A
    function that calls itself, directly or through others, is an error, as is a
    call of a public function.

    **Leaves** a graph without calls; private functions stay for other ops to
    name (`weft.value_and_grad`) and for `--symbol-dce` to remove.

    **Example** `test/IR/inline-calls.mlir`.
  }];
  let statistics = [
    Statistic<"numInlined", "inlined", "Number of calls replaced">
  ];
  let dependentDialects = ["::weft::WeftDialect"];
}

def JoinEqualOps : Pass<"weft-join-equal-ops", "::mlir::ModuleOp"> {
  let summary = "Compute equal expressions once, whatever they are for";
  let description = [{
    **Needs** any form.

    **Does** what `--cse` does, but compares ops without `weft.origin` and
    `weft.numbered`: what the
    forward and the backward pass both compute is computed in the forward pass.
    The op that stays is also the gradient that one joined with it was.

    **Leaves** the same form, without pure ops that are equal.

    **Example** `test/IR/join-equal-ops.mlir`.
  }];
}

def HoistCasts : FormPass<"weft-hoist-casts", "Composites"> {
  let summary = "Cast to narrower types once for all micro-batches";
  let description = [{
    **Needs** a graph (form 1) in which all gradients are resolved
    (`--weft-autodiff`): those of casts are summed in the wider type.

    **Does** replace the cast of `weft.microbatch_use` to a narrower type, if a
    matmul takes it, by the use of a cast, through constraints, names and
    barriers. Other ops cast what they read in their own kernel. A parameter in f32
    that matmuls take in bf16 is then cast once a step, rather than twice for
    each micro-batch; and no stage of a pipeline keeps the cast for each
    micro-batch that is on its way.

    **Leaves** the same graph, with casts before the loops over micro-batches.

    **Example** `test/IR/hoist-casts.mlir`.
  }];
  let statistics = [
    Statistic<"numHoisted", "hoisted", "Number of casts">
  ];
}

def Decompose : FormPass<"weft-decompose", "Composites"> {
  let summary = "Replace composites by the ops that they consist of";
  let description = [{
    **Needs** a graph (form 1) in which all gradients are resolved
    (`--weft-autodiff`): the derivative of a composite keeps less than those of
    its parts would.

    **Does** replace every op that implements `DecompositionOpInterface`, such as
    `weft.softmax` and `weft.cross_entropy`, by the ops it is made of. These have
    the op's location. What the derivatives compute in the same way, a mean or a
    logarithm of a sum, CSE joins with it afterwards.

    **Leaves** a graph without composites, or only with those that
    `keep-cpu-instructions` and `keep-windows` keep.

    **Example** `test/IR/decompose.mlir`.
  }];
  let options = [
    Option<"keepCpuInstructions", "keep-cpu-instructions", "bool",
           /*default=*/"false",
           "Leave composites that plans for CPUs have an instruction for.">,
    Option<"keepWindows", "keep-windows", "bool", /*default=*/"false",
           "Leave convolutions and reductions of windows, which are split over "
           "devices as they are.">
  ];
  let statistics = [
    Statistic<"numDecomposed", "decomposed", "Number of composites replaced">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::weft::WeftDialect"
  ];
}

def ExpandAttention : FormPass<"weft-expand-attention", "Composites"> {
  let summary = "Write attention with other ops";
  let description = [{
    **Needs** a graph (form 1) with `weft.attention` or `weft.attention_grad`; it
    may have stage boundaries.

    **Does** replace them by matmuls, a softmax and a mask: what they
    mean. The matrices of all scores are then values of the graph. Attention is an
    instruction of plans; the pipeline runs this pass for what CUDA devices have
    no attention kernels for: heads of more than 256 elements.

    **Leaves** a graph without attention, or without attention with larger heads
    than `heads-up-to`.

    **Example** `test/IR/expand-attention.mlir`.
  }];
  let statistics = [
    Statistic<"expanded", "expanded", "Number of ops replaced">
  ];
  let options = [
    Option<"headsUpTo", "heads-up-to", "int64_t", /*default=*/"0",
           "Leave attention whose heads have at most so many elements.">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::weft::WeftDialect"
  ];
}

def ExpandGroupedDots : FormPass<"weft-expand-grouped-dots", "Composites"> {
  let summary = "Write matmuls of groups of rows with other ops";
  let description = [{
    **Needs** a graph (form 1) with `weft.grouped_dot` or `weft.grouped_outer`.

    **Does** replace them by one matmul over all groups, in which the rows of
    other groups are zeros: as many times the work as there are groups. They are
    instructions of plans for CPUs; the pipeline runs this pass for CUDA devices.

    **Leaves** a graph without them.

    **Example** `test/IR/expand-grouped-dots.mlir`.
  }];
  let statistics = [
    Statistic<"expanded", "expanded", "Number of ops replaced">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::weft::WeftDialect"
  ];
}

def NumberValues : FormPass<"weft-number-values", "Graph"> {
  let summary = "Number the values that a verified run compares";
  let description = [{
    **Needs** a graph (form 1).

    **Does** give every op `weft.numbered`: the number of its first result, what
    its results were before dimensions are padded, and how its rounding errors
    are bounded: `sum` with the number of terms, `attention`, or `element`. Ops of
    constants alone have none, nor have those whose result is an operand again: a
    broadcast, a constraint, a barrier, a name, a use in each micro-batch.

    **Leaves** the same graph. The numbers depend on neither shardings nor the
    mesh, nor on whether it is a pipeline.

    **Example** `test/IR/number-values.mlir`.
  }];
}

def IsolateOps : FormPass<"weft-isolate-ops", "Graph"> {
  let summary = "Let one device compute every op on operands that it is given";
  let description = [{
    **Needs** a graph (form 1) after `--weft-number-values`.

    **Does** make the reference of a verified run: every function takes, beside
    its arguments, the value of each number that an op uses, and returns the value
    of each number in place of its results. So each op is computed on what the
    ranks computed it on, and errors of earlier ops are not seen in later ones. A
    value that each micro-batch has is taken and returned for all of them, stacked
    along a first dimension. Shardings and constraints are removed, and the mesh has one device.

    **Leaves** a graph of one device, with arguments `weft.given N` and results
    `weft.value N`.

    **Example** `test/IR/isolate-ops.mlir`.
  }];
  let dependentDialects = ["::weft::WeftDialect"];
}

def PrintShardingRules : Pass<"weft-print-sharding-rules"> {
  let summary = "Report the sharding rule of every op as a remark";
  let description = [{
    **Needs** a graph (form 1 or 2).

    **Does** emit one remark an op that implements `ShardingRuleOpInterface`:
    the rule, the kinds of its factors, and the op's linearity.

    **Leaves** the module as it is. A debugging aid, for authors of ops.

    **Example** `test/IR/dot-general-rule.mlir`.
  }];
}

def PrintOpInterfaces : Pass<"weft-print-op-interfaces", "::mlir::ModuleOp"> {
  let summary = "Report what is known of each op of graphs as a remark";
  let description = [{
    **Needs** any module; what is in it does not matter.

    **Does** emit one remark for each op that a graph may hold, in the order of
    their names: whether it states a sharding rule, a decomposition, a
    derivative.

    **Leaves** the module as it is. A debugging aid, for authors of ops.

    **Example** `test/IR/print-op-interfaces.mlir`.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::weft::WeftDialect"
  ];
}

#endif // WEFT_IR_PASSES_TD
