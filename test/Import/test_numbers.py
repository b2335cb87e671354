# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains the fixtures with Weft and with JAX, and compares losses and states.

The plan is made of the text that is checked in; JAX runs the same model of
jax_models.py on as many devices. Needs an environment with JAX.
"""

import csv
import os
import pathlib
import re
import subprocess

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="numbers are compared with those of JAX")

from safetensors.numpy import load_file, save_file  # noqa: E402

import make_fixtures  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS = 20
# Of a loss, and of the norm of a state.
TOLERANCE = 1e-4
# Of the norm of all parameters, or of all first or second moments: the bias of
# the keys of an attention has no gradient but rounding errors.
ROUNDING = 1e-6


def tool(name, *arguments):
    folder = pathlib.Path(os.environ.get("WEFT_BIN", ROOT / "build" / "dev" / "bin"))
    run = subprocess.run([folder / name, *map(str, arguments)], capture_output=True,
                         text=True, stdin=subprocess.DEVNULL, timeout=300)
    assert run.returncode == 0, f"{name} {arguments}\n{run.stdout}{run.stderr}"
    return run.stdout


def named(tree, root):
    """The leaves of a tree as arrays, by the name that an import gives them."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {root + jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}


def train_with_jax(name, shape):
    """(initial state, batch, losses, final state)"""
    mesh, context = make_fixtures.mesh_context(name, shape)
    with context:
        step, state, batch = make_fixtures.step_of(name, mesh)
        initial, inputs = named(state, "state"), named(batch, "batch")
        losses = []
        for _ in range(STEPS):
            state, loss = step(state, batch)
            losses.append(float(loss))
    return initial, inputs, losses, named(state, "state")


def train_with_weft(name, shape, initial, inputs, folder):
    """(losses, final state)"""
    model = folder / "model.stablehlo.mlir"
    model.write_bytes(
        make_fixtures.read(make_fixtures.FOLDER / f"{name}.stablehlo.mlir.gz"))
    tool("shard-compile", model, "-o", folder / "plan",
         "--mesh", f"data={shape[0]},model={shape[1]}")
    save_file({key: np.array(value, order="C") for key, value in initial.items()},
              folder / "initial.safetensors")
    arguments = []
    for key, value in inputs.items():
        file = folder / f"{len(arguments)}.npy"
        np.save(file, value)
        arguments += ["--input", f"{key}={file}"]
    tool("shard-run", folder / "plan", "--steps", STEPS, "--load",
         folder / "initial.safetensors", "--save", folder / "final.safetensors",
         "--metrics", folder / "metrics.csv", "--quiet", *arguments)
    with open(folder / "metrics.csv", newline="") as rows:
        losses = [float(row["result[1]"]) for row in csv.DictReader(rows)]
    return losses, load_file(folder / "final.safetensors")


def norm(value):
    return np.linalg.norm(np.asarray(value, np.float64))


def norm_of_kind(key, state):
    """The norm of all states that are parameters, or moments, as `key` is."""
    # optax has .mu and .nu.
    for part in ("['params']", "['mu']", "['nu']", ".mu", ".nu"):
        if part in key:
            return norm([norm(value) for other, value in state.items() if part in other])
    return 0.0


CASES = [(name, (2, 2)) for name in make_fixtures.FIXTURES] + [
    ("gpt2", (1, 1)), ("llama", (1, 1))]


@pytest.mark.parametrize("name, shape", CASES,
                         ids=[f"{name}-{shape[0]}x{shape[1]}" for name, shape in CASES])
def test_training(name, shape, tmp_path):
    initial, inputs, expected, expected_state = train_with_jax(name, shape)
    losses, state = train_with_weft(name, shape, initial, inputs, tmp_path)
    np.testing.assert_allclose(losses, expected, rtol=TOLERANCE)
    assert expected[-1] < 0.98 * expected[0], "nothing was learnt"
    assert state.keys() == expected_state.keys()
    for key, value in expected_state.items():
        assert norm(state[key] - value) <= (TOLERANCE * norm(value)
                                            + ROUNDING * norm_of_kind(key, expected_state)), key


