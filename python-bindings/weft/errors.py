# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is wrong with specs, said once for all offenders.

An error lists every parameter that cannot be sharded as written: its path, the values that
disagree, the nearest legal spec and what that costs a device.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence


class SpecError(ValueError):
    """Specs that do not fit their arrays or mesh; `offenders` says which and why."""

    offenders: tuple[Offender, ...] = ()


class DuplicateSpecError(SpecError):
    """A mesh axis that is used twice in one spec."""


class IndivisibleError(SpecError):
    """A dimension that its axes cannot split: it has fewer elements than there are shards."""


# Where users import them from, and what their tracebacks say.
for _error in (SpecError, DuplicateSpecError, IndivisibleError):
    _error.__module__ = "weft"


@dataclasses.dataclass(frozen=True)
class Violation:
    """One thing wrong with one spec; `kind` is the class of error it is alone."""

    text: str
    kind: type[SpecError] = SpecError


@dataclasses.dataclass(frozen=True)
class Offender:
    """One spec with all that is wrong with it. `subject` says what it was given for; it is
    empty if there is nothing else that it could be."""

    subject: str
    violations: tuple[Violation, ...]
    remedy: str = ""

    def lines(self) -> list[str]:
        details = [violation.text for violation in self.violations]
        details += [self.remedy] if self.remedy else []
        return [self.subject, *(f"  {line}" for line in details)] if self.subject else details


def spec_error(what: str, offenders: Sequence[Offender]) -> SpecError:
    """The exception for some offenders: of their kind if they are all of one kind."""
    kinds = {violation.kind for offender in offenders for violation in offender.violations}
    kind = kinds.pop() if len(kinds) == 1 else SpecError
    lines = [line for offender in offenders for line in offender.lines()]
    error = kind("\n  ".join([what, *lines]))
    error.offenders = tuple(offenders)
    return error


def count(number: int, noun: str) -> str:
    """``1 dimension``, ``2 dimensions``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listing(items: Sequence[str], conjunction: str = "and") -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {conjunction} {items[-1]}"


def size_text(number: float) -> str:
    """A number of bytes in its binary unit, three digits: ``4.50 MiB``."""
    units = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
    unit = 0
    while number >= 1024 and unit + 1 < len(units):
        number /= 1024
        unit += 1
    if unit == 0:
        return f"{number:g} B"
    digits = 2 if number < 10 else 1 if number < 100 else 0
    return f"{number:.{digits}f} {units[unit]}"
