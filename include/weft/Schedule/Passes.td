//===- Passes.td - From SPMD program to schedule -----------*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SCHEDULE_PASSES_TD
#define WEFT_SCHEDULE_PASSES_TD

include "weft/IR/FormPass.td"

def KeepGathered : FormPass<"weft-keep-gathered", "Spmd"> {
  let summary = "Gather parameters once for all micro-batches";
  let description = [{
    **Needs** an SPMD program.

    **Does** move all-gathers of values that are the same in every iteration of
    a `weft.repeat` in front of it, as those of parameters that rest in shards
    (FSDP), together with what they are computed of. What the backward pass
    gathers again is gathered once. This sends less and holds more; and nothing
    of the loop runs beside it. So it is done only where the cost model expects
    the program to be faster.

    **Leaves** an SPMD program, with the bits of before.

    **Example** `test/Schedule/keep-gathered.mlir`.
  }];
  let options = [
    Option<"cluster", "cluster", "std::string", "\"dgx-h100\"",
           "The machines, by the name of a cluster or a file.">
  ];
  let dependentDialects = ["::weft::WeftDialect"];
  let statistics = [
    Statistic<"numKept", "kept", "All-gathers that were moved out of loops">
  ];
}

def SplitCollectives : FormPass<"weft-split-collectives", "Spmd"> {
  let summary = "Hide collectives behind the matmuls that need or make them";
  let description = [{
    **Needs** an SPMD program.

    **Does** cut all-gathers, reduce-scatters and all-reduces of rows that a
    matmul reads or makes, and all that is computed of rows between two of them,
    into pieces of rows. So the transfer of a piece runs beside the computation
    of another. Each piece is a collective of its own, over the same axes, and
    has the bits that it has in the whole. Pieces lie side by side where all of
    them are needed, as for gradients of weights.

    **Leaves** an SPMD program.

    **Example** `test/Schedule/split-collectives.mlir`.
  }];
  let options = [
    Option<"pieces", "pieces", "int64_t", /*default=*/"0",
           "Cut everything that can be cut into so many pieces; 0: into two "
           "what the cost model expects to gain from.">,
    Option<"cluster", "cluster", "std::string", "\"dgx-h100\"",
           "The machines, by the name of a cluster or a file.">
  ];
  let dependentDialects = ["::weft::WeftDialect"];
  let statistics = [
    Statistic<"numSplit", "split", "Collectives that were cut">
  ];
}

def LowerConvolutions : FormPass<"weft-lower-convolutions", "Spmd"> {
  let summary = "Turn convolutions into ones over strides";
  let description = [{
    **Needs** an SPMD program for CPUs.

    **Does** replace every `weft.convolution` that `--weft-localize` left by a
    `weft.convolve`. Transposes and reshapes of the operands, and of the result
    where it has no other use, are folded into strides, as long as features, or
    the batch of lhs, stay contiguous.

    **Leaves** no `weft.convolution`.

    **Example** `test/Schedule/lower-convolutions.mlir`.
  }];
  let dependentDialects = ["::weft::WeftDialect"];
  let statistics = [
    Statistic<"numLowered", "lowered", "Number of convolutions replaced">
  ];
}

def LowerGemms : FormPass<"weft-lower-gemms", "Spmd"> {
  let summary = "Turn dot_generals into GEMMs over strides";
  let description = [{
    **Needs** an SPMD program.

    **Does** replace every `weft.dot_general` by a `weft.gemm`. Transposes and
    reshapes of the operands, and of the result where it has no other use, are
    folded into strides. Where the dimensions of one kind have no common order
    in which they collapse to one loop, the tensors that cost the fewest bytes
    get a `weft.transpose`.

    **Leaves** GEMMs; no transpose or reshape whose only use was one.

    **Example** `test/Schedule/lower-gemms.mlir`.
  }];
  let dependentDialects = ["::weft::WeftDialect"];
  let statistics = [
    Statistic<"copies", "copied-tensors",
              "Operands and results that need a transpose in memory">
  ];
  let options = [
    Option<"tf32", "tf32", "bool", /*default=*/"false",
           "Let GEMMs round their operands of f32 to 10 bits of mantissa.">
  ];
}

