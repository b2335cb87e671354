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
    assert [(c.kind, c.group, c.wire_bytes, c.call) for c in found] == [
        ("all-gather", 4, 0.75 * 64 * 64 * 4, 0),
        ("all-gather", 2, 0.5 * 32 * 2, 1),
        ("all-reduce", 2, 4, 2),
        ("all-reduce", 2, 32, 2),
        ("all-reduce", 8, 1.75 * 64 * 64 * 4, 3),
        ("reduce-scatter", 4, 0.75 * 4 * 16 * 4, 4),
        ("collective-permute", 2, 16, 5),
    ]
    assert (found[0].op_name, found[0].shape) == ("jit(f)/dot", "f32[64,64]")


def test_an_all_reduce_that_is_only_sliced_is_credited_as_a_reduce_scatter():
    reduced = hlo_collectives.read_collectives(TEXT)[4]
    # Scattered to 4 devices, and a quarter reduced between 2.
    assert reduced.slices == 4
    assert reduced.credited_bytes == (0.75 + 2 * 0.5 / 4) * 64 * 64 * 4


SLICED = """
%slicing (p.0: f32[64], p.1: s32[]) -> f32[8] {
  %p.0 = f32[64]{0} parameter(0)
  %p.1 = s32[] parameter(1)
  ROOT %s = f32[8]{0} dynamic-slice(%p.0, %p.1), dynamic_slice_sizes={8}
}

%copying (q.0: f32[8,8]) -> f32[64] {
  %q.0 = f32[8,8]{1,0} parameter(0)
  %turned = f32[8,8]{0,1} transpose(%q.0), dimensions={1,0}
  ROOT %flat = f32[64]{0} bitcast(%turned)
}

ENTRY %main (x: f32[64]) -> f32[8] {
  %all-reduce = (f32[64]{0}, f32[8,8]{1,0}, /*index=2*/f32[64]{0}) all-reduce(%a, %b, %c), replica_groups=[1,8]<=[8], to_apply=%add
  %sliced = f32[64]{0} get-tuple-element(%all-reduce), index=0
  %moved = f32[8,8]{1,0} get-tuple-element(%all-reduce), index=1
  %read = f32[64]{0} get-tuple-element(%all-reduce), index=2
  %fusion.1 = f32[8]{0} fusion(%sliced, %i), kind=kLoop, calls=%slicing
  %copy_fusion = f32[64]{0} fusion(%moved), kind=kLoop, calls=%copying
  %slice.2 = f32[8]{0} dynamic-slice(%copy_fusion, %i), dynamic_slice_sizes={8}
  %slice.3 = f32[8]{0} dynamic-slice(%read, %i), dynamic_slice_sizes={8}
  ROOT %r = f32[64]{0} negate(%read)
}
"""


def test_slices_are_found_behind_combined_all_reduces():
    found = hlo_collectives.read_collectives(SLICED)
    assert [c.slices for c in found] == [8, 8, 1]
    assert [c.credited_bytes for c in found] == [0.875 * 256, 0.875 * 256, 1.75 * 256]


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
