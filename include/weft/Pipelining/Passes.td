//===- Passes.td - A graph cut into pipeline stages --------*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PIPELINING_PASSES_TD
#define WEFT_PIPELINING_PASSES_TD

include "weft/IR/FormPass.td"

def AssignStages : FormPass<"weft-assign-stages", "Composites"> {
  let summary = "Say which pipeline stage computes each op";
  let description = [{
    **Needs** a graph (form 1) without gradients (`--weft-autodiff`).

    **Does** resolve `weft.stage_boundary`. In an entry with boundaries around
    the ops of a loop over micro-batches it gives every op in `weft.origin` a
    stage and the pass of the stage over a micro-batch: `forward`,
    `input_gradient` (what the cotangents for other stages are computed from)
    or `weight_gradient` (the rest); what is computed once a step has none. An
    op is of the stage of what it is computed from; what depends on no boundary
    (masks, positions, labels) is of the stages that use it, each computing it
    for itself unless that takes a matmul or a parameter larger than what would be
    sent. A sum over micro-batches of what
    several stages compute becomes one sum a stage, and their sum after the
    loop. After the loop an op is of a stage that has what it is computed from:
    the update of a parameter where the parameter is used; what each stage has a
    small part of, such as a norm of all gradients, each computes for itself.
    On the module, `weft.stages` is their number.

    Without `stages` (the option) it takes the boundaries away and assigns
    nothing; sums over micro-batches are split all the same, so that a step with
    and without a pipeline adds the same numbers in the same order.

    **Leaves** a graph without `weft.stage_boundary`.

    **Example** `test/Pipelining/assign-stages.mlir`.
  }];
  let options = [
    Option<"stages", "stages", "int64_t", "0",
           "How many stages there are to be, one more than boundaries; 0: no "
           "pipeline.">
  ];
  let statistics = [
    Statistic<"transfers", "transfers",
              "Number of values that go from stage to stage">
  ];
}

#endif // WEFT_PIPELINING_PASSES_TD
