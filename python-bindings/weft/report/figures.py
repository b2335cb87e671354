# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The figures of the page that stay as they are, as Plotly takes them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ..errors import size_text
from ..records import Collective, Message
from .classes import HOST, TIMES

FONT = {"family": "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif", "size": 12,
        "color": "#2b3240"}
GRID = "#e4e7ed"
# Exposed communication along one set of axes after the other; hidden ones; collectives.
EXPOSED = ("#d1404a", "#e8868c", "#a3222c", "#f2b5b8", "#7d1620")
HIDDEN = ("#8cc084", "#b9dcb3", "#5c9a53", "#d6ead3", "#3f7438")
KINDS = {"all_reduce": "#3266ad", "reduce_scatter": "#5aa7c7", "all_gather": "#7b5fb0", "all_to_all": "#e08b3e",
         "permute": "#5b9e6f", "exchange": "#a58a6f", "messages": "#6b7280"}
LINES = ("#3266ad", "#d1404a", "#5b9e6f", "#e08b3e", "#7b5fb0")


@dataclasses.dataclass(frozen=True)
class Slice:
    """What each role spends on something."""

    name: str
    colour: str
    times: list[float]
    is_beside: bool = False
    """Whether it runs beside what the others are."""


def slices_of(step: dict[str, Any]) -> list[Slice]:
    """The rows of shard-sim's table of times."""
    roles = step["roles"]
    found = []

    def add(name, colour, times, is_beside=False):
        if any(times):
            found.append(Slice(name, colour, times, is_beside))

    for key, name in (("gemm", "GEMM"), ("convolution", "convolution"), ("attention", "attention"),
                      ("other_kernel", "other kernels")):
        add(name, TIMES[name], [role[f"{key}_seconds"] for role in roles])
    axes = [each["axes"] for each in roles[0]["communication"]]
    for number, name in enumerate(axes):
        add(f"exposed, {name}", EXPOSED[number % len(EXPOSED)],
            [role["communication"][number]["exposed_seconds"] for role in roles])
    add("bubble", TIMES["bubble"], [role["bubble_seconds"] for role in roles])
    add("host", HOST, [role["host_seconds"] for role in roles])
    for number, name in enumerate(axes):
        add(f"hidden, {name}", HIDDEN[number % len(HIDDEN)],
            [role["communication"][number]["hidden_seconds"] for role in roles], True)
    add("contention in kernels", "#9aa3b2", [role["contention_seconds"] for role in roles], True)
    return found


def times_figure(slices: Sequence[Slice]) -> dict[str, Any]:
    """Of each role a bar of what its step consists of, and a thin one of what is hidden beside it."""
    roles = len(slices[0].times)
    unit, scale = _time_unit(max(sum(each.times[role] for each in slices if not each.is_beside) for role in range(roles)))
    names = [f"role {role}" for role in range(roles)] if roles > 1 else ["a rank"]
    traces = []
    # Where the next slice of each role begins, of those of the step and of those beside it.
    ends = {False: [0.0] * roles, True: [0.0] * roles}
    for each in slices:
        if each.name.startswith("contention"):
            continue
        times = [time * scale for time in each.times]
        traces.append({
            "type": "bar", "orientation": "h", "name": each.name, "y": [*range(roles)], "x": times,
            "base": ends[each.is_beside], "marker": {"color": each.colour},
            "width": 0.16 if each.is_beside else 0.55, "offset": 0.2 if each.is_beside else -0.38,
            "customdata": times, "hovertemplate": f"{each.name}: %{{customdata:.4~g}} {unit}<extra></extra>",
        })
        ends[each.is_beside] = [end + time for end, time in zip(ends[each.is_beside], times)]
    layout = _layout(40 * roles + 90)
    # The table beside it names the colours.
    layout |= {"barmode": "overlay", "showlegend": False,
               "xaxis": {"title": {"text": f"time, {unit}"}, "gridcolor": GRID, "zeroline": False},
               "yaxis": {"tickvals": [*range(roles)], "ticktext": names, "autorange": "reversed", "showgrid": False,
                         "zeroline": False, "fixedrange": True}}
    return {"data": traces, "layout": layout}


