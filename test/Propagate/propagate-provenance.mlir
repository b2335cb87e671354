// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Each value says which annotation its axes came from, and over which ops: of a
// long way the first and the last. What no annotation reaches says nothing.

// RUN: shard-opt %s --weft-propagate=provenance=true | FileCheck %s
// RUN: shard-opt %s --weft-propagate | FileCheck %s --check-prefix=OFF

// A program that is read after it was propagated keeps what it says: all its
// shardings look like annotations.
// RUN: shard-opt %s --weft-propagate=provenance=true --mlir-print-debuginfo -o %t.once
// RUN: shard-opt %t.once --weft-propagate=provenance=true --mlir-print-debuginfo | diff %t.once -

// OFF-NOT: weft.provenance

weft.mesh @mesh = <["data"=2, "model"=2]>

// CHECK-LABEL: func.func @f
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<8x16xf32> {weft.name = "x", weft.provenance = {annotation = "\22x\22 (argument 0) annotated as [{\22data\22}, {}] (propagate-provenance.mlir:[[#]])",
// CHECK-SAME: axes = {data = ["\22x\22 (argument 0) annotated as
// CHECK-SAME: weft.name = "w"
// CHECK-SAME: model = ["\22w\22 (argument 1) annotated as [{}, {\22model\22}]
// CHECK-SAME: weft.name = "alone", weft.sharding
// CHECK-SAME: weft.name = "y", weft.provenance = {axes = {data = ["\22x\22 {{.*}}", "weft.dot_general (propagate-provenance.mlir:[[#]])", "2 more ops", "return"], model =
func.func @f(
    %x: tensor<8x16xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<16x32xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>},
    %alone: tensor<8xf32> {weft.name = "alone"})
    -> (tensor<8x32xf32> {weft.name = "y"}, tensor<8xf32> {weft.name = "z"}) {
  // CHECK: = weft.dot_general
  // CHECK-SAME: weft.provenance = [{axes = {data = ["\22x\22 (argument 0) {{.*}}", "weft.dot_general (propagate-provenance.mlir:[[#]])"], model = ["\22w\22
  %product = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %a = math.tanh %product : tensor<8x32xf32>
  %y = arith.negf %a : tensor<8x32xf32>
  return %y, %alone : tensor<8x32xf32>, tensor<8xf32>
}
