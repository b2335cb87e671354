//===- Passes.td - From sharded graph to SPMD program ------*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PARTITION_PASSES_TD
#define WEFT_PARTITION_PASSES_TD

include "weft/IR/FormPass.td"

def JoinSlices : FormPass<"weft-join-slices", "Graph"> {
  let summary = "Make one move of slices that are put together";
  let description = [{
    **Needs** a sharded graph.

    **Does** make one `weft.rearrange` of a `weft.concat` and the slices along
    its dimension that it puts together, with zeros between them or not, where
    an axis splits the dimension: a roll, the pieces of a dimension in another
    order, a window that goes on by some elements.

    **Leaves** a sharded graph; slices that nothing else uses are gone.

    **Example** `test/Partition/join-slices.mlir`.
  }];
  let dependentDialects = ["::weft::WeftDialect"];
}

def InterleaveWeights : FormPass<"weft-interleave-weights", "Graph"> {
  let summary = "Order the columns of a weight so that slices are local";
  let description = [{
    **Needs** a sharded graph.

    **Does** give the columns of a weight another order where all that is made of
    the matmul are slices along them, and an axis splits them: a block of each
    slice, then the next block of each, as many as there are shards. A device
    then makes its block of every slice itself. What is as long as a row and is
    added to the matmul, such as a bias, is ordered alike; so is what a
    `weft.concat` puts together along such a dimension for matmuls and sums,
    whose results are brought back to the order of the program. Rows of the
    weight are exchanged (`weft.rearrange`) instead of rows of the batch, in the
    shards in which the weight is held, outside of the loop over micro-batches.
    It is done where the exchange takes less time, forward and backward each for
    themselves.

    **Leaves** a sharded graph.

    **Example** `test/Partition/interleave-weights.mlir`.
  }];
  let options = [
    Option<"cluster", "cluster", "std::string", "\"dgx-h100\"",
           "The machines, by the name of a cluster or a file.">
  ];
  let dependentDialects = ["::weft::WeftDialect"];
}

def PadDimensions : FormPass<"weft-pad-dimensions", "Graph"> {
  let summary = "Pad dimensions that their axes do not divide";
  let description = [{
    **Needs** a sharded graph.

    **Does** give dimensions that some value has in a number of shards that does
    not divide them elements behind the last one, and makes ops compute with
    them:

    - Dimensions that ops walk together, in whatever number of shards each is
      held, get one padded size: the least that all those numbers divide. An op
      works on the padded size if its result, or an operand, is padded.
    - Padding holds anything, and zeros in arguments and results. Where it would
      be added up, `weft.mask_padding` replaces it by what changes nothing: in
      operands of reductions, of contractions and of `weft.scatter_add`.
      Padding known to be zeros is not replaced. Indices of `weft.gather` are
      limited to the elements, integer divisors in the padding become 1.
    - What an op cannot walk with padding (a dimension that a reshape joins with
      others or takes apart, what `weft.concat` and `weft.pad` put together, the
      keys of `weft.attention`) it gets cut to its elements, and whole; its
      result is padded again.

    A dimension with fewer elements than shards is an error.

    **Leaves** a sharded graph in which axes divide all dimensions. Arguments and
    results that were padded have their type as `weft.global_type`.

    **Example** `test/Partition/pad-dimensions.mlir`.
  }];
  let dependentDialects = ["::weft::WeftDialect", "::mlir::arith::ArithDialect"];
  let statistics = [
    Statistic<"masks", "masks", "Masks inserted">
  ];
}

def OptimizeShardings : FormPass<"weft-optimize-shardings", "Graph"> {
  let summary = "Choose shardings by cost over the whole graph";
  let description = [{
    **Needs** a sharded graph in which axes divide all dimensions.

    **Does** choose how every op is split, so that the predicted time of moving
    data and of computing is least over the whole function. Propagation's answer
    is the start, and stays where nothing better is found. Where latencies of
    all-reduces count, it is chosen again, as if these had none and knowing which
    join another call; the best is kept, by the calls that are left when
    collectives are combined.
    Shardings of arguments, results and constraints stay as they are. An axis may
    split what is walked together with something that it splits already.

    **Leaves** a sharded graph in which every op has the shardings in which it
    takes its operands, `weft.operand_shardings`, and leaves its results,
    `weft.shardings`.

    **Example** `test/Partition/optimize-shardings.mlir`.
  }];
  let options = [
    Option<"dumpNetwork", "dump-network", "std::string", /*default=*/"",
           "File to write the choices, their costs and the solution to, as "
           "JSON.">,
    Option<"maxTable", "max-table", "int64_t", /*default=*/"262144",
           "Entries of the largest table of costs that is made. Where more "
           "would be needed, choices that look worst are given up.">,
    Option<"combined", "combined", "bool", /*default=*/"true",
           "Collectives are combined afterwards: several all-reduces may have "
           "one latency.">,
    Option<"sumsInFloat32", "sums-in-float32", "bool", /*default=*/"false",
           "Gradients of 16 bits are summed over devices in 32 "
           "(--weft-apply-reduce-dtype).">,
    Option<"cluster", "cluster", "std::string", "\"dgx-h100\"",
           "The machines, by the name of a cluster or a file.">
  ];
  let dependentDialects = ["::weft::WeftDialect"];
  let statistics = [
    Statistic<"variables", "variables", "Choices that depend on each other">,
    Statistic<"planned", "planned-reshards",
              "Different reshards that were planned">
  ];
}

