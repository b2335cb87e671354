# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A row of a table of published runs as settings of weft.models, and what it measured."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

from .architectures import ACTIVE_EXPERTS, EXPERTS, GATED, sizes_of
from .columns import PREFERRED, SETTINGS, YES, fields, kind_of, number_of, plain, setting_of, value_of
from .sources import Source

# Columns that say how the run was configured, beside what they measured.
MEASURED_AS = {
    "iter_s_full_recompute": {"recomputation": "full", "sequence_parallel": False},
    "iter_s_seqpar_selective": {"recomputation": "selective", "sequence_parallel": True},
}
# Measured GiB: the column, its unit, what it counts (steps.Predicted.bytes), and what it says of the run.
GB = 1e9 / 2**30
MEMORY = [
    ("peak_mem_gib", 1, "allocated", {}), ("peak_memory_gib", 1, "allocated", {}), ("max_mem_gib", 1, "allocated", {}),
    ("memory_gib", 1, "allocated", {}), ("mem_gib", 1, "allocated", {}),
    ("peak_mem_gb", GB, "allocated", {}), ("peak_memory_gb", GB, "allocated", {}),
    ("mem_gb", GB, "device", {}), ("memory_gb", GB, "device", {}), ("gpu_memory_gb", GB, "device", {}),
    ("mem_gib_params_opt_per_gpu", 1, "states", {"recomputation": "selective", "sequence_parallel": True}),
    ("mem_gib_act_none", 1, "activations", {"recomputation": "none", "sequence_parallel": False}),
    ("mem_gib_act_seqpar_selective", 1, "activations", {"recomputation": "selective", "sequence_parallel": True}),
]
# What is tried where neither a column nor the source says it.
ASSUMED = {"vocabulary": [51200], "sequence": [2048], "tensor": [1], "pipeline": [1], "chunks": [1], "context": [1],
           "micro_batch": [1, 4], "recomputation": ["none", "full"], "sequence_parallel": [False, True], "sharded": ["none"]}
# Micro-batches for each rank of a pipeline where no column says a global batch.
ASSUMED_MICROBATCHES = 8
HEAD_SIZE = 128


def family_of(row: dict[str, str]) -> str:
    """With a gated perceptron it is a llama. A table that names no model has one if its perceptron is not 4 times as
    wide as the residual stream."""
    if name := row.get("model", "").strip():
        return "llama" if re.search(GATED, name, re.IGNORECASE) else "gpt"
    known = fields(row)
    hidden, ffn = (number_of(setting_of(known, name) or "") for name in ("hidden", "ffn"))
    return "llama" if ffn > 0 and hidden > 0 and ffn != 4 * hidden else "gpt"


def problem_of(row: dict[str, str]) -> str | None:
    """What no model here has."""
    if "8" in row.get("precision", "").lower().replace("bf16", "") or row.get("float8", "").strip() in ("1", "true"):
        return "products in FP8 are not modelled"
    if row.get("act_cpu_offload", "").strip().lower() in ("1", "true"):
        return "activations in the host's memory are not modelled"
    return None


