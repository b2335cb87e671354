# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a call costs beside its work, and what it costs in JAX where that is installed:

    PYTHONPATH=build/release/python build/venv-jax/bin/python benchmarks/call_overhead.py

Microseconds a call: the least and the median of several means, of Weft and JAX in turns. Then the step of a GPT on two
ranks, in a session and as a function whose state stays on the ranks as `weft.Array`s, in turns.
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


def training_loops(sequence=128, layers=2, hidden=128):
    """A step of a GPT whose state stays on two ranks: of a session, and of a compiled function that is given back what it
    returned."""
    step = weft.models.gpt(layers=layers, hidden=hidden, heads=4, vocabulary=4096, sequence=sequence, dtype="float32",
                           data=2, micro_batch=2)
    compiled = step.lower().compile()
    entry, random = compiled.entry, np.random.default_rng(0)

    def values(tree):
        return weft.tree.map(lambda x: np.abs(0.02 * random.standard_normal(x.shape, np.float32)).astype(x.dtype), tree)

    state, batch = values(step.state()), values(step.batch())
    session = compiled.session()
    leaves = dict(zip((info.name for info in entry.inputs), weft.tree.leaves((state, batch)), strict=True))
    for name, value in leaves.items():
        session.set_input(entry.name, name, value)
    inputs = [info.name for info in entry.inputs if not info.is_state]
    results = [info.name for info in entry.outputs if not info.is_state]

    def of_session():
        for name in inputs:
            session.set_input(entry.name, name, leaves[name])
        session.run(entry.name)
        return [session.output(name) for name in results]

    kept = [state]

    def of_arrays():
        kept[0], loss = compiled(kept[0], batch)
        return loss

    return of_session, of_arrays


def paired_steps(rounds=100):
    """Neighbouring steps of a session and of the function: seconds of CPU and by the clock, of each."""
    loops, times = training_loops(), ([], [])
    for loop in loops * 2:
        loop()
    for turn in range(rounds):
        for which in (0, 1) if turn % 2 else (1, 0):
            cpu, wall = time.process_time(), time.perf_counter()
            loops[which]()
            times[which].append((time.process_time() - cpu, time.perf_counter() - wall))
    for kind, name in enumerate(("of CPU", "by the clock")):
        session, arrays = ([each[kind] for each in which] for which in times)
        quotient = statistics.median(b / a for a, b in zip(session, arrays))
        print(f"a step of a GPT {name}: {1e3 * statistics.median(session):.1f} ms in a session, "
              f"{1e3 * statistics.median(arrays):.1f} ms as state, loss = step(state, batch); median quotient {quotient:.3f}")


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
    paired_steps()


if __name__ == "__main__":
    main()
