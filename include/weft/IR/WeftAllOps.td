//===- WeftAllOps.td - Every op of the dialect -------------*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What tablegen reads to generate the op classes of the dialect.
//
//===----------------------------------------------------------------------===//

include "weft/IR/WeftOps.td"
include "weft/IR/CollectiveOps.td"
include "weft/IR/CompositeOps.td"
include "weft/IR/GroupedOps.td"
include "weft/IR/MicrobatchOps.td"
include "weft/IR/OrderOps.td"
include "weft/IR/RepeatOp.td"
include "weft/IR/ScheduleOps.td"
include "weft/IR/TrainingOps.td"
include "weft/IR/WeftAttentionOps.td"
include "weft/IR/PaddingOps.td"
include "weft/IR/WindowOps.td"
