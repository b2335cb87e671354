// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-propagate --weft-optimize-shardings=cluster=%S/Inputs/uniform.toml --split-input-file | FileCheck %s
// RUN: shard-opt %s --weft-propagate "--weft-optimize-shardings=cluster=%S/Inputs/uniform.toml combined=false" --split-input-file | FileCheck %s --check-prefix=APART
// RUN: shard-opt %s --weft-propagate "--weft-optimize-shardings=cluster=%S/Inputs/uniform.toml sums-in-float32" --split-input-file | FileCheck %s --check-prefix=WIDE

// RUN: shard-opt %s --weft-propagate --weft-optimize-shardings --weft-insert-reshards --weft-verify-form=form=sharded --split-input-file -o /dev/null

// The example of the pass: a table split by rows over the axis that also splits
// the batch. Propagation gathers the table. Gathering the indices, and partial
// lookups, moves less.

weft.mesh @mesh = <["data"=8]>

// CHECK-LABEL: func.func @lookup
// CHECK:         weft.gather
// CHECK-SAME:      weft.operand_shardings = [#weft.sharding<@mesh, [{"data"}, {}]>, #weft.sharding<@mesh, [{}]>]
// CHECK-SAME:      weft.shardings = [#weft.sharding<@mesh, [{}, {}], unreduced={"data"}>]
func.func @lookup(
    %table: tensor<32768x512xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %ids: tensor<512xi32> {weft.sharding = #weft.sharding<@mesh, [{"data"}]>})
    -> (tensor<512x512xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}) {
  %rows = weft.gather %table, %ids dim = 0 : (tensor<32768x512xf32>, tensor<512xi32>) -> tensor<512x512xf32>
  return %rows : tensor<512x512xf32>
}

// -----

// Tensor parallelism as of Megatron-LM, of weights by columns and by rows: one
// reduction, of the result.

weft.mesh @mesh = <["model"=8]>

// CHECK-LABEL: func.func @columns_then_rows
// CHECK:         weft.dot_general
// CHECK-SAME:      weft.operand_shardings = [#weft.sharding<@mesh, [{}, {}]>, #weft.sharding<@mesh, [{}, {"model"}]>]
// CHECK:         math.tanh
// CHECK-SAME:      weft.operand_shardings = [#weft.sharding<@mesh, [{}, {"model"}]>]
// CHECK:         weft.dot_general
// CHECK-SAME:      weft.operand_shardings = [#weft.sharding<@mesh, [{}, {"model"}]>, #weft.sharding<@mesh, [{"model"}, {}]>]
// CHECK-SAME:      weft.shardings = [#weft.sharding<@mesh, [{}, {}], unreduced={"model"}>]
func.func @columns_then_rows(
    %x: tensor<512x1024xf32>,
    %w1: tensor<1024x4096xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>},
    %w2: tensor<4096x1024xf32> {weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<512x1024xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
  %h = weft.dot_general %x, %w1 contracting = [1] x [0] : (tensor<512x1024xf32>, tensor<1024x4096xf32>) -> tensor<512x4096xf32>
  %a = math.tanh %h : tensor<512x4096xf32>
  %y = weft.dot_general %a, %w2 contracting = [1] x [0] : (tensor<512x4096xf32>, tensor<4096x1024xf32>) -> tensor<512x1024xf32>
  return %y : tensor<512x1024xf32>
}

// -----

// Fully sharded data parallelism: the weight is taken whole by both matmuls
// that use it, and its gradient is left as partial sums.

weft.mesh @mesh = <["data"=8]>

// CHECK-LABEL: func.func @fully_sharded
// CHECK:         weft.dot_general %arg0, %arg1
// CHECK-SAME:      weft.operand_shardings = [#weft.sharding<@mesh, [{"data"}, {}]>, #weft.sharding<@mesh, [{}, {}]>]
// CHECK:         weft.dot_general %{{.*}}, %arg1
// CHECK-SAME:      weft.operand_shardings = [#weft.sharding<@mesh, [{"data"}, {}]>, #weft.sharding<@mesh, [{}, {}]>]
// CHECK:         weft.dot_general
// CHECK-SAME:      weft.operand_shardings = [#weft.sharding<@mesh, [{"data"}, {}]>, #weft.sharding<@mesh, [{"data"}, {}]>]
// CHECK-SAME:      weft.shardings = [#weft.sharding<@mesh, [{}, {}], unreduced={"data"}>]
func.func @fully_sharded(
    %x: tensor<16384x1024xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<1024x1024xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<1024x1024xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}) {
  %h = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<16384x1024xf32>, tensor<1024x1024xf32>) -> tensor<16384x1024xf32>
  %dx = weft.dot_general %h, %w contracting = [1] x [1] : (tensor<16384x1024xf32>, tensor<1024x1024xf32>) -> tensor<16384x1024xf32>
  %dw = weft.dot_general %x, %dx contracting = [0] x [0] : (tensor<16384x1024xf32>, tensor<16384x1024xf32>) -> tensor<1024x1024xf32>
  return %dw : tensor<1024x1024xf32>
}