def AccumulateGemms : FormPass<"weft-accumulate-gemms", "Gemms"> {
  let summary = "Add matmuls to sums in place";
  let description = [{
    **Needs** entries whose matmuls are GEMMs.

    **Does** let a GEMM of a `weft.repeat` whose result is only added to a value
    that the loop carries start from that value (the epilogue `accumulate`),
    instead of a kernel that reads both: gradients of weights over
    micro-batches. Of two GEMMs that are only added to each other, the later
    starts from the earlier: gradients of weights that several steps use, whose
    partial sums take one buffer. Zeros that a sum begins with are left out. The
    sum is rounded once where it was rounded twice.

    **Leaves** the same program without these sums.

    **Example** `test/Schedule/accumulate-gemms.mlir`.
  }];
  let dependentDialects = ["::weft::WeftDialect"];
  let statistics = [
    Statistic<"accumulated", "accumulated", "GEMMs that start from a sum">
  ];
}

def FuseEpilogues : FormPass<"weft-fuse-epilogues", "Gemms"> {
  let summary = "Let GEMMs do element-wise work before they store";
  let description = [{
    **Needs** entries whose matmuls are GEMMs, for a CUDA device.

    **Does** give GEMMs the epilogues of cuBLASLt:

    - a GEMM, a bias added to each row, and the GELU with tanh become one,
      and with any other reader of the sums they are written too;
    - a GEMM that is multiplied by the derivative of GELU does that itself,
      and adds up the rows of the result, where that is the gradient of a bias;
    - a GEMM whose operand is also added up over its rows, as the gradient of
      a weight and that of the bias beside it are, does both.

    GELU is known by what it computes, in any order of operations; constants may
    be rounded to their type. Sums are not rounded before the bias or GELU is
    applied to them, else numbers are the same. What a kernel that follows does
    at no cost stays: a bias, or GELU of sums that are needed in any case, is
    fused only where its result is read from memory. A bias needs one batch,
    sums that are written or read need rows of a multiple of 8 elements, and the
    result is of f32, bf16 or f16.

    **Leaves** GEMMs with epilogues; no op that computes what they do.

    **Example** `test/Schedule/fuse-epilogues.mlir`.
  }];
  let dependentDialects = ["::weft::WeftDialect",
                           "::mlir::arith::ArithDialect"];
  let statistics = [
    Statistic<"fused", "fused-gemms", "GEMMs with an epilogue">
  ];
}

def FillConstants : FormPass<"weft-fill-constants", "Gemms"> {
  let summary = "Let kernels write constants of one value";
  let description = [{
    **Needs** an SPMD program.

    **Does** replace a constant tensor of one value, where it is returned,
    multiplied as a matrix or sent, by a broadcast of the value, which becomes a
    kernel: zeros for a momentum are written at run time instead of being stored
    in the plan. Each result of an entry gets a broadcast of its own, which can
    write to where the result must be.

    **Leaves** constants of one value to elementwise ops only.

    **Example** `test/Schedule/fill-constants.mlir`.
  }];
  let dependentDialects = ["::weft::WeftDialect",
                           "::mlir::arith::ArithDialect"];
  let statistics = [
    Statistic<"filled", "filled-constants", "Constants written by kernels">
  ];
}

