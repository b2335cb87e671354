# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a layer of a transformer keeps for the backward pass, in bytes: against Korthikanti et
al., Reducing activation recomputation in large transformer models (2022), who count 34 s b h / t
with tensor parallelism t ways and sequence parallelism, 16-bit floats and tiled attention."""

import functools
import pathlib

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import P, ShapeDtypeStruct, checkpoint_name as named, nn

# A layer of GPT-3: 96 heads of 128, 2048 positions.
TIME, ROWS, WIDTH, HEADS = 2048, 1, 12288, 96
UNIT = TIME * ROWS * WIDTH  # the paper's s b h
ROOT = pathlib.Path(__file__).resolve().parents[2]

COLUMNS = {f"w{n}": P(None, "model") for n in "qkv1"} | {f"b{n}": P("model") for n in "qkv1"}
SPECS = COLUMNS | {n: P("model") for n in ("wo", "w2")} | {
    n: P() for n in ("bo", "b2", "scale1", "shift1", "scale2", "shift2")}
TIME_SPLIT, HEADS_SPLIT = P(None, "model", None), P(None, None, "model", None)
ACTIVATIONS = {"residual": TIME_SPLIT, "normed": TIME_SPLIT, "added": TIME_SPLIT,
               "heads": HEADS_SPLIT, "attended": HEADS_SPLIT,
               "hidden": P(None, None, "model"), "activated": P(None, None, "model")}

# What weft.checkpoint keeps. The paper has all that a derivative reads; here masks of dropout come
# from a generator that is indexed by positions, and are made again.
POLICIES = {
    "the paper's": ("residual", "normed", "heads", "attended", "hidden", "activated"),
    "matmuls": ("residual", "heads", "attended", "hidden"),
}


def parameters():
    shapes = {f"w{n}": (WIDTH, WIDTH) for n in "qkvo"} | {"w1": (WIDTH, 4 * WIDTH), "w2": (4 * WIDTH, WIDTH)}
    shapes |= {n: (WIDTH,) for n in SPECS if n not in shapes} | {"b1": (4 * WIDTH,)}
    return {name: ShapeDtypeStruct(shape, "bfloat16") for name, shape in shapes.items()}


def layer(params, x, key):
    batch, time, width = x.shape

    def heads(n):
        y = h @ params[f"w{n}"] + params[f"b{n}"]
        return named(y.reshape(batch, time, HEADS, width // HEADS), "heads")

    def added(x, y, number):
        y = named(y, "added")
        return named(x + nn.dropout(weft.random.fold_in(key, number), 0.1, y), "residual")

    h = named(nn.layer_norm(x, params["scale1"], params["shift1"]), "normed")
    y = nn.dot_product_attention(*map(heads, "qkv"), is_causal=True)
    y = named(y, "attended").reshape(batch, time, width)
    x = added(x, y @ params["wo"] + params["bo"], 0)
    h = named(nn.layer_norm(x, params["scale2"], params["shift2"]), "normed")
    h = named(nn.gelu(named(h @ params["w1"] + params["b1"], "hidden")), "activated")
    return added(x, h @ params["w2"] + params["b2"], 1)


@functools.cache
def plan(layers, ways, policy):
    """`policy`: "all" without weft.checkpoint and recomputation, None without weft.checkpoint."""
    block = layer
    if policy in POLICIES:
        keep = weft.checkpoint_policies.save_only_these_names(*POLICIES[policy])
        block = weft.checkpoint(layer, policy=keep)

    def loss(params, x, key):
        x = named(x, "residual")
        for number, each in enumerate(params):
            x = block(each, x, weft.random.fold_in(key, number))
        return wnp.mean(x.astype(wnp.float32) ** 2)

    def step(params, x, key):
        value, gradients = weft.value_and_grad(loss)(params, x, key)
        return weft.tree.map(lambda p, g: p - g, params, gradients), value

    specs = [SPECS] * layers
    layout = weft.Layout(weft.AbstractMesh((ways,), ("model",)), rest=specs, activations=ACTIVATIONS)
    step = weft.jit(step, layout=layout, in_shardings=(specs, P(), P()), donate_argnums=0)
    x = ShapeDtypeStruct((ROWS, TIME, WIDTH), "bfloat16")
    return step.lower([parameters()] * layers, x, ShapeDtypeStruct((2,), "int32")).compile(
        None, overlap_collectives=False,  # which may take memory to hide them
        recompute_in_kernels=policy != "all")


def kept(ways, policy):
    """Of a layer, in units of s b h: what the last two of six layers add; of two layers, the first has
    less beside it."""
    bytes_ = [plan(layers, ways, policy).memory().activations for layers in (4, 6)]
    return (bytes_[1] - bytes_[0]) / 2 / UNIT


def exchanged(ways, policy):
    """Collectives of a layer on whole activations, by kind."""
    found = {}
    for sign, layers in ((-1, 2), (1, 4)):
        for c in plan(layers, ways, policy).collectives():
            if c.kind != "all_reduce":
                found[c.kind] = found.get(c.kind, 0) + sign * c.count / 2
    return found


def row(ways, policy):
    found = kept(ways, policy)
    again = plan(4, ways, policy).cost()
    return (f"| {policy or 'by default'} | {ways} | {found:.2f} | {34 / ways:.2f} | {found * ways / 34:.3f} | "
            f"{100 * again.recomputed_flops / again.flops:.2f} % |")


WAYS = (1, 2, 4, 8)


@pytest.mark.parametrize("ways", WAYS)
def test_what_is_kept_as_in_the_paper(ways):
    """34 without the masks of two dropouts, a byte an element each: 32."""
    assert kept(ways, "the paper's") == pytest.approx(32 / ways, rel=5e-3)
    assert kept(ways, "the paper's") == pytest.approx(34 / ways, rel=0.1)


@pytest.mark.parametrize("ways", WAYS)
def test_matmuls_are_enough(ways):
    """Norms and GELU are computed again as well: 2 for each residual, 6 for queries, keys and
    values, 2 for what heads make of them, 8 for what GELU is given."""
    assert kept(ways, "matmuls") == pytest.approx(20 / ways, rel=5e-3)
    cost = plan(4, ways, "matmuls").cost()
    assert cost.recomputed_flops < 0.002 * cost.flops


def test_one_device_keeps_what_the_paper_counts():
    assert kept(1, "all") == pytest.approx(34, rel=2e-3)


@pytest.mark.parametrize("ways", WAYS[1:])
def test_without_a_checkpoint_what_was_gathered_is_kept(ways):
    """The inputs of the two first matmuls, 2 each, are whole on every device."""
    assert kept(ways, "all") == pytest.approx(4 + 30 / ways, rel=2e-3)
    assert exchanged(ways, "all") == {"all_gather": 4, "reduce_scatter": 4}


@pytest.mark.parametrize("ways", WAYS[1:])
def test_kernels_recompute_norms_and_gelu(ways):
    """And nothing is gathered again."""
    assert kept(1, None) == pytest.approx(20, rel=5e-3)
    assert kept(ways, None) == pytest.approx(4 + 20 / ways, rel=5e-3)
    assert exchanged(ways, None) == {"all_gather": 4, "reduce_scatter": 4}


@pytest.mark.parametrize("policy", POLICIES)
def test_what_was_gathered_is_gathered_again(policy):
    """As in the paper: two more gathers in the backward pass."""
    assert exchanged(4, policy) == {"all_gather": 6, "reduce_scatter": 4}


@pytest.mark.parametrize("policy", ["all", None, *POLICIES])
@pytest.mark.parametrize("ways", WAYS)
def test_rows_of_the_table(ways, policy):
    text = (ROOT / "docs/Memory.md").read_text()
    assert row(ways, policy) in text, row(ways, policy)


def test_values_that_are_kept_change_no_bit():
    def model(x, w, block):
        h = block(x, w)
        return wnp.sum(block(h, w) ** 2)

    def block(x, w):
        q = named(x @ w, "heads").reshape(2, 8, 2, 4)
        y = named(nn.dot_product_attention(q, q, q, is_causal=True), "attended").reshape(2, 8, 8)
        return named(wnp.tanh(y), "out") * wnp.exp(x)

    random = np.random.default_rng(0)
    x, w = random.normal(size=(2, 8, 8)).astype("f4"), random.normal(size=(8, 8)).astype("f4")
    found = []
    for names in (None, ("attended",), ("heads", "out"), ("heads", "attended", "out")):
        wrapped = block if names is None else weft.checkpoint(
            block, policy=weft.checkpoint_policies.save_only_these_names(*names))
        gradient = weft.jit(weft.grad(lambda x, w, f=wrapped: model(x, w, f), argnums=(0, 1)))
        found.append(gradient(x, w))
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)
