// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The columns of a fused matrix of queries, keys and values, and of its bias,
// get an order in which the shard of each device has a block of all three.

// RUN: shard-opt %s --weft-propagate --weft-interleave-weights | FileCheck %s
// RUN: shard-compile %s --emit=spmd | FileCheck %s --check-prefix=MOVED
// RUN: shard-opt %s --weft-number-values --weft-propagate --weft-interleave-weights | FileCheck %s --check-prefix=OBSERVED

weft.mesh @mesh = <["f"=2, "m"=4]>

// CHECK-LABEL: func.func @forward
// CHECK:         %[[W:.*]] = weft.rearrange %arg1 dim = 1 map <[192] to [192], 0 to 0 for 16, 64 to 16 for 16, 128 to 32 for 16, 16 to 48 for 16,
// CHECK:         weft.dot_general %arg0, %[[W]] contracting = [1] x [0]
// CHECK:         %[[B:.*]] = weft.rearrange %arg2 dim = 0
// CHECK:         weft.broadcast %[[B]] dims = [1]
// CHECK:         %[[Y:.*]] = arith.addf {{.*}} : tensor<16384x192xf32>
// CHECK:         %[[R:.*]] = weft.reshape %[[Y]] {{.*}} -> tensor<16384x4x48xf32>
// CHECK:         %[[Q:.*]] = weft.slice %[[R]] starts = [0, 0, 0] limits = [16384, 4, 16]
// CHECK:         weft.reshape %[[Q]] {{.*}} -> tensor<16384x64xf32>
// CHECK:         weft.slice %[[R]] starts = [0, 0, 16] limits = [16384, 4, 32]
// CHECK:         weft.slice %[[R]] starts = [0, 0, 32] limits = [16384, 4, 48]
// Nobody observes the matmul in another order, so the slices of it are sums.
// OBSERVED-LABEL: func.func @forward
// OBSERVED-NOT: weft.dot_general {{.*}} weft.numbered
// OBSERVED:     weft.reshape {{.*}} {weft.numbered = {kind = "sum", number = 2 : i64, terms = 64 : i64, types = [tensor<16384x64xf32>]}
// MOVED-LABEL: func.func @forward
// MOVED-DAG: weft.exchange {{.*}} map <[48] to [16, 16, 16], 0 to 0 for 192> {{.*}} : tensor<64x48xf32> -> tensor<64x48xf32>
// MOVED-DAG: weft.exchange {{.*}} : tensor<48xf32> -> tensor<48xf32>
// MOVED-NOT: weft.all_gather
func.func @forward(
    %x: tensor<16384x64xf32>,
    %w: tensor<64x192xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"m"}]>},
    %b: tensor<192xf32> {weft.sharding = #weft.sharding<@mesh, [{"m"}]>})
    -> (tensor<16384x64xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"m"}]>}) {
  %y = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<16384x64xf32>, tensor<64x192xf32>) -> tensor<16384x192xf32>
  %c = weft.broadcast %b dims = [1] : tensor<192xf32> -> tensor<16384x192xf32>
  %s = arith.addf %y, %c : tensor<16384x192xf32>
  %q = weft.slice %s starts = [0, 0] limits = [16384, 64] strides = [1, 1] : tensor<16384x192xf32> -> tensor<16384x64xf32>
  %k = weft.slice %s starts = [0, 64] limits = [16384, 128] strides = [1, 1] : tensor<16384x192xf32> -> tensor<16384x64xf32>
  %v = weft.slice %s starts = [0, 128] limits = [16384, 192] strides = [1, 1] : tensor<16384x192xf32> -> tensor<16384x64xf32>
  %qk = arith.mulf %q, %k : tensor<16384x64xf32>
  %r = arith.mulf %qk, %v : tensor<16384x64xf32>
  return %r : tensor<16384x64xf32>
}

// Of a weight in shards, a shard is exchanged, then gathered in one call; its
// gradient is scattered, and then exchanged.

