// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Two layers of a transformer with heads and hidden units split over "model",
// stated for the weights alone. As in Megatron-LM (Shoeybi et al. 2019) a layer
// has two all-reduces of its activations forward and two backward.

// RUN: sed 's/RESIDUAL/[{?}, {?}, {?}]/; s/HIDDEN/[{?}, {?}, {?}]/; s/HEADS\|ATTENDED/[{?}, {?}, {?}, {?}]/' %s | shard-compile - --emit=spmd | FileCheck %s --check-prefix=TENSOR

// With what is between attention and perceptron split along the sequence
// (Korthikanti et al. 2022), each all-reduce becomes a reduce-scatter and an
// all-gather, which send the same bytes.

// RUN: sed 's/RESIDUAL/[{}, {"model"}, {}]/; s/HIDDEN/[{}, {}, {"model"}]/; s/HEADS/[{}, {}, {"model"}, {}]/; s/ATTENDED/[{}, {"model"}, {}, {}]/' %s | shard-compile - --emit=spmd | FileCheck %s --check-prefix=SEQUENCE

// TENSOR-LABEL: func.func @step(
// Forward, two layers.
// TENSOR-COUNT-4: weft.all_reduce sum {{.*}} : tensor<8x16x32xf32>
// Backward.
// TENSOR-COUNT-4: weft.all_reduce sum {{.*}}transpose of {{.*}} : tensor<8x16x32xf32>
// TENSOR-NOT: {{weft.(all_|reduce_scatter|permute)}}

// SEQUENCE-LABEL: func.func @step(
// SEQUENCE: weft.all_gather {{.*}} dim = 1 {{.*}} : tensor<8x4x32xf32>
// SEQUENCE: weft.reduce_scatter sum {{.*}} dim = 1 {{.*}} : tensor<8x16x32xf32>
// SEQUENCE: weft.all_gather {{.*}} dim = 1 {{.*}} : tensor<8x4x32xf32>
// SEQUENCE: weft.reduce_scatter sum {{.*}} dim = 1 {{.*}} : tensor<8x16x32xf32>
// SEQUENCE: weft.all_gather {{.*}} dim = 1 {{.*}} : tensor<8x4x32xf32>
// SEQUENCE: weft.reduce_scatter sum {{.*}} dim = 1 {{.*}} : tensor<8x16x32xf32>
// SEQUENCE: weft.all_gather {{.*}} dim = 1 {{.*}} : tensor<8x4x32xf32>
// SEQUENCE: weft.reduce_scatter sum {{.*}} dim = 1 {{.*}} : tensor<8x16x32xf32>
// SEQUENCE: weft.all_gather {{.*}} dim = 1 {{.*}}transpose of {{.*}} : tensor<8x4x32xf32>
// SEQUENCE: weft.reduce_scatter sum {{.*}} dim = 1 {{.*}}transpose of {{.*}} : tensor<8x16x32xf32>
// SEQUENCE: weft.all_gather {{.*}} dim = 1 {{.*}}transpose of {{.*}} : tensor<8x4x32xf32>
// SEQUENCE: weft.reduce_scatter sum {{.*}} dim = 1 {{.*}}transpose of {{.*}} : tensor<8x16x32xf32>
// SEQUENCE: weft.all_gather {{.*}} dim = 1 {{.*}}transpose of {{.*}} : tensor<8x4x32xf32>
// SEQUENCE: weft.reduce_scatter sum {{.*}} dim = 1 {{.*}}transpose of {{.*}} : tensor<8x16x32xf32>
// SEQUENCE: weft.all_gather {{.*}} dim = 1 {{.*}}transpose of {{.*}} : tensor<8x4x32xf32>
// SEQUENCE: weft.reduce_scatter sum {{.*}} dim = 1 {{.*}}transpose of {{.*}} : tensor<8x16x32xf32>
// SEQUENCE: weft.all_reduce sum {{.*}} : tensor<f32>
// SEQUENCE-NOT: {{weft.(all_|reduce_scatter|permute)}}

