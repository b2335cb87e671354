// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-compile %s -o %t.plan | FileCheck %s --check-prefix=REPORT
// RUN: shard-run %t.plan --dump | FileCheck %s --check-prefix=PLAN

// Equal input gives equal bytes, also where they are piped on, beside which the
// report goes.
// RUN: shard-compile %s -o %t.again.plan
// RUN: cmp %t.plan %t.again.plan
// RUN: shard-compile %s -o - 2>%t.report >%t.piped.plan
// RUN: cmp %t.plan %t.piped.plan
// RUN: FileCheck %s --check-prefix=REPORT --input-file=%t.report

// Without machine code it is the same but for the kernels, and nothing runs it.
// RUN: shard-compile %s -o %t.none.plan --target=none | FileCheck %s --check-prefix=REPORT
// RUN: shard-run %t.none.plan --dump=header | FileCheck %s --check-prefix=NONE
// RUN: not shard-run %t.none.plan --entry init 2>&1 | FileCheck %s --check-prefix=REFUSED
// NONE: target none
// NONE: object 0 bytes
// REFUSED: the plan has no machine code

weft.mesh @mesh = <["data"=2, "model"=2]>

func.func @init() -> (tensor<8x8xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>}) {
  %c = arith.constant dense<0.5> : tensor<8x8xf32>
  return %c : tensor<8x8xf32>
}

func.func @step(
    %w: tensor<8x8xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>},
    %x: tensor<16x8xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<8x8xf32> {weft.name = "w"}, tensor<f32> {weft.name = "loss"}) {
  %y = weft.dot_general %x, %w contracting = [1] x [0]
      : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %g = weft.dot_general %x, %y contracting = [0] x [0]
      : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %new = arith.subf %w, %g : tensor<8x8xf32>
  %loss = weft.reduce sum %y dims = [0, 1] : tensor<16x8xf32> -> tensor<f32>
  return %new, %loss : tensor<8x8xf32>, tensor<f32>
}

// REPORT: entry init: 1 kernel launch
// REPORT: entry step: 2 GEMMs, 2 kernel launches, 2 collectives
// REPORT-NEXT: collective  axes         bytes sent  count  cause
// REPORT-DAG: all_reduce  data              128 B      1  partial sums over {"data"} of weft.dot_general (shard-compile.mlir:
// REPORT-DAG: all_reduce  data, model         6 B      1  partial sums over {"data", "model"} of weft.reduce
// REPORT: 134 bytes sent by a rank per call
// REPORT: memory of a rank in init
// REPORT: memory of a rank in step
// REPORT: states 128 B 128 B
// REPORT: arena
// REPORT-NEXT: 1.000x the liveness lower bound
// REPORT-NEXT: alive at the peak (shard-compile.mlir:
// REPORT: compiled in {{.*}} s

// PLAN: producer "weft {{[0-9.]+}}"
// PLAN: mesh <["data"=2, "model"=2]> ranks 4
// PLAN: states 1
// PLAN: "w" f32[8x8] local [8x4] sharding [{}, {"model"}]
// PLAN: entry "step"
// PLAN: comm start #0 all_reduce {{.*}} cause "partial sums {{.*}} at "shard-compile.mlir:
