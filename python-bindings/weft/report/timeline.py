# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The data of timeline.js and memory.js: what each role does when, small enough for a page.

Every run of a segment is alike, so a segment is there once, with its events and its memory from its
begin, and roles have a list of runs. What is still too much is summed up: neighbouring short events
become one, which says how many it is and how its time is spent.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any

from .classes import MEMORY, NUMBERS, OF_INSTRUCTIONS, OF_PASSES, TIMES

# What a page may have of each, in all of its segments. Of the second a segment has that part or more.
MOST_EVENTS = 40_000
MOST_MEMORY = 20_000

_EXPOSED = NUMBERS["exposed communication"]
_HIDDEN = NUMBERS["hidden communication"]


@dataclasses.dataclass
class Event:
    """Something on a stream: one instruction, or with several times a sum of `count`."""

    stream: int
    begin: int
    end: int
    instruction: int
    times: dict[int, int]
    count: int = 1
    whole: tuple[int, int] | None = None
    """Of a part of a collective: its begin and end."""

    def merged(self, other: Event) -> Event:
        times = dict(self.times)
        for number, time in other.times.items():
            times[number] = times.get(number, 0) + time
        return Event(self.stream, self.begin, other.end, -1, times, self.count + other.count)

    def data(self) -> list[Any]:
        if self.count == 1:
            (number, _), = self.times.items()
            return [self.begin, self.end, number, self.instruction, *(self.whole or ())]
        return [self.begin, self.end, list(self.times.items()), self.count]


def timeline_data(recorded: dict[str, Any], entry: str, as_cause: Callable[[str], str]) -> dict[str, Any]:
    """What the scripts draw. `as_cause` puts the causes of a plan in the words of the caller."""
    kinds = [NUMBERS[OF_INSTRUCTIONS[each["kind"]]] for each in recorded["instructions"]]
    segments = [_events(segment, kinds) for segment in recorded["segments"]]
    grain, shortest = 0, max(1, recorded["step"] // 1_000_000)
    while sum(map(len, segments)) > MOST_EVENTS:
        grain = 2 * grain or shortest
        segments = [_summed_up(events, grain) for events in segments]
    used = sorted({i for segment in recorded["segments"] for point in segment["memory"]
                   for i, size in enumerate(point[1:]) if size}
                  | {i for role in recorded["roles"] for key in ("fixed_bytes", "slot_bytes")
                     for i, size in enumerate(role[key]) if size},
                  key=lambda i: [*MEMORY].index(recorded["purposes"][i]))
    share = MOST_MEMORY // max(1, len(segments))
    return {
        "entry": entry,
        "step": recorded["step"],
        "isWhole": recorded["is_whole"],
        "grain": grain,
        "classes": [{"name": name, "colour": colour} for name, colour in TIMES.items()],
        "instructions": [_instruction(each, as_cause) for each in recorded["instructions"]],
        "segments": [_segment(segment, events, used, share, entry)
                     for segment, events in zip(recorded["segments"], segments)],
        "roles": [{"runs": role["runs"], "waits": role["waits"], "arena": role["arena_bytes"],
                   "fixed": [role["fixed_bytes"][i] for i in used], "reserved": sum(role["slot_bytes"]),
                   "slots": _columns(role["slots"], used)} for role in recorded["roles"]],
        "purposes": [{"name": recorded["purposes"][i], "colour": MEMORY[recorded["purposes"][i]]} for i in used],
        "messages": recorded.get("messages", []),
        "transfers": recorded.get("transfers", []),
    }


def _instruction(each: dict[str, Any], as_cause: Callable[[str], str]) -> dict[str, Any]:
    return {key: as_cause(value) if key == "cause" else value for key, value in each.items()
            if key in ("name", "location", "cause", "bytes", "flops", "axes", "recomputes") and value}


def _events(segment: dict[str, Any], kinds: list[int]) -> list[Event]:
    """Those of a segment, collectives cut into what is hidden and what is exposed."""
    exposures: dict[int, list[tuple[int, int]]] = {}
    for _, instruction, begin, end, exposed in segment["events"]:
        if exposed:
            exposures.setdefault(instruction, []).append((begin, end))
    events = []
    for stream, instruction, begin, end, exposed in segment["events"]:
        if stream == 0:
            number = _EXPOSED if exposed else kinds[instruction]
            events.append(Event(stream, begin, end, instruction, {number: end - begin}))
            continue
        cuts = [each for each in exposures.get(instruction, []) if begin <= each[0] and each[1] <= end]
        parts = _parts(begin, end, cuts)
        for number, first, last in parts:
            whole = (begin, end) if len(parts) > 1 else None
            events.append(Event(stream, first, last, instruction, {number: last - first}, whole=whole))
    return events


def _parts(begin: int, end: int, exposed: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """(class, begin, end) of the parts of a collective that is exposed at times."""
    parts, now = [], begin
    for first, last in exposed:
        if first > now:
            parts.append((_HIDDEN, now, first))
        parts.append((_EXPOSED, first, last))
        now = last
    if now < end or not parts:
        parts.append((_HIDDEN, now, end))
    return parts


def _summed_up(events: list[Event], grain: int) -> list[Event]:
    """With neighbours of a stream that are shorter than the grain, and no further apart, as one."""
    last: dict[int, Event] = {}
    result = []
    for event in events:
        before = last.get(event.stream)
        if (before and event.end - before.begin <= 2 * grain and event.begin - before.end <= grain
                and max(event.end - event.begin, before.end - before.begin) <= grain):
            merged = before.merged(event)
            before.__dict__.update(merged.__dict__)
            continue
        last[event.stream] = event
        result.append(event)
    return result


def _segment(segment: dict[str, Any], events: list[Event], used: list[int], share: int, entry: str) -> dict[str, Any]:
    streams: dict[int, list] = {}
    for event in events:
        streams.setdefault(event.stream, []).append(event.data())
    name = segment["name"]
    part = re.fullmatch(r"\.(\d+)([A-Z]+)(\d*)", name.removeprefix(entry))
    found = {"name": name, "streams": streams, "memory": _highest(_columns(segment["memory"], used), share)}
    if part:
        found["stage"] = int(part[1])
        found["pass"] = NUMBERS[OF_PASSES.get(part[2], "once a step")]
    return found


def _columns(points: list[list[int]], used: list[int]) -> list[list[int]]:
    """Times with the bytes of the purposes that are used."""
    return [[point[0], *(point[1 + i] for i in used)] for point in points]


def _highest(points: list[list[int]], most: int) -> list[list[int]]:
    """Of each of so many stretches of time the point where the most memory is in use."""
    if len(points) <= most:
        return points
    begin, end = points[0][0], points[-1][0] + 1
    best: dict[int, list[int]] = {}
    for point in points:
        stretch = (point[0] - begin) * most // (end - begin)
        if stretch not in best or sum(point[1:]) > sum(best[stretch][1:]):
            best[stretch] = point
    return [best[stretch] for stretch in sorted(best)]
