// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-propagate --weft-insert-reshards --weft-localize --weft-verify-form=form=spmd --split-input-file | FileCheck %s

weft.mesh @mesh = <["data"=2, "model"=2]>

// Batch and heads: nothing moves.
// CHECK-LABEL: func.func @heads
// CHECK-NOT:     weft.all_
// CHECK-NOT:     weft.permute
// CHECK:         weft.attention %{{.*}}, %{{.*}}, %{{.*}} causal scale = 2.500000e-01 : (tensor<2x8x2x16xf32>, tensor<2x8x1x16xf32>, tensor<2x8x1x16xf32>) -> (tensor<2x8x2x16xf32>, tensor<2x8x2xf32>)
func.func @heads(
    %q: tensor<4x8x4x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}, {"model"}, {}]>},
    %k: tensor<4x8x2x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}, {"model"}, {}]>})
    -> tensor<4x8x4x16xf32> {
  %r, %s = weft.attention %q, %k, %k causal scale = 0.25
      : (tensor<4x8x4x16xf32>, tensor<4x8x2x16xf32>, tensor<4x8x2x16xf32>) -> (tensor<4x8x4x16xf32>, tensor<4x8x4xf32>)
  return %r : tensor<4x8x4x16xf32>
}

// -----

weft.mesh @mesh = <["model"=4]>

// More devices than heads of keys: two devices read a head of keys, and each
// holds a term of its cotangent.
// CHECK-LABEL: func.func @groups
// CHECK:         %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]] = weft.attention_grad
// CHECK-SAME:      -> (tensor<4x8x1x16xf32>, tensor<4x8x1x16xf32>, tensor<4x8x1x16xf32>)
// CHECK:         weft.all_reduce sum %[[DK]] over <@mesh, {"model":(2)2}>
// CHECK-NOT:     weft.all_reduce
// CHECK:         return
func.func @groups(
    %q: tensor<4x8x4x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}, {"model"}, {}]>},
    %k: tensor<4x8x2x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}, {"model":(1)2}, {}]>},
    %l: tensor<4x8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}, {"model"}]>})
    -> (tensor<4x8x4x16xf32>, tensor<4x8x2x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}, {"model":(1)2}, {}]>}) {
  %dq, %dk, %dv = weft.attention_grad %q, %k, %k, %q, %l, %q scale = 0.25
      : (tensor<4x8x4x16xf32>, tensor<4x8x2x16xf32>, tensor<4x8x2x16xf32>, tensor<4x8x4x16xf32>, tensor<4x8x4xf32>, tensor<4x8x4x16xf32>)
     -> (tensor<4x8x4x16xf32>, tensor<4x8x2x16xf32>, tensor<4x8x2x16xf32>)
  return %dq, %dk : tensor<4x8x4x16xf32>, tensor<4x8x2x16xf32>
}

// -----

weft.mesh @mesh = <["seq"=2]>

