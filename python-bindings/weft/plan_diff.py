# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What differs between two plans, or between a lock file and a plan, and what it costs.

An argument that only has another name is no difference: where types and specs of all arguments are
equal in their order, the names in causes are those of the later one.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from .columns import WIDTH, wrapped
from .compiled import Compiled
from .errors import count, listing, size_text
from .lockfile import EntryLock, Lock, LockError, Traffic, causes_of
from .records import Records, cause_reader
from .session import Plan
from .simulation import collective_times, simulate, time_of
from .units import seconds_text


@dataclasses.dataclass(frozen=True)
class TrafficChange:
    """Traffic that is there on one side only, or in another number or size."""

    before: Traffic | None
    count_before: int
    after: Traffic | None
    count_after: int


@dataclasses.dataclass(frozen=True)
class EntryDiff:
    """What differs in an entry; pairs are before and after, None where there was or is none."""

    name: str
    arguments: dict[str, tuple[str | None, str | None]]
    traffic: list[TrafficChange]
    calls: dict[str, tuple[int, int]]
    memory: dict[str, tuple[int, int]]
    bytes_sent: tuple[int, int]
    seconds: tuple[float, float]

    def __bool__(self) -> bool:
        return bool(self.arguments or self.traffic or self.calls or self.memory
                    or self.bytes_sent[0] != self.bytes_sent[1] or self.seconds[0] != self.seconds[1])


@dataclasses.dataclass(frozen=True)
class Diff:
    """What differs; false if nothing does."""

    settings: dict[str, tuple[str, str]]
    """Mesh and target, by their names."""
    entries: list[EntryDiff]
    missing: list[str]
    added: list[str]
    machine: str
    """What times are predicted for."""

    def __bool__(self) -> bool:
        return bool(self.settings or self.entries or self.missing or self.added)

    def as_dict(self) -> dict[str, Any]:
        def traffic(change: TrafficChange) -> dict[str, Any]:
            each = change.after or change.before
            return {"kind": each.kind, "axes": list(each.axes), "reduction": each.reduction, "cause": each.cause,
                    "size": [change.before and change.before.size, change.after and change.after.size],
                    "count": [change.count_before, change.count_after]}

        return {"settings": self.settings, "missing_entries": self.missing, "added_entries": self.added,
                "machine": self.machine,
                "entries": {each.name: {"bytes_sent": each.bytes_sent, "predicted_seconds": each.seconds,
                                        "memory": each.memory, "arguments": each.arguments, "calls": each.calls,
                                        "communication": list(map(traffic, each.traffic))} for each in self.entries}}


# Comparing

def compare(before: Lock, after: Lock, names: tuple[str, str]) -> Diff:
    """What differs. Raises `LockError` if they have no entry in common; `names` is what it calls them."""
    common = sorted(before.entries.keys() & after.entries.keys())
    if not common:
        entries = [f"{listing(sorted(lock.entries))} of {name}" for lock, name in zip((before, after), names)]
        raise LockError(f"no entry in common: {entries[0]}, but {entries[1]}")
    settings = {key: pair for key in ("mesh", "target")
                if (pair := (getattr(before, key), getattr(after, key))) and pair[0] != pair[1]}
    entries = [_compare_entries(name, before.entries[name], after.entries[name]) for name in common]
    return Diff(settings, [each for each in entries if each], sorted(before.entries.keys() - after.entries.keys()),
                sorted(after.entries.keys() - before.entries.keys()), after.machine)


def _compare_entries(name: str, before: EntryLock, after: EntryLock) -> EntryDiff:
    old, new = before.arguments, after.arguments
    if old.keys() != new.keys() and list(old.values()) == list(new.values()):
        before = _renamed(before, dict(zip(old, new)))
        old = before.arguments
    arguments = {path: (old.get(path), new.get(path)) for path in [*new, *(path for path in old if path not in new)]
                 if old.get(path) != new.get(path)}
    return EntryDiff(name, arguments, _compare_traffic(before.traffic, after.traffic),
                     _changed(before.calls, after.calls), _changed(before.memory, after.memory),
                     (before.bytes_sent, after.bytes_sent), (before.seconds, after.seconds))


def _changed(before: dict[str, int], after: dict[str, int]) -> dict[str, tuple[int, int]]:
    return {name: pair for name in dict.fromkeys([*before, *after])
            if (pair := (before.get(name, 0), after.get(name, 0)))[0] != pair[1]}


def _renamed(entry: EntryLock, names: dict[str, str]) -> EntryLock:
    """An entry with other names of its arguments."""
    ordered = sorted(names, key=len, reverse=True)
    any_name = "|".join(map(re.escape, ordered))
    # Axes are in quotes too: over "data", "model".
    pattern = re.compile(rf'(?<!over ")(?<!, ")(?<=")({any_name})(?=")|(?<=\bgradient of )({any_name})(?=[,)])')

    def rename(line: str) -> str:
        return pattern.sub(lambda match: names[match[1] or match[2]], line)

    return dataclasses.replace(entry, arguments={names[path]: what for path, what in entry.arguments.items()},
                               traffic={dataclasses.replace(each, cause=rename(each.cause)): number
                                        for each, number in entry.traffic.items()})


