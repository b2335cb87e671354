// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What is computed for each micro-batch leaves the loop in sums and stacks.
// RUN: shard-opt %s --split-input-file --weft-verify-form=form=graph --verify-diagnostics

func.func @returned(%x: tensor<8x4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %xi = weft.microbatch_slice %x dim = 1 of <"step", 4>
      : tensor<8x4xf32> -> tensor<8xf32>
  %s = weft.microbatch_sum %xi of <"step", 4> : tensor<8xf32>
  // Nothing is wrong with the sum beside it.
  // expected-error @below {{result 0 is a value of each micro-batch of loop "step"; take weft.microbatch_sum or weft.microbatch_stack of it}}
  return %xi, %s : tensor<8xf32>, tensor<8xf32>
}

// -----

func.func @two_loops(%x: tensor<8x4xf32>, %y: tensor<8x2xf32>) -> tensor<8xf32> {
  %xi = weft.microbatch_slice %x dim = 1 of <"a", 4>
      : tensor<8x4xf32> -> tensor<8xf32>
  %yi = weft.microbatch_slice %y dim = 1 of <"b", 2>
      : tensor<8x2xf32> -> tensor<8xf32>
  // expected-error @below {{arith.addf of loop "a" uses a value of each micro-batch of loop "b" as operand 1; take weft.microbatch_sum or weft.microbatch_stack of it}}
  %z = arith.addf %xi, %yi : tensor<8xf32>
  %s = weft.microbatch_sum %z of <"a", 4> : tensor<8xf32>
  return %s : tensor<8xf32>
}

// -----

func.func @sum_of_another_loop(%x: tensor<8x4xf32>) -> tensor<8xf32> {
  %xi = weft.microbatch_slice %x dim = 1 of <"a", 4>
      : tensor<8x4xf32> -> tensor<8xf32>
  // expected-error @below {{weft.microbatch_sum of loop "b" uses a value of each micro-batch of loop "a" as operand 0}}
  %s = weft.microbatch_sum %xi of <"b", 2> : tensor<8xf32>
  return %s : tensor<8xf32>
}

// -----

func.func @slice_of_slice(%x: tensor<4x4xf32>) -> tensor<f32> {
  %xi = weft.microbatch_slice %x dim = 1 of <"step", 4>
      : tensor<4x4xf32> -> tensor<4xf32>
  // expected-error @below {{weft.microbatch_slice needs a value that is there before the loop, but operand 0 is one of each micro-batch of it}}
  %xii = weft.microbatch_slice %xi dim = 0 of <"step", 4>
      : tensor<4xf32> -> tensor<f32>
  %s = weft.microbatch_sum %xii of <"step", 4> : tensor<f32>
  return %s : tensor<f32>
}

// -----

func.func @own_sum(%x: tensor<8x4xf32>) -> tensor<8xf32> {
  %xi = weft.microbatch_slice %x dim = 1 of <"step", 4>
      : tensor<8x4xf32> -> tensor<8xf32>
  %s = weft.microbatch_sum %xi of <"step", 4> : tensor<8xf32>
  // expected-error @below {{arith.mulf of loop "step" needs a sum or stack of the same loop, which is there only after the last micro-batch}}
  %z = arith.mulf %xi, %s : tensor<8xf32>
  // expected-error @below {{weft.microbatch_sum of loop "step" needs a sum or stack of the same loop, which is there only after the last micro-batch}}
  %t = weft.microbatch_sum %z of <"step", 4> : tensor<8xf32>
  return %t : tensor<8xf32>
}

// -----

func.func @two_counts(%x: tensor<8x4xf32>, %y: tensor<8x2xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %xi = weft.microbatch_slice %x dim = 1 of <"step", 4>
      : tensor<8x4xf32> -> tensor<8xf32>
  %s = weft.microbatch_sum %xi of <"step", 4> : tensor<8xf32>
  // expected-error @below {{loop "step" has 2 micro-batches here and 4 before}}
  %yi = weft.microbatch_slice %y dim = 1 of <"step", 2>
      : tensor<8x2xf32> -> tensor<8xf32>
  %t = weft.microbatch_sum %yi of <"step", 2> : tensor<8xf32>
  return %s, %t : tensor<8xf32>, tensor<8xf32>
}