weft.mesh @mesh = <["model"=4]>

func.func private @norm(%x: tensor<8x16x32xf32>) -> tensor<8x16x32xf32> {
  %width = arith.constant dense<32.0> : tensor<8x16x1xf32>
  %square = arith.mulf %x, %x : tensor<8x16x32xf32>
  %sum = weft.reduce sum %square dims = [2] : tensor<8x16x32xf32> -> tensor<8x16xf32>
  %column = weft.reshape %sum : tensor<8x16xf32> -> tensor<8x16x1xf32>
  %mean = arith.divf %column, %width : tensor<8x16x1xf32>
  %scale = math.rsqrt %mean : tensor<8x16x1xf32>
  %scales = weft.broadcast %scale dims = [0, 1, 2] : tensor<8x16x1xf32> -> tensor<8x16x32xf32>
  %y = arith.mulf %x, %scales : tensor<8x16x32xf32>
  return %y : tensor<8x16x32xf32>
}

func.func private @layer(%x: tensor<8x16x32xf32>, %wq: tensor<32x4x8xf32>, %wk: tensor<32x4x8xf32>, %wv: tensor<32x4x8xf32>, %wo: tensor<4x8x32xf32>,
    %w1: tensor<32x128xf32>, %w2: tensor<128x32xf32>) -> tensor<8x16x32xf32> {
  %h = func.call @norm(%x) : (tensor<8x16x32xf32>) -> tensor<8x16x32xf32>
  %q0 = weft.dot_general %h, %wq contracting = [2] x [0] : (tensor<8x16x32xf32>, tensor<32x4x8xf32>) -> tensor<8x16x4x8xf32>
  %q = weft.constraint %q0 <@mesh, HEADS> : tensor<8x16x4x8xf32>
  %k0 = weft.dot_general %h, %wk contracting = [2] x [0] : (tensor<8x16x32xf32>, tensor<32x4x8xf32>) -> tensor<8x16x4x8xf32>
  %k = weft.constraint %k0 <@mesh, HEADS> : tensor<8x16x4x8xf32>
  %v0 = weft.dot_general %h, %wv contracting = [2] x [0] : (tensor<8x16x32xf32>, tensor<32x4x8xf32>) -> tensor<8x16x4x8xf32>
  %v = weft.constraint %v0 <@mesh, HEADS> : tensor<8x16x4x8xf32>
  %scores = weft.dot_general %q, %k batching = [0, 2] x [0, 2] contracting = [3] x [3] : (tensor<8x16x4x8xf32>, tensor<8x16x4x8xf32>) -> tensor<8x4x16x16xf32>
  %exp = math.exp %scores : tensor<8x4x16x16xf32>
  %total = weft.reduce sum %exp dims = [3] : tensor<8x4x16x16xf32> -> tensor<8x4x16xf32>
  %totals = weft.broadcast %total dims = [0, 1, 2] : tensor<8x4x16xf32> -> tensor<8x4x16x16xf32>
  %p = arith.divf %exp, %totals : tensor<8x4x16x16xf32>
  %heads0 = weft.dot_general %p, %v batching = [0, 1] x [0, 2] contracting = [3] x [1] : (tensor<8x4x16x16xf32>, tensor<8x16x4x8xf32>) -> tensor<8x4x16x8xf32>
  %heads = weft.constraint %heads0 <@mesh, ATTENDED> : tensor<8x4x16x8xf32>
  %attended = weft.dot_general %heads, %wo contracting = [1, 3] x [0, 1] : (tensor<8x4x16x8xf32>, tensor<4x8x32xf32>) -> tensor<8x16x32xf32>
  %r0 = arith.addf %x, %attended : tensor<8x16x32xf32>
  %r = weft.constraint %r0 <@mesh, RESIDUAL> : tensor<8x16x32xf32>
  %g = func.call @norm(%r) : (tensor<8x16x32xf32>) -> tensor<8x16x32xf32>
  %hidden0 = weft.dot_general %g, %w1 contracting = [2] x [0] : (tensor<8x16x32xf32>, tensor<32x128xf32>) -> tensor<8x16x128xf32>
  %hidden = weft.constraint %hidden0 <@mesh, HIDDEN> : tensor<8x16x128xf32>
  %active = math.tanh %hidden : tensor<8x16x128xf32>
  %out = weft.dot_general %active, %w2 contracting = [2] x [0] : (tensor<8x16x128xf32>, tensor<128x32xf32>) -> tensor<8x16x32xf32>
  %s0 = arith.addf %r, %out : tensor<8x16x32xf32>
  %s = weft.constraint %s0 <@mesh, RESIDUAL> : tensor<8x16x32xf32>
  return %s : tensor<8x16x32xf32>
}