def settings_of(row: dict[str, str], source: Source | None, given: dict[str, Any]) -> dict[str, Any]:
    """What a row says of the run, in the words of weft.models. ValueError says which column it cannot be had of."""
    said = fields(row)
    known = (dict(source.settings) if source else {}) | sizes_of(row.get("model", ""))
    for name in SETTINGS:
        text = setting_of(said, name)
        # Rounded to thousands it is less than what the source says of it.
        if text is not None and not (name == "vocabulary" and text.endswith("k") and name in known):
            known[name] = value_of(name, text)
    if "flash_attention" in known:
        known["attention"] = "fused" if known.pop("flash_attention") else "unfused"
    # A degree in some tables, a switch in others.
    if _shards_all(said.get("fsdp", ""), source):
        known["sharded"] = "fsdp"
    known |= given
    if re.search(EXPERTS, row.get("model", ""), re.IGNORECASE) and "ffn" in known:
        known["ffn"] *= ACTIVE_EXPERTS
    if known.get("sharded") != "zero1":
        known.pop("gather", None)
    if source and known.get("recomputation") == "full":
        known["recomputation"] = source.full
    if "hidden" not in known:
        raise ValueError("no column says how wide the model is (hidden), nor its name (model)")
    if "heads" not in known:
        known["heads"] = max(1, known["hidden"] // HEAD_SIZE)
    if "layers" not in known:
        known["layers"] = layers_of(row, known)
    if known.get("schedule", "").startswith("interleaved"):
        known.setdefault("chunks", 2)
    if "local_batch" in known:
        # Of a replica in a step: TorchTitan cuts it into a micro-batch a stage.
        local, stages = known.pop("local_batch"), known.get("pipeline", 1) * known.get("chunks", 1)
        known.setdefault("micro_batch", max(1, local // stages))
    return known


def _shards_all(fsdp: str, source: Source | None) -> bool:
    word = fsdp.lower()
    if source and source.name != "usual":
        return source.name == "NeMo" and word in YES
    return word in YES or word.isdecimal() and int(word) > 1


def layers_of(row: dict[str, str], known: dict[str, Any]) -> int:
    """From the billions of parameters: the multiple of the pipeline's ranks that comes nearest."""
    said = fields(row)
    text = next((said[c] for c in ("size", "parameters_billion", "params", "parameters", "model_size") if said.get(c)), "")
    size = re.fullmatch(r"([\d.]+)\s*b?", text.strip().lower())
    if not size:
        raise ValueError("no column says how many layers there are")
    billions = float(size[1]) / (1e9 if float(size[1]) > 1e6 else 1)
    stages = known.get("pipeline", 1)
    return stages * max(1, round(billions * 1e9 / (12 * known["hidden"] ** 2 * stages)))


def cases_of(settings: dict[str, Any], devices_of_node: int = 8):
    """All settings that are plausible, and what was assumed for them."""
    open_ = {name: values for name, values in ASSUMED.items() if name not in settings}
    if settings.get("tensor", 1) == 1:
        open_.pop("sequence_parallel", None)
    if {"global_batch", "gradient_accumulation"} <= settings.keys():
        open_.pop("micro_batch", None)
    for values in itertools.product(*open_.values()):
        case = settings | dict(zip(open_, values))
        assumed = {name: value for name, value in zip(open_, values) if len(open_[name]) > 1 or name == "vocabulary"}
        devices, nodes = case.pop("devices", None), case.pop("nodes", None)
        devices = devices or (nodes * devices_of_node if nodes else None)
        for name in ("tensor", "pipeline", "context", "chunks"):
            case.setdefault(name, 1)
        shared = case["tensor"] * case["pipeline"] * case["context"]
        case.setdefault("data", devices // shared if devices else 1)
        if devices and case["data"] * shared != devices:
            raise ValueError(f"data x tensor x pipeline x context is {case['data'] * shared}, not the {devices} devices")
        assumed |= _batches(case)
        if case["pipeline"] == 1:
            case["chunks"] = 1
            case.pop("schedule", None)
        if case["tensor"] == 1:
            case["sequence_parallel"] = False
        yield case, assumed


def _batches(case: dict[str, Any]) -> dict[str, Any]:
    """Sets the batches of a case from what tables say instead; returns what was assumed."""
    tokens, steps = case.pop("batch_tokens", None), case.pop("gradient_accumulation", None)
    if tokens:
        # Where both are named, the other one is often that of a replica.
        case["global_batch"] = max(1, tokens // case["sequence"])
    if steps and "micro_batch" not in case:
        case["micro_batch"] = max(1, case["global_batch"] // (case["data"] * steps))
    if "global_batch" in case:
        return {}
    count = steps or (ASSUMED_MICROBATCHES * case["pipeline"] if case["pipeline"] > 1 else 1)
    case["global_batch"] = case["data"] * case["micro_batch"] * count
    return {} if steps else {"global_batch": case["global_batch"]}


def measured_of(row: dict[str, str]):
    """(column, seconds, what it says of the run) of all times of a step that the row measured; nan of what is no positive
    number."""
    for column, text in row.items():
        unit = 1e-3 if "ms" in plain(column).split("_") else 1
        if text.strip() and (column in MEASURED_AS or kind_of(column) == "seconds"):
            yield column, number_of(text) * unit, MEASURED_AS.get(column, {})


def memory_of(row: dict[str, str]):
    """(column, GiB, what it counts, what it says of the run) of all memory that the row measured."""
    for column, unit, counts, says in MEMORY:
        if text := row.get(column, "").strip():
            yield column, number_of(text) * unit, counts, says


def rate_of(row: dict[str, str]) -> tuple[str, str, float] | None:
    """(column, kind, value) of what a row says of its speed that is no time; None if nothing."""
    found = [(kind, column, number_of(text)) for column, text in row.items() if (kind := kind_of(column)) and text.strip()]
    rates = [each for each in found if each[0] != "seconds" and not math.isnan(each[2])]
    kind, column, value = min(rates, key=lambda each: PREFERRED.index(each[0]), default=(None, "", 0.0))
    return (column, kind, value) if kind else None


def ran_out_of_memory(row: dict[str, str]) -> bool | None:
    """What a row says of that; None if nothing."""
    text = fields(row).get("oom", "").lower()
    return text in YES if text in (*YES, "0", "false", "no") else None
