# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches of one kernel for several parameters: `batch_launches`."""

import re

import pytest
from test_epilogues import BFLOAT16, lowered


def instructions(plan):
    return re.findall(r"^ +\d+: (.*)", plan.as_text(), re.M)


def collectives(plan):
    return [re.sub(r"%\d+", "", line) for line in instructions(plan) if line.startswith("comm")]


def sets(plan):
    """The batches of all launches of the training step."""
    lines = [line for line in instructions(plan) if " launch @" in line]
    found = [re.search(r"\) batch (\d+)", line) for line in lines]
    return [int(match[1]) if match else 1 for match in found]


def work(plan):
    lines = instructions(plan)
    return [sum(int(n) for n in re.findall(rf" {what} (\d+)", "\n".join(lines)))
            for what in ("flops", "bytes")]


@pytest.mark.parametrize("way", [None, "dp", "fsdp+tp"])
def test_gpt2_launches_each_kernel_a_few_times(way):
    program = lowered(BFLOAT16, way)
    # One by one: what makes several collectives one, and several of one, has kernels of its own.
    batched, single = (program.compile("cuda:sm_90", batch_launches=batch, combine_collectives=False)
                       for batch in (True, False))
    assert set(sets(single)) == {1}
    assert sum(sets(batched)) == len(sets(single))
    assert len(sets(batched)) < 0.7 * len(sets(single))
    assert work(batched) == work(single)
    assert collectives(batched) == collectives(single)
    # Not more memory but for what the layout wastes.
    arenas = [int(re.search(r"^arena (\d+) bytes", plan.as_text(), re.M)[1])
              for plan in (batched, single)]
    assert arenas[0] <= 1.02 * arenas[1]


def test_other_targets():
    for target in ("cpu", None):
        assert set(sets(lowered(BFLOAT16).compile(target))) == {1}
