# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weft's propagation against Shardy's own, on random programs.

    build/venv-jax/bin/python -m pytest test/Conformance --programs=2500

Compares the axes of every value. Where Weft differs on purpose, docs/Rationale/Propagate.md
lists the ops with the reason: there Weft has other sharding rules. A disagreement is
explained if Shardy agrees as soon as it has Weft's rules for these ops; all others fail.
"""

import re

import pytest

pytest.importorskip("jax", reason="runs Shardy's passes, which come with JAX; not installed here")

from engines import ROOT, Shardy, weft_outcomes  # noqa: E402
from printing import weft_text  # noqa: E402
from programs import random_program  # noqa: E402
from shardings import split_text  # noqa: E402

LIST = ROOT / "docs" / "Rationale" / "Propagate.md"


def documented():
    """The ops for which the list gives a reason to differ."""
    section = LIST.read_text().split("## Conformance", 1)[1]
    return frozenset(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))


def differences(program, ours, theirs):
    """Lines that say which values differ, empty if none do."""
    return [
        f"{label}: weft {split_text(a, program.mesh)}, shardy {split_text(b, program.mesh)}"
        for label, a, b in zip(program.labels(), ours, theirs, strict=True)
        if a != b
    ]


@pytest.fixture
def programs(request):
    """A function that draws the programs of one kind."""
    first, count = (request.config.getoption(name) for name in ("--first-seed", "--programs"))
    return lambda wide: [random_program(seed, wide) for seed in range(first, first + count)]


@pytest.fixture
def report(capsys):
    def say(kind, programs, disagreements, note=""):
        values = sum(len(program.labels()) for program in programs)
        with capsys.disabled():
            print(f"\n{kind}: {len(programs)} programs, {values} values, {disagreements}{note}")

    return say


@pytest.mark.parametrize(
    ("weft", "shardy"),
    [
        ("", ""),
        ("conservative", "conservative-propagation=true"),
        ("strategy=basic", "propagation-strategy=basic"),
        ("strategy=basic-then-aggressive", "propagation-strategy=basic-then-aggressive"),
    ],
)
def test_ops_with_equal_rules_agree(weft, shardy, programs, report):
    drawn = programs(wide=False)
    engine = Shardy(shardy)
    failures = []
    for program, ours in zip(drawn, weft_outcomes(drawn, weft), strict=True):
        lines = differences(program, ours, engine.outcome(program))
        if lines:
            failures.append("\n".join([weft_text(program), *lines]))
    report(weft or "aggressive", drawn, f"{len(failures)} programs disagree")
    assert not failures, "\n\n".join(failures[:5])


def test_other_disagreements_are_those_of_the_list(programs, report):
    drawn = programs(wide=True)
    engine, listed = Shardy(), documented()
    explained, needed, failures = 0, set(), []
    for program, ours in zip(drawn, weft_outcomes(drawn), strict=True):
        if ours == engine.outcome(program):
            continue
        lines = differences(program, ours, engine.outcome(program, listed))
        if lines:
            failures.append("\n".join([weft_text(program), *lines]))
            continue
        explained += 1
        needed |= {op for op in listed if ours != engine.outcome(program, listed - {op})}
    report(
        "slice, pad, concatenate, gather",
        drawn,
        f"{explained + len(failures)} programs disagree",
        f", {explained} of them for the listed reasons",
    )
    assert not failures, "\n\n".join(failures[:5])
    assert needed == listed, f"the list explains nothing with {sorted(listed - needed)}"
