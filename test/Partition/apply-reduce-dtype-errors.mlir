// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-apply-reduce-dtype --verify-diagnostics

// A program whose gradients nobody marked, as JAX exports it, is not silently
// left as it is.
// expected-error@+1 {{cannot sum gradients in f32: no value of this program is marked as a gradient; differentiate with weft.value_and_grad, or leave out the option}}
module {
  weft.mesh @mesh = <["data"=4]>

  func.func @step(%x: tensor<8x4xbf16> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
      -> (tensor<4xbf16> {weft.sharding = #weft.sharding<@mesh, [{}]>}) {
    %a = weft.reduce sum %x dims = [0] {weft.shardings = [#weft.sharding<@mesh, [{}], unreduced={"data"}>]} : tensor<8x4xbf16> -> tensor<4xbf16>
    %b = weft.reshard %a <@mesh, [{}]> {weft.shardings = [#weft.sharding<@mesh, [{}]>]} : tensor<4xbf16>
    return %b : tensor<4xbf16>
  }
}
