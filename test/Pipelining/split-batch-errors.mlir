// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --weft-split-batch=microbatches=4 --verify-diagnostics -o /dev/null

// expected-note @below {{the batch is "x"}}
func.func @norm(%w: tensor<8x8xf32> {weft.name = "w"}, %x: tensor<8x8xf32> {weft.name = "x"})
    -> (tensor<8x8xf32> {weft.name = "w"}, tensor<f32> {weft.name = "loss"}) {
  %h = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // expected-error @below {{the batch cannot be split into 4 micro-batches: weft.reduce is a sum over its rows that is needed before all of them are computed; compute it for each row, or let the model have the loop over micro-batches}}
  %s = weft.reduce sum %h dims = [0] : tensor<8x8xf32> -> tensor<8xf32>
  %m = arith.negf %s : tensor<8xf32>
  %b = weft.broadcast %m dims = [1] : tensor<8xf32> -> tensor<8x8xf32>
  // expected-note @below {{needed here}}
  %d = arith.addf %h, %b : tensor<8x8xf32>
  // The rest is looked at as if the sum were there.
  // expected-error @below {{the batch cannot be split into 4 micro-batches: weft.reduce of its rows is no sum over them; compute it for each row, or let the model have the loop over micro-batches}}
  %y = weft.reduce max %d dims = [0, 1] : tensor<8x8xf32> -> tensor<f32>
  return %w, %y : tensor<8x8xf32>, tensor<f32>
}

// -----

// expected-note @below {{the batch is "x", "y"}}
func.func @pairs(%w: tensor<8x8xf32> {weft.name = "w"}, %x: tensor<8x8xf32> {weft.name = "x"}, %y: tensor<8x8xf32> {weft.name = "y"})
    -> (tensor<8x8xf32> {weft.name = "w"}, tensor<8x8xf32> {weft.name = "pairs"}) {
  %a = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = weft.dot_general %y, %w contracting = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // expected-error @below {{weft.dot_general of its rows is no sum over them}}
  %c = weft.dot_general %a, %b contracting = [1] x [1] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %w, %c : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// Rows that are looked up, counted along, or turned around.
// expected-note @below {{the batch is "x"}}
func.func @positions(%w: tensor<8x8xf32> {weft.name = "w"}, %x: tensor<8x8xf32> {weft.name = "x"}, %i: tensor<2xi32> {weft.name = "i"})
    -> (tensor<8x8xf32> {weft.name = "w"}, tensor<2x8xf32> {weft.name = "a"}, tensor<2x8xf32> {weft.name = "b"}, tensor<9x8xf32> {weft.name = "c"}) {
  %h = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // expected-error @below {{weft.slice of its rows is no sum over them}}
  %a = weft.slice %h starts = [0, 0] limits = [2, 8] strides = [1, 1] : tensor<8x8xf32> -> tensor<2x8xf32>
  // expected-error @below {{weft.gather of its rows is no sum over them}}
  %b = weft.gather %h, %i dim = 0 : (tensor<8x8xf32>, tensor<2xi32>) -> tensor<2x8xf32>
  // expected-error @below {{weft.pad of its rows is no sum over them}}
  %c = weft.pad %h low = [1, 0] high = [0, 0] interior = [0, 0] value = 0.0 : f32 : tensor<8x8xf32> -> tensor<9x8xf32>
  return %w, %a, %b, %c : tensor<8x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<9x8xf32>
}

// -----

// expected-error @below {{no argument of @none is a batch that can be split into 4 micro-batches: its first dimension must be a multiple of them, and the model be computed from it}}
func.func @none(%w: tensor<8x8xf32> {weft.name = "w"},
                // expected-note @below {{"x" has 6, which is a multiple of 3 and 6}}
                %x: tensor<6x8xf32> {weft.name = "x"},
                %s: tensor<f32> {weft.name = "s"})
    -> (tensor<8x8xf32> {weft.name = "w"}, tensor<6x8xf32> {weft.name = "y"}) {
  %h = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
  return %w, %h : tensor<8x8xf32>, tensor<6x8xf32>
}

// -----

// expected-error @below {{no argument of @boundary_on_parameter is a batch that can be split into 4 micro-batches}}
func.func @boundary_on_parameter(%w: tensor<8x8xf32> {weft.name = "w"},
                                 // expected-note-re @below {{"x" has 8{{$}}}}
                                 %x: tensor<8x8xf32> {weft.name = "x"})
    -> (tensor<8x8xf32> {weft.name = "w"}, tensor<8x8xf32> {weft.name = "y"}) {
  // expected-note @below {{if "x" is the batch, this stage boundary is on what is the same for all micro-batches; put it between two layers of the model}}
  %u = weft.stage_boundary %w : tensor<8x8xf32>
  %h = weft.dot_general %x, %u contracting = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %w, %h : tensor<8x8xf32>, tensor<8x8xf32>
}
