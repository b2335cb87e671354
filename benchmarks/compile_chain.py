# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints how long a chain of sines takes to compile and to run, beside JAX.

    build/venv-jax/bin/python benchmarks/compile_chain.py [--links 16 250 2000] [--repeats 3]

A link is y = sin(y) * a + b of 16,384 float32 numbers, so that all of a chain is one kernel. Each is compiled
in a process of its own, after a sine that both compile first, so that neither is measured while it starts; seconds of processor time, the medians of the repeats, both by one thread. Needs the
packages weft and jax.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time

COUNT = 16384


def chain(sin, links):
    def function(x):
        for i in range(links):
            x = sin(x) * 1.25 + (i % 7) * 0.125
        return x
    return function


def processor_seconds():
    """Of this process and of the linker that it calls."""
    uses = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in uses)


def measure(package, links):
    """Seconds to trace and compile, and of a run."""
    import numpy as np
    x = np.linspace(-3, 3, COUNT, dtype=np.float32)
    if package == "weft":
        import weft
        function = chain(weft.numpy.sin, links)
        weft.jit(weft.numpy.sin)(x)
        begin = processor_seconds()
        compiled = weft.jit(function).lower(x).compile()
    else:
        import jax
        function = chain(jax.numpy.sin, links)
        jax.numpy.sin(x).block_until_ready()
        begin = processor_seconds()
        compiled = jax.jit(function).lower(x).compile()
    seconds = processor_seconds() - begin
    runs = []
    for _ in range(30):
        begin = time.perf_counter()
        np.asarray(compiled(x))
        runs.append(time.perf_counter() - begin)
    return seconds, min(runs)


def in_a_process(package, links):
    environment = {**os.environ, "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
    run = subprocess.run([sys.executable, __file__, "--one", package, str(links)], env=environment,
                         capture_output=True, text=True, check=True)
    return tuple(map(float, run.stdout.split()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--links", type=int, nargs="+", default=[16, 250, 2000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(*measure(arguments.one[0], int(arguments.one[1])))
        return
    print("links   compile: weft    jax  ratio     run: weft      jax  ratio")
    for links in arguments.links:
        found = {package: [statistics.median(column) for column in zip(*(
            in_a_process(package, links) for _ in range(arguments.repeats)))] for package in ("weft", "jax")}
        (compiling, running), (their_compiling, their_running) = found["weft"], found["jax"]
        print(f"{links:5} {compiling:13.2f} s {their_compiling:5.2f} s {compiling / their_compiling:5.2f}"
              f" {running * 1e3:12.2f} ms {their_running * 1e3:6.2f} ms {running / their_running:5.2f}", flush=True)


if __name__ == "__main__":
    main()
