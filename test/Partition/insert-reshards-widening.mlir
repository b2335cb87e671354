// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-insert-reshards --split-input-file | FileCheck %s

weft.mesh @mesh = <["data"=4]>

// The weight is gathered as bf16 and converted on every device, once for both
// users; a user of the part converts the part.
// CHECK-LABEL: func.func @gathered_narrow
// CHECK-SAME:      %{{.*}}: tensor<8x16xf32> {{.*}}, %[[W:[a-z0-9]*]]: tensor<16x8xbf16>
// CHECK:         %[[PART:.*]] = arith.extf %[[W]] {weft.shardings = [#weft.sharding<@mesh, [{"data"}, {}]>]}
// CHECK:         %[[MOVED:.*]] = weft.reshard %[[W]] <@mesh, [{}, {}]> {{.*}} : tensor<16x8xbf16>
// CHECK-NEXT:    %[[WHOLE:.*]] = arith.extf %[[MOVED]] {weft.shardings = [#weft.sharding<@mesh, [{}, {}]>]} : tensor<16x8xbf16> to tensor<16x8xf32>
// CHECK-NEXT:    weft.dot_general %{{.*}}, %[[WHOLE]]
// CHECK-NEXT:    weft.dot_general %{{.*}}, %[[WHOLE]]
// CHECK-NEXT:    math.exp %[[PART]]
func.func @gathered_narrow(
    %x: tensor<8x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<16x8xbf16> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<16x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}) {
  %v = arith.extf %w {weft.shardings = [#weft.sharding<@mesh, [{"data"}, {}]>]} : tensor<16x8xbf16> to tensor<16x8xf32>
  %a = weft.dot_general %x, %v contracting = [1] x [0] {weft.shardings = [#weft.sharding<@mesh, [{"data"}, {}]>]}
      : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %b = weft.dot_general %x, %v contracting = [1] x [0] {weft.shardings = [#weft.sharding<@mesh, [{"data"}, {}]>]}
      : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %c = math.exp %v {weft.shardings = [#weft.sharding<@mesh, [{"data"}, {}]>]} : tensor<16x8xf32>
  return %a, %b, %c : tensor<8x8xf32>, tensor<8x8xf32>, tensor<16x8xf32>
}

// -----

weft.mesh @mesh = <["data"=4]>

// The constraint that asks for the whole weight may come after the conversion.
// CHECK-LABEL: func.func @constraint_between
// CHECK:         %[[MOVED:.*]] = weft.reshard %{{.*}} <@mesh, [{}, {}]> {{.*}} : tensor<16x8xbf16>
// CHECK-NEXT:    %[[WHOLE:.*]] = arith.extf %[[MOVED]]
// CHECK-NEXT:    weft.dot_general %{{.*}}, %[[WHOLE]]
func.func @constraint_between(
    %x: tensor<8x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<16x8xbf16> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}) {
  %v = arith.extf %w {weft.shardings = [#weft.sharding<@mesh, [{"data"}, {}]>]} : tensor<16x8xbf16> to tensor<16x8xf32>
  %c = weft.constraint %v <@mesh, [{}, {}]> {weft.shardings = [#weft.sharding<@mesh, [{}, {}]>]} : tensor<16x8xf32>
  %a = weft.dot_general %x, %c contracting = [1] x [0] {weft.shardings = [#weft.sharding<@mesh, [{"data"}, {}]>]}
      : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  return %a : tensor<8x8xf32>
}

// -----

weft.mesh @mesh = <["data"=4]>

// What is added up stays wide: the sum of the narrow terms would be another.
// CHECK-LABEL: func.func @reduced_wide
// CHECK-SAME:      %[[X:[a-z0-9]*]]: tensor<8x16xbf16>
// CHECK:         %[[WIDE:.*]] = arith.extf %[[X]]
// CHECK-NEXT:    %[[TERMS:.*]] = weft.reduce sum %[[WIDE]]
// CHECK-NEXT:    weft.reshard %[[TERMS]] <@mesh, [{}]> {{.*}} : tensor<16xf32>
// CHECK-NEXT:    return
func.func @reduced_wide(%x: tensor<8x16xbf16> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> tensor<16xf32> {
  %w = arith.extf %x {weft.shardings = [#weft.sharding<@mesh, [{"data"}, {}]>]} : tensor<8x16xbf16> to tensor<8x16xf32>
  %s = weft.reduce sum %w dims = [0] : tensor<8x16xf32> -> tensor<16xf32>
  return %s : tensor<16xf32>
}

// -----

weft.mesh @mesh = <["data"=4]>

// Terms of a value that was converted before are added up as they are.
// CHECK-LABEL: func.func @wide_terms
// CHECK:         %[[WIDE:.*]] = arith.extf %{{.*}} {weft.shardings = [#weft.sharding<@mesh, [{}], unreduced={"data"}>]}
// CHECK-NEXT:    weft.reshard %[[WIDE]] <@mesh, [{}]> {{.*}} : tensor<16xf32>
func.func @wide_terms(%x: tensor<16xbf16> {weft.sharding = #weft.sharding<@mesh, [{}], unreduced={"data"}>})
    -> (tensor<16xf32> {weft.sharding = #weft.sharding<@mesh, [{}], unreduced={"data"}>}, tensor<16xf32>) {
  %w = arith.extf %x {weft.shardings = [#weft.sharding<@mesh, [{}], unreduced={"data"}>]} : tensor<16xbf16> to tensor<16xf32>
  return %w, %w : tensor<16xf32>, tensor<16xf32>
}

// -----

weft.mesh @mesh = <["data"=4]>

// An integer or a predicate is the narrow form of the float that it becomes.
// CHECK-LABEL: func.func @predicate
// CHECK:         %[[P:.*]] = weft.reshard %{{.*}} <@mesh, [{}]> {{.*}} : tensor<8xi1>
// CHECK-NEXT:    %[[F:.*]] = arith.uitofp %[[P]]
// CHECK-NEXT:    return %[[F]]
func.func @predicate(%p: tensor<8xi1> {weft.sharding = #weft.sharding<@mesh, [{"data"}]>})
    -> tensor<8xf32> {
  %f = arith.uitofp %p {weft.shardings = [#weft.sharding<@mesh, [{"data"}]>]} : tensor<8xi1> to tensor<8xf32>
  return %f : tensor<8xf32>
}
