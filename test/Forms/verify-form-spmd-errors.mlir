// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --weft-verify-form=form=spmd --verify-diagnostics -o /dev/null

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @step(%x: tensor<4xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) {
  // expected-error @below {{after partition: arith.negf still has weft.shardings, but its type is that of a shard}}
  %a = arith.negf %x {weft.shardings = [#weft.sharding<@mesh, [{}]>]} : tensor<4xf32>
  // expected-error @below {{after partition: weft.constraint is left; run --weft-localize, which makes collectives of it}}
  %b = weft.constraint %x <@mesh, [{}]> : tensor<4xf32>
  // expected-error @below {{after partition: weft.reshard is left; run --weft-localize, which makes collectives of it}}
  %c = weft.reshard %x <@mesh, [{}]> : tensor<4xf32>
  // expected-error @below {{after partition: an SPMD program holds ops of arith and math, tensor ops and collectives of weft, got weft.copy}}
  %d = weft.copy %x : tensor<4xf32>
  // expected-error @below {{after partition: an SPMD program holds ops of arith and math, tensor ops and collectives of weft, got tensor.empty}}
  %e = tensor.empty() : tensor<4xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @step(
    // expected-error @below {{after partition: argument 0 of @step has no weft.sharding}}
    %x: tensor<4xf32>,
    // expected-error @below {{after partition: argument 1 of @step has no weft.global_type}}
    %y: tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>}) {
  return
}

// -----

// expected-error @+2 {{after partition: result 0 of @step has no weft.sharding}}
weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @step(%x: tensor<4xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @step(
    // expected-error @below {{after partition: argument 0 of @step must have type 'tensor<2xf32>', the part of 'tensor<8xf32>' under #weft.sharding<@mesh, [{"x"}]>, got 'tensor<8xf32>'}}
    %x: tensor<8xf32> {weft.global_type = tensor<8xf32>, weft.sharding = #weft.sharding<@mesh, [{"x"}]>},
    // Parts of 2 hold 6 elements and 2 of padding.
    %y: tensor<2xf32> {weft.global_type = tensor<6xf32>, weft.sharding = #weft.sharding<@mesh, [{"x"}]>},
    // expected-error @below {{after partition: argument 2 of @step must have type 'tensor<2xf32>', the part of 'tensor<6xf32>' under #weft.sharding<@mesh, [{"x"}]>, got 'tensor<1xf32>'}}
    %z: tensor<1xf32> {weft.global_type = tensor<6xf32>, weft.sharding = #weft.sharding<@mesh, [{"x"}]>}) {
  return
}

// -----

// A loop over micro-batches that is still what its borders say.
weft.mesh @mesh = <["x"=2]>
func.func @microbatches(%x: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>, weft.global_type = tensor<8x4xf32>})
    -> (tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>, weft.global_type = tensor<8xf32>}) {
  // expected-error @below {{weft.microbatch_slice is left; run --weft-form-microbatch-loops before}}
  %xi = weft.microbatch_slice %x dim = 1 of <"step", 4> : tensor<8x4xf32> -> tensor<8xf32>
  // expected-error @below {{weft.microbatch_sum is left; run --weft-form-microbatch-loops before}}
  %s = weft.microbatch_sum %xi of <"step", 4> : tensor<8xf32>
  return %s : tensor<8xf32>
}

// -----

weft.mesh @mesh = <["x"=2]>
func.func @step(%w: tensor<4xf32> {weft.name = "w", weft.parameter, weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>})
    -> (tensor<4xf32> {weft.name = "r", weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) {
  // expected-error @below {{after partition: arith.addf makes the gradient of "nosuch", which is no argument with weft.parameter and not in weft.differentiated of the module}}
  %a = arith.addf %w, %w {weft.origin = #weft.origin<backward = true, gradient_of = "nosuch">} : tensor<4xf32>
  return %a : tensor<4xf32>
}

// -----

// A loop over micro-batches runs once for each, and takes its part of each.
weft.mesh @mesh = <["x"=2]>
func.func @microbatches(%x: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>, weft.global_type = tensor<8x4xf32>})
    -> (tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>, weft.global_type = tensor<8xf32>}) {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %first = arith.constant dense<0> : tensor<i32>
  // expected-error @below {{after partition: weft.repeat runs 5 times, but loop "step" is over 3 micro-batches}}
  %s:2 = weft.repeat 5 carry (%sum = %zero, %i = %first) : (tensor<8xf32>, tensor<i32>) attributes {weft.microbatches = #weft.microbatches<"step", 3>} {
    // expected-error @below {{after partition: a slice of dimension 1 of 'tensor<8x4xf32>' for each micro-batch, of which there are 3}}
    %xi = weft.gather %x, %i dim = 1 : (tensor<8x4xf32>, tensor<i32>) -> tensor<8xf32>
    %next = arith.addf %sum, %xi : tensor<8xf32>
    %one = arith.constant dense<1> : tensor<i32>
    %j = arith.addi %i, %one : tensor<i32>
    weft.yield %next, %j : tensor<8xf32>, tensor<i32>
  }
  return %s#0 : tensor<8xf32>
}
