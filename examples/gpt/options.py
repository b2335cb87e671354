# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of train.py: reads it, and says all that is wrong with it at once."""

import argparse
import dataclasses
import math
import pathlib

import checkpoint
import data
import layouts
import model
import stages
import weft

# What a run is; a checkpoint keeps it, and a resumed run takes it from there.
SETTINGS = {
    "layers": (int, 4, "blocks of the model"),
    "width": (int, 256, "features of a position"),
    "heads": (int, 8, "heads of attention"),
    "context": (int, 256, "bytes that the model sees at once"),
    "batch": (int, 8, "rows of a batch"),
    "steps": (int, 500, "steps of the whole run"),
    "warmup": (int, 20, "steps in which the learning rate rises"),
    "learning-rate": (float, 1e-3, "its largest value"),
    "seed": (int, 0, "of the first parameters and the batches"),
}
# What --moe sets; there are no experts without it.
EXPERTS = {"experts": (int, 0), "top": (int, 2), "capacity": (float, 1.25), "parts": (int, 1)}
# How a run is carried out; the numbers do not depend on it.
COUNTS = {
    "eval-every": (int, 100, "steps between validation losses"),
    "eval-batches": (int, 4, "batches of a validation loss"),
    "checkpoint-every": (int, 100, "steps between checkpoints"),
    "length": (int, 300, "bytes of the sample at the end"),
}


@dataclasses.dataclass
class Run:
    """A command line that can be carried out."""

    settings: dict
    config: model.Config
    text: data.Text
    axes: dict
    modes: list
    stages: stages.Stages
    resumed: checkpoint.Checkpoint | None
    args: argparse.Namespace


def _number(flag, kind, least, problems):
    """The type of an argument whose bad values are collected, not the end of parsing."""

    def parse(text):
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if least <= value < math.inf:
            return value
        wanted = "a number" if kind is float else "an integer"
        problems.append(f"--{flag}: want {wanted} of {least} or more, got {text!r}")
        return None

    return parse