// -----

// A constraint stays, whatever it costs.

weft.mesh @mesh = <["data"=8]>

// CHECK-LABEL: func.func @constraint
// CHECK:         weft.constraint {{.*}} <@mesh, [{}, {"data"}]>
// CHECK:         math.exp
// CHECK-SAME:      weft.operand_shardings = [#weft.sharding<@mesh, [{}, {"data"}]>]
func.func @constraint(
    %x: tensor<1024x1024xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<1024x1024xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"data"}]>}) {
  %c = weft.constraint %x <@mesh, [{}, {"data"}]> : tensor<1024x1024xf32>
  %y = math.exp %c : tensor<1024x1024xf32>
  return %y : tensor<1024x1024xf32>
}

// -----

// A barrier takes its first operand as it leaves it, and the others as they
// are. A uniform constant is made as its user takes it, any other whole.

weft.mesh @mesh = <["data"=8]>

// CHECK-LABEL: func.func @barrier
// CHECK:         arith.constant {weft.operand_shardings = [], weft.shardings = [#weft.sharding<@mesh, [{"data"}]>]}
// CHECK:         weft.barrier
// CHECK-SAME:      weft.operand_shardings = [#weft.sharding<@mesh, [{"data"}]>]
// CHECK-SAME:      weft.shardings = [#weft.sharding<@mesh, [{"data"}]>]
func.func @barrier(
    %x: tensor<4096xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}]>}, %w: tensor<4xf32>)
    -> (tensor<4096xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}]>}) {
  %one = arith.constant dense<1.0> : tensor<4096xf32>
  %b = weft.barrier %x after %w : tensor<4096xf32> after tensor<4xf32>
  %y = arith.addf %b, %one : tensor<4096xf32>
  return %y : tensor<4096xf32>
}

// -----

// Slices of a split weight, wanted split as it is: what changes the device is
// exchanged, and the gradient is put together so. Gathering the weight would
// send 4.5 times as much.

weft.mesh @mesh = <["model"=4]>