def RecomputeInKernels : FormPass<"weft-recompute-in-kernels", "Gemms"> {
  let summary = "Recompute in kernels what need not be kept";
  let description = [{
    **Needs** entries whose matmuls are GEMMs.

    **Does** cut each block where the most bytes are alive, and decide what of
    the first half is kept for the second: element-wise ops and broadcasts are
    recomputed by the kernels that use them, from what is kept, where that takes
    fewer bytes (a minimum cut). So a backward pass reads the operand of GELU or
    of a norm, and its statistics, instead of each intermediate result. What a
    GEMM reads is written once more, if a kernel nearby reads what it is made of.
    GEMMs, attention, collectives and reductions are not recomputed. The
    cost model decides: the time that is added, less that of what is no more
    written and read, is at most 0.5 % of that of GEMMs and collectives. Then the
    same where the peak is now, until it does not fall. Where a backward pass is in
    pieces (`--weft-split-collectives`), the slices that it reads are computed from
    slices of what is kept.

    **Leaves** copies of ops in front of their users, behind a `weft.barrier`.

    **Example** `test/Schedule/recompute-in-kernels.mlir`.
  }];
  let dependentDialects = ["::weft::WeftDialect"];
  let options = [
    Option<"onlyLarge", "only-large", "bool", /*default=*/"false",
           "Recompute only values of at least half the bytes of the largest "
           "that can be.">,
    Option<"cluster", "cluster", "std::string", "\"dgx-h100\"",
           "The machines, by the name of a cluster or a file.">
  ];
  let statistics = [
    Statistic<"recomputed", "recomputed-ops", "Ops that are recomputed">,
    Statistic<"savedBytes", "saved-bytes",
              "Bytes by which peaks fall, as estimated">
  ];
}

def ChooseRecomputation : FormPass<"weft-choose-recomputation", "Gemms"> {
  let summary = "Make kernels and their order, with or without recomputation";
  let description = [{
    **Needs** entries whose matmuls are GEMMs.

    **Does** what `--weft-fuse-kernels`, `--weft-hoist-releases` and
    `--weft-start-collectives` do. If `--weft-recompute-in-kernels` finds
    something to recompute, they run a second time, on a copy that recomputes it.
    The copy is taken if, by the cost model and in the order that was made, it is
    worth the time in each entry: 1 % for each 20 % less of the bytes that are alive
    at once beside the states. If it takes longer, by more than 0.1 %, another one is
    tried that recomputes only large values, but for programs of more than 32768 ops,
    for the sake of the time to compile; the better one is taken. Above
    `memory-limit` a copy that holds less is taken whatever it takes, and an order
    that holds no more than the program's for the sake of overlap.

    **Leaves** what `--weft-start-collectives` leaves.

    **Example** `test/Schedule/choose-recomputation.mlir`.
  }];
  let dependentDialects = [
    "::weft::WeftDialect", "::mlir::func::FuncDialect",
    "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"
  ];
  let options = [
    Option<"overlapCollectives", "overlap-collectives", "bool",
           /*default=*/"true",
           "Let collectives run beside computation; otherwise each is waited "
           "for at once.">,
    Option<"memoryLimit", "memory-limit", "int64_t", /*default=*/"0",
           "Bytes of a rank above which fewer bytes are worth any time; 0: "
           "none.">,
    Option<"cluster", "cluster", "std::string", "\"dgx-h100\"",
           "The machines, by the name of a cluster or a file.">
  ];
  let statistics = [
    Statistic<"recomputing", "recomputing", "Whether the copy was taken">
  ];
}

def FuseKernels : FormPass<"weft-fuse-kernels", "Gemms"> {
  let summary = "Group element-wise work, broadcasts and reductions into kernels";
  let description = [{
    **Needs** entries whose matmuls are GEMMs.

    **Does** move every op that is neither a GEMM nor a collective into a
    private function marked `weft.kernel`, together with the ops that it can be
    computed with in one walk over memory, and call it with `weft.launch`.
    Reductions over trailing dimensions stay inside of a kernel (a softmax is
    one); those over leading dimensions and `weft.scatter_add` end it. A full
    reduction is computed from reductions of rows where rows or columns of the
    same value are reduced as well, except for 16-bit types. What
    feeds a collective is not held up by work that does not. A scatter_add of
    bf16 or f16 is formed in f32 and rounded once. Constants, counters and
    positions are computed anew in each kernel, and so is what a conversion
    widens or a constant scales, unless a GEMM or a collective needs it in memory. Conversions are
    made behind slices and broadcasts, not before them. A `weft.barrier` waits for
    the GEMMs and sums behind element-wise ops instead of their results. Equal
    kernels become one function.

    A concat that a collective sends stays one where instructions write its
    pieces: these will lie side by side in its buffer. What has no multiple of
    64 bytes, has a buffer elsewhere, or comes with a kernel that puts it there,
    is the last piece. A slice of what a collective gives stays one where it is a
    range of memory from a multiple of 64 bytes on.

    **Leaves** launches, GEMMs, collectives, and, free of cost, reshapes between
    them, such concats and slices, and constants that are needed in memory.

    **Example** `test/Schedule/fuse-kernels.mlir`.
  }];
  let dependentDialects = [
    "::weft::WeftDialect", "::mlir::func::FuncDialect",
    "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"launches", "launches", "Kernels called">,
    Statistic<"kernels", "kernels", "Distinct kernels">,
    Statistic<"fusedOps", "fused-ops", "Ops that moved into kernels">
  ];
}