// A split sequence: a ring. Keys and values move on by one device; the second
// device then has those that begin a part earlier than its queries, the first
// only such as it does not see.
// CHECK-LABEL: func.func @ring
// CHECK-SAME:      %[[Q:.*]]: tensor<4x4x4x16xbf16> {{.*}}, %[[K:.*]]: tensor<4x4x2x16xbf16> {{.*}}, %[[V:.*]]: tensor<4x4x2x16xbf16>
// CHECK:         %[[O0:.*]], %[[L0:.*]] = weft.attention %[[Q]], %[[K]], %[[V]] causal scale = 2.500000e-01 : {{.*}} -> (tensor<4x4x4x16xf32>, tensor<4x4x4xf32>)
// CHECK:         %[[K1:.*]] = weft.permute %[[K]] from <@mesh, {"seq"}> to <@mesh, {"seq"}> {cause = "keys and values of weft.attention {{.*}} move around the ring of {\22seq\22}, over which queries and keys are split alike", shift = 1 : i64} : tensor<4x4x2x16xbf16>
// CHECK:         %[[V1:.*]] = weft.permute %[[V]]
// CHECK:         %[[P:.*]] = weft.position over <@mesh, {"seq"}>
// CHECK:         %[[ONE:.*]] = arith.constant dense<1> : tensor<i32>
// CHECK:         %[[BEHIND:.*]] = arith.cmpi sge, %[[P]], %[[ONE]]
// CHECK:         arith.constant dense<4> : tensor<i32>
// CHECK-NEXT:    %[[EARLIER:.*]] = arith.constant dense<4> : tensor<i32>
// CHECK-NEXT:    arith.constant dense<-4> : tensor<i32>
// CHECK-NEXT:    %[[LATER:.*]] = arith.constant dense<-4> : tensor<i32>
// CHECK:         %[[D:.*]] = arith.select %[[BEHIND]], %[[EARLIER]], %[[LATER]]
// CHECK:         %[[O1:.*]], %[[L1:.*]] = weft.attention %[[Q]], %[[K1]], %[[V1]] causal diagonal %[[D]]
// CHECK:         arith.maximumf %[[L0]], %[[L1]]
// CHECK:         math.log
// CHECK:         %[[R:.*]] = arith.truncf %{{.*}} : tensor<4x4x4x16xf32> to tensor<4x4x4x16xbf16>
// CHECK:         return %[[R]]
func.func @ring(
    %q: tensor<4x8x4x16xbf16> {weft.sharding = #weft.sharding<@mesh, [{}, {"seq"}, {}, {}]>},
    %k: tensor<4x8x2x16xbf16> {weft.sharding = #weft.sharding<@mesh, [{}, {"seq"}, {}, {}]>},
    %v: tensor<4x8x2x16xbf16> {weft.sharding = #weft.sharding<@mesh, [{}, {"seq"}, {}, {}]>})
    -> tensor<4x8x4x16xbf16> {
  %r, %s = weft.attention %q, %k, %v causal scale = 0.25
      : (tensor<4x8x4x16xbf16>, tensor<4x8x2x16xbf16>, tensor<4x8x2x16xbf16>) -> (tensor<4x8x4x16xbf16>, tensor<4x8x4xf32>)
  return %r : tensor<4x8x4x16xbf16>
}

// -----

weft.mesh @mesh = <["seq"=2]>

// The cotangents of keys and values travel with them, and once more to come
// home. Results over all keys stay where the queries are.
// CHECK-LABEL: func.func @ring_grad
// CHECK-SAME:      %[[Q:[a-z0-9]+]]: tensor<4x4x4x16xbf16> {{.*}}, %[[K:.*]]: tensor<4x4x2x16xbf16> {{.*}}, %[[V:.*]]: tensor<4x4x2x16xbf16> {{.*}}, %[[L:.*]]: tensor<4x4x4xf32> {{.*}}, %[[E:.*]]: tensor<4x4x4xf32>
// CHECK:         %[[DQ0:.*]], %[[DK0:.*]], %[[DV0:.*]] = weft.attention_grad %[[Q]], %[[K]], %[[V]], %[[Q]], %[[L]], %[[Q]] logsumexp %[[E]] scale
// CHECK-COUNT-2: weft.permute {{.*}} : tensor<4x4x2x16xbf16>
// CHECK:         %[[DQ1:.*]], %[[DK1:.*]], %[[DV1:.*]] = weft.attention_grad %[[Q]], %{{.*}}, %{{.*}}, %[[Q]], %[[L]], %[[Q]] logsumexp %[[E]] scale
// CHECK:         arith.addf %[[DQ0]], %[[DQ1]] : tensor<4x4x4x16xf32>
// CHECK:         %[[MOVED:.*]] = weft.permute %[[DK0]] {{.*}} : tensor<4x4x2x16xf32>
// CHECK:         %[[DK:.*]] = arith.addf %[[MOVED]], %[[DK1]]
// CHECK:         weft.permute %[[DV0]]
// CHECK:         weft.permute %[[DK]]
// CHECK-NOT:     weft.all_
func.func @ring_grad(
    %q: tensor<4x8x4x16xbf16> {weft.sharding = #weft.sharding<@mesh, [{}, {"seq"}, {}, {}]>},
    %k: tensor<4x8x2x16xbf16>, %v: tensor<4x8x2x16xbf16>, %l: tensor<4x8x4xf32>, %e: tensor<4x8x4xf32>)
    -> (tensor<4x8x4x16xbf16>, tensor<4x8x2x16xbf16>, tensor<4x8x2x16xbf16>) {
  %dq, %dk, %dv = weft.attention_grad %q, %k, %v, %q, %l, %q logsumexp %e scale = 0.25
      : (tensor<4x8x4x16xbf16>, tensor<4x8x2x16xbf16>, tensor<4x8x2x16xbf16>, tensor<4x8x4x16xbf16>, tensor<4x8x4xf32>, tensor<4x8x4x16xbf16>, tensor<4x8x4xf32>)
     -> (tensor<4x8x4x16xbf16>, tensor<4x8x2x16xbf16>, tensor<4x8x2x16xbf16>)
  return %dq, %dk, %dv : tensor<4x8x4x16xbf16>, tensor<4x8x2x16xbf16>, tensor<4x8x2x16xbf16>
}

// -----

weft.mesh @mesh = <["seq"=2]>

// Fewer queries than keys: each device has all keys, and queries that begin at
// its part.
// CHECK-LABEL: func.func @offset
// CHECK-SAME:      %[[D:[a-z0-9]+]]: tensor<i32>
// CHECK:         %[[P:.*]] = weft.position over <@mesh, {"seq"}>
// CHECK:         %[[PART:.*]] = arith.constant dense<4> : tensor<i32>
// CHECK:         %[[FIRST:.*]] = arith.muli %[[P]], %[[PART]]
// CHECK:         %[[FROM:.*]] = arith.addi %[[FIRST]], %[[D]]
// CHECK:         weft.attention %{{.*}}, %{{.*}}, %{{.*}} causal diagonal %[[FROM]] {{.*}} : (tensor<4x4x4x16xf32>, tensor<4x32x2x16xf32>,
func.func @offset(
    %q: tensor<4x8x4x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"seq"}, {}, {}]>},
    %k: tensor<4x32x2x16xf32>, %d: tensor<i32>) -> tensor<4x8x4x16xf32> {
  %r, %s = weft.attention %q, %k, %k causal diagonal %d scale = 0.25
      : (tensor<4x8x4x16xf32>, tensor<4x32x2x16xf32>, tensor<4x32x2x16xf32>, tensor<i32>) -> (tensor<4x8x4x16xf32>, tensor<4x8x4xf32>)
  return %r : tensor<4x8x4x16xf32>
}

// -----

weft.mesh @mesh = <["seq"=64]>

// A longer ring is a loop: while an iteration computes with the keys that the device
// holds, those of the next iteration are on their way.
// CHECK-LABEL: func.func @long_ring
// CHECK-SAME:      %[[Q:.*]]: tensor<4x4x4x16xf32> {{.*}}, %[[K:.*]]: tensor<4x4x2x16xf32> {{.*}}, %[[V:.*]]: tensor<4x4x2x16xf32>
// CHECK:         %[[O0:.*]], %[[L0:.*]] = weft.attention %[[Q]], %[[K]], %[[V]] causal
// CHECK:         %[[K1:.*]] = weft.permute %[[K]]
// CHECK:         %[[V1:.*]] = weft.permute %[[V]]
// CHECK:         %[[LOOP:.*]]:5 = weft.repeat 62 carry (%[[KI:.*]] = %[[K1]], %[[VI:.*]] = %[[V1]], %[[O:.*]] = %[[O0]], %[[L:.*]] = %[[L0]], %[[STEP:.*]] = %{{.*}})
// CHECK:           %[[KN:.*]] = weft.permute %[[KI]]
// CHECK:           %[[VN:.*]] = weft.permute %[[VI]]
// CHECK:           %[[P:.*]] = weft.position over <@mesh, {"seq"}>
// CHECK:           %[[LEFT:.*]] = arith.subi %{{.*}}, %[[STEP]]
// CHECK:           arith.cmpi sge, %[[P]], %[[LEFT]]
// CHECK:           weft.attention %[[Q]], %[[KI]], %[[VI]] causal diagonal
// CHECK:           weft.yield %[[KN]], %[[VN]]
// CHECK:         weft.attention %[[Q]], %[[LOOP]]#0, %[[LOOP]]#1 causal diagonal
// CHECK-NOT:     weft.attention
// CHECK:         return
func.func @long_ring(
    %q: tensor<4x256x4x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"seq"}, {}, {}]>},
    %k: tensor<4x256x2x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"seq"}, {}, {}]>},
    %v: tensor<4x256x2x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"seq"}, {}, {}]>})
    -> tensor<4x256x4x16xf32> {
  %r, %s = weft.attention %q, %k, %v causal scale = 0.25
      : (tensor<4x256x4x16xf32>, tensor<4x256x2x16xf32>, tensor<4x256x2x16xf32>) -> (tensor<4x256x4x16xf32>, tensor<4x256x4xf32>)
  return %r : tensor<4x256x4x16xf32>
}

