// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-verify-form=form=final --verify-diagnostics -o /dev/null

// expected-error @below {{unknown form "final"; the forms are graph, sharded, spmd and schedule}}
module {}
