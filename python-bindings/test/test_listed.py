# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/Python.md lists every function of weft.numpy, weft.nn, weft.lax, weft.random and
weft.nn.initializers."""

import operator
import pathlib
import re
import types

import pytest

import weft

PAGE = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "Python.md").read_text()


def public(module):
    """Names that users may call; submodules are no such names."""
    return {name for name, value in vars(module).items()
            if not name.startswith("_") and not isinstance(value, types.ModuleType)
            and getattr(value, "__module__", module.__name__) not in ("typing",)}


@pytest.mark.parametrize("name", ["numpy", "nn", "lax"])
def test_functions_are_listed(name):
    section = PAGE[PAGE.index(f"### weft.{name}\n"):].split("\n##")[0]
    listed = {word for code in re.findall(r"`([^`]*)`", section) for word in re.findall(r"\w+", code)}
    assert public(getattr(weft, name)) - listed == set()
    for function in re.findall(r"`(\w+)`", section):
        assert hasattr(getattr(weft, name), function) or function in ("add", "set", "get", *DTYPES, *WORDS)


@pytest.mark.parametrize("name", ["random", "nn.initializers"])
def test_functions_of_their_own_are_listed(name):
    module = operator.attrgetter(name)(weft)
    section = PAGE[PAGE.index(f"### weft.{name}\n"):].split("\n##")[0]
    own = {function for function in public(module)
           if getattr(getattr(module, function), "__module__", "") == module.__name__}
    assert own - set(re.findall(r"`(\w+)`", section)) == set()


DTYPES = ("float32", "float64", "bfloat16", "float16", "int8", "int16", "int32", "int64", "uint32")
WORDS = ("precision", "preferred_element_type", "where", "ignore_index", "None")
