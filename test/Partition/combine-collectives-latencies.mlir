// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A latency is worth 250000 bytes: of an all-reduce over two ranks, 62500
// numbers. Each sum is used at once, so holding several takes memory that the
// program does not need otherwise. What sends more than a quarter of the limit
// stays by itself.

// RUN: shard-opt %s --weft-combine-collectives="latencies=1 cluster=%S/Inputs/uniform.toml" | FileCheck %s --check-prefix=ONE
// RUN: shard-opt %s --weft-combine-collectives="latencies=2 cluster=%S/Inputs/uniform.toml" | FileCheck %s --check-prefix=TWO
// RUN: shard-opt %s --weft-combine-collectives=latencies=0 | FileCheck %s --check-prefix=NONE

weft.mesh @mesh = <["data"=2]>

// ONE-LABEL: func.func @sizes(
// ONE: weft.all_reduce {{.*}} : tensor<50000xf32>
// ONE: weft.all_reduce {{.*}} : tensor<35000xf32>
// TWO-LABEL: func.func @sizes(
// TWO: weft.all_reduce {{.*}} : tensor<85000xf32>
// TWO-NOT: weft.all_reduce
// NONE-COUNT-6: weft.all_reduce
func.func @sizes(%a: tensor<150x1xf32>, %b: tensor<200x1xf32>, %c: tensor<150x1xf32>, %d: tensor<150x1xf32>, %e: tensor<100x1xf32>, %f: tensor<100x1xf32>, %y: tensor<1x100xf32>) -> (tensor<100xf32>, tensor<100xf32>, tensor<100xf32>, tensor<100xf32>, tensor<100xf32>, tensor<100xf32>) {
  %pa = weft.dot_general %a, %y contracting = [1] x [0] : (tensor<150x1xf32>, tensor<1x100xf32>) -> tensor<150x100xf32>
  %sa = weft.all_reduce sum %pa over <@mesh, {"data"}> : tensor<150x100xf32>
  %ra = weft.reduce sum %sa dims = [0] : tensor<150x100xf32> -> tensor<100xf32>
  %pb = weft.dot_general %b, %y contracting = [1] x [0] : (tensor<200x1xf32>, tensor<1x100xf32>) -> tensor<200x100xf32>
  %sb = weft.all_reduce sum %pb over <@mesh, {"data"}> : tensor<200x100xf32>
  %rb = weft.reduce sum %sb dims = [0] : tensor<200x100xf32> -> tensor<100xf32>
  %pc = weft.dot_general %c, %y contracting = [1] x [0] : (tensor<150x1xf32>, tensor<1x100xf32>) -> tensor<150x100xf32>
  %sc = weft.all_reduce sum %pc over <@mesh, {"data"}> : tensor<150x100xf32>
  %rc = weft.reduce sum %sc dims = [0] : tensor<150x100xf32> -> tensor<100xf32>
  %pd = weft.dot_general %d, %y contracting = [1] x [0] : (tensor<150x1xf32>, tensor<1x100xf32>) -> tensor<150x100xf32>
  %sd = weft.all_reduce sum %pd over <@mesh, {"data"}> : tensor<150x100xf32>
  %rd = weft.reduce sum %sd dims = [0] : tensor<150x100xf32> -> tensor<100xf32>
  %pe = weft.dot_general %e, %y contracting = [1] x [0] : (tensor<100x1xf32>, tensor<1x100xf32>) -> tensor<100x100xf32>
  %se = weft.all_reduce sum %pe over <@mesh, {"data"}> : tensor<100x100xf32>
  %re = weft.reduce sum %se dims = [0] : tensor<100x100xf32> -> tensor<100xf32>
  %pf = weft.dot_general %f, %y contracting = [1] x [0] : (tensor<100x1xf32>, tensor<1x100xf32>) -> tensor<100x100xf32>
  %sf = weft.all_reduce sum %pf over <@mesh, {"data"}> : tensor<100x100xf32>
  %rf = weft.reduce sum %sf dims = [0] : tensor<100x100xf32> -> tensor<100xf32>
  return %ra, %rb, %rc, %rd, %re, %rf : tensor<100xf32>, tensor<100xf32>, tensor<100xf32>, tensor<100xf32>, tensor<100xf32>, tensor<100xf32>
}

