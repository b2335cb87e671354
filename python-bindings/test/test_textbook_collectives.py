# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a layer of a GPT-2 exchanges in a step is what the literature says: counts, and bytes
by the formulas of rings."""

import pathlib

import numpy as np
import pytest
from parallelisms import PARALLELISMS
from tiny_models import MODELS, adamw
from traffic import compiled_step, of_layers, per_layer, traffic

from weft import models, optim, tree

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS, CONFIG = 8, MODELS["gpt2"].config
BLOCK = MODELS["gpt2"].params()["blocks"][0]
PARAMETERS = len(tree.leaves(BLOCK))  # 16
# Of these the columns and rows of Megatron-LM split: all but norms and the biases of rows.
WHOLE = 6
D, M, R = ("data",), ("model",), ("replica",)

# Per layer, forward and backward together.
EXPECTED = {
    # Every gradient once.
    "dp": {("all_reduce", D): PARAMETERS},
    # Megatron-LM: two forward and two backward.
    "tp": {("all_reduce", M): 4},
    "tp+vocab": {("all_reduce", M): 4},
    "vocab": {},
    # Korthikanti et al.: each all-reduce in two halves. Parameters that work on parts of the
    # sequence have a gradient from each.
    "tp+sp": {("all_gather", M): 4, ("reduce_scatter", M): 4, ("all_reduce", M): WHOLE},
    "tp+sp+vocab": {("all_gather", M): 4, ("reduce_scatter", M): 4, ("all_reduce", M): WHOLE},
    # ZeRO-1 and ZeRO-2: every gradient to its part of the optimizer, every parameter back.
    "zero1": {("reduce_scatter", D): PARAMETERS, ("all_gather", D): PARAMETERS},
    "zero2": {("reduce_scatter", D): PARAMETERS, ("all_gather", D): PARAMETERS},
    # Every parameter gathered once and held; with checkpoints once more in the backward pass,
    # where the last bias of a block is of no use.
    "fsdp": {("reduce_scatter", D): PARAMETERS, ("all_gather", D): PARAMETERS},
    "fsdp+checkpoint": {("reduce_scatter", D): PARAMETERS, ("all_gather", D): 2 * PARAMETERS - 1},
    "hybrid": {("reduce_scatter", D): PARAMETERS, ("all_gather", D): PARAMETERS,
               ("all_reduce", R): PARAMETERS},
    "fsdp over two axes": {("reduce_scatter", ("a", "b")): PARAMETERS,
                           ("all_gather", ("a", "b")): PARAMETERS},
    "dp+tp": {("all_reduce", D): PARAMETERS, ("all_reduce", M): 4},
    "dp+tp+sp": {("all_gather", M): 4, ("reduce_scatter", M): 4,
                 ("all_reduce", D): PARAMETERS - WHOLE, ("all_reduce", ("data", "model")): WHOLE},
    "zero1+tp": {("reduce_scatter", D): PARAMETERS, ("all_gather", D): PARAMETERS,
                 ("all_reduce", M): 4},
    "fsdp+tp": {("reduce_scatter", D): PARAMETERS, ("all_gather", D): PARAMETERS,
                ("all_reduce", M): 4},
    "dp+fsdp+tp": {("reduce_scatter", D): PARAMETERS, ("all_gather", D): PARAMETERS,
                   ("all_reduce", R): PARAMETERS, ("all_reduce", M): 4},
    # The backward pass computes a block again up to its second activation of whole width: two
    # gathers and one sum more.
    "dp+fsdp+tp+sp+vocab+checkpoint": {
        ("reduce_scatter", D): PARAMETERS, ("all_gather", D): 2 * PARAMETERS - 1,
        ("all_gather", M): 6, ("reduce_scatter", M): 5, ("all_reduce", R): PARAMETERS - WHOLE,
        ("all_reduce", ("replica", "model")): WHOLE},
}


def counts(name, way, **options):
    return {key: found.count for key, found in per_layer(name, way, **options).items()}


@pytest.mark.parametrize("combined", [False, True], ids=["apart", "combined"])
@pytest.mark.parametrize("way", PARALLELISMS)
def test_collectives_of_a_layer(way, combined):
    assert counts("gpt2", way, combined=combined) == EXPECTED[way]


# Without biases: 9.
OF_LLAMA = len(tree.leaves(MODELS["llama"].params()["blocks"][0]))


@pytest.mark.parametrize("way, of_llama", [
    ("dp", {("all_reduce", D): OF_LLAMA}),
    ("tp", {("all_reduce", M): 4}),
    ("tp+vocab", {("all_reduce", M): 4}),
    ("dp+tp", {("all_reduce", D): OF_LLAMA, ("all_reduce", M): 4}),
    ("zero1", {("reduce_scatter", D): OF_LLAMA, ("all_gather", D): OF_LLAMA}),
    ("fsdp", {("reduce_scatter", D): OF_LLAMA, ("all_gather", D): OF_LLAMA}),
    ("fsdp+checkpoint", {("reduce_scatter", D): OF_LLAMA, ("all_gather", D): 2 * OF_LLAMA}),
    ("fsdp+tp", {("reduce_scatter", D): OF_LLAMA, ("all_gather", D): OF_LLAMA,
                 ("all_reduce", M): 4}),
])
def test_specs_of_weights_are_enough(way, of_llama):
    """As models are compiled: where nothing is said of activations, and calls are combined."""
    for name, expected in ("gpt2", EXPECTED[way]), ("llama", of_llama):
        assert counts(name, way, combined=True, constrained=False) == expected, name


@pytest.mark.parametrize("way, axes", [("tp", M), ("fsdp", D), ("zero1+tp", D + M),
                                       ("fsdp+tp", D + M)])
def test_the_norm_of_all_gradients_is_one_reduction(way, axes):
    """However many layers there are."""
    plans = [traffic(compiled_step(of_layers("gpt2", 2), way, optimizer))
             for optimizer in (optim.adamw(1e-3), adamw())]
    more = {key: plans[1][key].count - plans[0].get(key, (0, 0))[0] for key in plans[1]}
    assert {key: n for key, n in more.items() if n} == {("all_reduce", axes): 1}


def parameter_bytes(tp=1):
    """Of a layer, where its columns and rows are split `tp` ways."""
    split = ("wq", "wk", "wv", "wo", "bq", "bk", "bv", "w1", "b1", "w2")
    return sum(leaf.nbytes / (tp if path[-1].value in split else 1)
               for path, leaf in tree.flatten_with_keys(BLOCK)[0])


def activation_bytes(dp=1):
    return ROWS * CONFIG.context * CONFIG.width * 4 / dp


def ring(n):
    """The part of a tensor that each of n devices sends to gather or to reduce-scatter it."""
    return (n - 1) / n


# As docs/Training.md has them: P and A are the bytes of a layer's parameters and of its
# activations of the whole batch.
RINGS = [
    ("dp", ("all_reduce", D), "2 · 7/8 · P", 2 * ring(8) * parameter_bytes()),
    ("zero1", ("reduce_scatter", D), "3/4 · P", ring(4) * parameter_bytes()),
    ("zero1", ("all_gather", D), "3/4 · P", ring(4) * parameter_bytes()),
    ("fsdp", ("all_gather", D), "3/4 · P", ring(4) * parameter_bytes()),
    ("fsdp", ("reduce_scatter", D), "3/4 · P", ring(4) * parameter_bytes()),
    ("fsdp+checkpoint", ("all_gather", D), "2 · 3/4 · P, less the last bias",
     ring(4) * (2 * parameter_bytes() - BLOCK["mlp"]["b2"].nbytes)),
    ("hybrid", ("reduce_scatter", D), "3/4 · P", ring(4) * parameter_bytes()),
    ("hybrid", ("all_reduce", R), "2 · 1/2 · P / 4", 2 * ring(2) * parameter_bytes() / 4),
    ("tp", ("all_reduce", M), "4 · 2 · 3/4 · A", 4 * 2 * ring(4) * activation_bytes()),
    ("tp+sp", ("all_gather", M), "4 · 3/4 · A", 4 * ring(4) * activation_bytes()),
    ("tp+sp", ("reduce_scatter", M), "4 · 3/4 · A", 4 * ring(4) * activation_bytes()),
    ("dp+tp", ("all_reduce", M), "4 · 2 · 3/4 · A / 2", 4 * 2 * ring(4) * activation_bytes(dp=2)),
    ("dp+tp", ("all_reduce", D), "2 · 1/2 · P split by 4",
     2 * ring(2) * parameter_bytes(tp=4)),
    ("fsdp+tp", ("all_gather", D), "1/2 · P split by 4", ring(2) * parameter_bytes(tp=4)),
]


@pytest.mark.parametrize("way, key, formula, expected", RINGS)
def test_bytes_are_those_of_rings(way, key, formula, expected):
    found = per_layer("gpt2", way)[key]
    assert np.isclose(found.bytes, expected, rtol=1e-12)
    kind, axes = key
    row = f"| {way} | {found.count} {kind} | {', '.join(axes)} | {formula} | {found.bytes:,.0f} |"
    assert row in (ROOT / "docs/Training.md").read_text(), row


def test_updates_are_not_shared_at_the_price_of_gathers():
    """The states of the optimizer are whole on every rank of context parallelism: a shard of each that a rank updated
    would be gathered again. Kernels read and write few of the values that an update goes through."""
    step = models.gpt(layers=1, hidden=1024, heads=8, vocabulary=8000, sequence=1024, micro_batch=2, context=2).lower()

    def sent(**options):
        compiled = step.compile(target=None, cluster="dgx-h100", **options)
        return sum(each.total_bytes for each in compiled.collectives())

    assert sent() < 1.1 * sent(optimize_shardings=False)


@pytest.mark.parametrize("sharded", ["zero1", "fsdp"])
def test_gradients_are_reduced_once_for_all_micro_batches(sharded):
    """The constraints of the layout say how their sum is split, and the table of tokens is not gathered."""
    step = models.gpt(layers=1, hidden=1024, heads=8, vocabulary=8000, sequence=1024, data=2, tensor=2,
                      sequence_parallel=True, sharded=sharded, global_batch=8).lower()
    chosen, propagated = (step.compile(target=None, cluster="dgx-h100", optimize_shardings=optimized).collectives()
                          for optimized in (True, False))
    assert all(each.count == 1 for each in chosen if each.kind.startswith(("reduce", "all_reduce")) and "data" in each.axes)
    assert sum(each.total_bytes for each in chosen) < 0.6 * sum(each.total_bytes for each in propagated)
