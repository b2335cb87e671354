// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-localize --split-input-file --verify-diagnostics

weft.mesh @mesh = <["a"=4]>

func.func @constraint_left(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{a constraint is left; run --weft-insert-reshards before}}
  %c = weft.constraint %x <@mesh, [{"a"}]> : tensor<4xf32>
  return %c : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["a"=4]>

// expected-error @+1 {{the axes of #weft.sharding<@mesh, [{"a"}]> do not divide 'tensor<6xf32>'; run --weft-insert-reshards before}}
func.func @indivisible(%x: tensor<6xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>}) {
  return
}

// -----

weft.mesh @mesh = <["a"=4]>

func.func @constant_split() {
  // expected-error @+1 {{a constant of different elements must be replicated here, got a shard of type 'tensor<1xf32>'; run --weft-insert-reshards before}}
  %c = arith.constant {weft.shardings = [#weft.sharding<@mesh, [{"a"}]>]} dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  return
}

// -----

weft.mesh @mesh = <["a"=4]>

func.func @no_way(%x: tensor<6xf32>) {
  // expected-error @+1 {{cannot reshard #weft.sharding<@mesh, [{}]> to #weft.sharding<@mesh, [{"a"}]> for 'tensor<6xf32>'}}
  %r = weft.reshard %x <@mesh, [{"a"}]> : tensor<6xf32>
  return
}

// -----

// expected-error @+1 {{cannot partition without a mesh}}
module {
  func.func @no_mesh(%x: tensor<4xf32>) {
    return
  }
}
