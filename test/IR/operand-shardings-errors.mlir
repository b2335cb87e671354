// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-diagnostics --split-input-file

weft.mesh @mesh = <["x"=2]>

func.func @not_an_array(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{weft.operand_shardings must be an array of #weft.sharding, got 1 : i64}}
  %y = math.exp %x {weft.operand_shardings = 1} : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

weft.mesh @mesh = <["x"=2]>

func.func @too_many(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{weft.operand_shardings must have at most one sharding for each of the op's 1 operands, got 2}}
  %y = math.exp %x {weft.operand_shardings = [#weft.sharding<@mesh, [{}]>, #weft.sharding<@mesh, [{}]>]} : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["x"=2]>

func.func @not_a_sharding(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{sharding of operand 0 must be a #weft.sharding, got "x"}}
  %y = math.exp %x {weft.operand_shardings = ["x"]} : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["x"=2]>

func.func @wrong_rank(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error-re @+1 {{sharding of operand 0: {{.*}}rank}}
  %y = math.exp %x {weft.operand_shardings = [#weft.sharding<@mesh, [{}, {}]>]} : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["x"=2]>

func.func @unknown_axis(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error-re @+1 {{sharding of operand 0: {{.*}}"y"}}
  %y = math.exp %x {weft.operand_shardings = [#weft.sharding<@mesh, [{"y"}]>]} : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["x"=2]>

// expected-error @+1 {{weft.operand_shardings is for ops; argument 0 takes weft.sharding}}
func.func @on_an_argument(%x: tensor<4xf32> {weft.operand_shardings = []}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
