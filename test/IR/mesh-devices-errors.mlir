// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{a mesh of 4 positions needs as many devices, got 2}}
weft.mesh @mesh = <["x"=2, "y"=2]> {weft.devices = array<i64: 0, 1>}

// -----

// expected-error @below {{a mesh of 2 positions has the devices 0 to 1, got -1}}
weft.mesh @mesh = <["x"=2]> {weft.devices = array<i64: 0, -1>}

// -----

// expected-error @below {{a mesh of 2 positions has each device once, got 1 twice}}
weft.mesh @mesh = <["x"=2]> {weft.devices = array<i64: 1, 1>}

// -----

// expected-error @below {{weft.devices must be an array of i64, got [0, 1]}}
weft.mesh @mesh = <["x"=2]> {weft.devices = [0, 1]}

// -----

// expected-error @below {{weft.devices is for meshes}}
func.func private @f() attributes {weft.devices = array<i64: 0, 1>}
