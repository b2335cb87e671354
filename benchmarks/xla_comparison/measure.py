# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures cases, in several processes if wanted."""

import concurrent.futures
import dataclasses
import multiprocessing

from .case import Case
from .side import Side


@dataclasses.dataclass(frozen=True)
class Result:
    case: Case
    xla: Side
    weft: Side | None
    error: str = ""
    """Why Weft has no result."""

    def as_record(self):
        record = dataclasses.asdict(self)
        for name in ("xla", "weft"):
            side = getattr(self, name)
            if side:
                record[name] |= {"bytes": side.bytes, "calls": side.calls, "time": side.time}
        return record


def measure(case, known, options):
    """(result, the key of XLA's record, the record); `known` are records by key, `options` those
    of Weft's compile()."""
    from . import weft_side, xla_side

    step, arguments = case.step()
    lowered = step.lower(*arguments)
    key = xla_side.key_of(lowered)
    record = known.get(key) or xla_side.compile_record(lowered)
    xla = xla_side.side_of(record)
    try:
        return Result(case, xla, weft_side.compile_side(step, arguments, **options)), key, record
    except Exception as error:  # any: one case must not hide the others
        return Result(case, xla, None, f"{type(error).__name__}: {error}"), key, record


def measure_all(cases, cache, jobs, options):
    """Yields results in the order of the cases."""
    if jobs == 1:
        for case in cases:
            yield _keep(cache, *measure(case, cache.records, options))
        return
    context = multiprocessing.get_context("spawn")
    start = _start, (cache.records, options)
    with concurrent.futures.ProcessPoolExecutor(jobs, context, *start) as pool:
        for outcome in pool.map(_measure_known, cases):
            yield _keep(cache, *outcome)


def _keep(cache, result, key, record):
    cache.add(key, record)
    return result


_arguments = []


def _start(*arguments):
    _arguments[:] = arguments


def _measure_known(case):
    return measure(case, *_arguments)
