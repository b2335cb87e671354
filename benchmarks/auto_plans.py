# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The plans that weft.auto finds for published models on numbers of H100, beside layouts as they are written.

    python3 benchmarks/auto_plans.py [--models GPT-3,Llama-70B,GPT-2] [--devices 8,64,512,1024] [--confirm N] [--published]

Prints a table in Markdown, a row as it is found: the plan, its predicted step, the fastest of the written layouts of weft.models that fits, and the CPU
seconds of the search. Written are Megatron-LM's (8 ranks share tensors and sequences, as few stages as fit, the optimizer
in parts), with and without recomputation, FSDP with blocks that are recomputed, and replicas with larger and smaller
micro-batches. With `--published` there is a row for each layout of benchmarks/perf_data that says all of a GPT or a Llama, on
the cluster and with the batch of its run, which is what was written. Needs the package weft on PYTHONPATH;
that of the preset release takes a third of the time.
"""

import argparse
import csv
import pathlib
import time
import warnings

import weft
from weft.predicted import Predicted
from weft.units import seconds_text

MODELS = {
    "GPT-3": ("gpt", 1536, dict(layers=96, hidden=12288, heads=96, vocabulary=51200, sequence=2048)),
    "Llama-70B": ("llama", 1024, dict(layers=80, hidden=8192, heads=64, kv_heads=8, ffn=28672, vocabulary=128256, sequence=8192)),
    "GPT-2": ("gpt", 1024, dict(layers=48, hidden=1600, heads=25, vocabulary=50257, sequence=1024)),
}
CLUSTER = "dgx-h100"
# Written layouts that fit are compared with, at most.
_MOST_WRITTEN = 3


def written_layouts(devices, sizes):
    """Settings of weft.models, the fastest kinds first."""
    if sizes["heads"] % 8 == 0:
        for stages in (1, 2, 4, 8, 16, 32):
            if devices % (8 * stages) == 0 and stages <= sizes["layers"]:
                for recomputation in ("none", "selective", "full"):
                    yield dict(tensor=8, pipeline=stages, data=devices // (8 * stages), sequence_parallel=True, sharded="zero1",
                               recomputation=recomputation)
    yield dict(data=devices, sharded="fsdp", recomputation="full")
    for micro_batch in (16, 4, 1):
        yield dict(data=devices, sharded="zero1", micro_batch=micro_batch)
        yield dict(data=devices, micro_batch=micro_batch)


def fastest_written(model, devices):
    """The predicted seconds and the settings of the fastest of the first that fit."""
    family, batch, sizes = MODELS[model]
    found = []
    for settings in written_layouts(devices, sizes):
        if batch % (settings["data"] * settings.get("micro_batch", 1)) or len(found) == _MOST_WRITTEN:
            continue
        try:
            step = getattr(weft.models, family)(**sizes, **settings, global_batch=batch)
            predicted = Predicted.of(step.lower().compile(None, cluster=CLUSTER), CLUSTER)
        except (ValueError, weft.CompileError):
            continue
        if predicted.fits:
            found.append((predicted.step, settings))
    return min(found, key=lambda each: each[0], default=None)


def published_layouts():
    """Of each run whose row says all of its model and layout: a title, family, batch, sizes, cluster, devices and settings."""
    data = pathlib.Path(__file__).parent / "perf_data"
    for each in csv.DictReader((data / "calib_korthikanti.csv").open()):
        number = {name: int(each[name]) for name in ("layers", "hidden", "heads", "tp", "pp", "vp", "global_batch", "micro_batch")}
        devices = int(each["gpus_A100_80GB"])
        yield ("Korthikanti 175B", "gpt", number["global_batch"],
               dict(layers=number["layers"], hidden=number["hidden"], heads=number["heads"], vocabulary=51200, sequence=2048),
               "dgx-a100", devices,
               dict(tensor=number["tp"], pipeline=number["pp"], chunks=number["vp"],
                    data=devices // (number["tp"] * number["pp"]), micro_batch=number["micro_batch"], sequence_parallel=True,
                    recomputation="selective"))
    for each in csv.DictReader((data / "calib_dgxc.csv").open()):
        names = ("layers", "hidden", "heads", "kv_heads", "ffn_hidden", "vocab", "seq", "tp", "pp", "cp", "vp", "dp", "mbs", "gbs", "gpus")
        number = {name: int(each[name] or 1) for name in names}
        sizes = dict(layers=number["layers"], hidden=number["hidden"], heads=number["heads"], vocabulary=number["vocab"],
                     sequence=number["seq"])
        family = each["model"].partition("3")[0]
        if family == "llama":
            sizes |= dict(kv_heads=number["kv_heads"], ffn=number["ffn_hidden"])
        yield (f"NeMo {each['model']}", family, number["gbs"], sizes, "dgx-h100", number["gpus"],
               dict(tensor=number["tp"], pipeline=number["pp"], chunks=number["vp"], context=number["cp"], data=number["dp"],
                    micro_batch=number["mbs"], sequence_parallel=number["tp"] > 1, sharded="zero1"))


def published_row(title, family, batch, sizes, cluster, devices, settings, confirm):
    make = getattr(weft.models, family)
    written = Predicted.of(make(**sizes, **settings, global_batch=batch).lower().compile(None, cluster=cluster), cluster)
    function, arguments = make(**sizes, global_batch=batch, micro_batch=batch).unannotated()
    begin = time.process_time()
    best = weft.auto(function, *arguments, devices=devices, cluster=cluster, donate_argnums=0, confirm=confirm).best
    spent = time.process_time() - begin
    text = f"{seconds_text(written.step)}{'' if written.fits else ', does not fit'} ({', '.join(f'{k} {v}' for k, v in settings.items())})"
    return f"| {title} | {devices} | {best.choice} | {seconds_text(best.step_seconds)} | {text} | {spent:.0f} s |"


def row(model, devices, confirm):
    family, batch, sizes = MODELS[model]
    function, arguments = getattr(weft.models, family)(**sizes, global_batch=batch, micro_batch=batch).unannotated()
    begin = time.process_time()
    try:
        best = weft.auto(function, *arguments, devices=devices, cluster=CLUSTER, donate_argnums=0, confirm=confirm).best
    except ValueError as error:
        return f"| {model} | {devices} | {str(error).removeprefix('auto: ')} | | | {time.process_time() - begin:.0f} s |"
    spent = time.process_time() - begin
    written = fastest_written(model, devices)
    text = "none fits" if written is None else f"{seconds_text(written[0])} ({', '.join(f'{k} {v}' for k, v in written[1].items())})"
    again = ", recomputed" if best.memory_limit else ""
    return f"| {model} | {devices} | {best.choice}{again} | {seconds_text(best.step_seconds)} | {text} | {spent:.0f} s |"


def main():
    parser = argparse.ArgumentParser(description="Compares the plans of weft.auto with written layouts.")
    parser.add_argument("--models", default=",".join(MODELS), help="some of " + ", ".join(MODELS))
    parser.add_argument("--devices", default="8,64,512,1024", help="numbers of devices")
    parser.add_argument("--confirm", type=int, help="plans that are compiled whole")
    parser.add_argument("--published", action="store_true", help="the layouts of published runs instead")
    args = parser.parse_args()
    warnings.simplefilter("ignore", weft.CompilerWarning)
    print("| model | devices | plan | step | written | search |\n| --- | ---: | --- | ---: | --- | ---: |")
    if args.published:
        for layout in published_layouts():
            print(published_row(*layout, args.confirm), flush=True)
        return
    for model in args.models.split(","):
        for devices in map(int, args.devices.split(",")):
            print(row(model, devices, args.confirm), flush=True)


if __name__ == "__main__":
    main()