// CHECK-LABEL: func.func @thirds
// 2 MiB and 9 MiB, in hexadecimal.
// CHECK-SAME:    wire_bytes = 0x4140000000000000 : f64, wire_bytes_before = 0x4162000000000000
// CHECK-COUNT-3: weft.slice {{.*}} {weft.operand_shardings = [#weft.sharding<@mesh, [{}, {"model"}]>], weft.shardings = [#weft.sharding<@mesh, [{}, {"model"}]>]}
// CHECK:         weft.concat {{.*}} {weft.operand_shardings = [#weft.sharding<@mesh, [{}, {"model"}]>, #weft.sharding<@mesh, [{}, {"model"}]>, #weft.sharding<@mesh, [{}, {"model"}]>], weft.shardings = [#weft.sharding<@mesh, [{}, {"model"}]>]}
func.func @thirds(
    %w: tensor<512x3072xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>},
    %q: tensor<512x1024xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>},
    %k: tensor<512x1024xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>},
    %v: tensor<512x1024xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>})
    -> (tensor<512x3072xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>}) {
  %0 = weft.slice %w starts = [0, 0] limits = [512, 1024] strides = [1, 1] : tensor<512x3072xf32> -> tensor<512x1024xf32>
  %1 = weft.slice %w starts = [0, 1024] limits = [512, 2048] strides = [1, 1] : tensor<512x3072xf32> -> tensor<512x1024xf32>
  %2 = weft.slice %w starts = [0, 2048] limits = [512, 3072] strides = [1, 1] : tensor<512x3072xf32> -> tensor<512x1024xf32>
  %3 = arith.mulf %0, %q : tensor<512x1024xf32>
  %4 = arith.mulf %1, %k : tensor<512x1024xf32>
  %5 = arith.mulf %2, %v : tensor<512x1024xf32>
  %6 = weft.concat %3, %4, %5 dim = 1 : (tensor<512x1024xf32>, tensor<512x1024xf32>, tensor<512x1024xf32>) -> tensor<512x3072xf32>
  return %6 : tensor<512x3072xf32>
}

// -----

// Small collectives become one: three sums with one latency rather than four
// parts of them with two.

weft.mesh @mesh = <["model"=8]>

// CHECK-LABEL: func.func @stack_of_sums
// CHECK:         weft.concat
// CHECK-SAME:      weft.operand_shardings = [#weft.sharding<@mesh, [{}, {}]>, #weft.sharding<@mesh, [{}, {}]>, #weft.sharding<@mesh, [{}, {}]>]
func.func @stack_of_sums(
    %x: tensor<512x1024xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>},
    %u: tensor<1024x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>},
    %v: tensor<1024x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>},
    %w: tensor<1024x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<512x64xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}, tensor<512x192xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
  %p = weft.dot_general %x, %u contracting = [1] x [0] : (tensor<512x1024xf32>, tensor<1024x64xf32>) -> tensor<512x64xf32>
  %q = weft.dot_general %x, %v contracting = [1] x [0] : (tensor<512x1024xf32>, tensor<1024x64xf32>) -> tensor<512x64xf32>
  %r = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<512x1024xf32>, tensor<1024x64xf32>) -> tensor<512x64xf32>
  %t = math.tanh %p : tensor<512x64xf32>
  %c = weft.concat %p, %q, %r dim = 1 : (tensor<512x64xf32>, tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x192xf32>
  %y = math.tanh %c : tensor<512x192xf32>
  return %t, %y : tensor<512x64xf32>, tensor<512x192xf32>
}

// -----

// Calls for what one op takes become one, however many: eight sums of which one
// is used twice, rather than nine.

weft.mesh @mesh = <["model"=8]>

