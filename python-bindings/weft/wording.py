# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiler's words for shardings and ops, as a Python program has them.

    '"w" held as [{"data"}, {}], needed as [{}, {}] by weft.dot_general (mlp.py:6)'
    '"w" held as P('data', None), needed as P(None, None) by dot_general (mlp.py:6)'
"""

from __future__ import annotations

import functools
import re

from .spec import UNCONSTRAINED, PartitionSpec

_DIM = r'\{(?:"[^"]*"(?::\(\d+\)\d+)?|\?|, )*\}'
DIMS = rf"\[(?:{_DIM}(?:, )?)*\]"
"""A pattern for the axes of dimensions, ``[{"data"}, {}]``."""
_DIMS = rf"\[((?:{_DIM}(?:, )?)*)\]"
_SHARDING = re.compile(
    rf'(?:#weft\.sharding<@"?[\w.$-]+"?, {_DIMS}(?:, unreduced=({_DIM}))?>'
    rf"|(?<= as ){_DIMS}(?:, unreduced=({_DIM}))?(?![\w\[,]*replicated))")
_OVER = re.compile(rf"\bover ({_DIM})")
_OP = re.compile(r"(?:(?<=\b(?:of|by) )|(?<=\bthrough )|(?<=, the first )|(?<=[,:] )|(?<=  )|(?<=^after import: )|^)"
                 r"(?:weft\.(\w+)|math\.(\w+)|arith\.(\w+?)(?:f|[su]?i)?)(?= \(|$|[,;:]| of loop | there\b)", re.MULTILINE)
PARENTHESISED = r"(?:[^()\n]|\((?:[^()\n]|\([^()\n]*\))*\))*"
"""A pattern for what is between parentheses, with parentheses in it."""
_THERE = re.compile(rf"( \({PARENTHESISED}\))(.*(?: by |, the first )[\w.]+) there$", re.MULTILINE)
# Remedies that are ops of the compiler, and what a Python program does instead.
_REMEDIES = {"take weft.microbatch_sum or weft.microbatch_stack of it":
             "return it from the function that weft.microbatches is given"}
_AXIS = re.compile(r'"([^"]*)"(:\(\d+\)\d+)?')


def _axes(dim: str) -> tuple[str, ...]:
    return tuple(name + part for name, part in _AXIS.findall(dim))


def _entry(dim: str):
    axes = _axes(dim)
    if dim.endswith("?}"):
        return (*axes, UNCONSTRAINED) if axes else UNCONSTRAINED
    return None if not axes else axes[0] if len(axes) == 1 else axes


def read_spec(dims: str, unreduced: str = "") -> PartitionSpec:
    """The spec of axes of dimensions, ``[{"data"}, {}]``."""
    return PartitionSpec(*map(_entry, re.findall(_DIM, dims)), unreduced=frozenset(_axes(unreduced)))


def _spec(match: re.Match) -> str:
    dims, unreduced = (match[1], match[2]) if match[1] is not None else (match[3], match[4])
    return repr(read_spec(dims, unreduced or ""))


# Plans of a program that differ in a spec or two have most causes in common.
@functools.lru_cache(maxsize=1 << 14)
def as_python(text: str) -> str:
    """A message or cause with specs for shardings, and ops without their dialects."""
    for remedy, of_python in _REMEDIES.items():
        text = text.replace(remedy, of_python)
    text = _SHARDING.sub(_spec, text)
    text = _OVER.sub(lambda m: "over " + ", ".join(f'"{axis}"' for axis in _axes(m[1])), text)
    return _OP.sub(lambda m: m[1] or m[2] or m[3], text)


def with_places(cause: str) -> str:
    """A cause in which the user has its place, also if it is that of what is used:
    ``of dot_general (mlp.py:7), needed as P() by sub (mlp.py:7)`` for ``... by sub there``."""
    return _THERE.sub(r"\1\2\1", cause)
