// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-plan-memory=statistics --split-input-file --verify-diagnostics
// RUN: sed /expected-/d %s | shard-opt --weft-plan-memory --split-input-file 2>&1 \
// RUN:   | FileCheck %s --check-prefix=QUIET --implicit-check-not=remark
// QUIET: weft.arena_bytes = 128

// expected-remark @below {{the arena has 128 bytes, 1.000x the liveness lower bound of 128; 0 copies, 1 result in place}}
module {
  func.func private @add(%x: tensor<16xf32>, %y: tensor<16xf32>) -> tensor<16xf32>
      attributes {weft.kernel, weft.in_place = array<i64: 0, 0>}
  func.func @step(%w: tensor<16xf32> {weft.name = "w"}, %x: tensor<16xf32> {weft.name = "x"})
      -> (tensor<16xf32> {weft.name = "w"}) {
    %r = weft.launch @add(%w, %x) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    return %r : tensor<16xf32>
  }
}

// -----

// Two states change places: one of them waits in a temporary.
// expected-remark @below {{the arena has 192 bytes, 1.000x the liveness lower bound of 192; 3 copies, 0 results in place}}
module {
  func.func @swap(%a: tensor<16xf32> {weft.name = "a"}, %b: tensor<16xf32> {weft.name = "b"})
      -> (tensor<16xf32> {weft.name = "a"}, tensor<16xf32> {weft.name = "b"}) {
    return %b, %a : tensor<16xf32>, tensor<16xf32>
  }
}
