# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft.__version__` is that of the project and of every tool."""

import os
import pathlib
import subprocess
import sys
import tomllib

import pytest

import weft

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_package_has_the_version_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert weft.__version__ == project["version"]


@pytest.mark.parametrize("tool", ["shard-opt", "shard-compile", "shard-run", "shard-sim", "shard-bench"])
def test_the_tools_have_the_version_of_the_package(tool):
    tools = pathlib.Path(os.environ.get("WEFT_BIN", ROOT / "build" / "dev" / "bin"))
    text = subprocess.run([tools / tool, "--version"], capture_output=True, text=True, check=True).stdout
    assert text.startswith(f"Weft {weft.__version__}, plan format ")


@pytest.mark.parametrize("module", ["weft", "weft.sweep"])
def test_the_commands_have_the_version_of_the_package(module):
    text = subprocess.run([sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=True).stdout
    assert text == f"Weft {weft.__version__}\n"
