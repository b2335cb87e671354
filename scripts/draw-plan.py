# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws an entry of a plan as SVG: what a rank computes and communicates, and its memory.

    shard-run --dump model.plan | python3 scripts/draw-plan.py [entry] > model.svg

Time is counted in instructions: nothing is measured, so the picture depends on the plan only.
"""

import dataclasses
import html
import re
import sys

COLOURS = {
    "parameter": "#4269d0", "optimizer state": "#97bbf5", "state": "#4269d0", "argument": "#9498a0",
    "result": "#9498a0", "gradient": "#ff725c", "activation": "#3ca951", "communication": "#efb118",
    "temporary": "#c9b8e8", "constant": "#9c6b4e",
}
KINDS = {"gemm": "#3b4652", "convolution": "#2f6f67", "attention": "#6b4e71", "launch": "#a9b4c2", "copy": "#d9d9d9"}
WIDTH, LEFT, MEMORY, ROW = 960, 110, 300, 26


@dataclasses.dataclass
class Buffer:
    offset: int
    bytes: int
    first: int
    last: int
    purposes: list  # (purpose, from which instruction on)
    name: str


@dataclasses.dataclass
class Entry:
    name: str = ""
    arena: int = 0
    buffers: list = dataclasses.field(default_factory=list)
    work: list = dataclasses.field(default_factory=list)  # (instruction, kind)
    collectives: dict = dataclasses.field(default_factory=dict)  # id: [kind, start, wait]
    instructions: int = 0


def read(dump, wanted):
    """The entry, or the last one, of the text that `shard-run --dump` prints."""
    entry = None
    for line in dump.splitlines():
        if found := re.match(r'entry "(.*?)" arena (\d+)', line):
            if entry and entry.name == wanted:
                break
            entry = Entry(found[1], int(found[2]))
        elif not entry:
            continue
        elif found := re.match(r"    %\d+ \S+ \S+ offset (\d+) bytes (\d+) alive (\d+)\.\.(\d+)(.*)", line):
            purposes = re.findall(r'holds ([a-z ]+?) "(.*?)" from (\d+)', found[5])
            entry.buffers.append(Buffer(*map(int, found.groups()[:4]),
                                        [(what, int(at)) for what, _, at in purposes],
                                        purposes[0][1] if purposes else ""))
        elif found := re.match(r"    (\d+): \w+ (\w+)(?: #(\d+))?(?: (\w+))?", line):
            at, kind = int(found[1]), found[2]
            entry.instructions = at + 1
            if kind == "start":
                entry.collectives[found[3]] = [found[4], at, at + 1]
            elif kind == "wait":
                entry.collectives[found[3]][2] = at
            else:
                entry.work.append((at, kind.removesuffix("_grad")))
    if not entry or (wanted and entry.name != wanted):
        sys.exit(f"error: the dump has no entry {wanted}" if wanted else "error: the dump has no entry")
    return entry


def size_text(size):
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    while size >= 1024 and len(units) > 1:
        size, units = size / 1024, units[1:]
    return f"{size:.3g} {units[0]}"


def stacked(collectives):
    """The row of each collective: the first in which no other is under way."""
    ends, rows = [], []
    for _, start, wait in collectives:
        row = next((i for i, end in enumerate(ends) if end <= start), len(ends))
        ends[row:row + 1] = [wait]
        rows.append(row)
    return rows, len(ends)


def draw(entry):
    step = (WIDTH - LEFT - 10) / max(entry.instructions, 1)
    scale = MEMORY / max(entry.arena, 1)
    out = []

    def box(x, y, width, height, colour, title):
        stroke = ' stroke="#fff" stroke-width="0.5"' if height > 4 else ""
        out.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{max(height, 1):.1f}" fill="{colour}"{stroke}><title>{html.escape(title)}</title></rect>')

    def text(x, y, words, anchor="start"):
        out.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(words)}</text>')

    top = 8
    text(LEFT - 8, top + 15, "compute", "end")
    for at, kind in entry.work:
        box(LEFT + at * step, top, step, ROW - 4, KINDS.get(kind, "#9498a0"), f"{at}: {kind}")
    top += ROW
    under_way = list(entry.collectives.values())
    rows, count = stacked(under_way)
    text(LEFT - 8, top + 15, "communicate", "end")
    for (kind, start, wait), row in zip(under_way, rows):
        y, width = top + row * ROW, (wait - start) * step
        box(LEFT + start * step, y, width, ROW - 4, COLOURS["communication"], f"{start} to {wait}: {kind}")
        if width > 6.2 * len(kind):
            text(LEFT + start * step + 4, y + 15, kind)
    top += count * ROW + 8
    text(LEFT - 8, top + 12, size_text(entry.arena), "end")
    text(LEFT - 8, top + MEMORY / 2, "arena of a rank", "end")
    text(LEFT - 8, top + MEMORY, "0", "end")
    out.append(f'<rect x="{LEFT}" y="{top}" width="{WIDTH - LEFT - 10}" height="{MEMORY}" fill="#f3f3f3"/>')
    used = []
    for buffer in entry.buffers:
        changes = [*buffer.purposes, ("", buffer.last + 1)]
        for (what, begin), (_, end) in zip(changes, changes[1:]):
            begin, end = max(begin, buffer.first), min(end, entry.instructions)
            if begin < end:
                used += [what] * (what not in used)
                box(LEFT + begin * step, top + MEMORY - (buffer.offset + buffer.bytes) * scale, (end - begin) * step,
                    buffer.bytes * scale, COLOURS.get(what, "#9498a0"), f"{what}, {size_text(buffer.bytes)}: {buffer.name}")
    top += MEMORY + 18
    x = LEFT
    for what in [w for w in COLOURS if w in used]:
        out.append(f'<rect x="{x}" y="{top - 10}" width="11" height="11" fill="{COLOURS[what]}"/>')
        text(x + 15, top, what)
        x += 32 + 6.8 * len(what)
    height = top + 24
    text(LEFT, height - 6, f"{entry.instructions} instructions of entry {entry.name}, in order; GEMMs are dark, kernels light")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            'font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="#fff"/>\n'
            + "\n".join(out) + "\n</svg>\n")


if __name__ == "__main__":
    print(draw(read(sys.stdin.read(), sys.argv[1] if len(sys.argv) > 1 else "")), end="")
