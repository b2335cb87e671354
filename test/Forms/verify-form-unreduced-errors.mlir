// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Terms of a sum go only through ops that commute with the sum.
// RUN: shard-opt %s --split-input-file --weft-verify-form=form=sharded --verify-diagnostics -o /dev/null

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @step(%x: tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{}], unreduced={"x"}>}, %y: tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>}) {
  // expected-error @below {{after propagate: result 0 of math.exp is unreduced over "x": operand 0 is, but the op is not linear; constrain the operand or the result to a sharding that is not unreduced}}
  %a = math.exp %x {weft.shardings = [#weft.sharding<@mesh, [{}], unreduced={"x"}>]} : tensor<4xf32>
  // expected-error @below {{after propagate: result 0 of arith.addf is unreduced over "x": operand 0 is, but operand 1 is not; constrain the operand or the result to a sharding that is not unreduced}}
  %b = arith.addf %x, %y {weft.shardings = [#weft.sharding<@mesh, [{}], unreduced={"x"}>]} : tensor<4xf32>
  // expected-error @below {{after propagate: result 0 of arith.mulf is unreduced over "x": operand 0 is, but operand 1 is too; constrain the operand or the result to a sharding that is not unreduced}}
  %c = arith.mulf %x, %x {weft.shardings = [#weft.sharding<@mesh, [{}], unreduced={"x"}>]} : tensor<4xf32>
  // expected-error @below {{after propagate: result 0 of arith.negf is unreduced over "x": no operand is, and no reduction of the op is split over it; constrain the operand or the result to a sharding that is not unreduced}}
  %d = arith.negf %y {weft.shardings = [#weft.sharding<@mesh, [{}], unreduced={"x"}>]} : tensor<4xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @step(%x: tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{}], unreduced=max{"x"}>}) {
  // A transpose only moves data.
  %a = weft.transpose %x dims = [0] {weft.shardings = [#weft.sharding<@mesh, [{}], unreduced=max{"x"}>]} : tensor<4xf32> -> tensor<4xf32>
  // expected-error @below {{after propagate: result 0 of arith.negf is unreduced over "x": operand 0 is, but only ops that move data pass on partial maxima and minima; constrain the operand or the result to a sharding that is not unreduced}}
  %b = arith.negf %x {weft.shardings = [#weft.sharding<@mesh, [{}], unreduced=max{"x"}>]} : tensor<4xf32>
  return
}

// -----

// A split reduction leaves terms of its own kind only.
weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @step(%x: tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}]>}) {
  %a = weft.reduce sum %x dims = [0] {weft.shardings = [#weft.sharding<@mesh, [], unreduced={"x"}>]} : tensor<4xf32> -> tensor<f32>
  %b = weft.reduce max %x dims = [0] {weft.shardings = [#weft.sharding<@mesh, [], unreduced=max{"x"}>]} : tensor<4xf32> -> tensor<f32>
  // expected-error @below {{after propagate: result 0 of weft.reduce is unreduced over "x": no operand is}}
  %c = weft.reduce max %x dims = [0] {weft.shardings = [#weft.sharding<@mesh, [], unreduced={"x"}>]} : tensor<4xf32> -> tensor<f32>
  // expected-error @below {{after propagate: result 0 of weft.reduce is unreduced over "y": no operand is}}
  %d = weft.reduce sum %x dims = [0] {weft.shardings = [#weft.sharding<@mesh, [], unreduced={"y"}>]} : tensor<4xf32> -> tensor<f32>
  return
}

// -----

// An index is not a term of a sum.
weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @step(%t: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{}], unreduced={"x"}>}, %i: tensor<4xi32> {weft.sharding = #weft.sharding<@mesh, [{}], unreduced={"x"}>}, %j: tensor<4xi32> {weft.sharding = #weft.sharding<@mesh, [{}]>}) {
  %a = weft.gather %t, %j dim = 0 {weft.shardings = [#weft.sharding<@mesh, [{}], unreduced={"x"}>]} : (tensor<8xf32>, tensor<4xi32>) -> tensor<4xf32>
  // expected-error @below {{after propagate: result 0 of weft.gather is unreduced over "x": operand 1 is, but the op is linear in operand 0 only; constrain the operand or the result to a sharding that is not unreduced}}
  %b = weft.gather %t, %i dim = 0 {weft.shardings = [#weft.sharding<@mesh, [{}], unreduced={"x"}>]} : (tensor<8xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

// What is legal: linear ops, and a constraint from any layout to any.
weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @step(%x: tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{}], unreduced={"x"}>}, %y: tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>}) {
  %a = arith.addf %x, %x {weft.shardings = [#weft.sharding<@mesh, [{}], unreduced={"x"}>]} : tensor<4xf32>
  %b = arith.mulf %x, %y {weft.shardings = [#weft.sharding<@mesh, [{}], unreduced={"x"}>]} : tensor<4xf32>
  %c = math.exp %x {weft.shardings = [#weft.sharding<@mesh, [{}]>]} : tensor<4xf32>
  %d = weft.constraint %y <@mesh, [{}], unreduced={"x"}> {weft.shardings = [#weft.sharding<@mesh, [{}], unreduced={"x"}>]} : tensor<4xf32>
  return
}

// -----

// Nobody may ask for the terms of what an op that is not linear made from terms.
weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @step(%x: tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{}], unreduced={"x"}>}) -> (tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{}], unreduced={"x"}>}) {
  %a = math.exp %x {weft.shardings = [#weft.sharding<@mesh, [{}]>]} : tensor<4xf32>
  // expected-error @below {{after propagate: wanted result 0 of math.exp is unreduced over "x": operand 0 is, but the op is not linear; constrain the operand or the result to a sharding that is not unreduced}}
  %b = weft.constraint %a <@mesh, [{}], unreduced={"x"}> {weft.shardings = [#weft.sharding<@mesh, [{}], unreduced={"x"}>]} : tensor<4xf32>
  // expected-error @below {{after propagate: wanted result 0 of math.exp is unreduced over "x"}}
  return %a : tensor<4xf32>
}
