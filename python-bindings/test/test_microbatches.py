# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft.microbatches`: the numbers of the large batch, in less memory."""

import numpy as np
import pytest
from traffic import compiled_step, of_layers, traffic

import weft
import weft.numpy as wnp
from weft import P, ShapeDtypeStruct, tree

random = np.random.default_rng(0)
WIDTH, HIDDEN, ROWS = 16, 64, 64
PARAMS = {"w1": (random.normal(size=(WIDTH, HIDDEN)) * 0.3).astype(np.float32),
          "w2": (random.normal(size=(HIDDEN, WIDTH)) * 0.3).astype(np.float32)}
BATCH = {name: random.normal(size=(ROWS, WIDTH)).astype(np.float32) for name in "xy"}


def loss(params, batch):
    return wnp.mean((wnp.tanh(batch["x"] @ params["w1"]) @ params["w2"] - batch["y"]) ** 2)


def gradients(n, **options):
    vg = weft.value_and_grad(loss)
    return weft.jit(weft.microbatches(vg, n, **options) if n else vg)


@pytest.mark.parametrize("n", [1, 4, 8])
def test_the_numbers_of_the_large_batch(n):
    expected, found = gradients(0)(PARAMS, BATCH), gradients(n)(PARAMS, BATCH)
    for a, b in zip(tree.leaves(found), tree.leaves(expected), strict=True):
        assert np.linalg.norm(a - b) <= 1e-6 * np.linalg.norm(b)


def test_rows_are_dealt_in_turn():
    def rows(params, x):
        return x.sum(), {"first": x[0]}

    x = np.arange(8, dtype=np.int32).reshape(8, 1)
    seen, first = weft.jit(weft.microbatches(lambda p, x: rows(p, x.astype(float)), 4))({}, x)
    assert seen == 28 / 4 and first["first"] == (0 + 1 + 2 + 3) / 4
    # Integers are counted, not averaged.
    assert weft.jit(weft.microbatches(lambda p, x: (x.sum(), p), 4))({}, x)[0] == 28


def test_activations_of_one_micro_batch_at_a_time():
    rows, weights = 16 * ROWS, sum(w.nbytes for w in PARAMS.values())
    batch = tree.map(lambda x: ShapeDtypeStruct((rows, WIDTH), "float32"), BATCH)
    bytes_ = {n: gradients(n).lower(PARAMS, batch).compile(None).memory().call for n in (0, 4)}
    hidden = rows * HIDDEN * 4
    inputs = sum(x.nbytes for x in tree.leaves(batch))
    assert bytes_[0] - inputs > 2 * hidden  # two values of a row for each hidden unit
    # A part of the batch is a copy, and gradients are added to their sums.
    assert bytes_[4] - inputs < bytes_[0] / 4 + 3 * weights


@pytest.mark.parametrize("hidden", [8, 2048])  # small reductions get no thread
def test_reductions_begin_beside_the_last_micro_batch(hidden):
    params = {"w1": (random.normal(size=(WIDTH, hidden)) * 0.3).astype(np.float32),
              "w2": (random.normal(size=(hidden, WIDTH)) * 0.3).astype(np.float32)}
    step = weft.jit(weft.microbatches(weft.value_and_grad(loss), 4), mesh=weft.make_mesh((4,), ("data",)),
                    in_shardings=(P(), P("data")), out_shardings=P())
    lowered = step.lower(params, BATCH)
    # Combined, small ones begin behind the loop.
    beside, behind = (lowered.compile(overlap_collectives=overlap, combine_collectives=False)
                      for overlap in (True, False))
    starts = [line for line in beside.as_text().splitlines() if "comm start" in line]
    assert [" behind " in line for line in starts] == [True] * 3 and " behind " not in behind.as_text()
    for _ in range(3):
        for a, b in zip(*(tree.leaves(plan(params, BATCH)) for plan in (beside, behind)), strict=True):
            np.testing.assert_array_equal(a, b)


def test_sums_are_gradients_before_they_are_reduced_as_well():
    model = of_layers("gpt2", 1)
    memory = compiled_step(model, "zero1", microbatches=2).memory()
    # The table has two, of its rows and of the logits.
    params = model.params()
    assert memory.at_peak["gradients"] == sum(p.nbytes for p in tree.leaves(params)) + params["wte"].nbytes


@pytest.mark.parametrize("way, n", [("zero1", 2), ("dp+tp", 4)])
def test_gradients_and_losses_are_reduced_once_a_step(way, n):
    whole, parts = (traffic(compiled_step(of_layers("gpt2", 1), way, microbatches=m)) for m in (None, n))
    expected = {key: found.count for key, found in whole.items()}
    # Tensor parallelism adds up the activations of each part.
    if ("all_reduce", ("model",)) in expected:
        expected["all_reduce", ("model",)] *= n
    assert {key: found.count for key, found in parts.items()} == expected


