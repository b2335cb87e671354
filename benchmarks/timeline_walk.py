# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a rank takes for an action of a pipeline beside the work that is in it.

    PYTHONPATH=build/release/python python3 benchmarks/timeline_walk.py [--ranks 2] [--steps 200]

Steps of a model with four numbers a layer, in which next to nothing is computed, for numbers of
micro-batches that double: the slope is that of actions, without what a step takes at its begin and
end. It contains the kernels, and the time until another thread sees what was sent to it. It is that
of the fastest steps, as others may use the machine, which should have a core for each rank.
"""

import argparse
import time

import numpy as np
import weft
import weft.numpy as wnp
from weft import tree


def compiled(ranks, schedule, microbatches):
    def loss(params, x):
        for i, w in enumerate(params):
            x = weft.stage_boundary(x) if i else x
            x = wnp.tanh(x * w)
        return (x * x).mean()

    def step(params, x):
        value, gradients = weft.microbatches(weft.value_and_grad(loss), microbatches)(params, x)
        return tree.map(lambda p, g: p - 0.1 * g, params, gradients), value

    args = [np.ones(4, np.float32)] * ranks, np.ones((microbatches, 4), np.float32)
    jitted = weft.jit(step, mesh=weft.Mesh((ranks,), ("pipe",)), donate_argnums=0,
                      pipeline=weft.Pipeline("pipe", schedule))
    return jitted.lower(*args).compile(), args


def least(plan, args, steps):
    session = plan.session()
    for info, leaf in zip(plan.plan.entries[0].inputs, tree.leaves(args), strict=True):
        session.set_input("step", info.name, leaf)
    found = []
    for _ in range(steps):
        begin = time.perf_counter()
        session.run("step")
        found.append(time.perf_counter() - begin)
    return min(found)


def actions(plan):
    """Of the rank that has the most."""
    rows = [len(row) for row in plan.schedule().rows]
    ends = [0] * len(rows)
    for message in plan.messages():
        source, destination = (int(word) for word in message.label.split() if word.isdigit())
        for rank in (source, destination):
            ends[rank] += message.count
    return max(row + end for row, end in zip(rows, ends, strict=True))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--steps", type=int, default=200)
    args = parser.parse_args()
    for schedule in ("gpipe", "1f1b", "zb-h1"):
        (few, a), (many, b) = (compiled(args.ranks, schedule, n) for n in (128, 256))
        more = actions(many) - actions(few)
        seconds = least(many, b, args.steps) - least(few, a, args.steps)
        print(f"{schedule:6} {seconds * 1e6 / more:5.2f} us an action, of {actions(many)} a rank")


if __name__ == "__main__":
    main()