def HoistReleases : FormPass<"weft-hoist-releases", "Instructions"> {
  let summary = "Run ops that free memory as soon as they can";
  let description = [{
    **Needs** entries of kernel launches, GEMMs, views and collectives.

    **Does** move a launch, GEMM or collective up to right behind its last
    operand and the last other user of the buffers that it is the last to read,
    if those buffers have at least as many bytes as its results. Programs tend to list the
    updates of all parameters at the end; so each runs when its gradient is
    there, which frees the gradient and lets its reduction start during the
    backward pass.

    **Leaves** the same ops in another order.

    **Example** `test/Schedule/hoist-releases.mlir`.
  }];
  let statistics = [
    Statistic<"hoisted", "hoisted-ops", "Ops moved up">
  ];
}

def StartCollectives : FormPass<"weft-start-collectives", "Instructions"> {
  let summary = "Order the ops so that communication runs beside computation";
  let description = [{
    **Needs** entries of kernel launches, GEMMs, views and collectives.

    **Does** split every collective into `weft.start` and `weft.wait` and put
    the ops of each entry in one order: a collective starts as soon as its
    operand is there, and is waited for right before the first use of its
    result. Ops that lead to a collective go first; otherwise the order is that
    of the program. Of some such orders, which let ops pass each other more or
    less far, the one is taken that the cost model expects to end first, with
    one queue for each level of links, among those that hold no more bytes
    than allowed. A collective that would take the cores that compute, as
    between threads without a core to spare, is waited for at once. All devices run the same program, hence start the same
    collectives in the same order.

    **Leaves** no collective of form 3.

    **Example** `test/Schedule/start-collectives.mlir`.
  }];
  let options = [
    Option<"overlapCollectives", "overlap-collectives", "bool",
           /*default=*/"true",
           "Let collectives run beside computation; otherwise each is waited "
           "for at once.">,
    Option<"arenaGrowth", "arena-growth", "double", /*default=*/"0.05",
           "How many more bytes than in the order of the program may be alive "
           "at once for the sake of overlap, as a fraction of those and of the "
           "arguments; at 0 nothing more, not even one sum that is under way "
           "or what recomputation has spared.">,
    Option<"cluster", "cluster", "std::string", "\"dgx-h100\"",
           "The machines, by the name of a cluster or a file.">
  ];
  let dependentDialects = ["::weft::WeftDialect"];
  let statistics = [
    Statistic<"collectives", "collectives", "Collectives started">
  ];
}

def BatchLaunches : FormPass<"weft-batch-launches", "Schedule"> {
  let summary = "Make one launch of several of the same kernel";
  let description = [{
    **Needs** ordered entries, as `--weft-plan-memory` does.

    **Does** decide, as `--weft-plan-memory` would, which results take over
    buffers, and then make one launch with several sets of arguments of launches
    that have the same kernel, positions and results in place: the casts of
    weights, the updates of parameters. They come together where nothing that
    one of them needs is behind, and nothing that needs one of them is before.
    Launches that move never make the entry need more memory at its peak, and
    only as much work moves ahead of the start of a collective, or behind the wait
    for one, as takes the time of ten launches; nothing else moves. Of kernels with reductions,
    whose blocks may need a workspace, every launch stays on its own. A batch has
    at most as many sets as a GPU has room for among the parameters of a kernel:
    4095 addresses. The block of a loop is a program of its own: launches come
    together within a block.

    **Leaves** `weft.launch` ops with a `batch`.

    **Example** `test/Schedule/batch-launches.mlir`.
  }];
  let options = [
    Option<"onlyLoopInits", "only-loop-inits", "bool", /*default=*/"false",
           "Only bring launches together that fill what a loop begins with: a "
           "plan is then hardly larger for its sums over micro-batches.">,
    Option<"cluster", "cluster", "std::string", "\"dgx-h100\"",
           "The machines, by the name of a cluster or a file.">
  ];
  let dependentDialects = ["::weft::WeftDialect"];
  let statistics = [
    Statistic<"saved", "saved-launches", "Launches that became part of others">
  ];
}