def test_derivatives_of_what_was_imported(tmp_path):
    """Weft differentiates `sign` and `clamp` as JAX does: flat at zero and at the bounds."""
    def f(x):
        return jax.numpy.sum(3 * jax.lax.clamp(-1.0, x, 2.0) + 5 * jax.lax.sign(x))

    x = np.array([-3, -1, -0.5, -0.0, 0, 0.5, 2, 4], np.float32)
    module = jax.jit(f).lower(x).compiler_ir("stablehlo").operation
    (tmp_path / "f.mlir").write_text(module.get_asm(print_generic_op_form=True))
    graph = tool("shard-opt", tmp_path / "f.mlir", "--allow-unregistered-dialect",
                 "--weft-import-stablehlo")
    gradient = """
      func.func @gradient(%x: tensor<8xf32> {weft.name = "x"}) -> (tensor<8xf32> {weft.name = "g"}) {
        %v, %g = weft.value_and_grad @f(%x) wrt = [0] : (tensor<8xf32>) -> (tensor<f32>, tensor<8xf32>)
        return %g : tensor<8xf32>
      }
      func.func private @f("""
    graph, number = re.subn(r" \{weft.name = [^}]*\}", "", graph)
    assert number == 2 and "func.func @f(" in graph
    (tmp_path / "g.mlir").write_text(graph.replace("func.func @f(", gradient))
    np.save(tmp_path / "x.npy", x)
    tool("shard-compile", tmp_path / "g.mlir", "-o", tmp_path / "plan")
    tool("shard-run", tmp_path / "plan", "--input", f"x={tmp_path / 'x.npy'}",
         "--output", f"g={tmp_path / 'g.npy'}", "--quiet")
    np.testing.assert_array_equal(np.load(tmp_path / "g.npy"), jax.grad(f)(x))


@pytest.mark.parametrize("dtype, tolerance", [("bfloat16", 2e-2), ("float16", 2e-3)])
@pytest.mark.parametrize("devices", [1, 4])
def test_types_of_16_bits(dtype, tolerance, devices, tmp_path):
    """A layer with softmax, forward and backward; infinity where the type ends."""
    jnp = jax.numpy

    def loss(w, x):
        h = jnp.tanh(x.astype(dtype) @ w.astype(dtype))
        return -jnp.mean(jax.nn.log_softmax(h, axis=-1)[:, 0].astype(jnp.float32))

    def f(w, x):
        value, gradient = jax.value_and_grad(loss)(w, x)
        large = x.astype(dtype) * 30000
        return value, gradient, (large + large).astype(jnp.float32), large.sum(1).astype(jnp.float32)

    random = np.random.default_rng(0)
    w, x = (random.normal(size=shape).astype(np.float32) for shape in ((16, 32), (8, 16)))
    module = jax.jit(f).lower(w, x).compiler_ir("stablehlo").operation
    (tmp_path / "f.mlir").write_text(module.get_asm(print_generic_op_form=True))
    graph = tool("shard-opt", tmp_path / "f.mlir", "--allow-unregistered-dialect", "--weft-import-stablehlo")
    assert {"bfloat16": "xbf16>", "float16": "xf16>"}[dtype] in graph
    split = f'weft.mesh @mesh = <["data"={devices}]>\n'
    rows = 'weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>, weft.name = "arg1"'
    assert graph.count('weft.name = "arg1"') == 1
    body = graph.index("func.func")
    (tmp_path / "g.mlir").write_text(graph[:body] + split + graph[body:].replace('weft.name = "arg1"', rows))
    np.save(tmp_path / "w.npy", w)
    np.save(tmp_path / "x.npy", x)
    tool("shard-compile", tmp_path / "g.mlir", "-o", tmp_path / "plan")
    names = [f"result[{i}]" for i in range(4)]
    outputs = [f"{name}={tmp_path / f'{i}.npy'}" for i, name in enumerate(names)]
    tool("shard-run", tmp_path / "plan", "--input", f"arg0={tmp_path / 'w.npy'}", "--input",
         f"arg1={tmp_path / 'x.npy'}", *(word for out in outputs for word in ("--output", out)), "--quiet")
    for i, expected in enumerate(map(np.asarray, jax.jit(f)(w, x))):
        found = np.load(tmp_path / f"{i}.npy")
        np.testing.assert_array_equal(np.isinf(found), np.isinf(expected))
        finite = np.isfinite(expected)
        assert norm((found - expected)[finite]) <= tolerance * norm(expected[finite]), names[i]
        assert dtype == "bfloat16" or i < 2 or not finite.all()
