// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{expected a reduction: sum, max or min, got "product"}}
func.func private @f() attributes {a = #weft.reduction<product>}

// -----

// expected-error @below {{expected a reduction: sum, max or min}}
func.func private @f() attributes {a = #weft.reduction<1>}

// -----

// expected-error @below {{expected a reduction: sum, max or min, got "all"}}
func.func private @f() attributes {a = #weft.sharding<@mesh, [], unreduced=all{"a"}>}

// -----

// expected-error @below {{expected '?' to be last in its dimension}}
func.func private @f() attributes {a = #weft.sharding<@mesh, [{?, "a"}]>}

// -----

// expected-error @below {{expected a priority such as p1}}
func.func private @f() attributes {a = #weft.sharding<@mesh, [{"a"}q1]>}

// -----

// expected-error @below {{expected a priority such as p1}}
func.func private @f() attributes {a = #weft.sharding<@mesh, [{"a"}p]>}

// -----

// expected-error @below {{both numbers of a sub-axis must be at least 1, got (0)2}}
func.func private @f() attributes {a = #weft.sharding<@mesh, [{"a":(0)2}]>}

// -----

// expected-error @below {{both numbers of a sub-axis must be at least 1, got (1)-2}}
func.func private @f() attributes {a = #weft.axes<@mesh, {"a":(1)-2}>}

// -----

// expected-error @below {{expected 'replicated', then 'unreduced', each at most once}}
func.func private @f() attributes {a = #weft.sharding<@mesh, [], unreduced={"a"}, replicated={"b"}>}

// -----

// expected-error @below {{expected 'replicated', then 'unreduced', each at most once}}
func.func private @f() attributes {a = #weft.sharding<@mesh, [], replicated={"a"}, replicated={"b"}>}

// -----

// expected-error @below {{expected ','}}
func.func private @f() attributes {a = #weft.sharding<@mesh>}

// -----

// expected-error @below {{invalid kind of attribute specified}}
func.func private @f() attributes {a = #weft.axes<"mesh", {}>}