// CHECK-LABEL: func.func @long_stack_of_sums
// CHECK:         weft.concat
// CHECK-SAME:      weft.operand_shardings = [#weft.sharding<@mesh, [{}, {}]>, {{.*}}], weft.shardings = [#weft.sharding<@mesh, [{}, {}]>]
func.func @long_stack_of_sums(
    %x: tensor<64x1024xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>},
    %w0: tensor<1024x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>},
    %w1: tensor<1024x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>},
    %w2: tensor<1024x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>},
    %w3: tensor<1024x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>},
    %w4: tensor<1024x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>},
    %w5: tensor<1024x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>},
    %w6: tensor<1024x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>},
    %w7: tensor<1024x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>},
    %v: tensor<64x8xf32>, %w: tensor<512x8xf32>)
    -> (tensor<64x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}, tensor<64x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
  %p0 = weft.dot_general %x, %w0 contracting = [1] x [0] : (tensor<64x1024xf32>, tensor<1024x64xf32>) -> tensor<64x64xf32>
  %p1 = weft.dot_general %x, %w1 contracting = [1] x [0] : (tensor<64x1024xf32>, tensor<1024x64xf32>) -> tensor<64x64xf32>
  %p2 = weft.dot_general %x, %w2 contracting = [1] x [0] : (tensor<64x1024xf32>, tensor<1024x64xf32>) -> tensor<64x64xf32>
  %p3 = weft.dot_general %x, %w3 contracting = [1] x [0] : (tensor<64x1024xf32>, tensor<1024x64xf32>) -> tensor<64x64xf32>
  %p4 = weft.dot_general %x, %w4 contracting = [1] x [0] : (tensor<64x1024xf32>, tensor<1024x64xf32>) -> tensor<64x64xf32>
  %p5 = weft.dot_general %x, %w5 contracting = [1] x [0] : (tensor<64x1024xf32>, tensor<1024x64xf32>) -> tensor<64x64xf32>
  %p6 = weft.dot_general %x, %w6 contracting = [1] x [0] : (tensor<64x1024xf32>, tensor<1024x64xf32>) -> tensor<64x64xf32>
  %p7 = weft.dot_general %x, %w7 contracting = [1] x [0] : (tensor<64x1024xf32>, tensor<1024x64xf32>) -> tensor<64x64xf32>
  %t = math.tanh %p0 : tensor<64x64xf32>
  %c = weft.concat %p0, %p1, %p2, %p3, %p4, %p5, %p6, %p7 dim = 1 : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x512xf32>
  %tc = math.tanh %c : tensor<64x512xf32>
  %y = weft.dot_general %t, %v contracting = [1] x [0] : (tensor<64x64xf32>, tensor<64x8xf32>) -> tensor<64x8xf32>
  %yc = weft.dot_general %tc, %w contracting = [1] x [0] : (tensor<64x512xf32>, tensor<512x8xf32>) -> tensor<64x8xf32>
  return %y, %yc : tensor<64x8xf32>, tensor<64x8xf32>
}

// -----

// A table is not gathered because that overlaps with other work: gathering the
// indices and partial lookups send less.

weft.mesh @mesh = <["data"=8]>

// CHECK-LABEL: func.func @lookup_in_a_small_table
// CHECK:         weft.gather
// CHECK-SAME:      weft.operand_shardings = [#weft.sharding<@mesh, [{"data"}]>, #weft.sharding<@mesh, [{}]>]
func.func @lookup_in_a_small_table(
    %table: tensor<49152xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}]>},
    %ids: tensor<1024xi32> {weft.sharding = #weft.sharding<@mesh, [{"data"}]>})
    -> (tensor<1024xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}]>}) {
  %rows = weft.gather %table, %ids dim = 0 : (tensor<49152xf32>, tensor<1024xi32>) -> tensor<1024xf32>
  return %rows : tensor<1024xf32>
}

// -----

// Matrix factorisation: all four lookups are reduced in one call. To leave the
// biases as partial sums, or a factor, sends fewer bytes, in a call of its own;
// where no calls are combined, this is what remains.

weft.mesh @mesh = <["model"=8]>

