# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times as text, as the tools print them; bytes and times from text."""

from __future__ import annotations

import re


def seconds_text(seconds: float) -> str:
    """A time in the unit that suits it.

    >>> seconds_text(44.11), seconds_text(0.0204), seconds_text(0.0000032)
    ('44.110 s', '20.40 ms', '3.2 us')
    """
    if seconds >= 1:
        return f"{seconds:.3f} s"
    return f"{seconds * 1e3:.2f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} us"


_NUMBER = re.compile(r"(\d+(?:\.\d+)?) ?([a-zA-Z]*)")
_BYTES = {"": 1, "B": 1} | {f"{letter}{unit}": base ** power for unit, base in (("iB", 1024), ("B", 1000))
                           for power, letter in enumerate("KMGT", 1)}
_SECONDS = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6}


def parse_bytes(given: int | str) -> int:
    """Bytes, of a number or a text.

    >>> parse_bytes("1.5 KiB"), parse_bytes("2MB"), parse_bytes(7)
    (1536, 2000000, 7)
    """
    return round(_parse(given, _BYTES, "bytes, such as 20 MiB"))


def parse_seconds(given: float | str) -> float:
    """Seconds, of a number or a text.

    >>> parse_seconds("300 us"), parse_seconds(1)
    (0.0003, 1.0)
    """
    return _parse(given, _SECONDS, "a time, such as 300 us")


def _parse(given: float | str, units: dict[str, float], what: str) -> float:
    if isinstance(given, (int, float)) and not isinstance(given, bool) and 0 <= given < float("inf"):
        return float(given)
    match = _NUMBER.fullmatch(str(given).strip())
    if isinstance(given, bool) or match is None or match[2] not in units:
        raise ValueError(f"{given!r} is not {what}")
    return float(match[1]) * units[match[2]]