def test_parameters_in_shards_are_gathered_for_every_part():
    key = ("data",)
    whole, parts = (traffic(compiled_step(of_layers("gpt2", 1), "fsdp", microbatches=m)) for m in (None, 2))
    assert parts["all_gather", key] == tuple(2 * x for x in whole["all_gather", key])
    assert parts["reduce_scatter", key] == whole["reduce_scatter", key]


@pytest.mark.parametrize("way", ["tp", "dp+tp"])
def test_plans_are_of_one_size(way, tmp_path):
    def bytes_of(layers, microbatches):
        compiled_step(of_layers("gpt2", layers), way, microbatches=microbatches).save(tmp_path / "step.plan")
        return (tmp_path / "step.plan").stat().st_size

    # What each layer takes: a plan has some kernels more for all of its sums.
    whole, parts = (bytes_of(8, m) - bytes_of(4, m) for m in (None, 2))
    assert parts <= 1.05 * whole
    # The number of micro-batches is a number.
    assert abs(bytes_of(4, 4) - bytes_of(4, 2)) <= 64


def test_sums_in_a_wider_type():
    half = tree.map(lambda p: ShapeDtypeStruct(p.shape, "bfloat16"), PARAMS)
    batch = tree.map(lambda p: ShapeDtypeStruct(p.shape, "bfloat16"), BATCH)
    vg = weft.value_and_grad(loss)
    for dtype, expected in ((None, "bfloat16"), ("float32", "float32")):
        found = weft.eval_shape(weft.microbatches(vg, 2, dtype=dtype), half, batch)
        assert {leaf.dtype.name for leaf in tree.leaves(found)} == {expected}


def test_wrong_arguments():
    with pytest.raises(ValueError, match="microbatches needs a number of at least 1, got 0"):
        weft.microbatches(loss, 0)
    with pytest.raises(ValueError, match=r"must be a multiple of the 3 micro-batches, but are not in "
                                         r"batch\[0\]\['x'\] of shape \[64, 16\], batch\[0\]\['y'\]"):
        gradients(3)(PARAMS, BATCH)


def test_results_that_are_no_numbers():
    def positive(params, batch):
        return loss(params, batch) > 0, params

    with pytest.raises(TypeError, match=r"what micro-batches return is added up, but the result\[0\] is bool"):
        weft.jit(weft.microbatches(positive, 2))(PARAMS, BATCH)


def test_values_that_leave_a_micro_batch_another_way():
    kept = []

    def keeping(params, batch):
        kept.append(wnp.sum(batch["x"] @ params["w1"]))
        return kept[-1], params

    def returned(params, batch):
        return weft.microbatches(keeping, 2)(params, batch), kept[-1]

    def used(params, batch):
        weft.microbatches(keeping, 2)(params, batch)
        return weft.microbatches(lambda params, batch: (wnp.sum(batch["x"]) + kept[-1], params), 4)(params, batch)

    remedy = "; return it from the function that weft.microbatches is given"
    with pytest.raises(weft.CompileError, match=f"^.*error: after import: result 3 is a value .*{remedy}\n") as info:
        weft.jit(returned)(PARAMS, BATCH)
    assert len(info.value.errors) == 1
    with pytest.raises(weft.CompileError, match=f"after import: add of loop .* uses a value of each .*{remedy}"):
        weft.jit(used)(PARAMS, BATCH)


# Said to weft.jit

def test_jit_splits_gradients_as_microbatches_does():
    step = weft.value_and_grad(loss)
    assert weft.jit(step, microbatches=4).lower(PARAMS, BATCH).as_text("graph") == gradients(4).lower(PARAMS, BATCH).as_text("graph")
    assert weft.jit(step, microbatches=1).lower(PARAMS, BATCH).as_text("graph") == gradients(0).lower(PARAMS, BATCH).as_text("graph")


@pytest.mark.parametrize("options, step, error, expected", [
    (dict(microbatches=0), loss, ValueError, "jit: microbatches must be a number of at least 1, got 0"),
    (dict(microbatches=2, mesh=weft.Mesh((2,), ("pipe",)), pipeline=weft.Pipeline("pipe")), loss, ValueError,
     "say them in the pipeline, weft.Pipeline\\(..., microbatches=2\\)"),
    (dict(microbatches=2), weft.microbatches(weft.value_and_grad(loss), 4), ValueError,
     "there are 4 micro-batches here, but weft.jit is given microbatches = 2; say it once"),
    (dict(microbatches=2), weft.value_and_grad(loss, argnums=(0, 1)), TypeError,
     "microbatches= of weft.jit splits gradients by the first argument"),
])
def test_micro_batches_of_jit_are_said_once(options, step, error, expected):
    with pytest.raises(error, match=expected):
        weft.jit(step, **options).lower(PARAMS, BATCH)