// APART-LABEL: func.func @factors
// APART:         math.tanh
// APART:         weft.scatter_add
// APART-SAME:      unreduced={"model"}
// CHECK-LABEL: func.func @factors
// CHECK:         arith.mulf
// CHECK-SAME:      weft.operand_shardings = [#weft.sharding<@mesh, [{}, {}]>, #weft.sharding<@mesh, [{}, {}]>]
// CHECK-COUNT-2: arith.addf {{.*}} {weft.operand_shardings = [#weft.sharding<@mesh, [{}]>, #weft.sharding<@mesh, [{}]>]
// CHECK-COUNT-2: weft.scatter_add {{.*}} weft.shardings = [#weft.sharding<@mesh, [{"model"}, {}]>]
func.func @factors(
    %u: tensor<128x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>},
    %v: tensor<64x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>},
    %bu: tensor<128xf32> {weft.sharding = #weft.sharding<@mesh, [{"model"}]>},
    %bv: tensor<64xf32> {weft.sharding = #weft.sharding<@mesh, [{"model"}]>},
    %i: tensor<32xi32>, %j: tensor<32xi32>)
    -> (tensor<128x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>}, tensor<64x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>}) {
  %a = weft.gather %u, %i dim = 0 : (tensor<128x16xf32>, tensor<32xi32>) -> tensor<32x16xf32>
  %b = weft.gather %v, %j dim = 0 : (tensor<64x16xf32>, tensor<32xi32>) -> tensor<32x16xf32>
  %p = arith.mulf %a, %b : tensor<32x16xf32>
  %r = weft.reduce sum %p dims = [1] : tensor<32x16xf32> -> tensor<32xf32>
  %ba = weft.gather %bu, %i dim = 0 : (tensor<128xf32>, tensor<32xi32>) -> tensor<32xf32>
  %ra = arith.addf %r, %ba : tensor<32xf32>
  %bb = weft.gather %bv, %j dim = 0 : (tensor<64xf32>, tensor<32xi32>) -> tensor<32xf32>
  %rb = arith.addf %ra, %bb : tensor<32xf32>
  %s = math.tanh %rb : tensor<32xf32>
  %d = weft.broadcast %s dims = [0] : tensor<32xf32> -> tensor<32x16xf32>
  %da = arith.mulf %d, %b : tensor<32x16xf32>
  %db = arith.mulf %d, %a : tensor<32x16xf32>
  %du = weft.scatter_add %da, %i dim = 0 : (tensor<32x16xf32>, tensor<32xi32>) -> tensor<128x16xf32>
  %dv = weft.scatter_add %db, %j dim = 0 : (tensor<32x16xf32>, tensor<32xi32>) -> tensor<64x16xf32>
  return %du, %dv : tensor<128x16xf32>, tensor<64x16xf32>
}

// -----

// What nobody split between a slice and a concatenation is split as these are
// on their other sides.

weft.mesh @mesh = <["model"=4]>

// CHECK-LABEL: func.func @gate
// CHECK-COUNT-2: weft.slice {{.*}} {weft.operand_shardings = [#weft.sharding<@mesh, [{}, {"model"}]>], weft.shardings = [#weft.sharding<@mesh, [{}, {"model"}]>]}
// CHECK:         math.tanh {{.*}} {weft.operand_shardings = [#weft.sharding<@mesh, [{}, {"model"}]>], weft.shardings = [#weft.sharding<@mesh, [{}, {"model"}]>]}
// CHECK:         weft.concat {{.*}} {weft.operand_shardings = [#weft.sharding<@mesh, [{}, {"model"}]>, #weft.sharding<@mesh, [{}, {"model"}]>], weft.shardings = [#weft.sharding<@mesh, [{}, {"model"}]>]}
func.func @gate(%t: tensor<3072x512xf32> {weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<512x3072xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>}) {
  %x = weft.transpose %t dims = [1, 0] : tensor<3072x512xf32> -> tensor<512x3072xf32>
  %0 = weft.slice %x starts = [0, 0] limits = [512, 2048] strides = [1, 1] : tensor<512x3072xf32> -> tensor<512x2048xf32>
  %1 = weft.slice %x starts = [0, 2048] limits = [512, 3072] strides = [1, 1] : tensor<512x3072xf32> -> tensor<512x1024xf32>
  %2 = math.tanh %0 : tensor<512x2048xf32>
  %3 = weft.concat %1, %2 dim = 1 : (tensor<512x1024xf32>, tensor<512x2048xf32>) -> tensor<512x3072xf32>
  return %3 : tensor<512x3072xf32>
}

// -----

weft.mesh @mesh = <["data"=8]>

