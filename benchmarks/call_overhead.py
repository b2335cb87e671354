# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a call costs beside its work, and what it costs in JAX where that is installed:

    PYTHONPATH=build/release/python build/venv-jax/bin/python benchmarks/call_overhead.py

Microseconds a call: the least and the median of several means, of Weft and JAX in turns.
"""

import functools
import statistics
import time

import numpy as np

import weft

try:
    import jax
except ImportError:
    jax = None

SMALL = np.ones(4, np.float32)
MANY = {f"w{i}": np.ones(8, np.float32) for i in range(100)}


def microseconds(call, times):
    begin = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - begin) / times * 1e6


def add_one(x):
    return x + 1


def add_one_to_all(tree):
    return {name: x + 1 for name, x in tree.items()}


def session_calls():
    """A run of a session, with nothing set or read between two and with both."""
    compiled = weft.jit(add_one).lower(SMALL).compile()
    session, entry = compiled.session(), compiled.entry.name
    session.set_input(entry, "x", SMALL)

    def step():
        session.set_input(entry, "x", SMALL)
        session.run(entry)
        return session.output("out")

    return lambda: session.run(entry), step


def rows():
    """What is called, how often a measurement calls it, and the calls in Weft and JAX."""
    run, step = session_calls()

    def both(f, argument):
        return [functools.partial(jit(f), argument) for jit in (weft.jit, jax and jax.jit) if jit]

    return [
        ("jit(x + 1), 4 floats", 2000, both(add_one, SMALL)),
        ("jit, 100 arrays in and out", 200, both(add_one_to_all, MANY)),
        ("session.run", 2000, [run]),
        ("session.set_input, run, output", 2000, [step]),
    ]


def main():
    print(f"{'microseconds a call: least, median':36} {'Weft':>17}  {'JAX':>17}")
    for name, times, calls in rows():
        for call in calls:
            microseconds(call, times)  # warm
        means = zip(*([microseconds(call, times) for call in calls] for _ in range(15)))
        columns = [f"{min(m):8.1f} {statistics.median(m):8.1f}" for m in means]
        print(f"{name:36} {'  '.join(columns)}")


if __name__ == "__main__":
    main()
