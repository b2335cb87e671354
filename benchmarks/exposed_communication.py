# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints how much communication of a training step waits, and what each pass that hides it saves.

    python3 benchmarks/exposed_communication.py [--cluster=dgx-h100] [--layers 8] [--models gpt llama]

Steps of a GPT and a Llama with hidden size 4096 are compiled under several layouts and simulated. The bound is
what must wait in any order of the same kernels and collectives, as `shard-compile --explain=schedule` estimates
it. "no pieces" is with `--collective-pieces=1`, so that no collective is cut beside a matmul, "no combining" without
`--combine-collectives`, "no overlap" without `--overlap-collectives`. Where communication is over several axes, what is
exposed of each follows, and what would be if all other communication took no time. The last line says in how many
layouts no more than the bound and 5 % of the step are exposed.

Needs the package weft on PYTHONPATH, and shard-compile and shard-sim of the same build.
"""

import argparse
import json
import pathlib
import re
import subprocess
import tempfile

import weft

MODELS = {
    "gpt": (weft.models.gpt, {"hidden": 4096, "heads": 32, "vocabulary": 50304, "sequence": 2048, "micro_batch": 4}),
    "llama": (weft.models.llama, {"hidden": 4096, "heads": 32, "kv_heads": 8, "ffn": 14336, "vocabulary": 128256,
                                  "sequence": 8192, "micro_batch": 1}),
}
LAYOUTS = {
    "data 16": {"data": 16},
    "zero1 16": {"data": 16, "sharded": "zero1"},
    "zero1 16, next step": {"data": 16, "sharded": "zero1", "gather": "next-step"},
    "fsdp 16": {"data": 16, "sharded": "fsdp"},
    "tensor 8": {"tensor": 8},
    "tensor 8, sequence": {"tensor": 8, "sequence_parallel": True},
    "tensor 8, sequence, data 4": {"tensor": 8, "sequence_parallel": True, "data": 4},
    "tensor 4, sequence, fsdp 4": {"tensor": 4, "sequence_parallel": True, "data": 4, "sharded": "fsdp"},
}
VARIANTS = {"as compiled": [], "no pieces": ["--collective-pieces=1"],
            "no combining": ["--combine-collectives=false"], "no overlap": ["--overlap-collectives=false"]}
BOUND = re.compile(r": (\S+ \S+) \(in any order at least (\S+ \S+)\), computing (\S+ \S+);")
BOUND_OF_AXES = re.compile(r"over {(.*)}: .* \(by themselves .*, in any order at least (\S+ \S+)\)")
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


# Of the step, above the bound.
MOST_ABOVE = 0.05


def seconds(text):
    number, unit = text.split()
    return float(number) * UNITS[unit]


def simulate(source, args, flags):
    """What shard-sim says of the step, the seconds that its communication must wait, and by axes those that it must if all
    other communication took no time."""
    with tempfile.TemporaryDirectory() as folder:
        plan = pathlib.Path(folder, "step.plan")
        command = [args.bin / "shard-compile", "-", "-o", plan, "--target=none", "--reduce-dtype=float32",
                   f"--cluster={args.cluster}"]
        report = subprocess.run([*command, "--explain=schedule", *flags], input=source, check=True, capture_output=True,
                                text=True).stdout
        _, least, computing = map(seconds, BOUND.search(report).groups())
        command = [args.bin / "shard-sim", "plan", plan, f"--cluster={args.cluster}", "--json"]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)[0]
        by_axes = {axes.replace('"', ""): seconds(alone) for axes, alone in BOUND_OF_AXES.findall(report)}
        return found, max(0, least - computing), by_axes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cluster", default="dgx-h100")
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--layouts", nargs="+", choices=LAYOUTS, default=list(LAYOUTS))
    # Of the build that the package is of.
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path(weft.__file__).absolute().parents[2] / "bin")
    args = parser.parse_args()
    if not (args.bin / "shard-sim").exists():
        parser.error(f"there is no shard-sim in {args.bin}: build it, or name its folder by --bin")
    print(f"{'model':6} {'layout':27} {'variant':13} {'step ms':>8} {'comm. ms':>9} {'exposed':>8} {'bound':>6} "
          f"{'of step':>8} {'sent GiB':>8} {'arena GiB':>9}")
    above = {}
    for model in args.models:
        build, sizes = MODELS[model]
        for layout in args.layouts:
            source = build(layers=args.layers, **sizes, **LAYOUTS[layout]).lower().as_text()
            for variant, flags in VARIANTS.items():
                found, bound, by_axes = simulate(source, args, flags)
                role = found["roles"][0]
                exposed = sum(each["exposed_seconds"] for each in role["communication"])
                total = exposed + sum(each["hidden_seconds"] for each in role["communication"])
                step_time = found["step_seconds"]
                print(f"{model:6} {layout:27} {variant:13} {step_time * 1e3:8.2f} {total * 1e3:9.2f} {exposed * 1e3:8.2f} "
                      f"{bound * 1e3:6.2f} {exposed / step_time:8.1%} "
                      f"{sum(role['sent_bytes']) / 2**30:8.2f} {found['memory']['arena_bytes'] / 2**30:9.2f}", flush=True)
                if flags:
                    continue
                above[model, layout] = (exposed - bound) / step_time
                for each in role["communication"] if by_axes else []:
                    print(f"{'':34} {each['axes']:13} {'':8} {(each['exposed_seconds'] + each['hidden_seconds']) * 1e3:9.2f} "
                          f"{each['exposed_seconds'] * 1e3:8.2f} {by_axes[each['axes'].replace('+', ', ')] * 1e3:6.2f}", flush=True)
    worst = max(above, key=above.get)
    print(f"{sum(share <= MOST_ABOVE for share in above.values())} of {len(above)} layouts are exposed for at most the bound and "
          f"{MOST_ABOVE:.0%} of the step; the most above it is {', '.join(worst)} with {above[worst]:.1%}")


if __name__ == "__main__":
    main()
