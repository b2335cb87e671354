//===- Passes.td - A graph cut into pipeline stages --------*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PIPELINING_PASSES_TD
#define WEFT_PIPELINING_PASSES_TD

include "weft/IR/FormPass.td"

def SplitBatch : FormPass<"weft-split-batch", "Composites"> {
  let summary = "Make micro-batches of a whole batch";
  let description = [{
    **Needs** a graph (form 1) without gradients (`--weft-autodiff`).

    **Does** make a loop over micro-batches of a training step that computes its
    loss and gradients of a whole batch, in every entry that has no such loop;
    beside an entry that changes states, only in those that do.
    The batch is what arguments that no result replaces have along their first
    dimension; row r is in micro-batch r % n. The sharding rules of ops say how
    rows go through them: ops that keep rows apart are computed for those of a
    micro-batch, sums over rows become `weft.microbatch_sum`, what is left of
    rows in the end `weft.microbatch_stack`. What is computed from sums is
    computed behind the loop. What depends on the batch but on no state, and
    takes no matmul, may be needed as a whole (the number of tokens that a mask
    leaves, which a sum is divided by): it is computed before the loop. So the
    step has the results that it had, but for the order of its sums.

    Anything else is an error that names the op and the line: a value of all
    rows that the loop needs (a batch norm), and what is computed from several
    rows and is no sum (a maximum over the batch).

    **Leaves** the same graph, with loops.

    **Example** `test/Pipelining/split-batch.mlir`.
  }];
  let options = [
    Option<"microbatches", "microbatches", "int64_t", "1",
           "How many micro-batches there are to be.">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::weft::WeftDialect"
  ];
}

def CutLoops : FormPass<"weft-cut-loops", "Composites"> {
  let summary = "Cut a loop over micro-batches into pipeline stages";
  let description = [{
    **Needs** a graph (form 1) without gradients (`--weft-autodiff`), and without
    stage boundaries.

    **Does** what `--weft-checkpoint-regions` and `--weft-place-boundaries` do for
    what `weft.value_and_grad` differentiates, for loops over micro-batches that
    were differentiated before (by JAX) and for those without gradients, in
    every entry with one loop. What results other than gradients are computed
    from, the way forward, is cut where a single value that depends on a
    parameter leads from the ops before to those behind, at most once between
    two matmuls. Parameters are the arguments with `weft.parameter`; without
    any, the floats that all micro-batches use. An op of the way back is of the
    last region that has all that it is computed from: a value of the way
    forward is in the regions from where it is made to where it is used, a
    parameter is in the one that uses it. Where a single cotangent goes back
    then, the ops behind it that lead to gradients of the region before are of
    that one: the derivative of an activation, and the gradient of a bias. Cuts
    that the way back does not have are dropped: those where a cotangent has the
    type of no value that goes forward, or where an op takes a value that the
    way forward makes behind the cut.

    Without `regions` (the option) it numbers the regions in `weft.origin`, and
    notes on the module as `weft.chains` how many there are in each loop. With
    them it puts a `weft.stage_boundary` on what goes from stage to stage, at
    each stage in between as well, and on each cotangent that goes back one of a
    boundary of its type. Gradients are summed in the stages that compute them.

    Errors are a boundary in the model, a loop with gradients of no known
    parameter, one without results other than gradients, and a region that the
    loop does not have.

    **Leaves** the same graph, with regions or boundaries.

    **Example** `test/Pipelining/cut-loops.mlir`.
  }];
  let options = [
    ListOption<"regions", "regions", "int64_t",
               "The first regions of all stages but the first, ascending.">
  ];
}

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
    On the module, `weft.stages` is their number, and with `axis`
    `weft.pipeline` the pipeline that they are of. A module that has
    `weft.stages` was read from a text of this form, and is left as it is.

    Without `stages` (the option) and without `axis`, the stages that the
    boundaries make are assigned as well, until shardings are chosen
    (`--weft-remove-stages`), so that a step adds the same numbers in the same
    order with a pipeline and without. In an entry that cannot be a pipeline the
    boundaries are only taken away.

    An entry without a loop, beside one that has stages (it initializes or
    evaluates what the other trains), has its states in the stages of the other.
    What is behind boundaries is of the stage that they begin, all else is
    computed as what is once a step.

    **Leaves** a graph without `weft.stage_boundary`.

    **Example** `test/Pipelining/assign-stages.mlir`.
  }];
  let options = [
    Option<"stages", "stages", "int64_t", "0",
           "How many stages there are to be, one more than boundaries; 0: no "
           "pipeline.">,
    Option<"axis", "axis", "std::string", "\"\"",
           "A mesh axis: there are as many stages as it has devices, times "
           "`chunks`.">,
    Option<"chunks", "chunks", "int64_t", "0",
           "Stages of each rank along the axis; 0: as boundaries make.">,
    Option<"schedule", "schedule", "std::string", "\"1f1b\"",
           "A published schedule: docs/Pipelines.md lists them; auto: the "
           "compiler chose the table.">,
    Option<"table", "table", "std::string", "\"\"",
           "A table of actions in place of the schedule, as CSV. It may give "
           "ranks different numbers of stages.">,
    Option<"tableName", "table-name", "std::string", "\"the table\"",
           "What messages call the table.">,
    Option<"ownCopies", "own-copies", "bool", "true",
           "Let every role update its copy of a parameter that several have, "
           "where that takes less time than to send it what an owner "
           "updates; false: the owner alone has the optimizer's states.">
  ];
  let statistics = [
    Statistic<"transfers", "transfers",
              "Number of values that go from stage to stage">
  ];
}