// CHECK-LABEL: func.func @shards
// CHECK:         %[[W:.*]] = weft.rearrange %arg1 dim = 1
// CHECK:         %[[C:.*]] = weft.constraint %[[W]]
// CHECK:         weft.concat {{.*}} dim = 2 {{.*}} -> tensor<65536x4x768xf32>
// CHECK:         %[[DY:.*]] = weft.reshape {{.*}} -> tensor<65536x3072xf32>
// CHECK:         %[[DW:.*]] = weft.dot_general %arg0, %[[DY]] contracting = [0] x [0]
// CHECK:         weft.rearrange %[[DW]] dim = 1 map <[3072] to [3072], 0 to 0 for 256, 768 to 256 for 256, 1536 to 512 for 256, 2304 to 768 for 256, 256 to 1024
// CHECK:         %[[DX:.*]] = weft.dot_general %[[DY]], %[[C]] contracting = [1] x [1]
// CHECK:         %[[DB:.*]] = weft.reduce sum %[[DY]]
// CHECK:         weft.rearrange %[[DB]] dim = 0
// MOVED-LABEL: func.func @shards
// MOVED-DAG: %[[W:.*]] = weft.exchange %arg1 {{.*}} map <[768] to [256, 256, 256], 0 to 0 for 3072> {{.*}} : tensor<512x768xf32> -> tensor<512x768xf32>
// MOVED-DAG: weft.all_gather %[[W]] dim = 0 over <@mesh, {"f"}>
// MOVED-DAG: %[[DW:.*]] = weft.reduce_scatter {{.*}} : tensor<1024x768xf32> -> tensor<512x768xf32>
// MOVED-DAG: weft.exchange %[[DW]] {{.*}} map <[256, 256, 256] to [768], 0 to 0 for 3072> {{.*}} : tensor<512x768xf32> -> tensor<512x768xf32>
func.func @shards(
    %x: tensor<65536x1024xf32> {weft.sharding = #weft.sharding<@mesh, [{"f"}, {}]>},
    %w: tensor<1024x3072xf32> {weft.sharding = #weft.sharding<@mesh, [{"f"}, {"m"}]>},
    %dq: tensor<65536x1024xf32> {weft.sharding = #weft.sharding<@mesh, [{"f"}, {"m"}]>},
    %dk: tensor<65536x1024xf32> {weft.sharding = #weft.sharding<@mesh, [{"f"}, {"m"}]>},
    %dv: tensor<65536x1024xf32> {weft.sharding = #weft.sharding<@mesh, [{"f"}, {"m"}]>})
    -> (tensor<1024x3072xf32> {weft.sharding = #weft.sharding<@mesh, [{"f"}, {"m"}]>},
        tensor<65536x1024xf32> {weft.sharding = #weft.sharding<@mesh, [{"f"}, {}]>},
        tensor<3072xf32> {weft.sharding = #weft.sharding<@mesh, [{"m"}]>}) {
  %c = weft.constraint %w <@mesh, [{}, {"m"}]> : tensor<1024x3072xf32>
  %dy = weft.concat %dq, %dk, %dv dim = 1 : (tensor<65536x1024xf32>, tensor<65536x1024xf32>, tensor<65536x1024xf32>) -> tensor<65536x3072xf32>
  %dw = weft.dot_general %x, %dy contracting = [0] x [0] : (tensor<65536x1024xf32>, tensor<65536x3072xf32>) -> tensor<1024x3072xf32>
  %dx = weft.dot_general %dy, %c contracting = [1] x [1] : (tensor<65536x3072xf32>, tensor<1024x3072xf32>) -> tensor<65536x1024xf32>
  %db = weft.reduce sum %dy dims = [0] : tensor<65536x3072xf32> -> tensor<3072xf32>
  return %dw, %dx, %db : tensor<1024x3072xf32>, tensor<65536x1024xf32>, tensor<3072xf32>
}

// The steps of a recurrence are priced together, and what they add up is brought
// back once.

// CHECK-LABEL: func.func @steps
// CHECK-COUNT-1: weft.rearrange %arg2
// CHECK-NOT:     weft.rearrange
// CHECK:         weft.dot_general %arg0
// CHECK:         weft.dot_general %arg1
// CHECK:         %[[S:.*]] = arith.addf {{.*}} : tensor<64x128xf32>
// CHECK-NEXT:    weft.rearrange %[[S]]
func.func @steps(
    %x: tensor<48x64xf32>, %y: tensor<48x64xf32>,
    %w: tensor<64x128xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"m"}]>})
    -> (tensor<64x128xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"m"}]>}) {
  %a = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<48x64xf32>, tensor<64x128xf32>) -> tensor<48x128xf32>
  %a0 = weft.slice %a starts = [0, 0] limits = [48, 64] strides = [1, 1] : tensor<48x128xf32> -> tensor<48x64xf32>
  %a1 = weft.slice %a starts = [0, 64] limits = [48, 128] strides = [1, 1] : tensor<48x128xf32> -> tensor<48x64xf32>
  %b = weft.dot_general %y, %w contracting = [1] x [0] : (tensor<48x64xf32>, tensor<64x128xf32>) -> tensor<48x128xf32>
  %b0 = weft.slice %b starts = [0, 0] limits = [48, 64] strides = [1, 1] : tensor<48x128xf32> -> tensor<48x64xf32>
  %b1 = weft.slice %b starts = [0, 64] limits = [48, 128] strides = [1, 1] : tensor<48x128xf32> -> tensor<48x64xf32>
  %da = weft.concat %a1, %a0 dim = 1 : (tensor<48x64xf32>, tensor<48x64xf32>) -> tensor<48x128xf32>
  %db = weft.concat %b1, %b0 dim = 1 : (tensor<48x64xf32>, tensor<48x64xf32>) -> tensor<48x128xf32>
  %dwa = weft.dot_general %x, %da contracting = [0] x [0] : (tensor<48x64xf32>, tensor<48x128xf32>) -> tensor<64x128xf32>
  %dwb = weft.dot_general %y, %db contracting = [0] x [0] : (tensor<48x64xf32>, tensor<48x128xf32>) -> tensor<64x128xf32>
  %dw = arith.addf %dwa, %dwb : tensor<64x128xf32>
  return %dw : tensor<64x128xf32>
}

// What is added up is brought back once behind transposes, reshapes and further
// reductions, too; and with it that of a step which takes fewer weights, and by
// itself would not be worth it.

// CHECK-LABEL: func.func @backward_steps
// CHECK-NOT:     weft.rearrange
// CHECK:         %[[U:.*]] = weft.rearrange %arg1 dim = 1
// CHECK-NOT:     weft.rearrange
// CHECK-COUNT-4: weft.dot_general {{.*}}, %[[U]] contracting = [1] x [1]
// CHECK:         %[[DB:.*]] = arith.addf {{.*}} : tensor<128xf32>
// CHECK-NEXT:    weft.rearrange %[[DB]] dim = 0
// CHECK:         %[[DW:.*]] = arith.addf {{.*}} : tensor<64x128xf32>
// CHECK-NEXT:    weft.rearrange %[[DW]] dim = 1
// CHECK-NOT:     weft.rearrange
// MOVED-LABEL: func.func @backward_steps
// MOVED-COUNT-3: weft.exchange
// MOVED-NOT:     weft.exchange
func.func @backward_steps(
    %x: tensor<48x64xf32>,
    %u: tensor<64x128xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"m"}]>})
    -> (tensor<48x64xf32>,
        tensor<64x128xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"m"}]>},
        tensor<128xf32> {weft.sharding = #weft.sharding<@mesh, [{"m"}]>}) {
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %e1 = math.exp %x : tensor<48x64xf32>
  %d1 = weft.concat %e1, %x dim = 1 : (tensor<48x64xf32>, tensor<48x64xf32>) -> tensor<48x128xf32>
  %r1 = weft.reduce sum %d1 dims = [0] : tensor<48x128xf32> -> tensor<128xf32>
  %s1 = weft.reshape %r1 : tensor<128xf32> -> tensor<1x128xf32>
  %b1 = weft.reduce sum %s1 dims = [0] : tensor<1x128xf32> -> tensor<128xf32>
  %m1 = weft.dot_general %d1, %x contracting = [0] x [0] : (tensor<48x128xf32>, tensor<48x64xf32>) -> tensor<128x64xf32>
  %t1 = weft.transpose %m1 dims = [1, 0] : tensor<128x64xf32> -> tensor<64x128xf32>
  %w1 = arith.addf %t1, %zero : tensor<64x128xf32>
  %h1 = weft.dot_general %d1, %u contracting = [1] x [1] : (tensor<48x128xf32>, tensor<64x128xf32>) -> tensor<48x64xf32>
  %e2 = math.exp %h1 : tensor<48x64xf32>
  %d2 = weft.concat %e2, %h1 dim = 1 : (tensor<48x64xf32>, tensor<48x64xf32>) -> tensor<48x128xf32>
  %r2 = weft.reduce sum %d2 dims = [0] : tensor<48x128xf32> -> tensor<128xf32>
  %s2 = weft.reshape %r2 : tensor<128xf32> -> tensor<1x128xf32>
  %b2 = weft.reduce sum %s2 dims = [0] : tensor<1x128xf32> -> tensor<128xf32>
  %m2 = weft.dot_general %d2, %h1 contracting = [0] x [0] : (tensor<48x128xf32>, tensor<48x64xf32>) -> tensor<128x64xf32>
  %t2 = weft.transpose %m2 dims = [1, 0] : tensor<128x64xf32> -> tensor<64x128xf32>
  %c2 = arith.addf %b1, %b2 : tensor<128xf32>
  %w2 = arith.addf %w1, %t2 : tensor<64x128xf32>
  %h2 = weft.dot_general %d2, %u contracting = [1] x [1] : (tensor<48x128xf32>, tensor<64x128xf32>) -> tensor<48x64xf32>
  %e3 = math.exp %h2 : tensor<48x64xf32>
  %d3 = weft.concat %e3, %h2 dim = 1 : (tensor<48x64xf32>, tensor<48x64xf32>) -> tensor<48x128xf32>
  %r3 = weft.reduce sum %d3 dims = [0] : tensor<48x128xf32> -> tensor<128xf32>
  %s3 = weft.reshape %r3 : tensor<128xf32> -> tensor<1x128xf32>
  %b3 = weft.reduce sum %s3 dims = [0] : tensor<1x128xf32> -> tensor<128xf32>
  %m3 = weft.dot_general %d3, %h2 contracting = [0] x [0] : (tensor<48x128xf32>, tensor<48x64xf32>) -> tensor<128x64xf32>
  %t3 = weft.transpose %m3 dims = [1, 0] : tensor<128x64xf32> -> tensor<64x128xf32>
  %c3 = arith.addf %c2, %b3 : tensor<128xf32>
  %w3 = arith.addf %w2, %t3 : tensor<64x128xf32>
  %h3 = weft.dot_general %d3, %u contracting = [1] x [1] : (tensor<48x128xf32>, tensor<64x128xf32>) -> tensor<48x64xf32>
  %e4 = math.exp %h3 : tensor<48x64xf32>
  %d4 = weft.concat %e4, %h3 dim = 1 : (tensor<48x64xf32>, tensor<48x64xf32>) -> tensor<48x128xf32>
  %r4 = weft.reduce sum %d4 dims = [0] : tensor<48x128xf32> -> tensor<128xf32>
  %s4 = weft.reshape %r4 : tensor<128xf32> -> tensor<1x128xf32>
  %b4 = weft.reduce sum %s4 dims = [0] : tensor<1x128xf32> -> tensor<128xf32>
  %m4 = weft.dot_general %d4, %h3 contracting = [0] x [0] : (tensor<48x128xf32>, tensor<48x64xf32>) -> tensor<128x64xf32>
  %t4 = weft.transpose %m4 dims = [1, 0] : tensor<128x64xf32> -> tensor<64x128xf32>
  %c4 = arith.addf %c3, %b4 : tensor<128xf32>
  %w4 = arith.addf %w3, %t4 : tensor<64x128xf32>
  %h4 = weft.dot_general %d4, %u contracting = [1] x [1] : (tensor<48x128xf32>, tensor<64x128xf32>) -> tensor<48x64xf32>
  %e5 = math.exp %h4 : tensor<48x64xf32>
  %d5 = weft.concat %e5, %h4 dim = 1 : (tensor<48x64xf32>, tensor<48x64xf32>) -> tensor<48x128xf32>
  %r5 = weft.reduce sum %d5 dims = [0] : tensor<48x128xf32> -> tensor<128xf32>
  %s5 = weft.reshape %r5 : tensor<128xf32> -> tensor<1x128xf32>
  %b5 = weft.reduce sum %s5 dims = [0] : tensor<1x128xf32> -> tensor<128xf32>
  %m5 = weft.dot_general %d5, %h4 contracting = [0] x [0] : (tensor<48x128xf32>, tensor<48x64xf32>) -> tensor<128x64xf32>
  %t5 = weft.transpose %m5 dims = [1, 0] : tensor<128x64xf32> -> tensor<64x128xf32>
  %c5 = arith.addf %c4, %b5 : tensor<128xf32>
  %w5 = arith.addf %w4, %t5 : tensor<64x128xf32>
  return %h4, %w5, %c5 : tensor<48x64xf32>, tensor<64x128xf32>, tensor<128xf32>
}