// What is added up over micro-batches is reduced once, behind the last one. A
// constraint within them says how the sum is split.
// CHECK-LABEL: func.func @sum_of_microbatches
// CHECK:         weft.microbatch_sum
// CHECK-SAME:      weft.shardings = [#weft.sharding<@mesh, [{}, {}], unreduced={"data"}>]
func.func @sum_of_microbatches(
    %x: tensor<4x8192x1024xbf16> {weft.sharding = #weft.sharding<@mesh, [{}, {"data"}, {}]>},
    %g: tensor<4x8192x1024xbf16> {weft.sharding = #weft.sharding<@mesh, [{}, {"data"}, {}]>})
    -> (tensor<1024x1024xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}) {
  %xi = weft.microbatch_slice %x dim = 0 of <"step", 4> : tensor<4x8192x1024xbf16> -> tensor<8192x1024xbf16>
  %gi = weft.microbatch_slice %g dim = 0 of <"step", 4> : tensor<4x8192x1024xbf16> -> tensor<8192x1024xbf16>
  %dw = weft.dot_general %xi, %gi contracting = [0] x [0] : (tensor<8192x1024xbf16>, tensor<8192x1024xbf16>) -> tensor<1024x1024xbf16>
  %wide = arith.extf %dw : tensor<1024x1024xbf16> to tensor<1024x1024xf32>
  %rows = weft.constraint %wide <@mesh, [{"data"}, {}]> : tensor<1024x1024xf32>
  %sum = weft.microbatch_sum %rows of <"step", 4> : tensor<1024x1024xf32>
  return %sum : tensor<1024x1024xf32>
}

// -----

weft.mesh @mesh = <["data"=8]>

// A sum that would fill the memory of a device is held in shards, though each
// micro-batch reduces for it.
// CHECK-LABEL: func.func @large_sum_of_microbatches
// CHECK:         weft.microbatch_sum
// CHECK-SAME:      weft.shardings = [#weft.sharding<@mesh, [{"data"}, {}]>]
func.func @large_sum_of_microbatches(
    %x: tensor<4x524288x131072xbf16> {weft.sharding = #weft.sharding<@mesh, [{}, {"data"}, {}]>},
    %g: tensor<4x524288x131072xbf16> {weft.sharding = #weft.sharding<@mesh, [{}, {"data"}, {}]>})
    -> (tensor<131072x131072xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}) {
  %xi = weft.microbatch_slice %x dim = 0 of <"step", 4> : tensor<4x524288x131072xbf16> -> tensor<524288x131072xbf16>
  %gi = weft.microbatch_slice %g dim = 0 of <"step", 4> : tensor<4x524288x131072xbf16> -> tensor<524288x131072xbf16>
  %dw = weft.dot_general %xi, %gi contracting = [0] x [0] : (tensor<524288x131072xbf16>, tensor<524288x131072xbf16>) -> tensor<131072x131072xbf16>
  %wide = arith.extf %dw : tensor<131072x131072xbf16> to tensor<131072x131072xf32>
  %rows = weft.constraint %wide <@mesh, [{"data"}, {}]> : tensor<131072x131072xf32>
  %sum = weft.microbatch_sum %rows of <"step", 4> : tensor<131072x131072xf32>
  return %sum : tensor<131072x131072xf32>
}

// -----

module attributes {weft.differentiated = ["w"]} {
weft.mesh @mesh = <["data"=8]>

// To send terms of a gradient costs less than to send what it is made of; in a
// type of twice the width more.
// CHECK-LABEL: func.func @sum_of_gradient
// CHECK:         weft.dot_general
// CHECK-SAME:      weft.shardings = [#weft.sharding<@mesh, [{}, {}], unreduced={"data"}>]
// WIDE-LABEL:  func.func @sum_of_gradient
// WIDE:          weft.dot_general
// WIDE-SAME:       weft.shardings = [#weft.sharding<@mesh, [{"data"}, {}]>]
func.func @sum_of_gradient(
    %x: tensor<768x1024xbf16> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %g: tensor<768x1024xbf16> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<1024x1024xbf16> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}) {
  %dw = weft.dot_general %x, %g contracting = [0] x [0] {weft.origin = #weft.origin<backward = true, gradient_of = "w">}
      : (tensor<768x1024xbf16>, tensor<768x1024xbf16>) -> tensor<1024x1024xbf16>
  return %dw : tensor<1024x1024xbf16>
}
}
