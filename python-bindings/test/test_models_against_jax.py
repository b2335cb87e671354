# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models written in weft.numpy train as the same models written in JAX.

Runs where JAX is installed: build/venv-jax, which scripts/setup.sh makes.
"""

import inspect
import pathlib
import re
import sys
from functools import partial

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="compares with JAX, which is not installed here")

import jax.numpy as jnp  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "test" / "Import"))

import jax_models  # noqa: E402
import weft  # noqa: E402
import weft_models  # noqa: E402
from running import evaluate, train  # noqa: E402
from weft import P, nn, optim, tree  # noqa: E402

STEPS = 20
LAYOUTS = {
    "one device": ((1,), ("data",), {}),
    "data": ((4,), ("data",), {"batch": "data"}),
    "tensor": ((4,), ("model",), {"tp": "model"}),
    "data and tensor": ((2, 2), ("data", "model"), {"batch": "data", "tp": "model"}),
    "sequence": ((2, 2), ("data", "model"), {"batch": "data", "tp": "model", "sequence": "model"}),
    "fsdp and tensor": ((2, 2), ("data", "model"), {"batch": "data", "fsdp": "data", "tp": "model"}),
}


def specs(tree_, kinds):
    """As Layout.state_specs of jax_models."""
    pairs = [(re.compile(pattern + "$"), dims) for pattern, dims in jax_models.PARAMETER_KINDS]
    paths, treedef = tree.flatten_with_paths(tree_)
    return treedef.unflatten(
        next((P(*(kinds.get(dim) for dim in dims)) for regex, dims in pairs if regex.search(path)), P())
        for path, _ in paths)


@pytest.fixture(scope="module", params=["gpt2", "llama"])
def reference(request):
    """(configuration, losses of both, first state, batches, last parameters) of JAX."""
    name = request.param
    config = {"gpt2": jax_models.GPT2Config, "llama": jax_models.LlamaConfig}[name](vocab=64)
    init, loss = getattr(jax_models, f"{name}_init"), getattr(jax_models, f"{name}_loss")
    optimizer = jax_models.adamw()
    state = jax_models.init_state(init(jax.random.key(0), config), optimizer)
    batches = jax_models.lm_batch(jax.random.key(1), config, STEPS * 4)
    batches = tree.map(lambda a: np.asarray(a).reshape(STEPS, 4, -1), batches)
    losses, last = trained_in_jax(partial(loss, config=config), optimizer, state, batches)
    return name, config, losses, tree.map(np.asarray, state), batches, last


def trained_in_jax(loss, optimizer, state, batches):
    """Losses, and the last parameters."""
    step, losses = jax.jit(jax_models.train_step(loss, optimizer)), []
    for i in range(STEPS):
        state, value = step(state, tree.map(lambda a: jnp.asarray(a[i]), batches))
        losses.append(float(value))
    return np.array(losses), state["params"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_training(reference, layout):
    name, config, losses, state, batches, last = reference
    sizes, axes, kinds = LAYOUTS[layout]
    loss = partial(getattr(weft_models, f"{name}_loss"), config=config)
    placed = weft.Layout(weft.Mesh(sizes, axes), rest=specs(state["params"], kinds),
                         activations={"residual": P(kinds.get("batch"), kinds.get("sequence"), None)})
    got, final = train(weft_models.train_step(loss, weft_models.adamw()), state, batches, layout=placed,
                       in_shardings=(specs(state, kinds), P(kinds.get("batch"))))
    assert_trained_alike(got, final, losses, last)


def test_training_by_the_optimizer_of_the_package(reference):
    """Clipping, AdamW and its schedule, of weft.optim and of optax."""
    pytest.importorskip("optax", reason="compares with optax, which is not installed here")
    name, config, _, state, batches, _ = reference
    theirs, params = jax_models.optax_adamw(), state["params"]
    losses, last = trained_in_jax(
        partial(getattr(jax_models, f"{name}_loss"), config=config), theirs,
        jax_models.init_state(tree.map(jnp.asarray, params), theirs), batches)
    ours = optim.chain(optim.clip_by_global_norm(1.0), optim.adamw(
        optim.warmup_cosine_decay_schedule(0.0, 1e-3, 10, 1000, 1e-4), b2=0.95, weight_decay=0.1))
    step = weft_models.train_step(partial(getattr(weft_models, f"{name}_loss"), config=config),
                                  ours.update)
    got, final = train(step, {"params": params, "optimizer": weft.jit(ours.init)(params)}, batches)
    assert_trained_alike(got, final, losses, last)


def assert_trained_alike(got, final, losses, last):
    np.testing.assert_allclose(got, losses, rtol=1e-4)
    paths = tree.flatten_with_paths(final["params"])[0]
    for (path, a), b in zip(paths, tree.leaves(last), strict=True):
        if path.endswith("['bk']"):
            # It adds one number to all scores of a query, which softmax ignores: its gradient
            # is rounding errors, and AdamW scales them up.
            assert np.abs(a).max() < 1e-5 and np.abs(b).max() < 1e-5
        else:
            assert np.linalg.norm(a - b) <= 1e-4 * np.linalg.norm(b), path


def lines(module, names):
    """Lines of code of functions, without comments, docstrings and empty lines."""
    count = 0
    for name in names:
        part = getattr(module, name)
        source = inspect.getsource(part)
        if part.__doc__:
            source = source.replace(part.__doc__, "", 1)
        count += sum(bool(line.strip(' \\n"')) and not line.strip().startswith("#")
                     for line in source.splitlines())
    return count


@pytest.mark.parametrize("model", ["gpt2", "llama"])
def test_models_are_no_longer_than_in_jax(model):
    training = ["global_norm", "warmup_cosine", "adamw", "train_step"]
    common = [f"{model}_block", f"{model}_loss", *training]
    norm = {"gpt2": ["layer_norm"], "llama": ["rms_norm", "rotate"]}[model]
    theirs = lines(jax_models, [*common, *norm, "attention", "cross_entropy", "embed", "lm_loss", "apply_blocks"])
    ours = lines(weft_models, [*common, "lm_loss", *(["layer_norm"] if model == "gpt2" else [])])
    assert ours <= theirs


def test_what_jax_has_no_function_for():
    """Norms, rotary positions and cross entropy as the models in JAX write them."""
    random = np.random.default_rng(0)
    x, scale = random.normal(size=(2, 6, 4, 8)).astype(np.float32), random.normal(size=8).astype(np.float32)
    labels = random.integers(0, 8, (2, 6, 4)).astype(np.int32)
    params = {"scale": scale, "bias": scale[::-1].copy()}

    def ours(x, params, labels):
        return [nn.layer_norm(x, params["scale"], params["bias"]), nn.rms_norm(x, params["scale"]),
                nn.rotary_embedding(x, base=100.0),
                nn.rotary_embedding(x[0], weft.numpy.arange(6), base=100.0),
                nn.softmax_cross_entropy_with_integer_labels(x, labels).mean()]

    rotated = jax_models.rotate(x, 100.0)
    theirs = [jax_models.layer_norm(params, x), jax_models.rms_norm(scale, x), rotated, rotated[0],
              jax_models.cross_entropy(x, labels)]
    for a, b in zip(evaluate(ours, x, params, labels), theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)
