# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weft's side: collectives and memory of the plan."""

import time
import warnings

import weft

from .side import Side, Traffic


def compile_side(step, arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", weft.CompilerWarning)
        imported = weft.from_jax(step, *arguments)
        start = time.perf_counter()
        compiled = imported.compile(target=None, **options)
        seconds = time.perf_counter() - start
    traffic = [Traffic(r.kind.replace("_", "-"), r.total_bytes, r.count,
                       f"{r.cause} ({r.file}:{r.line})") for r in compiled.collectives()]
    return Side(traffic, compiled.memory().call, seconds)
