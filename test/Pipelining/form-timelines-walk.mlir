// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ranks walk their rows: while one waits until its last gradient is sent, it
// receives nothing. With receives just before their use, this schedule would
// deadlock for that. So they stand where the messages are sent.
// RUN: shard-opt %s --weft-pipeline='stop-after=spmd stage-axis=pipe pipeline-schedule=interleaved-zb' | FileCheck %s

// CHECK: rows = ["0P0,0F0,0SEND_F0,{{[^"]*}}", "1P0,1RECV_F0,1RECV_F1,1F0,1SEND_F0,1RECV_F2,1F1,1SEND_F1,

weft.mesh @mesh = <["pipe"=4]>

func.func @step(
    %w0: tensor<4x4xf32> {weft.name = "w0", weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
    %w1: tensor<4x4xf32> {weft.name = "w1", weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
    %w2: tensor<4x4xf32> {weft.name = "w2", weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
    %w3: tensor<4x4xf32> {weft.name = "w3", weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
    %w4: tensor<4x4xf32> {weft.name = "w4", weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
    %w5: tensor<4x4xf32> {weft.name = "w5", weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
    %w6: tensor<4x4xf32> {weft.name = "w6", weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
    %w7: tensor<4x4xf32> {weft.name = "w7", weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
    %x: tensor<16x4xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{}, {}]>})
    -> (tensor<4x4xf32> {weft.name = "w0"}, tensor<4x4xf32> {weft.name = "w1"}, tensor<4x4xf32> {weft.name = "w2"}, tensor<4x4xf32> {weft.name = "w3"}, tensor<4x4xf32> {weft.name = "w4"}, tensor<4x4xf32> {weft.name = "w5"}, tensor<4x4xf32> {weft.name = "w6"}, tensor<4x4xf32> {weft.name = "w7"}) {
  %u0 = weft.microbatch_use %w0 of <"batch", 8> : tensor<4x4xf32>
  %u1 = weft.microbatch_use %w1 of <"batch", 8> : tensor<4x4xf32>
  %u2 = weft.microbatch_use %w2 of <"batch", 8> : tensor<4x4xf32>
  %u3 = weft.microbatch_use %w3 of <"batch", 8> : tensor<4x4xf32>
  %u4 = weft.microbatch_use %w4 of <"batch", 8> : tensor<4x4xf32>
  %u5 = weft.microbatch_use %w5 of <"batch", 8> : tensor<4x4xf32>
  %u6 = weft.microbatch_use %w6 of <"batch", 8> : tensor<4x4xf32>
  %u7 = weft.microbatch_use %w7 of <"batch", 8> : tensor<4x4xf32>
  %rows = weft.reshape %x : tensor<16x4xf32> -> tensor<2x8x4xf32>
  %xi = weft.microbatch_slice %rows dim = 1 of <"batch", 8> : tensor<2x8x4xf32> -> tensor<2x4xf32>
  %l, %g0, %g1, %g2, %g3, %g4, %g5, %g6, %g7 = weft.value_and_grad @model(%u0, %u1, %u2, %u3, %u4, %u5, %u6, %u7, %xi) wrt = [0, 1, 2, 3, 4, 5, 6, 7]
      : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>) -> (tensor<f32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>)
  %s0 = weft.microbatch_sum %g0 of <"batch", 8> : tensor<4x4xf32>
  %n0 = arith.subf %w0, %s0 : tensor<4x4xf32>
  %s1 = weft.microbatch_sum %g1 of <"batch", 8> : tensor<4x4xf32>
  %n1 = arith.subf %w1, %s1 : tensor<4x4xf32>
  %s2 = weft.microbatch_sum %g2 of <"batch", 8> : tensor<4x4xf32>
  %n2 = arith.subf %w2, %s2 : tensor<4x4xf32>
  %s3 = weft.microbatch_sum %g3 of <"batch", 8> : tensor<4x4xf32>
  %n3 = arith.subf %w3, %s3 : tensor<4x4xf32>
  %s4 = weft.microbatch_sum %g4 of <"batch", 8> : tensor<4x4xf32>
  %n4 = arith.subf %w4, %s4 : tensor<4x4xf32>
  %s5 = weft.microbatch_sum %g5 of <"batch", 8> : tensor<4x4xf32>
  %n5 = arith.subf %w5, %s5 : tensor<4x4xf32>
  %s6 = weft.microbatch_sum %g6 of <"batch", 8> : tensor<4x4xf32>
  %n6 = arith.subf %w6, %s6 : tensor<4x4xf32>
  %s7 = weft.microbatch_sum %g7 of <"batch", 8> : tensor<4x4xf32>
  %n7 = arith.subf %w7, %s7 : tensor<4x4xf32>
  return %n0, %n1, %n2, %n3, %n4, %n5, %n6, %n7 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

func.func private @model(%w0: tensor<4x4xf32>, %w1: tensor<4x4xf32>, %w2: tensor<4x4xf32>, %w3: tensor<4x4xf32>, %w4: tensor<4x4xf32>, %w5: tensor<4x4xf32>, %w6: tensor<4x4xf32>, %w7: tensor<4x4xf32>, %x: tensor<2x4xf32>) -> tensor<f32> {
  %t0 = math.tanh %x : tensor<2x4xf32>
  %d0 = weft.dot_general %t0, %w0 contracting = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %h0 = weft.stage_boundary %d0 : tensor<2x4xf32>
  %t1 = math.tanh %h0 : tensor<2x4xf32>
  %d1 = weft.dot_general %t1, %w1 contracting = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %h1 = weft.stage_boundary %d1 : tensor<2x4xf32>
  %t2 = math.tanh %h1 : tensor<2x4xf32>
  %d2 = weft.dot_general %t2, %w2 contracting = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %h2 = weft.stage_boundary %d2 : tensor<2x4xf32>
  %t3 = math.tanh %h2 : tensor<2x4xf32>
  %d3 = weft.dot_general %t3, %w3 contracting = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %h3 = weft.stage_boundary %d3 : tensor<2x4xf32>
  %t4 = math.tanh %h3 : tensor<2x4xf32>
  %d4 = weft.dot_general %t4, %w4 contracting = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %h4 = weft.stage_boundary %d4 : tensor<2x4xf32>
  %t5 = math.tanh %h4 : tensor<2x4xf32>
  %d5 = weft.dot_general %t5, %w5 contracting = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %h5 = weft.stage_boundary %d5 : tensor<2x4xf32>
  %t6 = math.tanh %h5 : tensor<2x4xf32>
  %d6 = weft.dot_general %t6, %w6 contracting = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %h6 = weft.stage_boundary %d6 : tensor<2x4xf32>
  %t7 = math.tanh %h6 : tensor<2x4xf32>
  %d7 = weft.dot_general %t7, %w7 contracting = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %l = weft.reduce sum %d7 dims = [0, 1] : tensor<2x4xf32> -> tensor<f32>
  return %l : tensor<f32>
}
