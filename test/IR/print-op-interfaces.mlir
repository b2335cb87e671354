// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-print-op-interfaces -o /dev/null 2>&1 | FileCheck %s

// Ops of schedules are no ops of graphs.
// CHECK-NOT: weft.launch
// CHECK: remark: arith.addf: sharding rule, derivative
// CHECK: remark: arith.addi: sharding rule{{$}}
// CHECK: remark: math.exp: sharding rule, derivative
// CHECK: remark: weft.argsort: sharding rule, decomposition{{$}}
// CHECK: remark: weft.dot_general: sharding rule, derivative
// CHECK: remark: weft.grouped_dot: sharding rule, derivative
// CHECK: remark: weft.grouped_outer: sharding rule, derivative
// CHECK: remark: weft.iota: sharding rule{{$}}
// CHECK-NOT: weft.launch
// CHECK: remark: weft.softmax: decomposition, derivative
module {}