def bytes_figure(collectives: Sequence[Collective], messages: Sequence[Message], pipeline: str) -> dict[str, Any] | None:
    """What a rank sends along each set of axes, by kind of collective."""
    sent: dict[str, dict[str, int]] = {}
    for each in collectives:
        kinds = sent.setdefault(", ".join(each.axes), {})
        kinds[each.kind] = kinds.get(each.kind, 0) + each.total_bytes
    if messages:
        kinds = sent.setdefault(pipeline, {})
        kinds["messages"] = kinds.get("messages", 0) + sum(each.total_bytes for each in messages)
    sent = {axes: kinds for axes, kinds in sent.items() if sum(kinds.values())}
    if not sent:
        return None
    axes = sorted(sent, key=lambda name: sum(sent[name].values()))
    unit, scale = _byte_unit(max(sum(kinds.values()) for kinds in sent.values()))
    traces = [{"type": "bar", "orientation": "h", "name": kind, "y": axes,
               "x": [sent[name].get(kind, 0) * scale for name in axes], "marker": {"color": colour},
               "hovertemplate": "%{customdata}<extra>" + kind + "</extra>",
               "customdata": [size_text(sent[name].get(kind, 0)) for name in axes]}
              for kind, colour in KINDS.items() if any(kind in kinds for kinds in sent.values())]
    layout = _layout(36 * len(axes) + 120)
    layout |= {"barmode": "stack", "showlegend": True,
               "xaxis": {"title": {"text": f"sent in a step, {unit}"}, "gridcolor": GRID, "zeroline": False},
               "yaxis": {"automargin": True, "showgrid": False, "fixedrange": True, "type": "category", "ticksuffix": " "}}
    return {"data": traces, "layout": layout}


def scaling_figure(scaled: dict[str, list[dict[str, Any]]]) -> dict[str, Any] | None:
    """Step time and efficiency over the number of devices, a line for each axis."""
    if not scaled:
        return None
    unit, scale = _time_unit(max(row["step_seconds"] for rows in scaled.values() for row in rows))
    traces = []
    for (axis, rows), colour in zip(scaled.items(), LINES * len(scaled)):
        line = {"type": "scatter", "mode": "lines+markers", "name": f"along {axis}", "legendgroup": axis,
                "line": {"color": colour}, "x": [row["devices"] for row in rows],
                "customdata": [row[axis] for row in rows]}
        traces.append(line | {"y": [row["step_seconds"] * scale for row in rows],
                              "hovertemplate": f"{axis} %{{customdata}}: %{{y:.4~g}} {unit}<extra></extra>"})
        traces.append(line | {"y": [100 * row["efficiency"] for row in rows], "xaxis": "x2", "yaxis": "y2", "showlegend": False,
                              "hovertemplate": f"{axis} %{{customdata}}: %{{y:.1f}} %<extra></extra>"})
    devices = sorted({row["devices"] for rows in scaled.values() for row in rows})
    layout = _layout(340)

    def axes(anchor, domain):
        return {"type": "log", "title": {"text": "devices"}, "tickvals": devices, "tickformat": ",d", "domain": domain, "anchor": anchor,
                "gridcolor": GRID, "tickangle": -45 if len(devices) > 8 else 0}

    layout |= {"xaxis": axes("y", [0, 0.46]), "xaxis2": axes("y2", [0.54, 1]),
               "yaxis": {"title": {"text": f"step time, {unit}"}, "rangemode": "tozero", "gridcolor": GRID},
               "yaxis2": {"title": {"text": "efficiency, %"}, "rangemode": "tozero", "gridcolor": GRID, "anchor": "x2"}}
    return {"data": traces, "layout": layout}


def _layout(height: int) -> dict[str, Any]:
    return {"height": height, "margin": {"l": 70, "r": 20, "t": 10, "b": 50}, "font": FONT, "paper_bgcolor": "#fff",
            "plot_bgcolor": "#fafbfc", "legend": {"orientation": "h", "y": 1, "yanchor": "bottom", "x": 0, "traceorder": "normal"},
            "hoverlabel": {"bgcolor": "#fff", "bordercolor": "#7d8594", "font": {"color": "#2b3240"}}}


def _time_unit(seconds: float) -> tuple[str, float]:
    return ("s", 1) if seconds >= 1 else ("ms", 1e3) if seconds >= 1e-3 else ("µs", 1e6)


def _byte_unit(size: int) -> tuple[str, float]:
    power = min(4, (max(1, size).bit_length() - 1) // 10)
    return ("B", "KiB", "MiB", "GiB", "TiB")[power], 1024.0**-power
