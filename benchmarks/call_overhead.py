# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a call costs beside its work, with that of JAX where it is installed:

    PYTHONPATH=build/release/python build/venv-jax/bin/python benchmarks/call_overhead.py

Each row is the least of several means: microseconds a call.
"""

import time

import numpy as np

import weft

try:
    import jax
except ImportError:
    jax = None

SMALL = np.ones(4, np.float32)
MANY = {f"w{i}": np.ones(8, np.float32) for i in range(100)}


def microseconds(call, times, repeats=9):
    for _ in range(times // 10):
        call()
    best = float("inf")
    for _ in range(repeats):
        begin = time.perf_counter()
        for _ in range(times):
            call()
        best = min(best, (time.perf_counter() - begin) / times)
    return best * 1e6


def add_one(x):
    return x + 1


def add_one_to_all(tree):
    return {name: x + 1 for name, x in tree.items()}


def session_rows():
    """Runs of a session, with nothing set or read between them and with both."""
    compiled = weft.jit(add_one).lower(SMALL).compile()
    session, entry = compiled.session(), compiled.entry.name
    session.set_input(entry, "x", SMALL)

    def step():
        session.set_input(entry, "x", SMALL)
        session.run(entry)
        return session.output("out")

    return [("session.run", microseconds(lambda: session.run(entry), 5000)),
            ("session.set_input, run, output", microseconds(step, 5000))]


def jit_rows(name, jit):
    small, many = jit(add_one), jit(add_one_to_all)
    return [(f"{name}.jit(x + 1), 4 floats", microseconds(lambda: small(SMALL), 5000)),
            (f"{name}.jit, 100 arrays in and out", microseconds(lambda: many(MANY), 500))]


def main():
    rows = jit_rows("weft", weft.jit) + session_rows()
    rows += jit_rows("jax", jax.jit) if jax else []
    for name, time_ in rows:
        print(f"{name:32} {time_:8.1f} us")


if __name__ == "__main__":
    main()
