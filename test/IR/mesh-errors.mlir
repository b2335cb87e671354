// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

// Every problem of a mesh is reported at once.
// expected-error @below {{axis "x" of a mesh is declared twice}}
// expected-error @below {{size of mesh axis "x" must be at least 1, got 0}}
weft.mesh @mesh = <["x"=2, "x"=0]>

// -----

// expected-error @below {{an axis of a mesh has no name}}
weft.mesh @mesh = <[""=2]>

// -----

// expected-error @below {{mesh has more than 2147483647 devices at axis "z" of size 2}}
weft.mesh @mesh = <["x"=32768, "y"=32768, "z"=2]>

// -----

weft.mesh @mesh = <["x"=2147483647]>

// -----

// expected-error @below {{mesh has more than 2147483647 devices at axis "x" of size 4294967296}}
weft.mesh @mesh = <["x"=4294967296]>

// -----

func.func @not_in_a_module() {
  // expected-error @below {{'weft.mesh' op expects parent op 'builtin.module'}}
  weft.mesh @mesh = <["x"=2]>
  return
}
