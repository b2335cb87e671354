// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{weft.reasons: must be an array of dictionaries}}
module attributes {weft.reasons = "because"} {}

// -----

// expected-error @below {{weft.reasons: reason 0 must have a cause, a string}}
module attributes {weft.reasons = [{chain = []}]} {}

// -----

// expected-error @below {{weft.reasons: reason 1 must have a chain of pairs of strings, the first annotation, default, choice or operation}}
module attributes {weft.reasons = [{cause = "a", chain = []}, {cause = "b", chain = [["guess", "b"]]}]} {}

// -----

// expected-error @below {{weft.reasons: reason 0 must have alternatives of a string, bytes as i64 and seconds as f64 each}}
module attributes {weft.reasons = [{cause = "a", chain = [], alternatives = [["other", 1, 2]]}]} {}

// -----

// expected-error @below {{weft.reasons: reason 0 must have a string as its edit}}
module attributes {weft.reasons = [{cause = "a", chain = [], edit = 1}]} {}

// -----

// expected-error @below {{weft.reasons is for modules}}
func.func private @f() attributes {weft.reasons = []}