// Left alone: a weight of more rows than the batch, slices that overlap, what
// something else uses as well, columns that no axis splits, and parts that the
// axis does not divide.

// CHECK-LABEL: func.func @few_rows
// CHECK-NOT: weft.rearrange
func.func @few_rows(%x: tensor<32x64xf32>,
    %w: tensor<64x128xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"m"}]>}) -> (tensor<32x64xf32>, tensor<32x64xf32>) {
  %y = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<32x64xf32>, tensor<64x128xf32>) -> tensor<32x128xf32>
  %a = weft.slice %y starts = [0, 0] limits = [32, 64] strides = [1, 1] : tensor<32x128xf32> -> tensor<32x64xf32>
  %b = weft.slice %y starts = [0, 64] limits = [32, 128] strides = [1, 1] : tensor<32x128xf32> -> tensor<32x64xf32>
  return %a, %b : tensor<32x64xf32>, tensor<32x64xf32>
}

// CHECK-LABEL: func.func @others
// CHECK-NOT: weft.rearrange
func.func @others(%x: tensor<1024x64xf32>,
    %w: tensor<64x128xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"m"}]>}, %u: tensor<64x128xf32>)
    -> (tensor<1024x96xf32>, tensor<1024x96xf32>, tensor<1024x64xf32>, tensor<1024x64xf32>, tensor<1024x128xf32>, tensor<1024x64xf32>, tensor<1024x64xf32>,
        tensor<1024x63xf32>, tensor<1024x65xf32>) {
  %y = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<1024x64xf32>, tensor<64x128xf32>) -> tensor<1024x128xf32>
  %a = weft.slice %y starts = [0, 0] limits = [1024, 96] strides = [1, 1] : tensor<1024x128xf32> -> tensor<1024x96xf32>
  %b = weft.slice %y starts = [0, 32] limits = [1024, 128] strides = [1, 1] : tensor<1024x128xf32> -> tensor<1024x96xf32>
  %z = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<1024x64xf32>, tensor<64x128xf32>) -> tensor<1024x128xf32>
  %c = weft.slice %z starts = [0, 0] limits = [1024, 64] strides = [1, 1] : tensor<1024x128xf32> -> tensor<1024x64xf32>
  %d = weft.slice %z starts = [0, 64] limits = [1024, 128] strides = [1, 1] : tensor<1024x128xf32> -> tensor<1024x64xf32>
  %v = weft.dot_general %x, %u contracting = [1] x [0] : (tensor<1024x64xf32>, tensor<64x128xf32>) -> tensor<1024x128xf32>
  %e = weft.slice %v starts = [0, 0] limits = [1024, 64] strides = [1, 1] : tensor<1024x128xf32> -> tensor<1024x64xf32>
  %f = weft.slice %v starts = [0, 64] limits = [1024, 128] strides = [1, 1] : tensor<1024x128xf32> -> tensor<1024x64xf32>
  %t = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<1024x64xf32>, tensor<64x128xf32>) -> tensor<1024x128xf32>
  %g = weft.slice %t starts = [0, 0] limits = [1024, 63] strides = [1, 1] : tensor<1024x128xf32> -> tensor<1024x63xf32>
  %h = weft.slice %t starts = [0, 63] limits = [1024, 128] strides = [1, 1] : tensor<1024x128xf32> -> tensor<1024x65xf32>
  return %a, %b, %c, %d, %z, %e, %f, %g, %h : tensor<1024x96xf32>, tensor<1024x96xf32>, tensor<1024x64xf32>, tensor<1024x64xf32>, tensor<1024x128xf32>, tensor<1024x64xf32>, tensor<1024x64xf32>, tensor<1024x63xf32>, tensor<1024x65xf32>
}
