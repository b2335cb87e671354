// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What stands behind each movement of data: where the axes at both ends come
// from, what else there was, and what to write so that it is not needed.

// RUN: shard-opt %s --split-input-file --weft-propagate=provenance=true --weft-insert-reshards=cluster=%S/Inputs/uniform.toml | FileCheck %s

// A contraction over an axis that an annotation gave.
// CHECK: module attributes {weft.reasons = [
// CHECK-SAME: alternatives = {{\[}}["as it is", 1024, {{[^]]+}}], ["taken as [{\22model\22}, {}]",
// CHECK-SAME: cause = "partial sums over {\22model\22} of weft.dot_general
// CHECK-SAME: chain = {{\[}}["annotation", "held: weft.dot_general ({{[^)]*}}), which adds up what is split over {\22model\22}: \22x\22 (argument 0) annotated as [{}, {\22model\22}] (
// CHECK-SAME: ["annotation", "needed added up over {\22model\22}: result \22y\22 annotated as [{}, {}] (
// CHECK-SAME: edit = "annotate result \22y\22 as [{\22model\22}, {}], which only scatters the sums"
module {
  weft.mesh @mesh = <["model"=2]>
  func.func @contraction(
      %x: tensor<8x16xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>},
      %w: tensor<16x32xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>})
      -> (tensor<8x32xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
    %y = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
    return %y : tensor<8x32xf32>
  }
}

// -----

// An argument that is held as its user cannot take it.
// CHECK: module attributes {weft.reasons = [
// CHECK-SAME: cause = "\22x\22 held as [{}, {\22data\22}], needed as [{\22data\22}, {}] by math.tanh
// CHECK-SAME: ["annotation", "held over {\22data\22}: \22x\22 (argument 0) annotated as [{}, {\22data\22}]
// CHECK-SAME: ["annotation", "needed over {\22data\22}: result \22y\22 annotated as [{\22data\22}, {}] (insert-reshards-reasons.mlir:[[#]]), through return"]
module {
  weft.mesh @mesh = <["data"=2]>
  func.func @conflict(
      %x: tensor<8x16xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{}, {"data"}]>})
      -> (tensor<8x16xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}) {
    %a = math.tanh %x : tensor<8x16xf32>
    return %a : tensor<8x16xf32>
  }
}

// -----

// A constraint in the middle, behind which the value is needed otherwise.
// CHECK: module attributes {weft.reasons = [
// CHECK-SAME: ["annotation", "needed whole over {\22data\22}: constraint annotated as [{}, {}] (
// CHECK-SAME: edit = "write the constraint of {{.*}}.mlir:{{[0-9]+}} as [{\22data\22}, {}], not as [{}, {}]"
module {
  weft.mesh @mesh = <["data"=2]>
  func.func @constraint(
      %x: tensor<8x16xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
      -> (tensor<8x16xf32> {weft.name = "y"}) {
    %t = math.tanh %x : tensor<8x16xf32>
    %c = weft.constraint %t <@mesh, [{}, {}]> : tensor<8x16xf32>
    return %c : tensor<8x16xf32>
  }
}

// -----

// A result that nobody wrote anything of, while the op behind it is split.
// CHECK: module attributes {weft.reasons = [
// CHECK-SAME: ["choice", "held over {\22data\22}: chosen by cost for the op alone: 256 B and 5.0 us; the axis is that of \22x\22 (argument 0) annotated as
// CHECK-SAME: ["default", "needed whole over {\22data\22}: no annotation splits result \22y\22 over it"]
module {
  weft.mesh @mesh = <["data"=2]>
  func.func @default(
      %x: tensor<8x16xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
      -> (tensor<8x16xf32> {weft.name = "y"}) {
    %c = weft.constraint %x <@mesh, [{}, {}]> : tensor<8x16xf32>
    %a = math.tanh %c : tensor<8x16xf32>
    return %a : tensor<8x16xf32>
  }
}

// -----

// Rows of a weight are split, for which the operand beside it is sliced.
// CHECK: module attributes {weft.reasons = [
// CHECK-SAME: edit = "annotate \22w\22 ({{.*}}.mlir:{{[0-9]+}}) as [{}, {\22model\22}]"
module {
  weft.mesh @mesh = <["model"=2]>
  func.func @rows(
      %x: tensor<8x16xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
      %w: tensor<16x32xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>})
      -> (tensor<8x32xf32> {weft.name = "y"}) {
    %0 = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
    %1 = math.tanh %0 : tensor<8x32xf32>
    return %1 : tensor<8x32xf32>
  }
}
