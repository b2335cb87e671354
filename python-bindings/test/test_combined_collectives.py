# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small collectives combined into one: fewer calls, the same bytes and the same numbers."""

import re

import numpy as np
import pytest
from parallelisms import PARALLELISMS
from tiny_models import MODELS, adamw

from weft import tree
import weft


def lowered_step(name, way):
    model, way = MODELS[name], PARALLELISMS[way]
    state, batches = model.state(adamw()), model.batches(3)
    layout = way.layout(state["params"])
    step = weft.jit(model.train_step(adamw(), way.wrap), layout=layout,
                    in_shardings=way.in_shardings(layout, state))
    first = tree.map(lambda stack: stack[0], batches)
    return step.lower(state, first), state, batches


def members(record):
    """(bytes, cause) of each collective that a record stands for."""
    head, *lines = record.cause.split("\n")
    if not lines:
        return [(record.bytes, record.cause)]
    assert head == f"{len(lines)} collectives in one:"
    units = {"B": 1, "KiB": 1024, "MiB": 1024 ** 2}
    parsed = [re.fullmatch(r"([\d.]+) (\w+): (.+)", line).groups() for line in lines]
    return [(float(number) * units[unit], cause) for number, unit, cause in parsed]


@pytest.mark.parametrize("name, way", [("gpt2", "dp"), ("gpt2", "fsdp"), ("gpt2", "zero2"),
                                       ("llama", "dp+fsdp+tp")])
def test_the_numbers_have_the_same_bits(name, way):
    lowered, state, batches = lowered_step(name, way)
    together, apart = lowered.compile(), lowered.compile(combine_collectives=False)
    assert sum(r.count for r in together.collectives()) < sum(r.count for r in apart.collectives())
    found = expected = state
    for i in range(3):
        batch = tree.map(lambda stack: stack[i], batches)
        (found, loss), (expected, expected_loss) = together(found, batch), apart(expected, batch)
        assert float(loss) == float(expected_loss)
    for (path, a), b in zip(tree.flatten_with_paths(found)[0], tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b), err_msg=str(path))


@pytest.mark.parametrize("way", ["dp", "fsdp"])
def test_every_collective_keeps_its_cause_and_bytes(way):
    lowered, _, _ = lowered_step("gpt2", way)
    together, apart = lowered.compile(None), lowered.compile(None, combine_collectives=False)

    def causes(compiled):
        return sorted((kind, cause) for kind, cause, count in
                      ((r.kind, cause, r.count) for r in compiled.collectives()
                       for _, cause in members(r)) for _ in range(count))

    assert causes(together) == causes(apart)
    for record in together.collectives():
        parts = members(record)
        assert record.bytes == pytest.approx(sum(size for size, _ in parts), rel=0.01)
    # A chunk of a ring may be filled better.
    bytes_sent = [sum(r.total_bytes for r in c.collectives()) for c in (together, apart)]
    assert bytes_sent[0] <= bytes_sent[1]


def test_what_all_ranks_reduce_is_one_call():
    lowered, _, _ = lowered_step("gpt2", "dp")
    (record,) = lowered.compile(None).collectives()
    assert record.kind == "all_reduce" and record.count == 1


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_what_is_reduced_together_is_not_copied(name):
    lowered, _, _ = lowered_step(name, "dp")
    together, apart = (lowered.compile(None, combine_collectives=combine).cost()
                       for combine in (True, False))
    assert together.collectives == 1 < apart.collectives
    assert together.kernels + together.copies <= apart.kernels + apart.copies
