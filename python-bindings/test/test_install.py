# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The package as it is installed: what `pip install .` puts in place, from the build that the
tests run on. Building the wheel itself takes as long as building the compiler."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

_compiler = pytest.importorskip("weft._compiler", reason="the compiler's module is not built; PYTHONPATH=build/dev/python has it")

BUILD = pathlib.Path(_compiler.__file__).resolve().parents[2]
SOURCES = pathlib.Path(__file__).resolve().parents[1] / "weft"

PROGRAM = """
import weft, numpy as np
assert weft.__file__.startswith({folder!r}), weft.__file__
from weft.lowered import Source
text = 'func.func @f(%x: tensor<4xf32> {{weft.name = "x"}}) -> (tensor<4xf32> {{weft.name = "y"}}) {{ %y = math.tanh %x : tensor<4xf32> return %y : tensor<4xf32> }}'
plan = weft.Plan(Source(text, "f.mlir").compile("cpu"))
f = weft.compiled.Compiled(plan)
print(f({{"x": np.zeros(4, "f4")}})["y"].sum())
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    if not (BUILD / "cmake_install.cmake").exists() or not shutil.which("cmake"):
        pytest.skip("the package does not stand in a build of CMake")
    prefix = tmp_path_factory.mktemp("installed")
    subprocess.run(
        ["cmake", "--install", BUILD, "--component", "python", "--prefix", prefix],
        check=True,
        capture_output=True,
    )
    return prefix


def test_everything_is_installed(installed):
    def sources(folder):
        return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix in (".py", ".css", ".js")}

    assert sources(installed / "weft") == sources(SOURCES)
    modules = {path.name.split(".")[0] for path in (installed / "weft").glob("_*.so")}
    assert modules == {"_compiler", "_runtime"}
    assert {path.name for path in installed.iterdir()} == {"weft"}


def test_it_runs_where_the_sources_are_not(installed, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(folder=str(installed))],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (run.returncode, run.stdout) == (0, "0.0\n"), run.stderr


def test_the_runtime_needs_no_llvm(installed):
    (module,) = (installed / "weft").glob("_runtime*.so")
    dynamic = subprocess.run(["readelf", "-d", module], check=True, capture_output=True, text=True).stdout
    needed = [line for line in dynamic.splitlines() if "NEEDED" in line]
    assert needed and not any("LLVM" in line or "MLIR" in line for line in needed), needed


def test_importing_needs_numpy_only():
    """What `import weft` imports beside the standard library."""
    program = (
        "import sys; sys.modules['jax'] = sys.modules['ml_dtypes'] = None; import weft; "
        "print(sorted(m for m in ('numpy', 'weft._compiler', 'weft._runtime') if m in sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "['numpy']\n"), run.stderr


def test_importing_from_jax_says_what_it_needs():
    program = "import sys; sys.modules['jax'] = None; import weft; weft.from_jax(abs, 1)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stderr.endswith("ImportError: weft.from_jax needs the package jax: pip install jax\n")
