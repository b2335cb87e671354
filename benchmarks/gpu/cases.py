# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Weft runs on a GPU: plans whose losses are known, and plans whose speed is asked for.

prepare.py makes of a case a folder with a plan, its inputs and record.json, where there is a
compiler; losses.py and speed.py run such folders where there is a GPU and shard-run.
"""

import dataclasses
import json
import math

import problem

ALLOWED = {"float32": 1e-4, "bfloat16": 2e-2}
RECORD = "record.json"


@dataclasses.dataclass(frozen=True)
class Losses:
    """A model on a mesh: "mlp", "gpt", or "collectives", which exchanges more than it computes."""

    model: str
    dtype: str = "float32"
    mesh: str = "data=1"

    @property
    def axes(self):
        return {axis: int(size) for axis, size in (pair.split("=") for pair in self.mesh.split(","))}

    @property
    def ranks(self):
        return math.prod(self.axes.values())


@dataclasses.dataclass(frozen=True)
class Speed:
    size: str


CASES = {
    "mlp-f32": Losses("mlp"),
    "mlp-f32-2-ranks": Losses("mlp", mesh="data=2"),
    "mlp-f32-4-ranks": Losses("mlp", mesh="data=2,model=2"),
    "gpt-f32": Losses("gpt"),
    "gpt-f32-2-ranks": Losses("gpt", mesh="data=2"),
    "gpt-f32-4-ranks": Losses("gpt", mesh="data=4"),
    "gpt-bf16": Losses("gpt", "bfloat16"),
    "gpt-bf16-2-ranks": Losses("gpt", "bfloat16", "data=2"),
    "collectives-2-ranks": Losses("collectives", mesh="data=2"),
    "collectives-4-ranks": Losses("collectives", mesh="data=2,model=2"),
    **{f"speed-{size}-weft": Speed(size) for size in problem.SIZES},
}


def write_record(folder, record):
    (folder / RECORD).write_text(json.dumps(record, indent=1))


def read_record(folder):
    return json.loads((folder / RECORD).read_text())
