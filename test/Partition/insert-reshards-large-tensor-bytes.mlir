// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-insert-reshards=large-tensor-bytes=1024 -split-input-file -verify-diagnostics
// RUN: shard-opt %s --weft-insert-reshards=large-tensor-bytes=0 -split-input-file 2>&1 | FileCheck %s
// RUN: shard-opt %s --weft-insert-reshards -split-input-file 2>&1 | FileCheck %s

// CHECK-NOT: warning:

weft.mesh @mesh = <["data"=4]>

func.func @gathered_silently(
    %x: tensor<16x16xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}) -> tensor<16x16xf32> {
  // expected-warning @+1 {{"x" of 1.00 KiB is all-gathered on every device, from [{"data"}, {}]; to keep it, write a constraint without axes, else shard result "result0" alike}}
  return %x : tensor<16x16xf32>
}

// -----

weft.mesh @mesh = <["data"=4]>

func.func @gathered_on_request(
    %x: tensor<16x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}) -> tensor<16x16xf32> {
  %c = weft.constraint %x <@mesh, [{}, {}]> : tensor<16x16xf32>
  return %c : tensor<16x16xf32>
}

// -----

weft.mesh @mesh = <["data"=4]>

func.func @small(
    %x: tensor<16x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}) -> tensor<16x8xf32> {
  return %x : tensor<16x8xf32>
}

// -----

weft.mesh @mesh = <["data"=4]>

func.func @replicated_silently(%x: tensor<15x64xf32>, %y: tensor<15x65xf32>) -> (tensor<15x64xf32>, tensor<15x65xf32>) {
  // expected-warning-re @+1 {{math.exp {{.*}} of 3.75 KiB is replicated on every device, although "data" divides its dim 1; annotate it, or a value that it is computed from or used with}}
  %e = math.exp %x : tensor<15x64xf32>
  // Nothing divides this one.
  %f = math.exp %y : tensor<15x65xf32>
  return %e, %f : tensor<15x64xf32>, tensor<15x65xf32>
}

// -----

// One warning for the layers of a model, which come from one line.

weft.mesh @mesh = <["data"=4]>

// expected-warning-re @+1 {{math.exp {{.*}} of 4.00 KiB is replicated on every device, although "data" divides its dim 0 (and 2 more alike on this line); annotate it, or a value that it is computed from or used with}}
func.func @layers(%x: tensor<16x64xf32>) -> tensor<16x64xf32> { %a = math.exp %x : tensor<16x64xf32>  %b = math.exp %a : tensor<16x64xf32>  %c = math.exp %b : tensor<16x64xf32>
  return %c : tensor<16x64xf32>
}
