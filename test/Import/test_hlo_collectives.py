# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads collectives out of HLO text in every spelling of groups."""

import pathlib
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks"))

import hlo_collectives  # noqa: E402

TEXT = """
%slicing (p.0: f32[64,64], p.1: f32[64,64]) -> f32[16,64] {
  %p.0 = f32[64,64]{1,0} parameter(0)
  %p.1 = f32[64,64]{1,0} parameter(1)
  %i = s32[] constant(0)
  ROOT %s = f32[16,64]{1,0} dynamic-slice(%p.1, %i, %i), dynamic_slice_sizes={16,64}
}

ENTRY %main (x: f32[16,64]) -> f32[16,64] {
  %x = f32[16,64]{1,0} parameter(0)
  %all-gather = f32[64,64]{1,0} all-gather(%x), replica_groups=[2,4]<=[4,2]T(1,0), dimensions={0}, metadata={op_name="jit(f)/dot"}
  %all-gather.1 = bf16[32]{0} all-gather(%y), replica_groups=mesh['axis_0'=1,'axis_1'=2,'axis_2'=4], device_ids=([4,2]T(1,0)) {'axis_1'}, dimensions={0}
  %all-reduce.1 = (f32[], f32[8]{0}) all-reduce(%a, %b), replica_groups={{0,1},{2,3}}, to_apply=%add
  %all-reduce.2 = f32[64,64]{1,0} all-reduce(%c), replica_groups=[1,8]<=[8], to_apply=%add
  %reduce-scatter = f32[16]{0} reduce-scatter(%d), replica_groups={{0,1,2,3}}, dimensions={0}, to_apply=%add
  %permute = s32[4]{0} collective-permute(%e), source_target_pairs={{0,1},{1,0}}
  %alone = f32[4]{0} all-reduce(%f), replica_groups={{0},{1}}, to_apply=%add
  %fusion = f32[16,64]{1,0} fusion(%x, %all-reduce.2), kind=kLoop, calls=%slicing
  ROOT %r = f32[16,64]{1,0} add(%fusion, %x)
}
"""


def test_reads_every_spelling():
    found = hlo_collectives.read_collectives(TEXT)
    assert [(c.kind, c.group, c.wire_bytes, c.only_sliced) for c in found] == [
        ("all-gather", 4, 0.75 * 64 * 64 * 4, False),
        ("all-gather", 2, 0.5 * 32 * 2, False),
        ("all-reduce", 2, 4, False),
        ("all-reduce", 2, 32, False),
        ("all-reduce", 8, 1.75 * 64 * 64 * 4, True),
        ("reduce-scatter", 4, 0.75 * 4 * 16 * 4, False),
        ("collective-permute", 2, 16, False),
    ]
    assert found[0].op_name == "jit(f)/dot"


LOOP = """
%body (p: (s32[], f32[8])) -> (s32[], f32[8]) {
  %in.body = f32[8]{0} all-gather(%x), replica_groups={{0,1}}, dimensions={0}
}

%inner (p: s32[]) -> s32[] {
  %in.inner = f32[8]{0} all-reduce(%y), replica_groups={{0,1}}, to_apply=%add
}

%outer (p: s32[]) -> s32[] {
  %while.1 = s32[] while(%p), condition=%test, body=%inner, backend_config={"known_trip_count":{"n":"3"}}
}

ENTRY %main (x: f32[8]) -> f32[8] {
  %while.2 = (s32[], f32[8]) while(%t), condition=%test, body=%body, backend_config={"known_trip_count":{"n":"12"}}
  %while.3 = s32[] while(%u), condition=%test, body=%outer, backend_config={"known_trip_count":{"n":"2"}}
  ROOT %after = f32[8]{0} all-reduce(%z), replica_groups={{0,1}}, to_apply=%add
}
"""


def test_counts_the_trips_of_loops():
    assert [(c.kind, c.trips) for c in hlo_collectives.read_collectives(LOOP)] == [
        ("all-gather", 12), ("all-reduce", 6), ("all-reduce", 1)]
    with pytest.raises(ValueError, match="a loop of unknown length"):
        hlo_collectives.read_collectives(LOOP.replace('"known_trip_count"', '"other"'))


def test_unknown_groups_are_not_guessed():
    with pytest.raises(ValueError, match="no replica groups"):
        hlo_collectives.read_collectives("  %a = f32[4]{0} all-reduce(%x), to_apply=%add\n")