def _compare_traffic(before: dict[Traffic, int], after: dict[Traffic, int]) -> list[TrafficChange]:
    changes = [TrafficChange(each, before[each], each, after[each])
               for each in before.keys() & after.keys() if before[each] != after[each]]
    gone, new = before.keys() - after.keys(), after.keys() - before.keys()
    # Of the same cause in another size.
    for each in sorted(gone):
        same = [other for other in new if dataclasses.replace(other, size=each.size) == each]
        if len(same) == 1:
            changes.append(TrafficChange(each, before[each], same[0], after[same[0]]))
            gone, new = gone - {each}, new - {same[0]}
    changes += [TrafficChange(each, before[each], None, 0) for each in gone]
    changes += [TrafficChange(None, 0, each, after[each]) for each in new]
    return sorted(changes, key=lambda change: change.after or change.before)


# Printing

@dataclasses.dataclass(frozen=True)
class Side:
    """What only the plan of a side says, and no lock file."""

    times: dict[str, tuple[float, float]]
    """Of the collectives of a kind and axes: the seconds that they take in a call, and those of them that are
    exposed."""
    causes: dict[Traffic, str]
    """With source lines."""

    @staticmethod
    def of(plan: Plan, entry: str, cluster: str) -> Side:
        compiled = Compiled(plan, entry=entry)
        records = Records.of(plan, compiled.entry)
        recorded = simulate(compiled, cluster, records=True)["recorded"]
        known = collective_times(recorded, cause_reader(compiled.entry))
        times: dict[str, tuple[float, float]] = {}
        for each in records.collectives:
            taken, exposed = times.get(each.call, (0.0, 0.0))
            more = time_of(each, known)
            times[each.call] = taken + more[0], exposed + more[1]
        return Side(times, causes_of(records))


def print_diff(diff: Diff, sides: Mapping[str, tuple[Side | None, Side]]) -> str:
    """Lines of 80 columns, where names are no longer; `sides` are before, if that is a plan, and after, by entry."""
    lines = [f"{name}: {before} -> {after}" for name, (before, after) in diff.settings.items()]
    lines += [f"entry {name} is gone" for name in diff.missing] + [f"entry {name} is new" for name in diff.added]
    for entry in diff.entries:
        before, after = sides[entry.name]
        lines += [f"entry {entry.name}", *_summary(entry, diff.machine)]
        for path, pair in entry.arguments.items():
            lines += _argument_lines(path, *pair)
        for change in entry.traffic:
            lines += _traffic_lines(change, before, after)
        lines += _call_lines(entry, before, after)
    return "\n".join(lines) + "\n" if lines else ""


def _summary(entry: EntryDiff, machine: str) -> list[str]:
    rows = [(f"predicted time on {machine}", seconds_text, entry.seconds), ("bytes sent by a rank", size_text, entry.bytes_sent)]
    rows += [(f"memory: {purpose}", size_text, pair) for purpose, pair in entry.memory.items()]
    rows = [row for row in rows if row[2][0] != row[2][1]]
    width = max((len(row[0]) for row in rows), default=0)
    return [f"    {name:<{width}}  {text(before)} -> {text(after)}{_percent(before, after)}"
            for name, text, (before, after) in rows]


def _percent(before: float, after: float) -> str:
    if not before or not after:
        return ""
    if after >= 10 * before:
        return f" ({after / before:,.0f} times)"
    return f" ({100 * (after / before - 1):+.1f} %)"


def _sign(before: Any, after: Any) -> str:
    return "+" if before is None else "-" if after is None else "~"


def _argument_lines(path: str, before: str | None, after: str | None) -> list[str]:
    """``~ argument params['w'], float32[8, 4]: P() -> P('data',)``"""
    sides = [side for side in (before, after) if side is not None]
    types = {side.partition("] ")[0] for side in sides}
    if len(types) == 1:
        path += f", {types.pop()}]"
        sides = [side.partition("] ")[2] for side in sides]
    first = f"  {_sign(before, after)} argument {path}:"
    line = f"{first} {' -> '.join(sides)}"
    return [line] if len(line) <= WIDTH else [first, "      " + sides[0], *(f"      -> {side}" for side in sides[1:])]


def _traffic_lines(change: TrafficChange, before: Side | None, after: Side) -> list[str]:
    each = change.after or change.before
    side = after if change.after else before
    cause = side.causes.get(each, each.cause) if side else each.cause
    number = [f"{number} x {traffic.size}" for traffic, number in
              ((change.before, change.count_before), (change.after, change.count_after)) if traffic]
    sign = _sign(change.before, change.after)
    return [f"  {sign} {each.call}: {' -> '.join(number)}", *wrapped(cause or "no cause is known", "      ")]


def _call_lines(entry: EntryDiff, before: Side | None, after: Side) -> list[str]:
    """How long the collectives take that something changed of."""
    calls = sorted({each.call for change in entry.traffic for each in (change.before, change.after) if each}
                   | entry.calls.keys())
    lines = []
    for call in calls:
        sides = [_time_text(side.times.get(call)) for side in (before, after) if side]
        number = " -> ".join(count(number, "call") for number in entry.calls[call]) if call in entry.calls else ""
        sides = [side for side in sides if side]
        text = ", ".join(part for part in (number, " -> ".join(dict.fromkeys(sides))) if part)
        lines += wrapped(text, f"    {call}: ", " " * 8) if text else []
    return lines


def _time_text(time: tuple[float, float] | None) -> str:
    return f"takes {seconds_text(time[0])} ({seconds_text(time[1])} exposed)" if time else ""
