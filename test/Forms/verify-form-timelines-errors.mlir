// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --weft-verify-form=form=spmd --verify-diagnostics

weft.mesh @mesh = <["pipe"=2]>

// expected-error @below {{after partition: the timeline of @rows: it has 1 row, but the mesh has 2 ranks along axis "pipe"}}
func.func private @rows() attributes {weft.timeline = #weft.timeline<axis = "pipe", microbatches = 1, rows = ["0F0,0B0"], messages = []>}

// -----

weft.mesh @mesh = <["pipe"=2]>

// expected-error @below {{after partition: the timeline of @kinds: rows must be strings, got 1 : i64}}
func.func private @kinds() attributes {weft.timeline = #weft.timeline<axis = "pipe", microbatches = 1, rows = [1], messages = []>}

// -----

weft.mesh @mesh = <["pipe"=2]>

// expected-error @below {{after partition: the timeline of @kinds: messages must be #weft.message, got "F"}}
func.func private @kinds() attributes {weft.timeline = #weft.timeline<axis = "pipe", microbatches = 1, rows = ["", ""], messages = ["F"]>}

// -----

weft.mesh @mesh = <["pipe"=2]>

// expected-error @below {{after partition: the timeline of @notation: row:1:1: }}
func.func private @notation() attributes {weft.timeline = #weft.timeline<axis = "pipe", microbatches = 1, rows = ["0X0", "1F0"], messages = []>}

// -----

weft.mesh @mesh = <["pipe"=2]>

// expected-error @below {{the timeline of @segments: 0F0 needs the segment @segments.0F of role 0}}
// expected-error @below {{the timeline of @segments: 0SEND_F0 is of no message}}
// expected-error @below {{the timeline of @segments: 1RECV_F0 is of no message}}
// expected-error @below {{the timeline of @segments: 1F0 needs the segment @segments.1F of role 1}}
func.func private @segments() attributes {weft.timeline = #weft.timeline<axis = "pipe", microbatches = 1, rows = ["0F0,0SEND_F0", "1RECV_F0,1F0"], messages = []>}
func.func @segments.1F() attributes {weft.segment = #weft.segment<entry = "segments", action = "1F", role = 0>} {
  return
}

// -----

weft.mesh @mesh = <["pipe"=1]>

// expected-error @below {{the timeline of @missing: 0B0 of role 0 reads "0F:0" before an action writes it}}
func.func private @missing() attributes {weft.timeline = #weft.timeline<axis = "pipe", microbatches = 1, rows = ["0F0,0B0"], messages = []>}
func.func @missing.0F() attributes {weft.segment = #weft.segment<entry = "missing", action = "0F", role = 0>} {
  return
}
func.func @missing.0B(%x: tensor<f32> {weft.name = "0F:0"}) attributes {weft.segment = #weft.segment<entry = "missing", action = "0B", role = 0>} {
  return
}

// -----

weft.mesh @mesh = <["pipe"=1]>

// expected-error @below {{the timeline of @ring: 0B0 of role 0 reads "0F:0" of micro-batch 2; it needs more than 2 slots}}
func.func private @ring() attributes {weft.timeline = #weft.timeline<axis = "pipe", microbatches = 3, rows = ["0F0,0F1,0F2,0B0,0B1,0B2"], messages = []>}
func.func @ring.0F() -> (tensor<f32> {weft.name = "0F:0", weft.slots = 2 : i64}) attributes {weft.segment = #weft.segment<entry = "ring", action = "0F", role = 0>} {
  %0 = arith.constant dense<0.0> : tensor<f32>
  return %0 : tensor<f32>
}
func.func @ring.0B(%x: tensor<f32> {weft.name = "0F:0", weft.slots = 2 : i64}) attributes {weft.segment = #weft.segment<entry = "ring", action = "0B", role = 0>} {
  return
}

// -----

weft.mesh @mesh = <["pipe"=1]>

// expected-error @below {{the timeline of @slots: state "0F:0" has 1 slot in @slots.0B and 2 in others}}
func.func private @slots() attributes {weft.timeline = #weft.timeline<axis = "pipe", microbatches = 1, rows = ["0F0,0B0"], messages = []>}
func.func @slots.0F() -> (tensor<f32> {weft.name = "0F:0", weft.slots = 2 : i64}) attributes {weft.segment = #weft.segment<entry = "slots", action = "0F", role = 0>} {
  %0 = arith.constant dense<0.0> : tensor<f32>
  return %0 : tensor<f32>
}
func.func @slots.0B(%x: tensor<f32> {weft.name = "0F:0"}) attributes {weft.segment = #weft.segment<entry = "slots", action = "0B", role = 0>} {
  return
}

// -----

weft.mesh @mesh = <["pipe"=2]>

// Each rank waits for the other.
// expected-error @below {{the timeline of @deadlock: }}
func.func private @deadlock() attributes {weft.timeline = #weft.timeline<axis = "pipe", microbatches = 1, rows = ["0RECV_B0,0F0,0SEND_F0,0B0", "1RECV_F0,1F0,1B0,1SEND_B0"], messages = [#weft.message<kind = "F", source = 0, destination = 1, queue = 0, values = ["0F:0"]>, #weft.message<kind = "B", source = 1, destination = 0, queue = 1, values = ["1B:0"]>]>}
func.func @deadlock.0F(%b: tensor<f32> {weft.name = "1B:0"}) -> (tensor<f32> {weft.name = "0F:0"}) attributes {weft.segment = #weft.segment<entry = "deadlock", action = "0F", role = 0>} {
  return %b : tensor<f32>
}
func.func @deadlock.0B() attributes {weft.segment = #weft.segment<entry = "deadlock", action = "0B", role = 0>} {
  return
}
func.func @deadlock.1F(%x: tensor<f32> {weft.name = "0F:0"}) -> (tensor<f32> {weft.name = "1F:0"}) attributes {weft.segment = #weft.segment<entry = "deadlock", action = "1F", role = 1>} {
  return %x : tensor<f32>
}
func.func @deadlock.1B(%x: tensor<f32> {weft.name = "1F:0"}) -> (tensor<f32> {weft.name = "1B:0"}) attributes {weft.segment = #weft.segment<entry = "deadlock", action = "1B", role = 1>} {
  return %x : tensor<f32>
}

// -----

weft.mesh @mesh = <["pipe"=2]>

// Rank 1 takes the first activation when it has what rank 0 starts to send
// behind the second one, which is held up by the first: in another queue, but a
// rank starts what it sends in order.
// expected-error @below {{the timeline of @held_up: timeline:1:3: C2: 0SEND_F0 waits for itself, in a cycle of 5 calls}}
func.func private @held_up() attributes {weft.timeline = #weft.timeline<axis = "pipe", microbatches = 2, rows = ["0P0,0F0,0SEND_F0,0F1,0SEND_F1,0SEND_P0>1,0B0,0B1", "1P0,1RECV_P0<0,1P1,1RECV_F0,1F0,1B0,1RECV_F1,1F1,1B1"], messages = [#weft.message<kind = "F", source = 0, destination = 1, queue = 0, values = ["0F:0"]>, #weft.message<kind = "P", source = 0, destination = 1, queue = 1, values = ["0P:0"]>]>}
func.func @held_up.0P0() -> (tensor<f32> {weft.name = "0P:0"}) attributes {weft.segment = #weft.segment<entry = "held_up", action = "0P0", role = 0>} {
  %0 = arith.constant dense<0.0> : tensor<f32>
  return %0 : tensor<f32>
}
func.func @held_up.0F() -> (tensor<f32> {weft.name = "0F:0", weft.slots = 2 : i64}) attributes {weft.segment = #weft.segment<entry = "held_up", action = "0F", role = 0>} {
  %0 = arith.constant dense<0.0> : tensor<f32>
  return %0 : tensor<f32>
}
func.func @held_up.0B() attributes {weft.segment = #weft.segment<entry = "held_up", action = "0B", role = 0>} {
  return
}
func.func @held_up.1P0() attributes {weft.segment = #weft.segment<entry = "held_up", action = "1P0", role = 1>} {
  return
}
func.func @held_up.1P1(%p: tensor<f32> {weft.name = "0P:0"}) attributes {weft.segment = #weft.segment<entry = "held_up", action = "1P1", role = 1>} {
  return
}
func.func @held_up.1F(%x: tensor<f32> {weft.name = "0F:0"}) attributes {weft.segment = #weft.segment<entry = "held_up", action = "1F", role = 1>} {
  return
}
func.func @held_up.1B() attributes {weft.segment = #weft.segment<entry = "held_up", action = "1B", role = 1>} {
  return
}

// -----

weft.mesh @mesh = <["pipe"=1]>

// expected-error @below {{the timeline of @fewer: it is of 3 micro-batches, but has actions of 2, the last of which is 2}}
func.func private @fewer() attributes {weft.timeline = #weft.timeline<axis = "pipe", microbatches = 3, rows = ["0F0,0F2,0B0,0B2"], messages = []>}

// -----

weft.mesh @mesh = <["pipe"=2]>

// expected-error @below {{the timeline of @queue: a message from stage 0 to 1 is in queue 99, but there are no more queues than messages, 1}}
func.func private @queue() attributes {weft.timeline = #weft.timeline<axis = "pipe", microbatches = 1, rows = ["0F0,0SEND_F0", "1RECV_F0,1F0"], messages = [#weft.message<kind = "F", source = 0, destination = 1, queue = 99, values = ["0F:0"]>]>}

// -----

weft.mesh @mesh = <["pipe"=1]>

// expected-error @below {{the timeline of @counts: state "micro-batch" of @counts.0F counts micro-batches and has 1 slot, must have 2}}
func.func private @counts() attributes {weft.timeline = #weft.timeline<axis = "pipe", microbatches = 2, rows = ["0F0,0F1"], messages = []>}
func.func @counts.0F(%i: tensor<i32> {weft.counts, weft.name = "micro-batch", weft.slots = 1 : i64}) attributes {weft.segment = #weft.segment<entry = "counts", action = "0F", role = 0>} {
  return
}

// -----

weft.mesh @mesh = <["pipe"=1]>

func.func private @action() attributes {weft.timeline = #weft.timeline<axis = "pipe", microbatches = 1, rows = ["0F0"], messages = []>}
// expected-error @below {{@action.0F has the action "0B" of @action, by which its name is @action.0B}}
func.func @action.0F() attributes {weft.segment = #weft.segment<entry = "action", action = "0B", role = 0>} {
  return
}
// expected-error @below {{@other.0F is a segment of @other, which has no timeline}}
func.func @other.0F() attributes {weft.segment = #weft.segment<entry = "other", action = "0F", role = 0>} {
  return
}

// -----

weft.mesh @mesh = <["pipe"=1, "data"=2]>

// expected-error @below {{argument 0 of @types must have type 'tensor<2xf32>', the part of 'tensor<4xf32>' under #weft.sharding<@mesh, [{"data"}]>, got 'tensor<4xf32>'}}
func.func private @types(tensor<4xf32> {weft.name = "w", weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"data"}]>}) -> (tensor<2xf32> {weft.name = "r", weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"data"}]>}) attributes {weft.timeline = #weft.timeline<axis = "pipe", microbatches = 1, rows = ["0F0"], messages = []>}
// expected-error @below {{argument "w" of @types.0F must have the type, weft.sharding and weft.global_type of the declaration of @types}}
// expected-error @below {{result "r" of @types.0F must have the type, weft.sharding and weft.global_type of the declaration of @types}}
func.func @types.0F(%w: tensor<4xf32> {weft.name = "w", weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<4xf32> {weft.name = "r", weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.segment = #weft.segment<entry = "types", action = "0F", role = 0>} {
  return %w : tensor<4xf32>
}

// -----

weft.mesh @mesh = <["pipe"=2]>

// expected-error @below {{the timeline of @roles: 0F0 needs the segment @roles.0F of role 0}}
func.func private @roles() attributes {weft.timeline = #weft.timeline<axis = "pipe", microbatches = 1, rows = ["0F0,0B0", ""], messages = []>}
// expected-error @below {{@roles.0F is of role 2, but the timeline of @roles has rows for 2 roles, the first of which is 0}}
func.func @roles.0F(%x: tensor<f32> {weft.name = "x"}) attributes {weft.segment = #weft.segment<entry = "roles", action = "0F", role = 2>} {
  return
}
func.func @roles.0B() attributes {weft.segment = #weft.segment<entry = "roles", action = "0B", role = 0>} {
  return
}
// expected-error @below {{@roles.0U0 is of role 2, but the timeline of @roles has rows for 2 roles, the first of which is 0}}
func.func @roles.0U0() attributes {weft.segment = #weft.segment<entry = "roles", action = "0U0", role = 2>} {
  return
}

// -----

weft.mesh @mesh = <["pipe"=1]>

// expected-error @below {{the timeline of @no_slot: state "0F:0" of @no_slot.0F has 0 slots, must have at least 1}}
func.func private @no_slot() attributes {weft.timeline = #weft.timeline<axis = "pipe", microbatches = 1, rows = ["0F0,0B0"], messages = []>}
func.func @no_slot.0F() -> (tensor<f32> {weft.name = "0F:0", weft.slots = 0 : i64}) attributes {weft.segment = #weft.segment<entry = "no_slot", action = "0F", role = 0>} {
  %x = arith.constant dense<0.0> : tensor<f32>
  return %x : tensor<f32>
}
func.func @no_slot.0B(%x: tensor<f32> {weft.name = "0F:0"}) attributes {weft.segment = #weft.segment<entry = "no_slot", action = "0B", role = 0>} {
  return
}

// -----

weft.mesh @mesh = <["pipe"=1]>

// The value is bound to the state of that name.
// expected-error @below {{the timeline of @declared: argument "w" is neither an argument nor a result of a segment}}
// expected-error @below {{the timeline of @declared: result "loss" is neither an argument nor a result of a segment}}
func.func private @declared(tensor<2xf32> {weft.name = "w", weft.global_type = tensor<2xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<f32> {weft.name = "loss", weft.global_type = tensor<f32>, weft.sharding = #weft.sharding<@mesh, []>}) attributes {weft.timeline = #weft.timeline<axis = "pipe", microbatches = 1, rows = ["0F0"], messages = []>}
func.func @declared.0F(%v: tensor<2xf32> {weft.name = "v"}) attributes {weft.segment = #weft.segment<entry = "declared", action = "0F", role = 0>} {
  return
}

// -----

weft.mesh @mesh = <["pipe"=2]>

// expected-error @below {{the timeline of @directions: a message from stage 1 to 0 goes from role 1 to role 0 in queue 0, which goes from role 0 to role 1}}
func.func private @directions() attributes {weft.timeline = #weft.timeline<axis = "pipe", microbatches = 1, rows = ["0F0,0SEND_F0,0RECV_B0,0B0", "1RECV_F0,1F0,1B0,1SEND_B0"], messages = [#weft.message<kind = "F", source = 0, destination = 1, queue = 0, values = ["0F:0"]>, #weft.message<kind = "B", source = 1, destination = 0, queue = 0, values = ["1B:0"]>]>}

// -----

weft.mesh @mesh = <["pipe"=1]>

// expected-error @below {{the timeline of @same_role: a message from stage 0 to 1 stays on role 0, must go to another}}
// expected-error @below {{the timeline of @same_role: a message from stage 1 to 7 has no action of stage 7}}
func.func private @same_role() attributes {weft.timeline = #weft.timeline<axis = "pipe", microbatches = 1, rows = ["0F0,1F0"], messages = [#weft.message<kind = "F", source = 0, destination = 1, queue = 0, values = []>, #weft.message<kind = "F", source = 1, destination = 7, queue = 1, values = []>]>}

// -----

weft.mesh @mesh = <["pipe"=2]>

// expected-error @below {{the timeline of @twice: two messages of kind "F" go from stage 0 to 1 at level 0}}
func.func private @twice() attributes {weft.timeline = #weft.timeline<axis = "pipe", microbatches = 1, rows = ["0F0,0SEND_F0", "1RECV_F0,1F0"], messages = [#weft.message<kind = "F", source = 0, destination = 1, queue = 0, values = ["0F:0"]>, #weft.message<kind = "F", source = 0, destination = 1, queue = 1, values = ["0F:1"]>]>}

// -----

weft.mesh @mesh = <["pipe"=2]>

// A parameter of both stages that one of them updates alone.
// expected-error @below {{the timeline of @tied: role 0 writes state "w", and role 1 only reads it}}
func.func private @tied(tensor<f32> {weft.name = "w", weft.global_type = tensor<f32>, weft.sharding = #weft.sharding<@mesh, []>}) -> (tensor<f32> {weft.name = "w", weft.global_type = tensor<f32>, weft.sharding = #weft.sharding<@mesh, []>}) attributes {weft.timeline = #weft.timeline<axis = "pipe", microbatches = 1, rows = ["0F0,0U0", "1F0"], messages = []>}
func.func @tied.0F(%w: tensor<f32> {weft.name = "w", weft.global_type = tensor<f32>, weft.sharding = #weft.sharding<@mesh, []>}) attributes {weft.segment = #weft.segment<entry = "tied", action = "0F", role = 0>} {
  return
}
func.func @tied.0U0(%w: tensor<f32> {weft.name = "w", weft.global_type = tensor<f32>, weft.sharding = #weft.sharding<@mesh, []>}) -> (tensor<f32> {weft.name = "w", weft.global_type = tensor<f32>, weft.sharding = #weft.sharding<@mesh, []>}) attributes {weft.segment = #weft.segment<entry = "tied", action = "0U0", role = 0>} {
  %x = arith.addf %w, %w : tensor<f32>
  return %x : tensor<f32>
}
func.func @tied.1F(%w: tensor<f32> {weft.name = "w", weft.global_type = tensor<f32>, weft.sharding = #weft.sharding<@mesh, []>}) attributes {weft.segment = #weft.segment<entry = "tied", action = "1F", role = 1>} {
  return
}

// -----

weft.mesh @mesh = <["pipe"=2]>

func.func private @along() attributes {weft.timeline = #weft.timeline<axis = "pipe", microbatches = 1, rows = ["0F0", "1F0"], messages = []>}
func.func @along.0F() attributes {weft.segment = #weft.segment<entry = "along", action = "0F", role = 0>} {
  %x = arith.constant dense<0.0> : tensor<2xf32>
  // expected-error @below {{weft.all_reduce of @along.0F is along axis "pipe", whose ranks execute other segments}}
  %y = weft.all_reduce sum %x over <@mesh, {"pipe"}> : tensor<2xf32>
  return
}
func.func @along.1F() attributes {weft.segment = #weft.segment<entry = "along", action = "1F", role = 1>} {
  return
}
