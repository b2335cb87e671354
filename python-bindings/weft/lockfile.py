# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lock files: what a plan communicates, stores and is predicted to take, to be committed and reviewed.

A lock file is TOML, sorted, and has no line numbers: moving lines or renaming local variables leaves
it as it is. Layers that are alike are one row, ``params['blocks'][*]['wq']``. What the compiler has
combined into one collective has a row for each cause; `calls` has how many collectives there are.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable
from typing import Any

from .budget import read_budget
from .compiled import Compiled
from .errors import size_text
from .records import Collective, Message, Records
from .session import Plan, ValueInfo
from .simulation import simulate
from .units import seconds_text
from .wording import PARENTHESISED, with_places

FORMAT = 1

# "(gradient of w, transpose of mlp.py:7)": what remains of a location without its line.
_LOCATION = re.compile(rf" \(({PARENTHESISED}:\d+)\)")
_LINE = re.compile(r"(?:, )?(?:(?:transpose|recomputation) of )*[^\s,()]*:\d+$")
_INDEX = re.compile(r"(?<=\[)\d+(?=\])")


class LockError(ValueError):
    """A lock file that cannot be read, or is of another program."""


@dataclasses.dataclass(frozen=True, order=True)
class Traffic:
    """What ranks send for one reason."""

    axes: tuple[str, ...]
    kind: str
    """That of a collective, or ``message`` between stages of a pipeline."""
    cause: str
    reduction: str
    size: str
    """What a rank sends for each, in three digits: ``8.00 MiB``."""

    @property
    def call(self) -> str:
        """``all_reduce over data``."""
        return f"{self.kind} over {', '.join(self.axes)}"


@dataclasses.dataclass(frozen=True)
class EntryLock:
    """The facts of an entry."""

    bytes_sent: int
    """By a rank in a call."""
    seconds: float
    """The predicted time of a call, in four digits: what differs by less is nothing to look at."""
    arguments: dict[str, str]
    """By path: type and spec."""
    memory: dict[str, int]
    """Bytes of a rank: its arena, and at the peak by purpose."""
    calls: dict[str, int]
    """By kind and axes: how many collectives there are in a call."""
    traffic: dict[Traffic, int]
    """How many of each there are in a call."""
    budget: dict[str, Any] = dataclasses.field(default_factory=dict)
    """The arguments of `weft.budget`, which are written by hand and kept."""


@dataclasses.dataclass(frozen=True)
class Lock:
    """What a lock file says."""

    mesh: str
    target: str
    cluster: str
    """What predicted times are for: a name or file, empty for the default of the target."""
    machine: str
    """What the cluster calls itself."""
    entries: dict[str, EntryLock]

    @staticmethod
    def of(plan: Plan, cluster: str = "") -> Lock:
        """From a plan, with times predicted for a cluster. Raises `ValueError` if it is unknown."""
        mesh = ", ".join(f"{axis}={size}" for axis, size in plan.handle.mesh)
        compiled = [Compiled(plan, entry=entry.name) for entry in plan.entries]
        steps = [simulate(each, cluster) for each in compiled]
        entries = {each.entry.name: _entry_lock(each, step["step_seconds"]) for each, step in zip(compiled, steps)}
        return Lock(mesh, plan.handle.target, cluster, steps[0]["cluster"] if steps else "", entries)

    @staticmethod
    def read(text: str, name: str) -> Lock:
        """From the text of a lock file; `name` is what errors call it."""
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise LockError(f"{name} is not a lock file: {error}") from None
        if data.get("format") != FORMAT:
            found = f"has format {data['format']!r}" if "format" in data else "is not a lock file: it has no format"
            raise LockError(f"{name} {found}, expected {FORMAT}; write it anew with weft lock")
        try:
            settings = [_of(data, key, str) for key in ("mesh", "target", "cluster", "machine")]
            return Lock(*settings, {entry: _read_entry(table) for entry, table in _of(data, "entry", dict).items()})
        except LockError as error:
            raise LockError(f"{name}: {error}; change it there") from None
        except (KeyError, TypeError, ValueError) as error:
            what = f"it has no {error}" if isinstance(error, KeyError) else error
            raise LockError(f"{name} is not a whole lock file: {what}; write it anew with weft lock") from None

    def with_budgets_of(self, other: Lock) -> Lock:
        """With the budgets of the entries that both have."""
        return dataclasses.replace(self, entries={
            name: dataclasses.replace(entry, budget=other.entries[name].budget) if name in other.entries else entry
            for name, entry in self.entries.items()})

    def exceeded(self, plan: Plan) -> list[str]:
        """What of the budgets a plan exceeds."""
        return [f"{name}: {each}" for name, entry in self.entries.items() if entry.budget
                and name in {info.name for info in plan.entries}
                for each in read_budget(**entry.budget).exceeded(Compiled(plan, entry=name), self.cluster)]

    def as_dict(self) -> dict[str, Any]:
        """The same as data, sorted as the file is."""
        return {"format": FORMAT, "mesh": self.mesh, "target": self.target, "cluster": self.cluster,
                "machine": self.machine, "entry": {name: _entry_dict(self.entries[name]) for name in sorted(self.entries)}}

    def __str__(self) -> str:
        """The text of the file."""
        lines = ["# Written by weft lock; weft check compares a plan with it.", f"format = {FORMAT}"]
        lines += [f"{key} = {_quote(getattr(self, key))}" for key in ("mesh", "target", "cluster", "machine")]
        for name in sorted(self.entries):
            lines += _entry_lines(f"entry.{_key(name)}", self.entries[name])
        return "\n".join(lines) + "\n"