def SplitTransfers : FormPass<"weft-split-transfers", "Localized"> {
  let summary = "Send a part from each rank instead of copies";
  let description = [{
    **Needs** a program of local shapes (`--weft-localize`) whose ops have
    stages (`--weft-assign-stages=axis=pipe`).

    **Does** look for values that a stage sends to another one for each
    micro-batch and that several of its ranks hold alike, as those of tensor
    parallelism do. Where it takes less time, each of them sends a part, and the
    ranks of the other stage put the whole together by an all-gather.

    **Leaves** the same program; without a pipeline there is nothing to do.

    **Example** `test/Pipelining/split-transfers.mlir`.
  }];
  let options = [
    Option<"cluster", "cluster", "std::string", "\"dgx-h100\"",
           "The machines, by the name of a cluster or a file.">
  ];
  let statistics = [
    Statistic<"transfers", "transfers",
              "Number of values that are sent in parts">
  ];
}

def RemoveStages : FormPass<"weft-remove-stages", "Localized"> {
  let summary = "Forget the stages of a program without a pipeline";
  let description = [{
    **Needs** a program whose shardings are chosen.

    **Does** take the stages (`--weft-assign-stages`) from `weft.origin`, so that
    what several stages compute, each for itself, can be computed once
    (`--weft-join-equal-ops`). Those of a pipeline stay.

    **Leaves** a program without stages, or with a pipeline.

    **Example** `test/Pipelining/remove-stages.mlir`.
  }];
}

def RemovePipeline : FormPass<"weft-remove-pipeline", "Graph"> {
  let summary = "Let all ranks compute what a pipeline would";
  let description = [{
    **Needs** a graph (form 1).

    **Does** take `weft.pipeline` from the module. The stages stay until
    shardings are chosen (`--weft-remove-stages`), so that all sums are those of
    the pipeline, in its order: results have the same bits.

    **Leaves** the same graph.

    **Example** `test/Pipelining/remove-pipeline.mlir`.
  }];
}

def FormTimelines : FormPass<"weft-form-timelines", "Localized"> {
  let summary = "Make segments of the stages of a pipeline, and timelines";
  let description = [{
    **Needs** a program of local shapes (`--weft-localize`) whose ops have
    stages (`--weft-assign-stages=axis=pipe`), before its loop over
    micro-batches is formed.

    **Does** make a function, a segment, of what each stage computes without
    interruption: its forward pass, its input and its weight gradients (one
    segment where the schedule runs them together), and what each role computes
    once a step, in levels where it waits for others in between. What a segment
    leaves for others is a state, with as many slots as there are micro-batches
    in flight. The entry becomes a declaration with a timeline: for each role
    the actions of the schedule, with sends and receives. Views, parts of the
    batch and what depends on no value of the program are recomputed where
    they are used. A parameter that several roles have is updated by one of
    them, which sends it to the others, or by each, whichever takes less time
    (a copy each takes the memory of the optimizer's states each as well).
    Without a pipeline there is nothing to do. All of an entry
    without a loop is done once, behind passes over one micro-batch that do
    nothing.

    **Leaves** a program without loops over micro-batches.

    **Example** `test/Pipelining/form-timelines.mlir`.
  }];
  let options = [
    Option<"microbatches", "microbatches", "int64_t", "0",
           "How many micro-batches the loop must have; 0: any number.">,
    Option<"cluster", "cluster", "std::string", "\"dgx-h100\"",
           "The machines, by the name of a cluster or a file.">
  ];
  let statistics = [
    Statistic<"segments", "segments", "Number of segments">,
    Statistic<"messages", "messages",
              "Number of messages between roles, those of different "
              "micro-batches counted once">
  ];
}

#endif // WEFT_PIPELINING_PASSES_TD
