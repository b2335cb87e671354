# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the page writes numbers."""

from __future__ import annotations

from ..units import seconds_text


def micro(seconds: float) -> str:
    """A time; where text files say us, the page says µs."""
    return seconds_text(seconds).replace(" us", " µs")


def rate(number: float) -> str:
    """So many a second."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
