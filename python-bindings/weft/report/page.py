# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page as HTML, in one piece."""

from __future__ import annotations

import html
import json
import pathlib
from typing import Any

from ..compiled import Compiled
from ..errors import count, size_text
from ..records import Memory, Records, cause_reader
from ..simulation import CollectiveTimes, collective_times
from ..wording import as_python
from .figures import bytes_figure, scaling_figure, slices_of, times_figure
from .tables import (collectives_table, memory_table, messages_table, peak_table, scaling_table,
                     shardings_table, times_table)
from .timeline import timeline_data
from .words import micro, rate

FOLDER = pathlib.Path(__file__).parent


def _plotly() -> str:
    """Its JavaScript."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise ImportError("weft.report draws with Plotly, which is not installed: pip install plotly") from None
    return get_plotlyjs()


def make_page(compiled: Compiled, step: dict[str, Any], recorded: dict[str, Any], scaled: dict[str, list]) -> str:
    plotly = _plotly()
    records, read_cause = Records.of(compiled.plan, compiled.entry), cause_reader(compiled.entry)
    data = timeline_data(recorded, step["entry"], read_cause)
    figures: dict[str, dict] = {}
    sections = [
        _times(step, figures),
        _choices(compiled),
        _timeline(data),
        _memory(records.memory, step),
        _communication(records, collective_times(recorded, read_cause), figures),
        _shardings(compiled),
        _scaling(step, scaled, figures),
    ]
    title = f"{step['entry']} on {step['cluster']}"
    scripts = [_data("timeline-data", data), _data("figures-data", figures),
               *(f"<script>{(FOLDER / name).read_text(encoding='utf-8')}</script>"
                 for name in ("timeline.js", "memory.js", "figures.js"))]
    return (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>\n'
            '<link rel="icon" href="data:,"><meta name="viewport" content="width=device-width">\n'
            f"<style>{(FOLDER / 'page.css').read_text(encoding='utf-8')}</style>\n<script>{plotly}</script></head>\n"
            f"<body><main>{_head(compiled, step)}{''.join(sections)}{_foot(compiled)}</main>\n"
            + "\n".join(scripts) + "</body></html>\n")


def _data(name: str, value: Any) -> str:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False).replace("</", "<\\/").replace("<!--", "<\\u0021--")
    return f'<script type="application/json" id="{name}">{text}</script>'


def _section(title: str, *parts: str) -> str:
    return f"<section><h2>{html.escape(title)}</h2>{''.join(parts)}</section>\n"


def _note(text: str) -> str:
    return f'<p class="note">{html.escape(text)}</p>'


def _head(compiled: Compiled, step: dict[str, Any]) -> str:
    memory = step["memory"]
    mesh = " x ".join(f"{axis}={size}" for axis, size in step["mesh"].items())
    roles = len(step["roles"])
    facts = [mesh, count(step["devices"], "device"), f"{roles} roles" if roles > 1 else "",
             f"{step['cluster']} ({step['cluster_reason']})"]
    spare = memory["usable_bytes"] - memory["arena_bytes"]
    verdict = (f"fits, leaves {size_text(spare)} of {size_text(memory['usable_bytes'])}" if memory["fits"] else
               f"does not fit: exceeds {size_text(memory['usable_bytes'])} by {size_text(-spare)}")
    seconds = step["step_seconds"]

    def part(time):
        return f"{100 * time / seconds:.1f} %", f"{micro(time)} of a rank"

    cards = [("step time", micro(seconds), "predicted"),
             ("MFU", f"{100 * step['mfu']:.1f} %", f"HFU {100 * step['hfu']:.1f} %"),
             ("exposed communication", *part(step["exposed_seconds"]))]
    if roles > 1:
        cards.append(("bubble", *part(step["bubble_seconds"])))
    cards += [(f"{name} per second", rate(step[f"{name}_per_second"]), "") for name in ("tokens", "samples")
              if f"{name}_per_second" in step]
    cards.append(("memory of a rank", size_text(memory["arena_bytes"]),
                  f"of {size_text(memory['usable_bytes'])}" + (f", role {memory['role']}" if roles > 1 else "")))
    boxes = "".join(f'<div><div class="name">{html.escape(name)}</div><div class="value">{html.escape(value)}</div>'
                    f'<div class="more">{html.escape(more)}</div></div>' for name, value, more in cards)
    return (f"<header><h1>{html.escape(step['entry'])}</h1>"
            f'<div class="soft">{html.escape(", ".join(fact for fact in facts if fact))}</div>'
            f'<div class="verdict {"fits" if memory["fits"] else "exceeds"}">{html.escape(verdict)}</div></header>'
            f'<div class="cards">{boxes}</div>\n')


def _times(step: dict[str, Any], figures: dict[str, dict]) -> str:
    slices = slices_of(step)
    figures["times"] = times_figure(slices)
    thin = any(each.name.startswith("hidden") for each in slices)
    return _section(
        "Where the time goes",
        _note("What a rank does, one thing at a time, adds up to the step."
              + (" Thin bars: communication that is hidden, beside it." if thin else "")),
        f'<div class="columns"><div id="times"></div><div>{times_table(slices, step["step_seconds"])}</div></div>')


def _choices(compiled: Compiled) -> str:
    first, *lines = as_python(compiled.plan.handle.report().choices).splitlines() or [""]
    if not lines:
        return ""
    return _section("What the compiler chose", _note(first.replace("choices, with times", "Times are")),
                    "<ul>", *(f"<li>{html.escape(line.strip())}</li>" for line in lines), "</ul>")


def _timeline(data: dict[str, Any]) -> str:
    notes = ["Drag to zoom, double-click for the whole step; a click on the legend hides a class. What is narrower "
             "than two pixels is drawn together, in the colour of what takes the most of it."]
    if data["messages"]:
        notes.append("Numbers in passes are micro-batches.")
    if data["grain"]:
        notes.append(f"To keep this file small, neighbours of less than {micro(data['grain'] / 1e9)} were summed up.")
    if not data["isWhole"]:
        notes.append("The end of what has more than a million events is missing.")
    return _section("Timeline", _note(" ".join(notes)),
                    '<label>show <select id="timeline-rows"></select></label><div id="timeline"></div>')


def _memory(memory: Memory, step: dict[str, Any]) -> str:
    roles = memory.roles or (memory,)
    tables = []
    for role, each in enumerate(roles):
        where = each.peak_location and f" ({each.peak_location})"
        segment = f" in {each.peak_segment}" if each.peak_segment else ""
        tables.append(f'<div data-role="{role}"{"" if role == step["memory"]["role"] else " hidden"}>'
                      f'<div class="columns"><div><h3>Alive at the peak{html.escape(segment + where)}</h3>'
                      f"{peak_table(each)}</div><div><h3>By purpose</h3>{memory_table(each)}</div></div></div>")
    notes = ["Dashed: the arena, which the runtime allocates."]
    if memory.roles:
        notes.append("What micro-batches in flight keep has slots in the arena, also while nothing is in them.")
    return _section("Memory", _note(" ".join(notes)),
                    f'<label>of <select id="memory-role" data-largest="{step["memory"]["role"]}"></select></label>'
                    '<div id="memory"></div>', *tables)


def _communication(records: Records, times: CollectiveTimes, figures: dict[str, dict]) -> str:
    figure = bytes_figure(records.collectives, records.messages, records.pipeline_axis)
    if figure is None:
        return _section("Communication", _note("The plan communicates nothing."))
    figures["bytes"] = figure
    parts = ['<div id="bytes"></div>']
    if records.collectives:
        of = "one rank of each role" if records.memory.roles else "a rank"
        parts += ["<h3>Collectives and their causes</h3>",
                  _note(f"Bytes and times of {of} in a step, those that send the most first."),
                  collectives_table(records.collectives, times)]
    if records.messages:
        parts += ["<h3>Messages between stages</h3>", messages_table(records.messages)]
    return _section("Communication", *parts)


def _shardings(compiled: Compiled) -> str:
    return _section("Shardings", _note("Of arguments, states and results. Names that differ in a number are one row."),
                    shardings_table(compiled))


def _scaling(step: dict[str, Any], scaled: dict[str, list], figures: dict[str, dict]) -> str:
    figure = scaling_figure(scaled)
    if figure is None:
        return ""
    figures["scaling"] = figure
    return _section(
        "Weak scaling",
        _note("The step with other sizes of a mesh axis: a rank keeps its work and the arrays that it has; collectives "
              f"along the axis and the places of all groups change. Efficiency is relative to the plan's {step['devices']} "
              f"{'device' if step['devices'] == 1 else 'devices'}."),
        '<div id="scaling"></div>', "<details><summary>The numbers</summary>", scaling_table(scaled), "</details>")


def _foot(compiled: Compiled) -> str:
    return (f"<footer>Predicted by the simulator of Weft {html.escape(_version())} from the plan "
            f"<code>{compiled.plan.handle.hash:016x}</code>; nothing was measured.</footer>")


def _version() -> str:
    from .. import _runtime

    return _runtime.__version__
