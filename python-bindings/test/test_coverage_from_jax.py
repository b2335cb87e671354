# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/Coverage.md has every function of JAX and optax, and says what happens to them.

Some are called; scripts/coverage-page.py calls all. Runs where JAX is installed: build/venv-jax,
which scripts/setup.sh makes.
"""

import importlib.util
import pathlib
import re
import sys

import pytest

pytest.importorskip("jax", reason="imports functions of JAX, which is not installed here")
pytest.importorskip("optax", reason="imports functions of optax, which is not installed here")
pytest.importorskip("weft._compiler", reason="the compiler's module is not built; PYTHONPATH=build/dev/python has it")

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
_spec = importlib.util.spec_from_file_location("coverage_page", ROOT / "scripts" / "coverage-page.py")
coverage = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(coverage)

PAGE = (ROOT / "docs" / "Coverage.md").read_text()
# Of each package, every so many.
EVERY = 25
SAMPLE = [(package, name) for package in coverage.PACKAGES for name in sorted(coverage.calls(package))[::EVERY]]


def section(package):
    return PAGE[PAGE.index(f"## {package}\n"):].split("\n## ")[0]


def stated(package):
    """name -> (kind, reason)"""
    found, current = {}, "supported"
    for line in section(package).split("\n"):
        if line.startswith("| `"):
            names, reason = re.fullmatch(r"\| (.*?) \| (.*) \|", line).groups()
            found |= {name: ("refused", reason.replace("\\|", "|")) for name in re.findall(r"`(\w+)`", names)}
        elif line.startswith("`") or line.startswith(("JAX cannot trace", "Not called")):
            current = {"J": "untraceable", "N": "not called"}.get(line[0], "supported")
            found |= {name: (current, "") for name in re.findall(r"`(\w+)`", line)}
    return found


@pytest.mark.parametrize("package", coverage.PACKAGES)
def test_all_functions_are_listed(package):
    assert set(stated(package)) == set(coverage.functions(package))
    assert set(stated(package)) == set(coverage.calls(package)) | set(coverage.coverage_calls.NOT_CALLED.get(package, "").split())


@pytest.mark.parametrize("package, name", SAMPLE)
def test_the_page_is_right(package, name):
    kind, reason, _ = coverage.outcome(package, name, coverage.calls(package)[name])
    expected, why = stated(package)[name]
    assert (kind, reason if kind == "refused" else "") == (expected, why)


def test_page():
    """What is listed, and by what reason; nothing is wrong in silence."""
    outcomes = {"jax.nn": {"relu": ("supported", "", {"stablehlo.maximum"}),
                           "gelu": ("refused", "stablehlo.tan: of a|b", {"stablehlo.maximum", "stablehlo.tan"})}}
    page = coverage.page(outcomes)
    assert "1 of 2 functions.\n\n`relu`\n\n| refused | because |\n| --- | --- |\n| `gelu` | stablehlo.tan: of a\\|b |" in page
    assert "| `stablehlo.tan` | of a\\|b |" in page
    with pytest.raises(SystemExit, match="results differ from JAX's:\njax.nn.elu: 1 instead of 2"):
        coverage.page({"jax.nn": {"elu": ("wrong", "1 instead of 2", set())}})
