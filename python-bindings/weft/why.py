# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Why the collectives of a plan are there."""

from __future__ import annotations

import dataclasses
import difflib
import re
from typing import Any

from .columns import wrapped
from .compiled import Compiled
from .errors import size_text
from .records import Collective, Reason, Records, cause_reader
from .simulation import collective_times, simulate, time_of
from .units import seconds_text
from .wording import with_places

MOST_LINES = 15

_WAY = re.compile(r", through [^;]*")


@dataclasses.dataclass(frozen=True)
class Why:
    """Of a collective that stands for several, `cause` and `reason` are those of the largest."""

    collective: Collective
    cause: str
    reason: Reason | None
    """None if the plan has none: it was not compiled from a graph."""
    seconds: float
    """The predicted time of all calls, and what of it no computation hides."""
    exposed_seconds: float

    def __str__(self) -> str:
        """At most 15 lines of 80 columns; of ways that are too long the ops are left out."""
        texts = [text for _, text in self.reason.chain] if self.reason else []
        for number in reversed(range(len(texts))):
            if len(lines := self._lines(texts)) <= MOST_LINES:
                return "\n".join(lines)
            texts[number] = _WAY.sub("", texts[number])
        return "\n".join(self._lines(texts)[:MOST_LINES])

    def _lines(self, chain: list[str]) -> list[str]:
        each = self.collective
        lines = wrapped(f"{each.call}: {each.count} x {size_text(each.bytes)}, takes {seconds_text(self.seconds)} "
                        f"({seconds_text(self.exposed_seconds)} exposed)", "")
        more = len(each.parts) - 1
        lines += wrapped(self.cause + (f"; {more} more in the same call" if more else ""), "  ")
        for text in chain:
            lines += wrapped(text, "  - ", "    ")
        alternatives = self.reason.alternatives if self.reason else ()
        for number, other in enumerate(alternatives):
            lines += wrapped(f"{'weighed: ' if not number else ''}{other.text}: {size_text(other.bytes)}, "
                             f"{seconds_text(other.seconds)}", "  " if not number else "           ", " " * 13)
        if self.reason and self.reason.edit:
            lines += wrapped(f"edit: {self.reason.edit}", "  ", " " * 8)
        return lines

    def as_dict(self) -> dict[str, Any]:
        """The same as data; times in microseconds."""
        each, reason = self.collective, self.reason
        return {
            "kind": each.kind, "axes": list(each.axes), "bytes": each.bytes, "count": each.count, "cause": self.cause,
            "location": each.location, "predicted_us": self.seconds * 1e6, "exposed_us": self.exposed_seconds * 1e6,
            "chain": [{"end": end, "text": text} for end, text in reason.chain] if reason else [],
            "alternatives": [{"text": other.text, "bytes": other.bytes, "predicted_us": other.seconds * 1e6}
                             for other in reason.alternatives] if reason else [],
            "edit": reason.edit.as_dict() if reason and reason.edit else None,
        }


def matching(compiled: Compiled, name: str, cluster: str = "") -> list[Why]:
    """Of all collectives that have the text in their call, cause or location, in program order."""
    return _explain(compiled, [each for each in compiled.collectives()
                               if any(name in text for text in (each.call, each.cause, with_places(each.cause), each.location))], cluster)


def find(compiled: Compiled, collective: Collective | str, cluster: str = "") -> Why:
    """Of one; see `Compiled.why`."""
    known = compiled.collectives()
    if isinstance(collective, Collective):
        if collective not in known:
            raise ValueError(f"{compiled.entry.name} has no such collective: {collective}")
        return _explain(compiled, [collective], cluster)[0]
    found = matching(compiled, collective, cluster)
    if len(found) == 1:
        return found[0]
    names = [f"  {each.call}: {each.parts[0][1]}" for each in ([why.collective for why in found] or known)]
    if not found and (nearest := difflib.get_close_matches(collective, [each.call for each in known], 1)):
        names = [f"  {nearest[0]}"]
    what = "no collective" if not found else f"{len(found)} collectives"
    raise ValueError("\n".join([f"{compiled.entry.name} has {what} with {collective!r} in call, cause or location"
                                + (":" if found else "; there is" if names else ""), *names[:10],
                                *(["  ..."] if len(names) > 10 else [])]))


def _explain(compiled: Compiled, collectives: list[Collective], cluster: str) -> list[Why]:
    if not collectives:
        return []
    records = Records.of(compiled.plan, compiled.entry)
    recorded = simulate(compiled, cluster, records=True)["recorded"]
    times = collective_times(recorded, cause_reader(compiled.entry))
    found = []
    for each in collectives:
        causes = [cause for _, cause in each.parts]
        cause = next((cause for cause in causes if records.reason_of(cause)), causes[0])
        found.append(Why(each, cause, records.reason_of(cause), *time_of(each, times)))
    return found
