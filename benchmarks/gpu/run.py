# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The steps of benchmarks/gpu/run.sh, one after the other, and their table."""

import argparse
import pathlib
import sys
import time

import cases
from runner import OUT, Gpu, Runner, Skip
from steps import FINDS_GPU, GROUPS, STEPS

# What an agreement of losses in bfloat16 between systems is.
SAME_LOSS = 1e-2
# The tiny model shows that the programs work, and nothing about speed.
DEFAULT = [group for group in GROUPS if group != "speed-tiny"]


def named_python(text):
    system, _, program = text.partition("=")
    if system not in FINDS_GPU or not program:
        raise argparse.ArgumentTypeError(f'must be jax=PROGRAM or torch=PROGRAM, got "{text}"')
    return system, program


def chosen(text, parser):
    """Steps by their names and those of groups, in the order of the table."""
    words = text.split(",") if text else DEFAULT
    if unknown := [word for word in words if word not in STEPS and word not in GROUPS]:
        parser.error(f"unknown step {', '.join(unknown)}; there are {', '.join(STEPS)}, "
                     f"and of groups {', '.join(GROUPS)}")
    names = {name for word in words for name in GROUPS.get(word, [word])}
    return [name for name in STEPS if name in names]


# ===----------------------------------------------------------------------===
# The table
# ===----------------------------------------------------------------------===


def comparison(size, found):
    """Lines about one size: how fast, and where the time goes."""
    weft, others = found.get("weft"), {s: f for s, f in found.items() if s != "weft"}
    lines = []
    if weft and others:
        best = max(others, key=lambda system: others[system]["tokens_per_second"])
        ratio = weft["tokens_per_second"] / others[best]["tokens_per_second"]
        lines.append(f"GPT-2 {size}: {ratio:.3f} of {best}, the better of {', '.join(others)}")
        for system, other in others.items():
            if other["batch"] == weft["batch"]:
                error = max(abs(a - b) / abs(b) for a, b in zip(weft["losses"], other["losses"]))
                lines.append(f"GPT-2 {size}: losses differ from those of {system} by {error:.1e}"
                             + ("" if error <= SAME_LOSS else ": NOT THE SAME TRAINING"))
    if weft and weft["parts"]:
        lines.append(f"GPT-2 {size}: " + ", ".join(
            f"{name} {part['share']:.1%} (predicted {part['predicted_share']:.1%})"
            for name, part in weft["parts"].items()))
    return lines


def table(rows, speeds):
    width = max(len(name) for name, *_ in rows)
    for name, outcome, seconds, text in rows:
        print(f"{name:{width}}  {outcome:7}  {seconds:6.0f} s  {text}")
    for size, found in speeds.items():
        for line in comparison(size, found):
            print(line)


def perform(wanted, runner):
    rows, broken = [], False
    for name in wanted:
        (OUT / f"{name}.log").unlink(missing_ok=True)
        started = time.monotonic()
        try:
            if broken:
                raise Skip("the build failed")
            outcome, text = "passed", STEPS[name](runner)
        except Skip as reason:
            outcome, text = "skipped", str(reason)
        except (RuntimeError, OSError, ValueError, KeyError) as error:
            outcome, text = "FAILED", str(error)
            broken |= name == "build"
        rows.append((name, outcome, time.monotonic() - started, text))
        print(f"{name}: {outcome}: {text}", flush=True)
    return rows


def prepare_all(wanted, runner):
    """Compiles what the steps need, where there is a compiler and no GPU."""
    needed = {name.removeprefix("nccl-") for name in wanted} & set(cases.CASES)
    for case in [case for case in cases.CASES if case in needed]:
        started = time.monotonic()
        runner.prepare(f"prepare-{case}", case)
        print(f"{case}: {time.monotonic() - started:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", type=int, default=0, help="which GPU, as nvidia-smi counts")
    parser.add_argument("--only", help=f"some of the groups {', '.join(GROUPS)}, or of their steps")
    parser.add_argument("--steps", type=int, default=20, help="timed steps of each system")
    parser.add_argument("--loss-steps", type=int, default=50, help="steps whose losses are compared")
    parser.add_argument("--python", action="append", default=[], metavar="SYSTEM=PROGRAM", type=named_python,
                        help="the Python that has jax, or torch, for GPUs (default: this one)")
    parser.add_argument("--batch", type=int, help="sequences a step of speeds (default: what fits)")
    parser.add_argument("--build", type=pathlib.Path, help="build folder (default: build/release)")
    parser.add_argument("--target", help="of plans (default: what the GPU is)")
    parser.add_argument("--prepare", type=pathlib.Path, metavar="FOLDER",
                        help="compile the plans of the steps into a folder and end; needs no GPU")
    parser.add_argument("--prepared", type=pathlib.Path, metavar="FOLDER",
                        help="run what --prepare has made; needs of Weft the runtime alone")
    arguments = parser.parse_args()
    wanted = chosen(arguments.only, parser)
    if arguments.prepare:
        arguments.target = arguments.target or "cuda:sm_90"
        try:
            prepare_all(wanted, Runner(arguments))
        except (RuntimeError, Skip) as error:
            sys.exit(str(error))
        return 0
    gpu = Gpu.find(arguments.device)
    arguments.target = arguments.target or gpu.target
    runner = Runner(arguments)
    rows = perform(wanted, runner)
    print(f"\n{gpu.name}, {gpu.processor}, driver {gpu.driver}, plans for {runner.target}")
    table(rows, runner.speeds)
    return 1 if any(outcome == "FAILED" for _, outcome, *_ in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
