// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --allow-unregistered-dialect --weft-import-stablehlo --verify-diagnostics | FileCheck %s

// What says nothing to a graph is named, once for each place.

// CHECK: func.func @main
func.func @main(
    // expected-remark@below {{ignored: attribute "mhlo.memory_kind" of arguments and results}}
    %x: tensor<8xf32> {mhlo.memory_kind = "pinned_host", mhlo.layout_mode = "default"}) -> tensor<8xf32> {
  // expected-remark@below {{ignored: attribute "tuning" of stablehlo.add (2 times)}}
  %0 = "stablehlo.add"(%x, %x) <{tuning = 1 : i32}> : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = "stablehlo.add"(%0, %x) {tuning = 2 : i32} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  // expected-remark@below {{ignored: the memory that a value is to be placed in}}
  %2 = "stablehlo.custom_call"(%1) <{call_target_name = "annotate_device_placement", backend_config = ""}> : (tensor<8xf32>) -> tensor<8xf32>
  // expected-remark@below {{ignored: sdy.sharding_group}}
  "sdy.sharding_group"(%2) <{group_id = 1 : i64}> : (tensor<8xf32>) -> ()
  // CHECK: %[[A:.*]] = arith.addf
  // CHECK: %[[B:.*]] = arith.addf %[[A]]
  // CHECK: return %[[B]]
  return %2 : tensor<8xf32>
}