// -----

weft.mesh @mesh = <["seq"=64]>

// What is keys and values at once goes around once.
// CHECK-LABEL: func.func @keys_are_values
// CHECK-SAME:      %[[Q:.*]]: tensor<4x4x4x16xf32> {{.*}}, %[[K:.*]]: tensor<4x4x2x16xf32>
// CHECK:         %[[K1:.*]] = weft.permute %[[K]]
// CHECK-NOT:     weft.permute
// CHECK:         %[[LOOP:.*]]:4 = weft.repeat 62 carry (%[[KI:.*]] = %[[K1]],
// CHECK:           weft.permute %[[KI]]
// CHECK-NOT:       weft.permute
// CHECK:           weft.attention %[[Q]], %[[KI]], %[[KI]] causal diagonal
// CHECK:         weft.attention %[[Q]], %[[LOOP]]#0, %[[LOOP]]#0 causal diagonal
func.func @keys_are_values(
    %q: tensor<4x256x4x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"seq"}, {}, {}]>},
    %k: tensor<4x256x2x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"seq"}, {}, {}]>})
    -> tensor<4x256x4x16xf32> {
  %r, %s = weft.attention %q, %k, %k causal scale = 0.25
      : (tensor<4x256x4x16xf32>, tensor<4x256x2x16xf32>, tensor<4x256x2x16xf32>) -> (tensor<4x256x4x16xf32>, tensor<4x256x4xf32>)
  return %r : tensor<4x256x4x16xf32>
}
