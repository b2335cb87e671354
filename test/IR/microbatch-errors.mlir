// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{dim 2 is out of range for rank 2}}
  %r = weft.microbatch_slice %x dim = 2 of <"step", 4>
      : tensor<8x4xf32> -> tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{dim 1 must have the size of the 2 micro-batches, got 4}}
  %r = weft.microbatch_slice %x dim = 1 of <"step", 2>
      : tensor<8x4xf32> -> tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{result must be 'tensor<8xf32>', got 'tensor<4xf32>'}}
  %r = weft.microbatch_slice %x dim = 1 of <"step", 4>
      : tensor<8x4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{operand must be 'tensor<4xf32>', got 'tensor<8xf32>'}}
  %r = weft.microbatch_stack %x dim = 0 of <"step", 4>
      : tensor<8xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<8xi1>) {
  // expected-error @below {{cannot sum predicates; convert them to integers}}
  %r = weft.microbatch_sum %x of <"step", 4> : tensor<8xi1>
  return
}

// -----

// expected-error @below {{a loop needs at least 1 micro-batch, got 0}}
#none = #weft.microbatches<"step", 0>

// -----

// expected-error @below {{a loop has at most 2147483647 micro-batches, got 9000000000}}
#many = #weft.microbatches<"step", 9000000000>

// -----

// expected-error @below {{a loop over micro-batches needs a name}}
#nameless = #weft.microbatches<"", 4>
