# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times as text, as the tools print them."""


def seconds_text(seconds: float) -> str:
    """A time in the unit that suits it.

    >>> seconds_text(44.11), seconds_text(0.0204), seconds_text(0.0000032)
    ('44.110 s', '20.40 ms', '3.2 us')
    """
    if seconds >= 1:
        return f"{seconds:.3f} s"
    return f"{seconds * 1e3:.2f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} us"
