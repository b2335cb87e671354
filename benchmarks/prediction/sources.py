# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tables of each source leave unsaid of their runs, and how they are told apart."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from . import columns


@dataclasses.dataclass(frozen=True)
class Source:
    """Tables of one origin.

    columns    a table that has all of these is from here
    words      and so is a row in whose columns "framework", "software" or "source" this is found
    software   the profile of software/
    variants   by a column and its value, the end of the profile's name
    clusters   by the first expression that the name of the device has in it, with hyphens between its words; the first
               one if the row names none
    settings   of weft.models, unless a column says otherwise
    full       what "full" recomputation is there: "whole" where a block is called again, "full" where that stops at the
               last value that the backward pass needs, as PyTorch's own checkpoints do
    counts     what FLOPs a second are of there: "model", or "hardware" if recomputation counts as well
    """

    name: str
    software: str
    clusters: dict[str, str | None]
    columns: tuple[str, ...] = ()
    words: str = "(?!)"
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    variants: dict[tuple[str, str], str] = dataclasses.field(default_factory=dict)
    full: str = "full"
    counts: str = "model"


HOPPER_AND_LATER = ("gb300", "gb200", "gh200", "b200", "h200", "h100")
# By the first expression that the name of a device has in it, with hyphens between its words; None for what has no cluster here.
DGX = {"gb200": "dgx-gb200", "gb300": None, "gh200": None, "h100.*(pcie|nvl)": None, "a100.*pcie": "8xa100-pcie",
       "h100": "dgx-h100", "a100-.*40gb?|a100-40": "dgx-a100-40gb", "a100": "dgx-a100", "h200": "hgx-h200", "b200": "dgx-b200"}
# Of Megatron-LM before FlashAttention.
# The vocabulary is that of GPT-2, padded for 8 tensor ranks.
MEGATRON = {"attention": "unfused", "vocabulary": 51200, "sequence": 2048, "sequence_parallel": False, "sharded": "none"}

SOURCES = [
    Source("vTrain", "megatron-vtrain", {"a100": "a100-vtrain"}, columns=("# gpus", "iteration time (ms)"),
           words="vtrain", settings=MEGATRON | {"recomputation": "full"}, full="whole"),
    Source("TorchTitan", "torchtitan-2024.12", {"h100": "h100-500w"}, columns=("async_tp", "pp_schedule"),
           words="torchtitan", settings={"sharded": "fsdp", "sequence_parallel": True},
           variants={("compile", "0"): "-eager", ("async_tp", "1"): "-async-tp"}),
    Source("llm-foundry", "foundry-2023", {"h100": "dgx-h100", "a100-40gb": "a100-40gb-foundry", "a100": "a100-foundry"},
           columns=("sharding", "act_cpu_offload"), words="llm-foundry",
           settings={"vocabulary": 50368, "tensor": 1, "pipeline": 1, "sequence_parallel": False, "reduce_dtype": None}),
    Source("BigScience", "deepspeed-2022", {"a100": "a100-jean-zay"}, columns=("software_era", "zero_stage"),
           words="bigscience",
           settings=MEGATRON | {"vocabulary": 250880, "recomputation": "full", "reduce_dtype": None, "gather": "next-step"},
           full="whole", counts="hardware"),
    Source("NeMo", "nemo-25", DGX, columns=("framework", "mfu_pct_reported"), words="nemo|megatron-core|dgxc|mlperf|mlcommons",
           settings={"sharded": "zero1", "gather": "next-step", "sequence_parallel": True, "recomputation": "none",
                     "vocabulary": 51200}, full="whole"),
    Source("Korthikanti et al. 2022", "megatron-2022", {"a100": "dgx-a100", "h100": "dgx-h100"}, columns=("iter_s_full_recompute",),
           words=r"2205\.05198|megatron-2022|2201\.11990|deepspeed", settings=MEGATRON, full="whole"),
    Source("Narayanan et al. 2021", "megatron-2021", {"a100": "dgx-a100"},
           words=r"2104\.04473|megatron", settings=MEGATRON | {"recomputation": "full"}, full="whole", counts="hardware"),
]

# What is usual, by the generation of the GPU and whether FSDP is all that shards the model.
USUAL = {
    ("ampere", False): Source("usual", "megatron-2022", {}, settings={"sequence_parallel": True}, full="whole"),
    ("ampere", True): Source("usual", "foundry-2023", {}, settings={"sequence_parallel": False, "reduce_dtype": None}),
    ("hopper", False): Source("usual", "nemo-25", {}, full="whole",
                              settings={"sharded": "zero1", "gather": "next-step", "sequence_parallel": True}),
    ("hopper", True): Source("usual", "torchtitan-2024.12", {}, settings={"sequence_parallel": True}),
}


