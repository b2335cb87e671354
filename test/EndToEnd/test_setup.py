# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which environments scripts/setup.sh makes; what it calls to make them is replaced."""

import os
import shutil
import subprocess

import pytest
from conftest import ROOT

STUBS = {
    # Every package is there.
    "dpkg-query": 'shift 3; for package; do echo "ii  $package"; done',
    # As pip it does nothing.
    "python3": 'if [ "$2" = venv ]; then mkdir -p "$3/bin" && cp "$0" "$3/bin/pip"; fi',
}


@pytest.fixture
def setup(tmp_path):
    """Runs the script in a copy of the tree that has nothing but scripts."""
    shutil.copytree(ROOT / "scripts", tmp_path / "tree/scripts")
    for name, body in STUBS.items():
        stub = tmp_path / "bin" / name
        stub.parent.mkdir(exist_ok=True)
        stub.write_text(f"#!/bin/sh\n{body}\n")
        stub.chmod(0o755)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"

    def run(*arguments):
        result = subprocess.run(["scripts/setup.sh", *arguments], cwd=tmp_path / "tree",
                                env={**os.environ, "PATH": path}, capture_output=True, text=True)
        return result, sorted(folder.name for folder in (tmp_path / "tree").glob("build/*"))

    return run


def test_the_environment_for_jax_can_be_left_out(setup):
    result, made = setup("--without-jax")
    assert result.returncode == 0, result.stderr
    assert made == ["venv"]
    result, made = setup()
    assert result.returncode == 0, result.stderr
    assert made == ["venv", "venv-jax"]
    assert result.stdout == "Making build/venv-jax\n"


def test_what_tests_need_can_be_left_out(setup):
    result, made = setup("--without-tests")
    assert (result.returncode, made) == (0, ["venv"])
    assert result.stdout == "Making build/venv\n"
    result, made = setup("--without-jax")
    assert (result.returncode, made) == (0, ["venv"])
    assert result.stdout == "Adding to build/venv\n"
    assert setup("--without-tests")[0].stdout == ""


def test_packages_for_tests_are_asked_for_with_tests_only(setup, tmp_path):
    stub = tmp_path / "bin/dpkg-query"
    stub.write_text(stub.read_text().replace("shift 3;", f'shift 3; echo "$@" >> {tmp_path}/asked;'))
    setup("--without-tests")
    setup("--without-jax")
    running, testing = (tmp_path / "asked").read_text().splitlines()
    assert "libmlir-22-dev" in running.split()
    assert not {"libgtest-dev", "libbenchmark-dev", "chromium-headless-shell"} & set(running.split())
    assert set(running.split()) | {"libgtest-dev", "libbenchmark-dev", "chromium-headless-shell"} <= set(testing.split())


def test_unknown_options(setup):
    result, made = setup("--with-jax")
    assert (result.returncode, made) == (2, [])
    assert result.stderr == "usage: scripts/setup.sh [--without-jax | --without-tests]\n"


def test_what_needs_which():
    assert "scripts/setup.sh --without-tests\n" in (ROOT / "scripts/quickstart.sh").read_text()
    test = [line.strip() for line in (ROOT / "scripts/test.sh").read_text().split("\n")]
    assert test.index("scripts/setup.sh --without-jax") < test.index("scripts/setup.sh &") < test.index("build . dev")
