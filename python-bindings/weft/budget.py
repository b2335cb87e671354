# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft.budget`: what a plan may send, store and take; more is an error of the compilation.

    @weft.budget(communication={"model": "2 all_reduce/layer"}, bytes="20 MiB", peak="38 GiB", step="300 us")
    @weft.jit(mesh=mesh, in_shardings=specs)
    def train_step(state, batch): ...
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .errors import size_text
from .simulation import simulate
from .suggestions import suggest
from .units import parse_bytes, parse_seconds, seconds_text
from .wording import with_places

if TYPE_CHECKING:
    from .compiled import Compiled
    from .jit import Jitted

KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "permute", "exchange")

_CALLS = re.compile(r"(?P<number>\d+) (?P<kind>\w+)(?P<each>/layer)?")
_INDEX = re.compile(r"\[(\d+)\]")


class BudgetError(Exception):
    """A plan exceeds its budget: all that is exceeded, and the cheapest remedy."""

    __module__ = "weft"


@dataclasses.dataclass(frozen=True)
class Budget:
    """See `budget`."""

    calls: tuple[tuple[str, str, int, bool], ...]
    """Axis, kind, number, and whether that is of each layer."""
    axis_bytes: tuple[tuple[str, int], ...]
    bytes: int | None
    peak: int | None
    step: float | None
    reshard: int | None
    acknowledged: tuple[str, ...]

    def exceeded(self, compiled: Compiled, cluster: str = "") -> list[str]:
        """What is, in words with both numbers; times are predicted for `cluster`. Raises `ValueError` for an axis
        that the mesh does not have."""
        found, layers = [], _layers(compiled)
        names = set(compiled.entry.inputs[0].sharding.mesh.shape) if compiled.entry.inputs else set()
        for axis in dict.fromkeys([axis for axis, *_ in self.calls] + [axis for axis, _ in self.axis_bytes]):
            if axis not in names:
                raise ValueError(f'budget: the mesh has no axis "{axis}", its axes are {", ".join(sorted(names))}')
        over = lambda axis: [each for each in compiled.collectives() if axis in (name.split(":")[0] for name in each.axes)]
        for axis, kind, number, each_layer in self.calls:
            most = number * (layers if each_layer else 1)
            calls = sum(each.count for each in over(axis) if each.kind == kind)
            if calls > most:
                of = f"{number} a layer of {layers}" if each_layer else str(number)
                found.append(f"{calls} {kind} over {axis}, the budget is {of}")
        for axis, most in self.axis_bytes:
            sent = sum(each.total_bytes for each in over(axis))
            if sent > most:
                found.append(f"{size_text(sent)} sent over {axis}, the budget is {size_text(most)}")
        if self.bytes is not None and (sent := compiled.cost().wire_bytes) > self.bytes:
            found.append(f"{size_text(sent)} sent by a rank, the budget is {size_text(self.bytes)}")
        if self.peak is not None and (arena := compiled.memory().arena) > self.peak:
            found.append(f"{size_text(arena)} of memory, the budget is {size_text(self.peak)}")
        if self.step is not None and (seconds := simulate(compiled, cluster or compiled.cluster or "")["step_seconds"]) > self.step:
            found.append(f"a step of {seconds_text(seconds)}, the budget is {seconds_text(self.step)}")
        if self.reshard is not None:
            found += [f"{each.call} of {size_text(each.bytes)} that is not acknowledged, the budget is "
                      f"{size_text(self.reshard)}: {each.parts[0][1]}" for each in compiled.collectives()
                      if not each.reduction and each.bytes > self.reshard
                      and not any(text in cause for text in self.acknowledged
                              for cause in (each.cause, with_places(each.cause)))]
        return found

    def check(self, compiled: Compiled) -> None:
        """Raises `BudgetError`."""
        found = self.exceeded(compiled)
        if found:
            raise BudgetError("\n".join([f"{compiled.entry.name} exceeds its budget:", *(f"  {each}" for each in found),
                                         self._remedy(compiled, found)]))

    def _remedy(self, compiled: Compiled, found: list[str]) -> str:
        """Of the edits that were compiled and predicted."""
        if compiled._source is None:
            return "remedies are looked for where the function is compiled"
        tried = [(len(self.exceeded(each.compiled)), number, each) for number, each in enumerate(suggest(compiled))]
        left, _, best = min(tried, default=(len(found), 0, None), key=lambda each: each[:2])
        if left == len(found):
            return "no edit of a single annotation that was tried meets it"
        return f"{'remedy' if not left else 'nearest remedy'}: {best}"


