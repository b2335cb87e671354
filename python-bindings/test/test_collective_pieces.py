# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives in pieces beside matmuls of others: the same numbers, and the same bytes in more calls."""

import functools

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import P, lax

SIZES = {
    "gpt": dict(layers=2, hidden=32, heads=4, vocabulary=64, sequence=16, dtype="float32", global_batch=8,
                micro_batch=4),
    "llama": dict(layers=2, hidden=32, heads=4, kv_heads=2, ffn=48, vocabulary=64, sequence=16, dtype="float32",
                  global_batch=8, micro_batch=4),
}
LAYOUTS = {
    "tensor": dict(tensor=2),
    "sequence": dict(tensor=2, sequence_parallel=True),
    "sequences one by one": dict(tensor=2, sequence_parallel=True, micro_batch=1),
    "data": dict(tensor=2, sequence_parallel=True, data=2),
    "fsdp": dict(tensor=2, sequence_parallel=True, data=2, sharded="fsdp"),
    "pipeline": dict(tensor=2, sequence_parallel=True, pipeline=2),
    "recomputation": dict(tensor=2, sequence_parallel=True, recomputation="full"),
}


def state_and_batch(step):
    random = np.random.default_rng(0)
    params = weft.tree.map(lambda leaf: random.normal(0.0, 0.1, leaf.shape).astype(np.float32),
                           step.model.parameters(step.sizes))
    tokens = random.integers(0, step.sizes.vocabulary, (8, step.sizes.sequence)).astype(np.int32)
    return ({"params": params, "optimizer": weft.jit(step.optimizer().init)(params)},
            {"tokens": tokens, "targets": np.roll(tokens, -1, 1)})


def model(name, **settings):
    return getattr(weft.models, name)(**SIZES[name] | settings)


def run(compiled, step, count=2):
    """The losses and the last state."""
    state, batch = state_and_batch(step)
    losses = []
    for _ in range(count):
        state, loss = compiled(state, batch)
        losses.append(float(loss))
    return losses, state


@functools.cache
def one_device(name):
    step = model(name)
    return run(step.lower().compile(), step)


def gradients(state):
    """AdamW's mean of them, by parameter; that of a bias of keys is 0 but for rounding."""
    leaves = weft.tree.flatten_with_paths(state["optimizer"]["adamw"]["mu"])[0]
    found = {str(path): np.asarray(leaf) for path, leaf in leaves if "bk" not in str(path)}
    assert all(np.abs(leaf).max() > 1e-8 for leaf in found.values())
    return found


def assert_same(found, expected, rtol):
    assert found[0] == pytest.approx(expected[0], rel=1e-6)
    expected = gradients(expected[1])
    for path, gradient in gradients(found[1]).items():
        np.testing.assert_allclose(gradient, expected[path], rtol=rtol, atol=rtol * np.abs(expected[path]).max(),
                                   err_msg=path)


def calls(compiled):
    return sum(record.count for record in compiled.collectives())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("pieces", [2, 4])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", SIZES)
def test_pieces_change_no_number(name, layout, pieces):
    step = model(name, **LAYOUTS[layout])
    lowered = step.lower()
    cut, whole = (lowered.compile(collective_pieces=count) for count in (pieces, 1))
    assert calls(cut) > calls(whole)
    found, expected = run(cut, step), run(whole, step)
    assert_same(found, expected, rtol=1e-6)
    assert_same(found, one_device(name), rtol=1e-5)


def test_sums_over_rows_are_those_of_pieces_in_bfloat16():
    """Biases have gradients in bfloat16, which are rounded once."""
    step = model("gpt", tensor=2, dtype="bfloat16")
    cut, whole = (run(step.lower().compile(collective_pieces=count), step, 1) for count in (2, 1))
    assert cut[0] == whole[0]
    whole = gradients(whole[1])
    for path, gradient in gradients(cut[1]).items():
        np.testing.assert_allclose(gradient, whole[path], rtol=2 ** -7, atol=1e-6 * np.abs(whole[path]).max(),
                                   err_msg=path)


def test_what_pays_is_cut():
    """Of large matmuls on GPUs, not of small ones, and not on a CPU, which communicates itself."""
    sizes = dict(layers=2, hidden=4096, heads=32, vocabulary=50304, sequence=2048, global_batch=4, micro_batch=4)
    large = weft.models.gpt(**sizes, tensor=8).lower()
    cut, whole = large.compile(None), large.compile(None, collective_pieces=1)
    assert calls(cut) >= calls(whole) + 6
    assert cut.memory().arena <= 1.05 * whole.memory().arena
    for lowered, cluster in [(large, "cpu-2core"), (model("gpt", tensor=2).lower(), "dgx-h100")]:
        same, apart = (lowered.compile(None, cluster=cluster, collective_pieces=count) for count in (0, 1))
        assert calls(same) == calls(apart)


@pytest.mark.parametrize("count", [-1, 2.0, True, None])
def test_a_number_of_pieces_that_is_none(count):
    with pytest.raises(ValueError, match="collective_pieces must be an integer of at least 0, got"):
        model("gpt", tensor=2).lower().compile(None, collective_pieces=count)


@pytest.mark.parametrize("option", ["combine_collectives", "overlap_collectives", "keep_gathered", "recompute_in_kernels"])
@pytest.mark.parametrize("value", ["no", None, 1])
def test_an_option_that_is_no_bool(option, value):
    with pytest.raises(TypeError, match=f"{option} must be True or False, got {value!r}"):
        model("gpt", tensor=2).lower().compile(None, **{option: value})


def test_convolutions_of_a_part_of_the_batch():
    """Partial sums of images are added up while others are convolved."""
    def loss(weights, x):
        h = x
        for w in weights:
            h = wnp.tanh(lax.conv_general_dilated(h, w, (1,), "SAME", dimension_numbers=("NHC", "HIO", "NHC")))
        return wnp.mean((h - x) ** 2)

    random = np.random.default_rng(0)
    weights = [random.normal(0, 0.2, size).astype(np.float32) for size in ((3, 16, 32), (3, 32, 16))]
    x = random.normal(size=(8, 12, 16)).astype(np.float32)
    specs = [P(None, None, "tensor"), P(None, "tensor")]
    step = weft.jit(weft.value_and_grad(loss), mesh=weft.Mesh((2,), ("tensor",)), in_shardings=(specs, P()))
    lowered = step.lower(weights, x)
    whole, cut = (lowered.compile(collective_pieces=count) for count in (1, 4))
    assert [sum(each.count for each in plan.collectives()) for plan in (whole, cut)] == [1, 4]
    assert cut.cost().convolutions > whole.cost().convolutions
    (value, slopes), (same, equal) = cut(weights, x), whole(weights, x)
    np.testing.assert_allclose(value, same, rtol=1e-6)
    for a, b in zip(slopes, equal, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)
