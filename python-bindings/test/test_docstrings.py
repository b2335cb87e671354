# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every example in a docstring of the package prints what it says."""

import doctest
import importlib
import pkgutil
import re

import pytest

import weft

MODULES = sorted(
    module.name for module in pkgutil.walk_packages(weft.__path__, "weft.")
    # Nor the libraries that lie beside the modules.
    if not re.search(r"\._|\.lib", module.name)
)


@pytest.mark.parametrize("name", ["weft", *MODULES])
def test_examples_of(name):
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert not failed