# From plans

def _entry_lock(compiled: Compiled, seconds: float) -> EntryLock:
    records = Records.of(compiled.plan, compiled.entry)
    memory = {"arena": records.memory.arena} | {name: size for name, size in records.memory.at_peak.items() if size}
    calls: Counter[str] = Counter()
    traffic: Counter[Traffic] = Counter()
    for each in (*records.collectives, *records.messages):
        for part, number in traffic_of(each, records.pipeline_axis).items():
            traffic[part] += number * each.count
        calls[part.call] += each.count
    return EntryLock(records.cost.wire_bytes, _rounded(seconds), _arguments(compiled.entry.inputs), memory,
                     dict(sorted(calls.items())), dict(sorted(traffic.items())))


def _rounded(seconds: float) -> float:
    return float(f"{seconds:.4g}")


def _arguments(values: Iterable[ValueInfo]) -> dict[str, str]:
    groups: dict[tuple[str, str], int] = Counter(
        (_INDEX.sub("*", value.name), f"{value.type} {value.sharding.spec}") for value in values)
    found: dict[str, str] = {}
    for (name, what), number in groups.items():
        text = f"{number} x {what}" if number > 1 else what
        found[name] = f"{found[name]}; {text}" if name in found else text
    return found


def traffic_of(each: Collective | Message, pipeline_axis: str) -> Counter[Traffic]:
    """What one collective or message sends, by cause."""
    return Counter(traffic for traffic, _ in _parts(each, pipeline_axis))


def causes_of(records: Records) -> dict[Traffic, str]:
    """By what is sent the cause with its source lines; of several lines the first."""
    found: dict[Traffic, str] = {}
    for each in records.collectives:
        for traffic, cause in _parts(each, records.pipeline_axis):
            found.setdefault(traffic, _INDEX.sub("*", cause))
    return found


def _parts(each: Collective | Message, pipeline_axis: str) -> list[tuple[Traffic, str]]:
    """What it sends, with the whole cause of each part."""
    if isinstance(each, Message):
        return [(Traffic((pipeline_axis,), "message", each.label, "", size_text(each.bytes)), each.label)]
    return [(Traffic(each.axes, each.kind, _general(cause), each.reduction, size), cause) for size, cause in each.parts]


def _general(cause: str) -> str:
    """A cause without source lines and numbers of layers."""
    def without_line(match: re.Match) -> str:
        rest = _LINE.sub("", match[1])
        return f" ({rest})" if rest else ""

    return _INDEX.sub("*", _LOCATION.sub(without_line, with_places(cause)))


# As text

