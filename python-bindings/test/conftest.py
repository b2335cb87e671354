# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of the tests of the Python package, and of XLA."""

import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "test"))

import launchers  # noqa: E402
from few_collections import pytest_collection_finish  # noqa: E402, F401

# Most of what XLA does here is to compile programs that run a few times: without optimization, without fusion
# emitters, and as one module each, it takes a third as long.
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8 --xla_backend_optimization_level=0 "
                                   "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1")


def pytest_addoption(parser):
    parser.addoption("--functions", type=int, default=40, help="random functions to differentiate")
    parser.addoption("--all-misannotations", action="store_true", help="30 instead of 10 of test_suggestions.py")
    parser.addoption("--whole-grid", action="store_true", help="all cases, where a sample of a grid runs otherwise")
    parser.addoption("--jax-programs", type=int, default=12, help="random JAX programs")
    parser.addoption("--first-jax-program", type=int, default=0, help="seed of the first one")
    parser.addoption("--verified-models", action="store_true", help="all models on all meshes, and all faults, of test_verify.py")
    parser.addoption("--faults-seed", type=int, default=0, help="seed of the faults of test_verify.py")
    parser.addoption("--first-function", type=int, default=0, help="seed of the first one")


def pytest_configure(config):
    config.addinivalue_line("markers", "sampled(n): every n-th case, on diagonals of the grid of parameters; --whole-grid runs all")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--whole-grid"):
        return

    def position(item, names, values):
        names = names.split(", ")
        value = item.callspec.params[names[0]] if len(names) == 1 else tuple(map(item.callspec.params.get, names))
        return list(values).index(value)

    def is_left_out(item):
        sampled = item.get_closest_marker("sampled")
        return sampled is not None and sum(
            position(item, *mark.args) for mark in item.iter_markers("parametrize")) % sampled.args[0] != 0

    left_out = [item for item in items if is_left_out(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]


@pytest.fixture(params=launchers.COMMANDS)
def mpirun(request):
    import weft

    return launchers.mpirun(request.param, pathlib.Path(weft.__file__).parent)
