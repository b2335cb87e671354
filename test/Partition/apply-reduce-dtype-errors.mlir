// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-apply-reduce-dtype --split-input-file --verify-diagnostics

// A program whose gradients nobody marked is not silently left as it is.
// expected-error@+1 {{cannot sum gradients in f32: no value of this program is marked as a gradient; differentiate with weft.value_and_grad, or donate the parameters that a JAX program updates element by element, or leave out the option}}
module {
  weft.mesh @mesh = <["data"=4]>

  func.func @step(%x: tensor<8x4xbf16> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
      -> (tensor<4xbf16> {weft.sharding = #weft.sharding<@mesh, [{}]>}) {
    %a = weft.reduce sum %x dims = [0] {weft.shardings = [#weft.sharding<@mesh, [{}], unreduced={"data"}>]} : tensor<8x4xbf16> -> tensor<4xbf16>
    %b = weft.reshard %a <@mesh, [{}]> {weft.shardings = [#weft.sharding<@mesh, [{}]>]} : tensor<4xbf16>
    return %b : tensor<4xbf16>
  }
}

// -----

// Nor is a parameter whose gradient nobody marked.
module {
  weft.mesh @mesh = <["data"=4]>

  func.func @step(
      %x: tensor<8x4xbf16> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
      // expected-warning@+1 {{no value is marked as the gradient of the parameter "w": what it is updated with is summed in 'bf16'}}
      %w: tensor<4xbf16> {weft.name = "w", weft.parameter, weft.sharding = #weft.sharding<@mesh, [{}]>})
      -> (tensor<4xbf16> {weft.sharding = #weft.sharding<@mesh, [{}]>}) {
    %a = weft.reduce sum %x dims = [0] {weft.origin = #weft.origin<gradient_of = "v">, weft.shardings = [#weft.sharding<@mesh, [{}], unreduced={"data"}>]} : tensor<8x4xbf16> -> tensor<4xbf16>
    %b = weft.reshard %a <@mesh, [{}]> {weft.shardings = [#weft.sharding<@mesh, [{}]>]} : tensor<4xbf16>
    return %b : tensor<4xbf16>
  }
}

// -----

// Nor is a state of which nobody knows that it is a parameter, as that of a JAX
// program whose loss is linear in it. A momentum is updated with a gradient.
module {
  weft.mesh @mesh = <["data"=4]>

  func.func @step(
      %x: tensor<8x4xbf16> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
      // expected-warning@+1 {{no value is marked as the gradient of the state "v": what it is updated with is summed in 'bf16'}}
      %v: tensor<4xbf16> {weft.name = "v", weft.sharding = #weft.sharding<@mesh, [{}]>},
      %m: tensor<4xbf16> {weft.name = "m", weft.sharding = #weft.sharding<@mesh, [{}]>})
      -> (tensor<4xbf16> {weft.name = "v", weft.sharding = #weft.sharding<@mesh, [{}]>},
          tensor<4xbf16> {weft.name = "m", weft.sharding = #weft.sharding<@mesh, [{}]>}) {
    %a = weft.reduce sum %x dims = [0] {weft.origin = #weft.origin<gradient_of = "w">, weft.shardings = [#weft.sharding<@mesh, [{}], unreduced={"data"}>]} : tensor<8x4xbf16> -> tensor<4xbf16>
    %b = weft.reshard %a <@mesh, [{}]> {weft.shardings = [#weft.sharding<@mesh, [{}]>]} : tensor<4xbf16>
    %c = weft.reduce sum %x dims = [0] {weft.shardings = [#weft.sharding<@mesh, [{}], unreduced={"data"}>]} : tensor<8x4xbf16> -> tensor<4xbf16>
    %d = weft.reshard %c <@mesh, [{}]> {weft.shardings = [#weft.sharding<@mesh, [{}]>]} : tensor<4xbf16>
    %e = arith.subf %v, %d {weft.shardings = [#weft.sharding<@mesh, [{}]>]} : tensor<4xbf16>
    %f = arith.addf %m, %b {weft.shardings = [#weft.sharding<@mesh, [{}]>]} : tensor<4xbf16>
    return %e, %f : tensor<4xbf16>, tensor<4xbf16>
  }
}
