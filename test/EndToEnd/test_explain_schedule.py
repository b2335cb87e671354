# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`shard-compile --explain=schedule` of training steps."""

import re
import subprocess

import pytest
from conftest import binaries

import weft

SIZES = {"layers": 2, "hidden": 1024, "heads": 16, "vocabulary": 8192, "sequence": 1024, "micro_batch": 2}
LAYOUTS = [{"tensor": 8, "sequence_parallel": True, "data": 4},
           {"tensor": 4, "sequence_parallel": True, "data": 4, "sharded": "fsdp"},
           {"tensor": 4, "data": 4, "sharded": "fsdp", "global_batch": 32}]
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
TIME = r"(\d\S* [num]?s)"
BLOCK = re.compile(rf": {TIME} \(in any order at least {TIME}\), computing")
AXES = re.compile(rf"over {{.*}}: .*, exposed {TIME} \(by themselves {TIME}, in any order at least {TIME}\)")


def seconds(text):
    number, unit = text.split()
    return float(number) * UNITS[unit]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_no_bound_is_above_what_it_bounds(layout, tmp_path):
    source = weft.models.gpt(**SIZES, **layout).lower().as_text()
    command = [binaries() / "shard-compile", "-", "-o", tmp_path / "step.plan", "--target=none", "--cluster=dgx-h100"]
    report = subprocess.run([*command, "--explain=schedule"], input=source, check=True, capture_output=True, text=True).stdout
    blocks = [tuple(map(seconds, found)) for found in BLOCK.findall(report)]
    axes = [tuple(map(seconds, found)) for found in AXES.findall(report)]
    assert len(blocks) == 1 + ("global_batch" in layout) and len(axes) > len(blocks)
    for whole, least in blocks:
        assert whole >= least > 0
    for exposed, alone, least in axes:
        assert alone >= least
    assert any(least > 0 for _, _, least in axes)
