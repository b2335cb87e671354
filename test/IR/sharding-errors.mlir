// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Legality of a sharding against its mesh; all problems are reported at once.
// RUN: shard-opt %s --split-input-file --verify-diagnostics

weft.mesh @mesh = <["data"=2, "model"=8]>
// expected-error @below {{sharding of argument 0: unknown mesh @mash; declare it in the module with weft.mesh}}
func.func private @f(tensor<8x8xf32> {weft.sharding = #weft.sharding<@mash, [{}, {}]>})

// -----

weft.mesh @mesh = <["data"=2, "model"=8]>
// expected-error @below {{sharding of argument 0: unknown axis "modle"; the mesh has "data", "model"; did you mean "model"?}}
// expected-error @below {{sharding of argument 0: unknown axis "z"; the mesh has "data", "model"}}
func.func private @f(tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"modle"}, {}], unreduced={"z"}>})

// -----

weft.mesh @mesh = <["data"=2, "model"=8]>
// expected-error @below {{sharding of argument 0: sharding has 1 dimensions but the tensor has rank 2}}
func.func private @f(tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>})

// -----

weft.mesh @mesh = <["data"=2, "model"=8]>
// expected-error @below {{sharding of argument 0: axis "data" is used by dim 0 and again by dim 1}}
func.func private @f(tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {"data"}]>})

// -----

weft.mesh @mesh = <["data"=2, "model"=8]>
// expected-error @below {{sharding of argument 0: axis "model":(1)4 of dim 0 overlaps "model":(2)4 of dim 1}}
func.func private @f(tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"model":(1)4}, {"model":(2)4}]>})

// -----

weft.mesh @mesh = <["data"=2, "model"=8]>
// expected-error @below {{sharding of argument 0: sub-axis of axis "model" has the size of the axis, 8; write the axis alone}}
func.func private @f(tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {"model":(1)8}]>})

// -----

weft.mesh @mesh = <["data"=2, "model"=8]>
// expected-error @below {{sharding of argument 0: sub-axis of axis "data" has the size of the axis, 2; write the axis alone}}
// expected-error @below {{sharding of argument 0: sub-axis "model":(4611686018427387904)4 goes beyond its axis of size 8}}
func.func private @f(tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"model":(4611686018427387904)4}, {"data":(2)2}]>})

// -----

weft.mesh @mesh = <["data"=2, "model"=8]>
// expected-error @below {{sharding of argument 0: sub-axis "model":(2)3 of dim 0 does not factor axis "model" of size 8}}
// expected-error @below {{sharding of argument 0: sub-axis "model":(1)5 of dim 1 does not factor axis "model" of size 8}}
func.func private @f(tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"model":(2)3}, {"model":(1)5}]>})

// -----

weft.mesh @mesh = <["data"=2, "model"=8]>
// expected-error @below {{sharding of argument 0: neighbours "model":(1)2 and "model":(2)2 of dim 0 are one axis: write "model":(1)4}}
func.func private @f(tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"model":(1)2, "model":(2)2}, {}]>})

// -----

weft.mesh @mesh = <["data"=2, "model"=8]>
// expected-error @below {{sharding of argument 0: replicated axes {"model", "data"} are not in mesh order: write {"data", "model"}}
func.func private @f(tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}], replicated={"model", "data"}>})

// -----

weft.mesh @mesh = <["data"=2, "model"=8]>
// expected-error @below {{sharding of argument 0: unreduced axes {"model", "data"} are not in mesh order: write {"data", "model"}}
func.func private @f(tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}], unreduced={"model", "data"}>})

// -----

weft.mesh @mesh = <["data"=2, "model"=8]>
// expected-error @below {{sharding of argument 0: axis "data" is used by dim 0 and again by replicated}}
// expected-error @below {{sharding of argument 0: axis "data" is used by dim 0 and again by unreduced}}
// expected-error @below {{sharding of argument 0: axis "data" is used by replicated and again by unreduced}}
func.func private @f(tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}], replicated={"data"}, unreduced={"data"}>})

// -----

weft.mesh @mesh = <["data"=2, "model"=8]>
// expected-error @below {{sharding of argument 0: dim 0 has priority 1 but is empty and closed: remove the priority, or open the dimension with ?}}
func.func private @f(tensor<8x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}p1, {?}p1]>})