func.func private @loss(%x: tensor<8x16x32xf32>, %aq: tensor<32x4x8xf32>, %ak: tensor<32x4x8xf32>, %av: tensor<32x4x8xf32>, %ao: tensor<4x8x32xf32>, %a1: tensor<32x128xf32>, %a2: tensor<128x32xf32>, %bq: tensor<32x4x8xf32>, %bk: tensor<32x4x8xf32>, %bv: tensor<32x4x8xf32>, %bo: tensor<4x8x32xf32>, %b1: tensor<32x128xf32>, %b2: tensor<128x32xf32>) -> tensor<f32> {
  %r0 = weft.constraint %x <@mesh, RESIDUAL> : tensor<8x16x32xf32>
  %r1 = func.call @layer(%r0, %aq, %ak, %av, %ao, %a1, %a2) : (tensor<8x16x32xf32>, tensor<32x4x8xf32>, tensor<32x4x8xf32>, tensor<32x4x8xf32>, tensor<4x8x32xf32>, tensor<32x128xf32>, tensor<128x32xf32>) -> tensor<8x16x32xf32>
  %r2 = func.call @layer(%r1, %bq, %bk, %bv, %bo, %b1, %b2) : (tensor<8x16x32xf32>, tensor<32x4x8xf32>, tensor<32x4x8xf32>, tensor<32x4x8xf32>, tensor<4x8x32xf32>, tensor<32x128xf32>, tensor<128x32xf32>) -> tensor<8x16x32xf32>
  %h = func.call @norm(%r2) : (tensor<8x16x32xf32>) -> tensor<8x16x32xf32>
  %exp = math.exp %h : tensor<8x16x32xf32>
  %loss = weft.reduce sum %exp dims = [0, 1, 2] : tensor<8x16x32xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

func.func @step(
    %x: tensor<8x16x32xf32> {weft.name = "x"},
    %aq: tensor<32x4x8xf32> {weft.name = "aq", weft.sharding = #weft.sharding<@mesh, [{}, {"model"}, {}]>},
    %ak: tensor<32x4x8xf32> {weft.name = "ak", weft.sharding = #weft.sharding<@mesh, [{}, {"model"}, {}]>},
    %av: tensor<32x4x8xf32> {weft.name = "av", weft.sharding = #weft.sharding<@mesh, [{}, {"model"}, {}]>},
    %ao: tensor<4x8x32xf32> {weft.name = "ao", weft.sharding = #weft.sharding<@mesh, [{"model"}, {}, {}]>},
    %a1: tensor<32x128xf32> {weft.name = "a1", weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>},
    %a2: tensor<128x32xf32> {weft.name = "a2", weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>},
    %bq: tensor<32x4x8xf32> {weft.name = "bq", weft.sharding = #weft.sharding<@mesh, [{}, {"model"}, {}]>},
    %bk: tensor<32x4x8xf32> {weft.name = "bk", weft.sharding = #weft.sharding<@mesh, [{}, {"model"}, {}]>},
    %bv: tensor<32x4x8xf32> {weft.name = "bv", weft.sharding = #weft.sharding<@mesh, [{}, {"model"}, {}]>},
    %bo: tensor<4x8x32xf32> {weft.name = "bo", weft.sharding = #weft.sharding<@mesh, [{"model"}, {}, {}]>},
    %b1: tensor<32x128xf32> {weft.name = "b1", weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>},
    %b2: tensor<128x32xf32> {weft.name = "b2", weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<f32> {weft.name = "loss"}, tensor<8x16x32xf32> {weft.name = "gradient of x"},
        tensor<32x4x8xf32> {weft.name = "aq"},
        tensor<32x4x8xf32> {weft.name = "ak"},
        tensor<32x4x8xf32> {weft.name = "av"},
        tensor<4x8x32xf32> {weft.name = "ao"},
        tensor<32x128xf32> {weft.name = "a1"},
        tensor<128x32xf32> {weft.name = "a2"},
        tensor<32x4x8xf32> {weft.name = "bq"},
        tensor<32x4x8xf32> {weft.name = "bk"},
        tensor<32x4x8xf32> {weft.name = "bv"},
        tensor<4x8x32xf32> {weft.name = "bo"},
        tensor<32x128xf32> {weft.name = "b1"},
        tensor<128x32xf32> {weft.name = "b2"}) {
  %g:14 = weft.value_and_grad @loss(%x, %aq, %ak, %av, %ao, %a1, %a2, %bq, %bk, %bv, %bo, %b1, %b2) wrt = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
      : (tensor<8x16x32xf32>, tensor<32x4x8xf32>, tensor<32x4x8xf32>, tensor<32x4x8xf32>, tensor<4x8x32xf32>, tensor<32x128xf32>, tensor<128x32xf32>, tensor<32x4x8xf32>, tensor<32x4x8xf32>, tensor<32x4x8xf32>, tensor<4x8x32xf32>, tensor<32x128xf32>, tensor<128x32xf32>)
      -> (tensor<f32>, tensor<8x16x32xf32>, tensor<32x4x8xf32>, tensor<32x4x8xf32>, tensor<32x4x8xf32>, tensor<4x8x32xf32>, tensor<32x128xf32>, tensor<128x32xf32>, tensor<32x4x8xf32>, tensor<32x4x8xf32>, tensor<32x4x8xf32>, tensor<4x8x32xf32>, tensor<32x128xf32>, tensor<128x32xf32>)
  %newaq = arith.subf %aq, %g#2 : tensor<32x4x8xf32>
  %newak = arith.subf %ak, %g#3 : tensor<32x4x8xf32>
  %newav = arith.subf %av, %g#4 : tensor<32x4x8xf32>
  %newao = arith.subf %ao, %g#5 : tensor<4x8x32xf32>
  %newa1 = arith.subf %a1, %g#6 : tensor<32x128xf32>
  %newa2 = arith.subf %a2, %g#7 : tensor<128x32xf32>
  %newbq = arith.subf %bq, %g#8 : tensor<32x4x8xf32>
  %newbk = arith.subf %bk, %g#9 : tensor<32x4x8xf32>
  %newbv = arith.subf %bv, %g#10 : tensor<32x4x8xf32>
  %newbo = arith.subf %bo, %g#11 : tensor<4x8x32xf32>
  %newb1 = arith.subf %b1, %g#12 : tensor<32x128xf32>
  %newb2 = arith.subf %b2, %g#13 : tensor<128x32xf32>
  return %g#0, %g#1, %newaq, %newak, %newav, %newao, %newa1, %newa2, %newbq, %newbk, %newbv, %newbo, %newb1, %newb2 : tensor<f32>, tensor<8x16x32xf32>, tensor<32x4x8xf32>, tensor<32x4x8xf32>, tensor<32x4x8xf32>, tensor<4x8x32xf32>, tensor<32x128xf32>, tensor<128x32xf32>, tensor<32x4x8xf32>, tensor<32x4x8xf32>, tensor<32x4x8xf32>, tensor<4x8x32xf32>, tensor<32x128xf32>, tensor<128x32xf32>
}
