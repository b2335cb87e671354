# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameters that are gathered once for all micro-batches: fewer calls, and the same bits."""

import numpy as np
import pytest

import weft

SIZES = dict(layers=2, hidden=32, heads=4, kv_heads=2, ffn=48, vocabulary=64, sequence=16, dtype="float32",
             data=2, sharded="fsdp", global_batch=8, micro_batch=1)


def state_and_batch(step):
    random = np.random.default_rng(0)
    params = weft.tree.map(lambda leaf: random.normal(0.0, 0.1, leaf.shape).astype(np.float32),
                           step.model.parameters(step.sizes))
    tokens = random.integers(0, step.sizes.vocabulary, (8, step.sizes.sequence)).astype(np.int32)
    return ({"params": params, "optimizer": weft.jit(step.optimizer().init)(params)},
            {"tokens": tokens, "targets": np.roll(tokens, -1, 1)})


def run(compiled, step):
    state, batch = state_and_batch(step)
    losses = []
    for _ in range(2):
        state, loss = compiled(state, batch)
        losses.append(float(loss))
    return losses, weft.tree.flatten_with_paths(state)[0]


def gathers(compiled):
    return sum(record.count for record in compiled.collectives() if record.kind == "all_gather")


@pytest.mark.parametrize("recomputation", ["none", "full"])
def test_once_for_all_microbatches(recomputation):
    step = weft.models.llama(**SIZES, recomputation=recomputation)
    again, kept = (step.lower().compile(keep_gathered=keep) for keep in (False, True))
    assert gathers(kept) < gathers(again)
    assert kept.memory().call > again.memory().call
    (losses, state), (expected, leaves) = run(kept, step), run(again, step)
    assert losses == expected
    for (path, leaf), (_, other) in zip(state, leaves, strict=True):
        np.testing.assert_array_equal(np.asarray(leaf), np.asarray(other), err_msg=str(path))


def test_a_memory_limit_keeps_what_fits():
    lowered = weft.models.llama(**SIZES).lower()
    again, kept = (lowered.compile(None, keep_gathered=keep) for keep in (False, True))
    whole = again.memory().arena, kept.memory().arena
    assert whole[0] < whole[1]
    fits, does_not = (lowered.compile(None, memory_limit=limit) for limit in (whole[1], whole[1] - 1))
    assert gathers(fits) == gathers(kept)
    assert gathers(does_not) == gathers(again)


def test_without_microbatches_there_is_nothing_to_keep():
    lowered = weft.models.llama(**SIZES | {"global_batch": 2}).lower()
    again, kept = (lowered.compile(None, keep_gathered=keep) for keep in (False, True))
    assert gathers(kept) == gathers(again)