def parser(problems):
    modes = "\n".join(f"  {name:6} {mode.help}" for name, mode in layouts.MODES.items())
    found = argparse.ArgumentParser(
        description="Trains a GPT over bytes under any parallelism, and prints a sample of it.",
        epilog="modes of --parallel, to be combined as in fsdp+tp:\n" + modes,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = found.add_argument
    add("--data", nargs="+", metavar="FILE", help="texts (the licences in /usr/share/common-licenses)")
    add("--mesh", default="data=1", metavar="AXIS=SIZE,...",
        help="ranks: sizes of the axes data, model, context, expert, replica, pipe (one rank)")
    add("--parallel", metavar="MODE+...", help="how they share the work (dp, tp, cp, ep and pp, as the mesh has axes)")
    add("--moe", metavar="experts=N,top=N,...",
        help="experts in place of each perceptron, and how many a position takes (top=2); capacity=N: how many "
        "times its share an expert takes (1.25); parts=N: parts of a row that are dispatched apart (1)")
    add("--micro-batches", type=_number("micro-batches", int, 1, problems), metavar="N",
        help="parts of a batch, computed one after another (1; with pp 2 for each rank of pipe)")
    add("--schedule", metavar="NAME|auto|FILE.csv",
        help="of pp: the order of its ranks (1f1b); shard-sim schedule --list has all names")
    add("--chunks", type=_number("chunks", int, 1, problems), metavar="N",
        help="of pp: stages of each rank (as many as the schedule needs)")
    for flag, (kind, default, text) in {**SETTINGS, **COUNTS}.items():
        least = 0 if flag in ("seed", "warmup", "learning-rate", "length") else 1
        add(f"--{flag}", type=_number(flag, kind, least, problems), metavar="N",
            default=None if flag in SETTINGS else default, help=f"{text} ({default})")
    add("--out", type=pathlib.Path, default=pathlib.Path("build/gpt"), metavar="FOLDER",
        help="for the last checkpoint and metrics.csv (build/gpt)")
    add("--resume", action="store_true", help="continue from the checkpoint in --out, under any mesh")
    add("--stop-after", type=_number("stop-after", int, 1, problems), metavar="N",
        help="stop when so many steps of the run are done, with a checkpoint")
    add("--prompt", default="This License ", help="what the sample continues")
    add("--temperature", type=_number("temperature", float, 0, problems), default=0.7, metavar="N",
        help="of the sample: 0 takes the likeliest bytes (0.7)")
    add("--target", default="cpu", metavar="TARGET",
        help="what the step runs on: cpu, or a GPU as in cuda:sm_90; validation stays on the CPU (cpu)")
    add("--plan", action="store_true", help="print specs, collectives and memory, and do not train")
    return found


def read(arguments):
    """The run that a command line asks for, or a ValueError that says all that is wrong."""
    problems = []
    args = parser(problems).parse_args(arguments)
    resumed, text = None, None
    try:
        text = data.read(data.files(args.data))
    except OSError as error:
        problems.append(f"--data: {error.filename}: {error.strerror}")
    except ValueError as error:
        problems.append(f"--data: {error}")
    if args.resume:
        try:
            resumed = checkpoint.read(args.out)
        except ValueError as error:
            problems.append(f"--resume: {error}")
    elif not args.plan and weft.saved_steps(args.out):
        problems.append(f"--out: the checkpoint in {args.out} is of another run and would be lost; "
                        "continue it with --resume, or name another folder")

    settings = _settings(args, resumed, problems)
    axes, mesh_problems = layouts.parse_mesh(args.mesh)
    problems += mesh_problems
    modes = args.parallel.split("+") if args.parallel else layouts.default_modes(axes)
    config = model.config_of(settings)
    cut = _stages(args, modes, axes, config, problems)
    if not mesh_problems:
        problems += layouts.problems_of(modes, axes, _sizes(config, settings["batch"], cut.microbatches))
    problems += _unfit(config, settings, cut.microbatches, args, text)
    if text is not None and resumed is not None and resumed.settings.get("data") != text.digest:
        problems.append("--data: the text is not that of the checkpoint, whose run would not be continued")
    if problems:
        raise ValueError("\n".join(problems))
    settings["data"] = text.digest
    return Run(settings, config, text, axes, modes, cut, resumed, args)


def _settings(args, resumed, problems):
    """What was asked for, else what the checkpoint has, else the defaults."""
    settings = {}
    for flag, (_, default, _) in SETTINGS.items():
        asked = getattr(args, flag.replace("-", "_"))
        kept = resumed.settings.get(flag, default) if resumed else default
        if resumed and asked is not None and asked != kept:
            problems.append(f"--{flag} {asked}: the run of the checkpoint has {kept}; leave it out, or "
                            "begin another run with another --out")
        settings[flag] = kept if asked is None else asked
    given = _experts(args.moe, problems)
    for name, (_, default) in EXPERTS.items():
        kept = resumed.settings.get(name, default) if resumed else default
        settings[name] = given.get(name, kept)
        if resumed and settings[name] != kept:
            problems.append(f"--moe {name}={settings[name]}: the run of the checkpoint has {kept}; leave it out, or "
                            "begin another run with another --out")
    return settings


def _experts(text, problems):
    """What --moe says."""
    given = {}
    for part in filter(None, (text or "").split(",")):
        name, _, value = part.partition("=")
        kind, _ = EXPERTS.get(name, (None, None))
        try:
            given[name] = kind(value) if kind else None
        except ValueError:
            given[name] = None
        if given[name] is None or not 0 < given[name] < math.inf:
            problems.append(f"--moe: want {', '.join(f'{each}=N' for each in EXPERTS)} with numbers above 0, got {part!r}")
            del given[name]
    if text is not None and not given.get("experts"):
        problems.append("--moe: say how many experts there are, as in experts=8,top=2")
    return given


def _stages(args, modes, axes, config, problems):
    """The stages that the options of pp ask for."""
    if "pp" not in modes:
        problems += [f"--{flag} is an option of --parallel pp" for flag in ("schedule", "chunks")
                     if getattr(args, flag) is not None]
        return stages.Stages(microbatches=args.micro_batches or 1)
    try:
        cut = stages.stages(axes.get(stages.AXIS, 1), args.schedule or "1f1b", args.chunks, args.micro_batches)
    except OSError as error:
        problems.append(f"--schedule: {error.filename}: {error.strerror}")
    except ValueError as error:
        problems += [f"--schedule: {line}" for line in str(error).split("\n")]
    else:
        if config.layers < cut.count:
            problems.append(f"--layers {config.layers} cannot be cut into the {cut.count} stages of the "
                            "pipeline: each has one or more")
        return cut
    return stages.Stages()


def _sizes(config, batch, microbatches):
    """The size of each dimension that layouts.py names, and what sets it."""
    context = (config.context, f"--context {config.context}")
    rows = f"--batch {batch}" + (f" in --micro-batches {microbatches}" if microbatches > 1 else "")
    return {
        "batch": (batch // microbatches, rows),
        "layers": (config.layers, f"--layers {config.layers}"),
        "time": context,
        "residual time": context,
        "width": (config.width, f"--width {config.width}"),
        "heads": (config.heads, f"--heads {config.heads}"),
        "hidden": (4 * config.width, f"4 times --width {config.width}"),
        "vocabulary": (model.VOCABULARY, f"the vocabulary of {model.VOCABULARY}"),
        **({"experts": (config.experts, f"--moe experts={config.experts}"),
            "parts": (config.parts, f"--moe parts={config.parts}")} if config.experts else {}),
    }


def _unfit(config, settings, microbatches, args, text):
    if settings["batch"] % microbatches:
        yield f"--batch {settings['batch']} must be a multiple of --micro-batches {microbatches}"
    if config.width % config.heads:
        yield (f"--width {config.width} must be a multiple of --heads {config.heads}")
    if config.experts and config.top > config.experts:
        yield f"--moe: top={config.top} is more than experts={config.experts}"
    if config.context % config.parts:
        yield f"--context {config.context} must be a multiple of --moe parts={config.parts}"
    if settings["warmup"] >= settings["steps"]:
        yield f"--warmup {settings['warmup']} must be less than --steps {settings['steps']}"
    if not args.prompt:
        yield "--prompt: the sample continues at least one byte"
    if text is not None:
        for name in ("training", "validation"):
            part = getattr(text, name)
            if len(part) <= config.context:
                yield (f"--data: {len(part)} bytes for {name}, which needs more than the --context "
                       f"of {config.context}")
