// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-insert-reshards --verify-diagnostics --split-input-file

// Choices written by hand, as an op cannot run.

weft.mesh @mesh = <["x"=2, "y"=2]>

func.func @some_without(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = math.exp %x {weft.operand_shardings = [#weft.sharding<@mesh, [{}]>], weft.shardings = [#weft.sharding<@mesh, [{}]>]} : tensor<4xf32>
  // expected-error @+1 {{has no weft.operand_shardings, but other ops of @some_without do; remove it from all of them, or run weft-optimize-shardings}}
  %z = math.exp %y {weft.shardings = [#weft.sharding<@mesh, [{}]>]} : tensor<4xf32>
  return %z : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["x"=2, "y"=2]>

func.func @too_few(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{weft.operand_shardings must have one sharding for each of the op's 2 operands, got 1}}
  %y = arith.addf %x, %x {weft.operand_shardings = [#weft.sharding<@mesh, [{}]>], weft.shardings = [#weft.sharding<@mesh, [{}]>]} : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["x"=2, "y"=2]>

func.func @operands_disagree(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>) -> tensor<4x4xf32> {
  // expected-error @+1 {{operand 1 has the sharding [{}, {}], but in those of the others the op needs it as [{"x"}, {}]; a dimension is split alike in all operands and results}}
  %y = weft.dot_general %x, %w contracting = [1] x [0] {
      weft.operand_shardings = [#weft.sharding<@mesh, [{}, {"x"}]>, #weft.sharding<@mesh, [{}, {}]>],
      weft.shardings = [#weft.sharding<@mesh, [{}, {}], unreduced={"x"}>]}
      : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// -----

weft.mesh @mesh = <["x"=2, "y"=2]>

func.func @sum_forgotten(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>) -> tensor<4x4xf32> {
  // expected-error @+1 {{result 0 has the sharding [{}, {}], but in those of the others the op needs it as [{}, {}], unreduced={"x"}; a dimension is split alike in all operands and results}}
  %y = weft.dot_general %x, %w contracting = [1] x [0] {
      weft.operand_shardings = [#weft.sharding<@mesh, [{}, {"x"}]>, #weft.sharding<@mesh, [{"x"}, {}]>],
      weft.shardings = [#weft.sharding<@mesh, [{}, {}]>]}
      : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// -----

weft.mesh @mesh = <["x"=2, "y"=2]>

func.func @axis_twice(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>) -> tensor<4x4xf32> {
  // expected-error @+1 {{cannot run with a dimension split over {"x"}, which split another of its dimensions or partial results, too; take an operand without these axes}}
  %y = weft.dot_general %x, %w contracting = [1] x [0] {
      weft.operand_shardings = [#weft.sharding<@mesh, [{"x"}, {}]>, #weft.sharding<@mesh, [{}, {"x"}]>],
      weft.shardings = [#weft.sharding<@mesh, [{"x"}, {}]>]}
      : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// -----

weft.mesh @mesh = <["x"=2, "y"=2]>

func.func @uneven(%x: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error @+1 {{cannot run with a dimension of size 3 split over {"x"}, which do not divide it; take the operand without these axes}}
  %y = math.exp %x {weft.operand_shardings = [#weft.sharding<@mesh, [{"x"}]>], weft.shardings = [#weft.sharding<@mesh, [{}]>]} : tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

weft.mesh @mesh = <["x"=2, "y"=2]>

func.func @needs_it_whole(%x: tensor<4xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{cannot run with a dimension of size 4 split over {"x"}: the op needs it whole; take the operand without these axes}}
  %y = weft.concat %x, %x dim = 0 {
      weft.operand_shardings = [#weft.sharding<@mesh, [{"x"}]>, #weft.sharding<@mesh, [{}]>],
      weft.shardings = [#weft.sharding<@mesh, [{}]>]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

weft.mesh @mesh = <["x"=2, "y"=2]>

func.func @exp_of_terms(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{cannot run on partial results over {"x"} of these operands: it does not commute with their combination; take operands that are not unreduced}}
  %y = math.exp %x {weft.operand_shardings = [#weft.sharding<@mesh, [{}], unreduced={"x"}>],
      weft.shardings = [#weft.sharding<@mesh, [{}], unreduced={"x"}>]} : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["x"=2, "y"=2]>

func.func @barrier(%x: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{computes nothing: weft.operand_shardings must have one sharding, that of the result}}
  %y = weft.barrier %x after %z {weft.operand_shardings = [#weft.sharding<@mesh, [{"x"}]>],
      weft.shardings = [#weft.sharding<@mesh, [{}]>]} : tensor<4xf32> after tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["x"=2, "y"=2]>

func.func @constant() -> tensor<2xf32> {
  // expected-error @+1 {{constant of different elements has the sharding [{"x"}], but is made whole; its users take shards of it}}
  %y = arith.constant {weft.operand_shardings = [], weft.shardings = [#weft.sharding<@mesh, [{"x"}]>]} dense<[1.0, 2.0]> : tensor<2xf32>
  return %y : tensor<2xf32>
}
