# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of results, and what it comes to."""

import math

from .strategies import STRATEGIES

HEADER = (f"{'model':16} {'strategy':8} {'size':5} | {'KiB sent':>11} {'XLA':>11} {'ratio':>7}"
          f" | {'calls':>5} {'XLA':>5} | {'us':>8} {'XLA':>8} {'ratio':>6}"
          f" | {'arena KiB':>10} {'XLA':>10} {'ratio':>6}")


def ratio(ours, theirs):
    if theirs:
        return ours / theirs
    return math.inf if ours else 1.0


def ratios(result):
    """(bytes, predicted time, memory), Weft by XLA"""
    ours, theirs = result.weft, result.xla
    return tuple(ratio(getattr(ours, what), getattr(theirs, what))
                 for what in ("bytes", "time", "memory"))


def row(result):
    case, ours, theirs = result.case, result.weft, result.xla
    start = f"{case.model:16} {case.strategy:8} {case.size:5} | "
    if not ours:
        return start + "not compiled by Weft: " + result.error.splitlines()[0]
    sent, time, memory = ratios(result)
    return (f"{start}{ours.bytes / 1024:11,.1f} {theirs.bytes / 1024:11,.1f} {sent:7.3f}"
            f" | {ours.calls:5} {theirs.calls:5}"
            f" | {ours.time * 1e6:8,.0f} {theirs.time * 1e6:8,.0f} {time:6.3f}"
            f" | {ours.memory / 1024:10,.0f} {theirs.memory / 1024:10,.0f} {memory:6.2f}")


def details(result):
    """Collectives of both, the largest first."""
    lines = [result.case.name]
    for name, side in (("Weft", result.weft), ("XLA", result.xla)):
        if not side:
            continue
        lines.append(f"  {name}: {side.bytes / 1024:,.1f} KiB in {side.calls} calls, "
                     f"compiled in {side.seconds:.2f} s")
        lines += [f"    {t.bytes / 1024:10,.1f} KiB {t.calls:4} {t.kind:18} {t.cause}"
                  for t in sorted(side.traffic, key=lambda t: -t.bytes)]
    return "\n".join(lines)


def geometric_mean(values):
    values = [value for value in values if 0 < value < math.inf]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def _above(results, place, what):
    found = [(ratios(r)[place], r.case.name) for r in results]
    found = sorted((f for f in found if f[0] > 1), key=lambda f: -f[0])
    lines = [f"{len(found)} of {len(results)} cases with more {what} than XLA"]
    return lines + [f"  {value:7.3f}  {name}" for value, name in found]


def changes(results, earlier):
    """What Weft made of the cases since `earlier`, the records of a run."""
    before = {tuple(r["case"].values()): r["weft"] for r in earlier if r["weft"]}
    pairs = [(r, before[key]) for r in results if r.weft
             and (key := (r.case.model, r.case.strategy, r.case.size)) in before]
    lines = [f"Weft against the earlier run, {len(pairs)} cases"]
    for what in ("bytes", "time", "memory"):
        found = [(ratio(getattr(r.weft, what), old[what]), r.case.name) for r, old in pairs]
        more = sorted((f for f in found if f[0] > 1), key=lambda f: -f[0])
        lines.append(f"  {what}: geometric mean {geometric_mean(f[0] for f in found):.3f}, "
                     f"less in {sum(f[0] < 1 for f in found)}, more in {len(more)}")
        lines += [f"  {value:9.3f}  {name}" for value, name in more]
    return "\n".join(lines)


def summary(results):
    failed = [r for r in results if not r.weft]
    results = [r for r in results if r.weft]
    sizes = list(dict.fromkeys(r.case.size for r in results))
    lines = ["Geometric means of ratios to XLA: bytes, predicted time, memory"]
    groups = [(f"{strategy} {size}", [r for r in results if r.case.size == size
                                      and r.case.strategy == strategy])
              for size in sizes for strategy in STRATEGIES]
    groups += [(size, [r for r in results if r.case.size == size]) for size in sizes]
    for name, group in [*groups, ("all", results)]:
        if group:
            means = (geometric_mean(ratios(r)[i] for r in group) for i in range(3))
            lines.append(f"  {name:14} {len(group):4} cases  "
                         + "  ".join(f"{mean:6.3f}" for mean in means))
    for size in sizes:
        group = [r for r in results if r.case.size == size]
        lines.append(f"\nSize {size}")
        lines += _above(group, 0, "bytes") + _above(group, 1, "predicted time")
        lines += _above(group, 2, "memory")
    lines.append(f"\n{len(failed)} cases that Weft does not compile")
    for error in dict.fromkeys(r.error for r in failed):
        cases = [r.case.name for r in failed if r.error == error]
        lines.append(f"  {', '.join(cases)}: {error}")
    return "\n".join(lines)
