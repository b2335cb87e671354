# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Does what reasons suggest: every edit of a program is applied to its text, which is compiled again.

    python replays.py            prints the table of docs/Explain.md

Collectives are not combined, so that each has one cause; layers that are alike count once.
"""

import dataclasses
import pathlib
import re
import subprocess
import sys
from collections import defaultdict

import tiny_models
from parallelisms import PARALLELISMS, lower_step
from running import BINARIES

import weft
from weft.edit import Edit
from weft.lowered import Source
from weft.models import gpt, llama

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = re.compile(r"P\((?:[^()]|\([^()]*\))*\)")
LAYER = re.compile(r"(?<=\[)\d+(?=\])")


def compile_text(text, name="program.mlir", entry=None, **options):
    return weft.Compiled(weft.Plan(Source(text, name).compile("none", combine_collectives=False, **options)), entry=entry)


def identity(each):
    """What moves, for whom and by what, without the specs that an edit changes; layers that are alike are one."""
    return each.kind, each.axes, LAYER.sub("*", SPEC.sub("P", each.cause))


def traffic(compiled):
    """Bytes that a rank sends, by the identity of collectives."""
    sums = defaultdict(int)
    for each in compiled.collectives():
        sums[identity(each)] += each.total_bytes
    return sums


@dataclasses.dataclass(frozen=True)
class Replay:
    """One edit of one program, for the collectives of one identity."""

    collective: tuple
    edit: Edit
    before: int
    """Bytes that a rank sends in these collectives."""
    after: int
    sent_before: int
    """Bytes that a rank sends in all."""
    sent_after: int
    problem: str = ""
    """Why the program with the edit does not compile."""

    @property
    def helps(self):
        return not self.problem and self.after < self.before


def replays(text, name="program.mlir", entry=None, **options):
    """Of the collectives of a program that have an edit; and how many have none."""
    compiled = compile_text(text, name, entry, **options)
    before, records = traffic(compiled), compiled._records()
    found, without, tried = {}, set(), {}
    for each in compiled.collectives():
        edit = records.reason_of(each.cause).edit
        if not edit:
            without.add(identity(each))
            continue
        key = edit.target, LAYER.sub("*", edit.name), edit.location, edit.spec, edit.before
        if (identity(each), key) in found:
            continue
        if key not in tried:
            try:
                tried[key] = compile_text(edit.apply(text), name, entry, **options), ""
            except (weft.CompileError, ValueError) as error:
                tried[key] = None, str(error)
        edited, problem = tried[key]
        after = traffic(edited)[identity(each)] if edited else 0
        found[identity(each), key] = Replay(
            identity(each), edit, before[identity(each)], after, compiled.cost().wire_bytes,
            edited.cost().wire_bytes if edited else 0, problem)
    return list(found.values()), without


# The programs

def of_parallelism(model, way):
    lowered = lower_step(tiny_models.MODELS[model], tiny_models.adamw(), way)
    return replays(lowered.source.text, lowered.source.name, **lowered._options)


SIZES = {"layers": 2, "hidden": 256, "heads": 8, "vocabulary": 1024, "sequence": 128}
LIBRARY = {
    "gpt, tensor": (gpt, {"tensor": 4}),
    "gpt, data, tensor and sequence": (gpt, {"data": 2, "tensor": 4, "sequence_parallel": True}),
    "gpt, ZeRO-1": (gpt, {"data": 4, "sharded": "zero1"}),
    "gpt, context": (gpt, {"context": 4}),
    "llama, FSDP and tensor": (llama, {"data": 2, "tensor": 2, "sharded": "fsdp"}),
    "llama, FSDP, recomputed": (llama, {"data": 4, "sharded": "fsdp", "recomputation": "full"}),
}


def of_library(name):
    make, how = LIBRARY[name]
    lowered = make(**SIZES, **how).lower()
    return replays(lowered.source.text, lowered.source.name, **lowered._options)


TEXTS = {
    "examples/mlp_lm/mlp_lm.mlir": {"mesh": "data=2,model=4"},
    "examples/mlp_lm/mlp_lm_fsdp.mlir": {"mesh": "data=4"},
    "test/EndToEnd/checkpoint-fsdp.mlir": {},
    "test/EndToEnd/choice-report.mlir": {},
    "test/EndToEnd/cross-entropy-vocabulary.mlir": {},
}


def of_text(path):
    """Of a file, printed again so that it has no aliases."""
    text = subprocess.run([BINARIES / "shard-opt", "--mlir-print-debuginfo", ROOT / path], capture_output=True, text=True,
                          check=True).stdout
    options = TEXTS[path]
    entries = weft.Plan(Source(text, path).compile("none", **options)).entries
    pairs = [replays(text, path, entry.name, **options) for entry in entries]
    return [each for found, _ in pairs for each in found], {each for _, without in pairs for each in without}


def table():
    """Of all programs: collectives with an edit, those that are gone or smaller with it, edits with which
    the program sends less in all, collectives without an edit."""
    rows = [(f"{model}, {way}", of_parallelism(model, way)) for model in tiny_models.MODELS for way in PARALLELISMS]
    rows += [(name, of_library(name)) for name in LIBRARY] + [(path, of_text(path)) for path in TEXTS]
    for name, (found, without) in rows:
        yield (name, len(found), sum(each.helps for each in found),
               sum(each.sent_after < each.sent_before for each in found if each.helps), len(without))


def main():
    sums = [0] * 4
    for name, *numbers in table():
        sums = [a + b for a, b in zip(sums, numbers)]
        print(f"| {name} | {' | '.join(map(str, numbers))} |", flush=True)
    print(f"| all | {' | '.join(map(str, sums))} |")


if __name__ == "__main__":
    sys.exit(main())
