// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --verify-roundtrip | FileCheck %s

// CHECK: weft.mesh @mesh = <["data"=2, "model"=8]>
weft.mesh @mesh = <["data"=2, "model"=8]>

// CHECK: weft.mesh @no_axes = <[]>
weft.mesh @no_axes = <[]>

// CHECK: func.func private @attributes() attributes {mesh = #weft.mesh<["x"=4]>}
func.func private @attributes() attributes {mesh = #weft.mesh<["x"=4]>}