def _quote(text: str) -> str:
    """A basic string of TOML."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[\w-]+", name, re.ASCII) else _quote(name)


def _bytes(number: int) -> str:
    return f"{number}" + (f"  # {size_text(number)}" if number >= 1024 else "")


def _entry_lines(name: str, entry: EntryLock) -> list[str]:
    lines = ["", f"[{name}]", f"predicted_us = {_microseconds(entry)}  # {seconds_text(entry.seconds)}",
             f"bytes_sent = {_bytes(entry.bytes_sent)}", *_budget_lines(name, entry.budget), "", f"[{name}.memory]"]
    lines += [f"{_key(purpose)} = {_bytes(size)}" for purpose, size in entry.memory.items()]
    lines += ["", f"[{name}.arguments]"]
    lines += [f"{_key(path)} = {_quote(what)}" for path, what in entry.arguments.items()]
    lines += ["", f"[{name}.calls]"] if entry.calls else []
    lines += [f"{_key(call)} = {number}" for call, number in entry.calls.items()]
    for each, number in entry.traffic.items():
        lines += ["", f"[[{name}.communication]]", f"kind = {_quote(each.kind)}",
                  f"axes = [{', '.join(map(_quote, each.axes))}]"]
        lines += [f"reduction = {_quote(each.reduction)}"] if each.reduction else []
        lines += [f"size = {_quote(each.size)}", f"count = {number}", f"cause = {_quote(each.cause)}"]
    return lines


def _budget_lines(name: str, budget: dict[str, Any]) -> list[str]:
    lines = ["", f"[{name}.budget]"] if budget else []
    for key, value in budget.items():
        if isinstance(value, dict):
            inner = ", ".join(f"{_key(axis)} = {_quote(text)}" for axis, text in value.items())
            lines.append(f"{key} = {{ {inner} }}")
        elif isinstance(value, list):
            lines.append(f"{key} = [{', '.join(map(_quote, value))}]")
        else:
            lines.append(f"{key} = {_quote(value) if isinstance(value, str) else value}")
    return lines


def _microseconds(entry: EntryLock) -> float:
    return float(f"{entry.seconds * 1e6:.4g}")


def _entry_dict(entry: EntryLock) -> dict[str, Any]:
    traffic = [{"kind": each.kind, "axes": list(each.axes), "reduction": each.reduction, "size": each.size,
                "count": number, "cause": each.cause} for each, number in entry.traffic.items()]
    budget = {"budget": entry.budget} if entry.budget else {}
    return {"predicted_us": _microseconds(entry), "bytes_sent": entry.bytes_sent, **budget, "memory": entry.memory,
            "arguments": entry.arguments, "calls": entry.calls, "communication": traffic}


def _of(table: Any, key: str, *types: type) -> Any:
    """A value of a table. Raises `KeyError` if there is none, and `TypeError` if it is of another type."""
    if not isinstance(table, dict):
        raise TypeError(f"expected a table with {key!r}, got {table!r}")
    if type(table[key]) not in types:
        raise TypeError(f"{key} must be of type {types[0].__name__}, got {table[key]!r}")
    return table[key]


def _read_entry(table: Any) -> EntryLock:
    numbers = {key: {name: _of(each, name, int) for name in each}
               for key, each in (("memory", _of(table, "memory", dict)), ("calls", table.get("calls", {})))}
    arguments = _of(table, "arguments", dict)
    traffic: Counter[Traffic] = Counter()
    for row in table.get("communication", []):
        axes = tuple(map(str, _of(row, "axes", list)))
        kind, cause, size = (_of(row, key, str) for key in ("kind", "cause", "size"))
        traffic[Traffic(axes, kind, cause, row.get("reduction", ""), size)] += _of(row, "count", int)
    return EntryLock(_of(table, "bytes_sent", int), _rounded(_of(table, "predicted_us", float, int) / 1e6),
                     {path: _of(arguments, path, str) for path in arguments}, numbers["memory"], numbers["calls"],
                     dict(traffic), _read_budget(table))


def _read_budget(table: Any) -> dict[str, Any]:
    budget = _of(table, "budget", dict) if "budget" in table else {}
    unknown = budget.keys() - inspect.signature(read_budget).parameters.keys()
    if unknown:
        raise LockError(f"a budget has no {', '.join(map(repr, sorted(unknown)))}")
    try:
        read_budget(**budget)
    except ValueError as error:
        raise LockError(str(error)) from None
    return budget