// Where the program holds as much before, all are one.
// ONE-LABEL: func.func @room(
// ONE: weft.all_reduce {{.*}} : tensor<85000xf32>
// ONE-NOT: weft.all_reduce
// TWO-LABEL: func.func @room(
func.func @room(%a: tensor<150x1xf32>, %b: tensor<200x1xf32>, %c: tensor<150x1xf32>, %d: tensor<150x1xf32>, %e: tensor<100x1xf32>, %f: tensor<100x1xf32>, %y: tensor<1x100xf32>, %z: tensor<2000x1xf32>) -> (tensor<100xf32>, tensor<100xf32>, tensor<100xf32>, tensor<100xf32>, tensor<100xf32>, tensor<100xf32>, tensor<100xf32>) {
  %large = weft.dot_general %z, %y contracting = [1] x [0] : (tensor<2000x1xf32>, tensor<1x100xf32>) -> tensor<2000x100xf32>
  %g = weft.reduce sum %large dims = [0] : tensor<2000x100xf32> -> tensor<100xf32>
  %pa = weft.dot_general %a, %y contracting = [1] x [0] : (tensor<150x1xf32>, tensor<1x100xf32>) -> tensor<150x100xf32>
  %sa = weft.all_reduce sum %pa over <@mesh, {"data"}> : tensor<150x100xf32>
  %ra = weft.reduce sum %sa dims = [0] : tensor<150x100xf32> -> tensor<100xf32>
  %pb = weft.dot_general %b, %y contracting = [1] x [0] : (tensor<200x1xf32>, tensor<1x100xf32>) -> tensor<200x100xf32>
  %sb = weft.all_reduce sum %pb over <@mesh, {"data"}> : tensor<200x100xf32>
  %rb = weft.reduce sum %sb dims = [0] : tensor<200x100xf32> -> tensor<100xf32>
  %pc = weft.dot_general %c, %y contracting = [1] x [0] : (tensor<150x1xf32>, tensor<1x100xf32>) -> tensor<150x100xf32>
  %sc = weft.all_reduce sum %pc over <@mesh, {"data"}> : tensor<150x100xf32>
  %rc = weft.reduce sum %sc dims = [0] : tensor<150x100xf32> -> tensor<100xf32>
  %pd = weft.dot_general %d, %y contracting = [1] x [0] : (tensor<150x1xf32>, tensor<1x100xf32>) -> tensor<150x100xf32>
  %sd = weft.all_reduce sum %pd over <@mesh, {"data"}> : tensor<150x100xf32>
  %rd = weft.reduce sum %sd dims = [0] : tensor<150x100xf32> -> tensor<100xf32>
  %pe = weft.dot_general %e, %y contracting = [1] x [0] : (tensor<100x1xf32>, tensor<1x100xf32>) -> tensor<100x100xf32>
  %se = weft.all_reduce sum %pe over <@mesh, {"data"}> : tensor<100x100xf32>
  %re = weft.reduce sum %se dims = [0] : tensor<100x100xf32> -> tensor<100xf32>
  %pf = weft.dot_general %f, %y contracting = [1] x [0] : (tensor<100x1xf32>, tensor<1x100xf32>) -> tensor<100x100xf32>
  %sf = weft.all_reduce sum %pf over <@mesh, {"data"}> : tensor<100x100xf32>
  %rf = weft.reduce sum %sf dims = [0] : tensor<100x100xf32> -> tensor<100xf32>
  return %ra, %rb, %rc, %rd, %re, %rf, %g : tensor<100xf32>, tensor<100xf32>, tensor<100xf32>, tensor<100xf32>, tensor<100xf32>, tensor<100xf32>, tensor<100xf32>
}