# By the beginning of a profile's name: options of the compiler, for what that software does not do. Megatron-LM has
# each collective in its place in the program; others overlap them, but split none into pieces beside matmuls. NeMo does,
# and so does the asynchronous tensor parallelism of TorchTitan.
LACKS = {"megatron": {"overlap_collectives": False, "collective_pieces": 1},
         "deepspeed": {"overlap_collectives": False, "collective_pieces": 1},
         "foundry": {"collective_pieces": 1},
         "torchtitan-2024.12-async-tp": {},
         "torchtitan": {"collective_pieces": 1}}


def source_of(row: dict[str, str]) -> Source | None:
    """Of a row, by the names of its columns in lower case; None for a table of one's own."""
    known = columns.fields(row)
    said = " ".join(known.get(name, "") for name in ("framework", "software", "software_era", "codebase", "stack", "library",
                                                     "trainer", "source"))
    found = (next((source for source in SOURCES if source.columns and all(c in row for c in source.columns)), None)
             or next((source for source in SOURCES if re.search(source.words, said, re.IGNORECASE)), None))
    if found and found.software.startswith("megatron") and kind_of_device(device_of(row)) in HOPPER_AND_LATER:
        # Megatron-LM of that time is Megatron-Core, which NeMo calls.
        return next(source for source in SOURCES if source.name == "NeMo")
    return found


# Columns that name the device, or the machine with it.
DEVICES = ("gpu", "device", "hardware", "gpu_type", "gpu_model", "gpu_name", "device_type", "device_name", "accelerator",
           "accelerator_type", "chip", "cluster", "cluster_name", "system", "machine", "platform", "node_type", "instance",
           *columns.SETTINGS["devices"])


def device_of(row: dict[str, str]) -> str:
    """What a row says of its device, in lower case: "h100-sxm-80gb-700w", or nothing. Known devices count for more than
    other words."""
    said = columns.fields(row)
    named = [said[name].lower() for name in DEVICES if re.search("[a-z]", said.get(name, "").lower())]
    named += [name.removeprefix("gpus_") for name in said if name.startswith("gpus_") and kind_of_device(name) and said[name]]
    return next(filter(kind_of_device, named), named[0] if named else "")


def kind_of_device(text: str) -> str | None:
    """The GPU that a name has in it."""
    return next((kind for kind in ("gb300", "gb200", "gh200", "b200", "h200", "h100", "a100") if kind in text.lower()), None)


def contradicts(row: dict[str, str], cluster: str) -> bool:
    """A cluster whose name has another device in it than the row."""
    has, ran = kind_of_device(cluster), kind_of_device(device_of(row))
    return bool(has and ran and has != ran)


def usual_source(cluster: str, settings: dict[str, Any]) -> Source | None:
    """What is assumed of a run whose software nothing says: FSDP alone is PyTorch's, all else Megatron-LM. None for what
    is no GPU of a known kind."""
    kind = kind_of_device(cluster)
    if not kind:
        return None
    era = "ampere" if kind == "a100" else "hopper"
    return USUAL[era, settings.get("sharded") == "fsdp" and settings.get("pipeline", 1) == 1]


def software_of(row: dict[str, str], source: Source) -> str:
    """The profile that the row ran on."""
    ends = (end for (column, value), end in source.variants.items() if row.get(column, "").strip() == value)
    return source.software + next(ends, "")


def cluster_of(row: dict[str, str], source: Source | None) -> str | None:
    """The shipped cluster that the row ran on, None if the source has none of its device. Of a table of one's own it is
    the DGX or HGX with that device."""
    device, clusters = device_of(row), source.clusters if source else DGX
    if not device:
        return next(name for name in clusters.values() if name) if source else None
    hyphened = re.sub(r"[^a-z0-9]+", "-", re.sub("nvidia|tensor core|sxm4?5?-?", "", device))
    return next((cluster for word, cluster in clusters.items() if re.search(word, hyphened)), None)


def options_of(software: str | None) -> dict[str, Any]:
    """Of the compiler, for a profile; those of Weft for no profile."""
    if not software:
        return {}
    # No other software chooses by memory what its kernels recompute.
    return {"recompute_in_kernels": False} | next(
        (options for name, options in LACKS.items() if software.startswith(name)), {})