def InsertReshards : FormPass<"weft-insert-reshards", "Graph"> {
  let summary = "Make every op computable on the parts that devices hold";
  let description = [{
    **Needs** a sharded graph. A value without a sharding counts as replicated.

    **Does** choose, for every op, the axes that split each of its factors, and
    inserts a `weft.reshard` where an operand is not held that way:

    - A factor that all tensors of the op split alike stays as it is; so does a
      contracted or reduced factor that all operands split alike. For the others
      the cheapest choice among what the tensors have is taken: the time of the
      reshards of operands and results, plus that of computing. Ties go to the
      result's choice, then to the first operand's.
    - A split of a contracted or reduced factor leaves the result unreduced. The
      reduction is placed where a user wants the value, in the sharding that it
      wants: as a reduce-scatter if it wants it split.
    - Ops that commute with the sum run on the partial sums, where that costs no more
      bytes and these have no other use.
    - A value resharded to one sharding is resharded once; a further sharding is
      made from whichever version is nearest.
    - What was converted to a wider type moves in the narrow one and is
      converted where it is needed; reductions stay in the wide type.

    Dimensions that their axes do not divide are errors, all of them reported
    at once; `--weft-pad-dimensions` leaves none.

    **Leaves** a sharded graph in which every op has the operands it needs and
    every result is marked with the sharding in which the op leaves it. No
    `weft.constraint`; no op without use.

    **Example** `test/Partition/insert-reshards.mlir`.
  }];
  let options = [
    Option<"largeTensorBytes", "large-tensor-bytes", "int64_t",
           /*default=*/"268435456",
           "Warn of tensors of at least this size that are gathered whole "
           "without a constraint that asks for it, or replicated although "
           "there are axes that divide them. 0 turns the warnings off.">,
    Option<"cluster", "cluster", "std::string", "\"dgx-h100\"",
           "The machines, by the name of a cluster or a file.">
  ];
  let dependentDialects = ["::weft::WeftDialect"];
  let statistics = [
    Statistic<"reshards", "reshards", "Reshards inserted">,
    Statistic<"deferred", "deferred-reductions",
              "Ops that run on partial sums, before the reduction">,
    Statistic<"planned", "planned-reshards",
              "Different reshards that were planned">
  ];
}

def ApplyReduceDtype : FormPass<"weft-apply-reduce-dtype", "Graph"> {
  let summary = "Form and reduce partial sums of gradients in f32";
  let description = [{
    **Needs** a sharded graph after `--weft-insert-reshards`.

    **Does** give the partial sums of every gradient of 16-bit floats that is summed over
    devices the type f32: the matmul or sum that makes them has its result in
    f32, so have the linear ops that they pass through and the reshard that adds
    them up, and the sum is rounded once. A gradient is what `weft.origin` says is
    one, and all partial sums that are added to it: autodiff says so, and the
    import of a step that donates its parameters. A program in which no value is
    marked so is an error, and a parameter without a gradient a warning.
    Where a sum that became f32 is added to another of the same kind, as the
    gradients of two uses of a parameter are, both are added up first and summed
    over devices once.
    A matmul whose result is a gradient of one replica, and is only widened and
    summed over micro-batches, has its result in f32 as well.

    **Leaves** a sharded graph with the same reshards, those of gradients on f32.
    Partial sums that a function returns keep their type.

    **Example** `test/Partition/apply-reduce-dtype.mlir`.
  }];
  let dependentDialects = ["::weft::WeftDialect", "::mlir::arith::ArithDialect"];
  let statistics = [
    Statistic<"sums", "sums", "Sums over devices that are in f32">
  ];
}

def ObserveValues : FormPass<"weft-observe-values", "Graph"> {
  let summary = "Return the values that a verified run compares";
  let description = [{
    **Needs** a sharded graph after `--weft-insert-reshards`, with the numbers that
    `--weft-number-values` gave ops.

    **Does** return every numbered value, and what each `weft.reshard` makes of
    one, in the sharding that it has: partial sums stay partial sums, and nothing
    is moved. `weft.observed` says of each such result which value it is, and which
    others it is made of. One that the function returns anyway gets this attribute
    alone. A value that each micro-batch has is returned for all of them, stacked
    along a first dimension that no axis splits, in a pipeline by its stage.

    **Leaves** a sharded graph whose functions have more results. They live to the
    end, so kernels write what they would otherwise keep in registers; which ops
    are split how, and which collectives there are, is decided before. Where a
    value is padded, padding of its result holds anything.

    **Example** `test/Partition/observe-values.mlir`.
  }];
  let dependentDialects = ["::weft::WeftDialect"];
}

def Localize : FormPass<"weft-localize", "Graph"> {
  let summary = "Turn global shapes into local ones and reshards into collectives";
  let description = [{
    **Needs** a sharded graph after `--weft-insert-reshards`.

    **Does** give every value the type of the shard that a device holds, and
    lower each `weft.reshard` to the cheapest sequence of collectives. A
    collective carries its cause: the value, the two shardings, and who wanted
    the second. A value that becomes unreduced is kept by position 0 and
    replaced by the neutral element elsewhere. `weft.iota` along a split
    dimension starts at the device's offset. `weft.gather` and `weft.slice`
    from a split dimension take zeros for what other devices hold, and
    `weft.scatter_add` to one drops what belongs to others.

    **Leaves** an SPMD program: local types everywhere; arguments and results of
    functions keep `weft.sharding` and get `weft.global_type`.

    **Example** `test/Partition/localize.mlir`.
  }];
  let options = [
    Option<"keepCpuInstructions", "keep-cpu-instructions", "bool",
           /*default=*/"false",
           "Leave convolutions that plans for CPUs have an instruction for.">,
    Option<"cluster", "cluster", "std::string", "\"dgx-h100\"",
           "The machines, by the name of a cluster or a file.">
  ];
  let dependentDialects = ["::weft::WeftDialect", "::mlir::arith::ArithDialect"];
  let statistics = [
    Statistic<"allGathers", "all-gathers", "All-gathers">,
    Statistic<"reduceScatters", "reduce-scatters", "Reduce-scatters">,
    Statistic<"allReduces", "all-reduces", "All-reduces">,
    Statistic<"allToAlls", "all-to-alls", "All-to-alls">,
    Statistic<"permutes", "permutes", "Permutes">,
    Statistic<"exchanges", "exchanges", "Exchanges">,
    Statistic<"wireBytes", "wire-bytes",
              "Bytes that a device sends in all entries, each run once">
  ];
}

def FormMicrobatchLoops
    : FormPass<"weft-form-microbatch-loops", "Localized"> {
  let summary = "Make loops of what is computed for each micro-batch";
  let description = [{
    **Needs** a program with local types, after `--weft-localize`.

    **Does** gather what depends on a `weft.microbatch_slice` or
    `weft.microbatch_use` into a `weft.repeat`. It carries the sums and stacks,
    and the number of the micro-batch where an op needs it: a slice becomes a
    `weft.gather` at this number. What is computed of constants alone, such as a
    mask, is computed in the loop that uses it. Sums begin with -0.0, which
    changes no bit of what is added.

    **Leaves** an SPMD program.

    **Example** `test/Partition/form-microbatch-loops.mlir`.
  }];
  let dependentDialects = ["::weft::WeftDialect", "::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"loops", "loops", "Loops made">];
}

def CombineCollectives : FormPass<"weft-combine-collectives", "Localized"> {
  let summary = "Make one collective of several small ones";
  let description = [{
    **Needs** a program with local types, after `--weft-localize`.

    **Does** replace small all-reduces, all-gathers and reduce-scatters by one
    over the same axes, of the same kind, reduction and element type, in one
    block: the operands are concatenated, and each result is a slice of the
    combined one. A call costs a latency; copying small tensors costs less, and
    sums need no copies.

    Which ones become one is chosen by the cost model: their operands are made,
    or their results needed, at estimated times, and the last call shall end
    first, with the fewest calls. So what the backward pass hides is sent in
    large parts, and what nothing hides begins early. Where collectives take the
    cores that compute, none is hidden, and all of them shall take the least
    time. More than an eighth of all bytes that are summed alike wait for each
    other only where the block, with its arguments, then holds at most a
    twentieth more at once than without; and no more than an eighth of what is
    gathered or scattered alike is there at once, unless a latency is the time of
    moving it.

    Collectives are combined where all operands are made and no result is used
    yet but by what is computed of it and of arguments, as an update, which moves
    with it; a small operand that is made of arguments alone is made earlier, and
    what is done to a partial sum element by element, as a factor of a learning
    rate, right behind it. Sums have the same bits wherever a communicator adds
    element by element in the order of ranks.

    The cause of a combined collective has a line for each that it replaces,
    with the bytes that a rank sends for it.

    **Leaves** an SPMD program.

    **Example** `test/Partition/combine-collectives.mlir`.
  }];
  let options = [
    Option<"latencies", "latencies", "int64_t", /*default=*/"16",
           "The most that a combined collective sends, as the number of "
           "latencies of the link in which it moves that many bytes; sums may "
           "be more. One that sends more than a quarter of it stays by itself "
           "if nothing hides it. 0 combines nothing.">,
    Option<"cluster", "cluster", "std::string", "\"dgx-h100\"",
           "The machines, by the name of a cluster or a file.">
  ];
  let dependentDialects = ["::weft::WeftDialect"];
  let statistics = [
    Statistic<"combined", "combined", "Collectives that became part of another">
  ];
}

#endif // WEFT_PARTITION_PASSES_TD