// Whatever else becomes one.
// ONE-LABEL: func.func @two_kinds(
// ONE: weft.all_reduce {{.*}} : tensor<85000xf32>
// ONE: weft.all_reduce {{.*}} : tensor<2xbf16>
// ONE-NOT: weft.all_reduce
// TWO-LABEL: func.func @two_kinds(
func.func @two_kinds(%a: tensor<150x1xf32>, %b: tensor<200x1xf32>, %c: tensor<150x1xf32>, %d: tensor<150x1xf32>, %e: tensor<100x1xf32>, %f: tensor<100x1xf32>, %y: tensor<1x100xf32>, %z: tensor<2000x1xf32>, %h0: tensor<1xbf16>, %h1: tensor<1xbf16>) -> (tensor<100xf32>, tensor<100xf32>, tensor<100xf32>, tensor<100xf32>, tensor<100xf32>, tensor<100xf32>, tensor<100xf32>, tensor<1xbf16>, tensor<1xbf16>) {
  %hm0 = arith.negf %h0 : tensor<1xbf16>
  %hr0 = weft.all_reduce sum %hm0 over <@mesh, {"data"}> : tensor<1xbf16>
  %hm1 = arith.negf %h1 : tensor<1xbf16>
  %hr1 = weft.all_reduce sum %hm1 over <@mesh, {"data"}> : tensor<1xbf16>
  %large = weft.dot_general %z, %y contracting = [1] x [0] : (tensor<2000x1xf32>, tensor<1x100xf32>) -> tensor<2000x100xf32>
  %g = weft.reduce sum %large dims = [0] : tensor<2000x100xf32> -> tensor<100xf32>
  %pa = weft.dot_general %a, %y contracting = [1] x [0] : (tensor<150x1xf32>, tensor<1x100xf32>) -> tensor<150x100xf32>
  %sa = weft.all_reduce sum %pa over <@mesh, {"data"}> : tensor<150x100xf32>
  %ra = weft.reduce sum %sa dims = [0] : tensor<150x100xf32> -> tensor<100xf32>
  %pb = weft.dot_general %b, %y contracting = [1] x [0] : (tensor<200x1xf32>, tensor<1x100xf32>) -> tensor<200x100xf32>
  %sb = weft.all_reduce sum %pb over <@mesh, {"data"}> : tensor<200x100xf32>
  %rb = weft.reduce sum %sb dims = [0] : tensor<200x100xf32> -> tensor<100xf32>
  %pc = weft.dot_general %c, %y contracting = [1] x [0] : (tensor<150x1xf32>, tensor<1x100xf32>) -> tensor<150x100xf32>
  %sc = weft.all_reduce sum %pc over <@mesh, {"data"}> : tensor<150x100xf32>
  %rc = weft.reduce sum %sc dims = [0] : tensor<150x100xf32> -> tensor<100xf32>
  %pd = weft.dot_general %d, %y contracting = [1] x [0] : (tensor<150x1xf32>, tensor<1x100xf32>) -> tensor<150x100xf32>
  %sd = weft.all_reduce sum %pd over <@mesh, {"data"}> : tensor<150x100xf32>
  %rd = weft.reduce sum %sd dims = [0] : tensor<150x100xf32> -> tensor<100xf32>
  %pe = weft.dot_general %e, %y contracting = [1] x [0] : (tensor<100x1xf32>, tensor<1x100xf32>) -> tensor<100x100xf32>
  %se = weft.all_reduce sum %pe over <@mesh, {"data"}> : tensor<100x100xf32>
  %re = weft.reduce sum %se dims = [0] : tensor<100x100xf32> -> tensor<100xf32>
  %pf = weft.dot_general %f, %y contracting = [1] x [0] : (tensor<100x1xf32>, tensor<1x100xf32>) -> tensor<100x100xf32>
  %sf = weft.all_reduce sum %pf over <@mesh, {"data"}> : tensor<100x100xf32>
  %rf = weft.reduce sum %sf dims = [0] : tensor<100x100xf32> -> tensor<100xf32>
  return %ra, %rb, %rc, %rd, %re, %rf, %g, %hr0, %hr1 : tensor<100xf32>, tensor<100xf32>, tensor<100xf32>, tensor<100xf32>, tensor<100xf32>, tensor<100xf32>, tensor<100xf32>, tensor<1xbf16>, tensor<1xbf16>
}