def budget(*, communication: Mapping[str, str] | None = None, bytes: int | str | None = None,
           peak: int | str | None = None, step: float | str | None = None, reshard: int | str | None = None,
           acknowledged: Iterable[str] = ()) -> Any:
    """A decorator of functions that `weft.jit` has made: compiling one that exceeds its budget raises `BudgetError`,
    which names all that is exceeded and the cheapest remedy among the edits of `Compiled.suggest`.

    communication  by mesh axis the calls over it, ``"2 all_reduce"``, ``"2 all_reduce/layer, 0 all_gather"``, or
                   what a rank may send over it in a step, ``"16 MiB"``. Layers are the entries of the longest list
                   in the arguments
    bytes          what a rank may send in a step: bytes, or text such as ``"20 MiB"``
    peak           the memory of a rank, likewise
    step           the predicted time of a step: seconds, or text such as ``"300 us"``
    reshard        the most that one collective which only moves data may send, likewise, but for those
                   with one of the texts `acknowledged` in their cause

    Raises `ValueError` with all that cannot be read."""
    made = read_budget(communication=communication, bytes=bytes, peak=peak, step=step, reshard=reshard,
                       acknowledged=acknowledged)

    def decorate(function: Jitted) -> Jitted:
        from .jit import Jitted

        if not isinstance(function, Jitted):
            raise TypeError(f"budget is for what weft.jit returns, got {function!r}: write @weft.budget above @weft.jit")
        return function.with_budget(made)

    return decorate


def read_budget(*, communication: Mapping[str, str] | None = None, bytes: int | str | None = None,
                peak: int | str | None = None, step: float | str | None = None, reshard: int | str | None = None,
                acknowledged: Iterable[str] = ()) -> Budget:
    """From the arguments of `budget`."""
    problems: list[str] = []
    calls: list[tuple[str, str, int, bool]] = []
    axis_bytes: list[tuple[str, int]] = []

    def read(what: str, given: Any, parse) -> Any:
        try:
            return None if given is None else parse(given)
        except ValueError as error:
            problems.append(f"{what}: {error}")

    if communication is not None and not isinstance(communication, Mapping):
        problems.append(f"communication must be by mesh axis, such as {{'model': '2 all_reduce'}}, got {communication!r}")
        communication = None
    if isinstance(acknowledged, str) or not isinstance(acknowledged, Iterable):
        acknowledged = [acknowledged]
    acknowledged = tuple(acknowledged)
    problems += [f"acknowledged: {each!r} is no text of a cause" for each in acknowledged if not isinstance(each, str) or not each]
    for axis, text in (communication or {}).items():
        for part in str(text).split(","):
            match = _CALLS.fullmatch(part.strip())
            if match and match["kind"] in KINDS:
                calls.append((axis, match["kind"], int(match["number"]), bool(match["each"])))
            elif match and match["kind"] not in ("B", "KiB", "MiB", "GiB", "TiB", "KB", "MB", "GB", "TB"):
                problems.append(f"communication over {axis}: {match['kind']!r} is no collective; there are {', '.join(KINDS)}")
            elif (most := read(f"communication over {axis}", part.strip(), parse_bytes)) is not None:
                axis_bytes.append((axis, most))
    made = Budget(tuple(calls), tuple(axis_bytes), read("bytes", bytes, parse_bytes), read("peak", peak, parse_bytes),
                  read("step", step, parse_seconds), read("reshard", reshard, parse_bytes), acknowledged)
    if problems:
        raise ValueError("budget: " + "; ".join(problems))
    return made


def _layers(compiled: Compiled) -> int:
    """The entries of the longest list in the paths of arguments; 1 without lists."""
    return max((int(index) + 1 for info in compiled.entry.inputs for index in _INDEX.findall(info.name)), default=1)
