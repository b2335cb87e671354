# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times single ops in Weft against jax.jit of the same functions on this CPU:

    PYTHONPATH=build/release/python build/venv-jax/bin/python benchmarks/op_times.py [--only convolution] [--threads 2]

Convolutions and poolings with their gradients, sorts and matmuls of groups of rows, in f32, on one device. The functions are
JAX's, imported by weft.from_jax, with arguments that stay on the device. Both run in turns in one process; figures are medians
of milliseconds, and the medians of the quotients of neighbouring runs, by the clock and of processor time of all threads,
which says more on a busy machine. A process has the threads of --threads cores, and Weft as many.
"""

import argparse
import os
import re
import sys
import time


def expression(text):
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no regular expression: {error}") from None


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", type=expression, help="a regular expression that names of cases contain")
    parser.add_argument("--threads", type=int, default=2, help="cores and threads of each side")
    parser.add_argument("--seconds", type=float, default=1.0, help="how long a case is timed, about")
    return parser.parse_args()


ARGUMENTS = parse_arguments()
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:ARGUMENTS.threads])  # as many threads has JAX

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402

import weft  # noqa: E402

RANDOM = np.random.default_rng(0)


def normal(*shape):
    return RANDOM.standard_normal(shape, np.float32)


def with_gradients(name, f, *args):
    """Forward, and the gradient by each argument alone, of the sum of the products with given numbers."""
    g = normal(*jax.eval_shape(f, *args).shape)
    yield f"{name}, forward", f, args
    for i in range(len(args)):
        def gradient(g, *args, i=i):
            return jax.vjp(lambda x: f(*args[:i], x, *args[i + 1:]), args[i])[1](g)[0]
        yield f"{name}, gradient {'xw'[i]}", gradient, (g, *args)


def convolutions():
    for name, image, kernel, options in [
            ("5x5 of 28x28, 1 to 32, batch 64", (64, 28, 28, 1), (5, 5, 1, 32), {}),
            ("5x5 of 14x14, 32 to 64, batch 64", (64, 14, 14, 32), (5, 5, 32, 64), {}),
            ("7x7/2 of 224x224, 3 to 64, batch 4", (4, 224, 224, 3), (7, 7, 3, 64), {"window_strides": (2, 2)}),
            ("3x3 of 56x56, 64 to 64, batch 8", (8, 56, 56, 64), (3, 3, 64, 64), {}),
            ("3x3 of 14x14, 256 to 256, batch 8", (8, 14, 14, 256), (3, 3, 256, 256), {}),
            ("3x3/2 of 56x56, 64 to 128, batch 8", (8, 56, 56, 64), (3, 3, 64, 128), {"window_strides": (2, 2)}),
            ("1x1 of 56x56, 64 to 256, batch 8", (8, 56, 56, 64), (1, 1, 64, 256), {}),
            ("1x1/2 of 56x56, 256 to 512, batch 8", (8, 56, 56, 256), (1, 1, 256, 512), {"window_strides": (2, 2)}),
            ("3x3 dilated by 2 of 28x28, 64 to 64, batch 8", (8, 28, 28, 64), (3, 3, 64, 64), {"rhs_dilation": (2, 2)}),
            ("3x3 of 28x28, 128 to 128 in 32 groups, batch 8", (8, 28, 28, 128), (3, 3, 4, 128),
             {"feature_group_count": 32}),
            ("3x3 of 28x28, depthwise 128, batch 8", (8, 28, 28, 128), (3, 3, 1, 128), {"feature_group_count": 128}),
            ("3 of 4096, 64 to 64, batch 8", (8, 4096, 64), (3, 64, 64), {}),
            ("3x3x3 of 16x16x16, 32 to 32, batch 4", (4, 16, 16, 16, 32), (3, 3, 3, 32, 32), {}),
    ]:
        letters = "HWD"[:len(image) - 2]
        options = {"window_strides": (1,) * len(letters), "padding": "SAME",
                   "dimension_numbers": (f"N{letters}C", f"{letters}IO", f"N{letters}C")} | options
        yield from with_gradients(f"convolution {name}", lambda x, w, options=options: lax.conv_general_dilated(
            x, w, **options), normal(*image), normal(*kernel) / np.float32(np.prod(kernel[:-1]) ** 0.5))


def poolings():
    for kind, first, combine in (("max", -np.inf, lax.max), ("sum", 0.0, lax.add)):
        for size, stride, padding in ((2, 2, "VALID"), (3, 2, "SAME")):
            yield from with_gradients(
                f"pooling {kind} {size}x{size}/{stride} of 56x56, 64 features, batch 8",
                lambda x, first=first, combine=combine, size=size, stride=stride, padding=padding: lax.reduce_window(
                    x, first, combine, (1, size, size, 1), (1, stride, stride, 1), padding), normal(8, 56, 56, 64))


def sorts():
    yield "sort 1e6", jnp.sort, (normal(1000000),)
    yield "sort 1000 rows of 1000", jnp.sort, (normal(1000, 1000),)
    yield "sort rows of 100 x 1000 along the first", lambda x: jnp.sort(x, axis=0), (normal(1000, 100),)
    yield "argsort 1e6", jnp.argsort, (normal(1000000),)
    yield "argsort 1000 rows of 1000", jnp.argsort, (normal(1000, 1000),)
    for k in (2, 8, 64):
        yield f"top_k {k} of 1000 rows of 1000", lambda x, k=k: lax.top_k(x, k), (normal(1000, 1000),)
    yield "top_k 2 of 8192 rows of 8", lambda x: lax.top_k(x, 2), (normal(8192, 8),)


def grouped_matmuls():
    """As in a mixture of experts without dropping: rows of tokens in the order of their experts."""
    for rows, k, n, groups in ((2048, 256, 1024, 8), (2048, 1024, 256, 8), (4096, 128, 512, 64)):
        sizes = np.bincount(RANDOM.integers(0, groups, rows), minlength=groups).astype(np.int32)
        yield from with_gradients(
            f"matmul of {rows} rows in {groups} groups, {k} to {n}", lambda x, w, sizes=sizes: lax.ragged_dot(x, w, sizes),
            normal(rows, k), normal(groups, k, n) / np.float32(k ** 0.5))


def of_weft(f, args):
    """A run with arguments that stay, and its result."""
    compiled = weft.from_jax(lambda args: (args, f(*args)), args, donate_argnums=0).compile()
    session, entry = compiled.session(threads=ARGUMENTS.threads), compiled.entry
    for info, value in zip(entry.inputs, args, strict=True):
        session.set_state(info.name, value)
    results = [info.name for info in entry.outputs[len(args):]]
    return lambda: session.run(entry.name), lambda: [session.output(name) for name in results]


def of_jax(f, args):
    call, args = jax.jit(f), jax.device_put(args)
    return lambda: jax.block_until_ready(call(*args)), lambda: jax.tree.leaves(call(*args))


def seconds_of(run):
    """By the clock, and of processor time."""
    begin, begin_cpu = time.perf_counter(), time.process_time()
    run()
    return np.array([time.perf_counter() - begin, time.process_time() - begin_cpu])


def measure(name, f, args):
    (ours, our_results), (theirs, their_results) = of_weft(f, args), of_jax(f, args)
    ours()
    for a, b in zip(our_results(), their_results(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3 * float(np.abs(b).max()), err_msg=name)
    theirs()
    rounds = min(max(5, int(ARGUMENTS.seconds / (seconds_of(ours)[0] + seconds_of(theirs)[0]))), 1000)
    times = []
    for i in range(rounds):
        pair = [seconds_of(run) for run in ((ours, theirs) if i % 2 else (theirs, ours))]
        times.append(pair if i % 2 else pair[::-1])
    (mine, my_cpu), (other, other_cpu) = np.median(times, 0) * 1e3
    ratio, cpu_ratio = np.median([a / b for a, b in times], 0)
    print(f"| {name} | {mine:.3f} | {other:.3f} | {ratio:.2f} | {my_cpu:.3f} | {other_cpu:.3f} | {cpu_ratio:.2f} |", flush=True)


def main():
    found = False
    print("| op | Weft ms | JAX ms | ratio | Weft CPU ms | JAX CPU ms | ratio |\n" + "| --- " * 7 + "|")
    for cases in (convolutions, poolings, sorts, grouped_matmuls):
        for name, f, args in cases():
            if ARGUMENTS.only.search(name):
                measure(name, f, args)
                found = True
    if not found:
        sys.exit(f"op_times.py: --only: no case has a name that {ARGUMENTS.only.pattern!r} matches; without it, all are timed")


if __name__ == "__main__":
    main()