def StartInLoops : FormPass<"weft-start-in-loops", "Schedule"> {
  let summary = "Let reductions of sums begin beside the last iteration";
  let description = [{
    **Needs** ordered entries, as `--weft-plan-memory` does.

    **Does** let collectives of what a loop carries, as those of gradients that
    micro-batches add up, one by one or side by side, start as soon as the last iteration has made it: a
    `weft.start` behind the loop says in `weft.behind` which instruction of the
    loop that is. They come right behind the loop then, in the order in which
    their operands are there. Those that are not written over their operand stay
    behind the loop where the entry would need more memory at its peak, and so
    do those that would take the cores that compute.

    **Leaves** `weft.behind` on `weft.start` ops.

    **Example** `test/Schedule/start-in-loops.mlir`.
  }];
  let options = [
    Option<"cluster", "cluster", "std::string", "\"dgx-h100\"",
           "The machines, by the name of a cluster or a file.">
  ];
  let dependentDialects = ["::weft::WeftDialect"];
  let statistics = [
    Statistic<"started", "started", "Collectives that start in a loop">
  ];
}

def AssignQueues : FormPass<"weft-assign-queues", "Schedule"> {
  let summary = "Let collectives that others need not wait for run beside them";
  let description = [{
    **Needs** ordered entries.

    **Does** put collectives in two queues, in each of which they run one after
    the other: where an entry has collectives on several levels of links, those
    beyond the lowest one are in the second queue; else those that others
    overtake, which start later and are waited for earlier.

    **Leaves** `weft.queue = 1` on `weft.start` ops of the second queue.

    **Example** `test/Schedule/assign-queues.mlir`.
  }];
  let options = [
    Option<"cluster", "cluster", "std::string", "\"dgx-h100\"",
           "The machines, by the name of a cluster or a file.">
  ];
  let statistics = [
    Statistic<"second", "second", "Collectives in the second queue">
  ];
}

def PlanMemory : FormPass<"weft-plan-memory", "Schedule"> {
  let summary = "Give every value an offset in the arena";
  let description = [{
    **Needs** ordered entries: launches, GEMMs, starts and waits, copies, views
    and constants; on kernels, `weft.in_place` with what
    `--weft-find-in-place` finds.

    **Does** put the states at fixed offsets that all entries share, behind them
    the constants, and then, for each entry on its own, everything else where it
    shares bytes with values of disjoint lifetime. A kernel or an all-reduce
    whose operand dies with it writes in place; so is a state updated where
    possible. Elsewhere `weft.copy` ops at the end of the entry move results to
    their buffers, in an order in which no copy overwrites what a later one
    reads. The operands of a concat are side by side in its buffer, or copied
    there if they have another one, or if they are there so early that their
    buffer would make the peak higher, by four times as much as is copied; and a
    slice is a part of a buffer.

    **Leaves** the attribute `weft.offsets` on every op with results (bytes,
    one element a result), `weft.offset` on arguments, `weft.arena_bytes` and
    `weft.liveness_bytes` on entries.

    **Example** `test/Schedule/plan-memory.mlir`.
  }];
  let dependentDialects = ["::weft::WeftDialect"];
  let options = [
    Option<"remarkStatistics", "statistics", "bool", /*default=*/"false",
           "Emit a remark with the bytes of the arena, their ratio to the bytes "
           "that no layout can do without, the copies inserted for results and "
           "the results that take over a buffer.">,
    Option<"copyLarge", "copy-large", "bool", /*default=*/"false",
           "Copy what is there early and lowers the peak, however large it is: "
           "under a limit on memory, where copies are cheaper than "
           "recomputation.">
  ];
}

#endif // WEFT_SCHEDULE_PASSES_TD
