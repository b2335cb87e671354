# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random JAX programs with gradients, with random shardings of their arguments over 2 to 8 ranks,
against JAX in float64.

Runs where JAX is installed: build/venv-jax, which scripts/setup.sh makes. `--jax-programs=2000` for
many, from seed `--first-jax-program` on.
"""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="compares with JAX, which is not installed here")
pytest.importorskip("weft._compiler", reason="the compiler's module is not built; PYTHONPATH=build/dev/python has it")

import jax.numpy as jnp  # noqa: E402
from random_jax_programs import Program  # noqa: E402

import weft  # noqa: E402
from weft import P  # noqa: E402

MESHES = (((2,), ("a",)), ((2, 2), ("a", "b")), ((4,), ("a",)), ((2, 4), ("a", "b")), ((2, 2, 2), ("a", "b", "c")))


def pytest_generate_tests(metafunc):
    first, count = (metafunc.config.getoption(name) for name in ("--first-jax-program", "--jax-programs"))
    metafunc.parametrize("seed", range(first, first + count))


def random_spec(random, mesh, shape):
    """Axes that divide dimensions, or that make them padded."""
    left = list(mesh.axis_names)
    dims = []
    for size in shape:
        axes = [axis for axis in left if size >= mesh.shape[axis] and random.random() < 0.5][:1]
        dims.append(axes[0] if axes else None)
        left = [axis for axis in left if axis not in axes]
    return P(*dims)


def error(found, wanted):
    """Relative to the largest element."""
    found, wanted = np.asarray(found, np.float64), np.asarray(wanted, np.float64)
    return np.abs(found - wanted).max(initial=0) / (np.abs(wanted).max(initial=0) + 1e-3)


def test_random_program(seed):
    program = Program(seed)
    random = np.random.default_rng(seed)
    arguments = [random.normal(size=shape).astype(np.float32) for shape in program.inputs]
    step = jax.value_and_grad(program.loss, tuple(range(len(arguments))), has_aux=True)
    single = jax.tree.leaves(jax.jit(step)(*arguments))
    with jax.enable_x64(True):
        double = jax.tree.leaves(jax.jit(step)(*(a.astype(np.float64) for a in arguments)))
    rounding = max(error(a, b) for a, b in zip(single, double, strict=True))
    if not all(np.isfinite(a).all() for a in (*single, *double)):
        pytest.skip("a result in JAX is no number")
    if rounding > 1e-3:
        pytest.skip(f"what is computed depends on the last bit: an error of {rounding:.1e} in JAX")
    mesh = weft.Mesh(*MESHES[random.integers(len(MESHES))])
    specs = tuple(random_spec(random, mesh, shape) for shape in program.inputs)
    compiled = weft.from_jax(step, *arguments, mesh=mesh, in_shardings=specs).compile()
    found = jax.tree.leaves(compiled(*arguments))
    worst = max(error(a, b) for a, b in zip(found, double, strict=True))
    assert all(np.isfinite(a).all() for a in found) and worst <= 1e-5 + 30 * rounding, f"{program}\n{mesh} {specs}: {worst:.1e}, JAX {rounding:.1e}"
