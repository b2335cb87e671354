# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Paths as the names that a plan gives its inputs and outputs.

Names of a plan stand before the ``=`` of command lines and in the headers of files, so some
characters are written as in URLs; an import of StableHLO does the same.

    >>> escape("params['a=b']")
    "params['a%3Db']"
    >>> unescape("params['a%3Db']")
    "params['a=b']"
"""

from __future__ import annotations

import re

_RESERVED = re.compile("[\\x00-\\x1f\\x7f=%]|^_(?=_metadata__$)")


def escape(path: str) -> str:
    """The name of a path in a plan."""
    return _RESERVED.sub(lambda match: f"%{ord(match[0]):02X}", path)


def unescape(name: str) -> str:
    """The path that has a name in a plan."""
    return re.sub("%([0-9A-F]{2})", lambda match: chr(int(match[1], 16)), name)
