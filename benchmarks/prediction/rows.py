# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A row of a table of published runs as settings of weft.models, and what it measured."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

from .sources import Source

COLUMNS = {
    "layers": ["layers", "# layers"], "hidden": ["hidden", "hidden size"], "heads": ["heads", "attention heads"],
    "kv_heads": ["kv_heads"], "ffn": ["ffn", "ffn_hidden"], "vocabulary": ["vocabulary", "vocab"],
    "sequence": ["sequence", "seq", "sequence length"], "tensor": ["tensor", "tp", "tensor parallelism"],
    "pipeline": ["pipeline", "pp", "pipeline parallelism"], "chunks": ["chunks", "vp"], "context": ["context", "cp"],
    "data": ["data", "dp", "data parallelism"], "micro_batch": ["micro_batch", "mbs", "micro batch"],
    "local_batch": ["local_batch"],
    "global_batch": ["global_batch", "gbs", "global batch"],
    "devices": ["devices", "gpus", "# gpus", "gpus_a100_80gb", "gpus_h100_80gb"],
    "recomputation": ["recomputation", "recompute", "act_ckpt"], "sequence_parallel": ["sequence_parallel", "sp"],
    "sharded": ["sharded", "sharding", "zero_stage"], "schedule": ["schedule", "pp_schedule"],
    "attention": ["attention"], "gather": ["gather"],
}
# Settings that are words; of a number these say that there is none.
NAMED = ("recomputation", "sequence_parallel", "sharded", "schedule", "attention", "gather")
WORDS_OF_NOTHING = ("", "-", "none", "n/a", "na", "nan")
# Measured seconds: the column, its unit, and what it says of the run.
MEASURED = [
    ("step_time_s", 1, {}), ("step_time_s_derived", 1, {}), ("sec_per_iter", 1, {}), ("iteration time (ms)", 1e-3, {}),
    ("iter_s_full_recompute", 1, {"recomputation": "full", "sequence_parallel": False}),
    ("iter_s_seqpar_selective", 1, {"recomputation": "selective", "sequence_parallel": True}),
]
# Measured GiB: the column, its unit, the purposes of the memory report that it is the sum of (all, if none are
# named), and what it says of the run.
STATES = ("parameters", "gradients", "optimizer state")
MEMORY = [
    ("peak_mem_gib", 1, (), {}), ("mem_gb", 1e9 / 2**30, (), {}),
    ("mem_gib_params_opt_per_gpu", 1, STATES, {"recomputation": "selective", "sequence_parallel": True}),
    ("mem_gib_act_none", 1, ("activations",), {"recomputation": "none", "sequence_parallel": False}),
    ("mem_gib_act_seqpar_selective", 1, ("activations",), {"recomputation": "selective", "sequence_parallel": True}),
]
# What is tried where neither a column nor the source says it.
ASSUMED = {"vocabulary": [51200], "sequence": [2048], "tensor": [1], "pipeline": [1], "chunks": [1], "context": [1],
           "micro_batch": [1, 4], "recomputation": ["none", "full"], "sequence_parallel": [False, True], "sharded": ["none"]}
RECOMPUTATION = {"no": "none", "false": "none", "0": "none", "": "none", "true": "full", "yes": "full",
                 "selective-op": "alternate"}
SHARDED = {"0": "none", "1": "zero1", "2": "fsdp", "3": "fsdp", "full_shard": "fsdp", "shard_grad_op": "fsdp"}
SCHEDULES = {"1f1b": "1f1b", "interleaved1f1b": "interleaved-1f1b", "gpipe": "gpipe"}
LLAMA3 = {"vocabulary": 128256, "kv_heads": 8, "theta": 500000.0}
GROK = {"layers": 64, "hidden": 6144, "heads": 48, "kv_heads": 8, "ffn": 32768, "vocabulary": 131072}
# A mixture of experts is taken as the dense model that computes as much: one of 2 experts' width.
EXPERTS = "grok|mixtral"
ACTIVE_EXPERTS = 2
MODELS = {
    "llama3.1-8b": LLAMA3 | {"layers": 32, "hidden": 4096, "heads": 32, "ffn": 14336},
    "llama3.1-70b": LLAMA3 | {"layers": 80, "hidden": 8192, "heads": 64, "ffn": 28672},
    "llama3.1-405b": LLAMA3 | {"layers": 126, "hidden": 16384, "heads": 128, "ffn": 53248},
    "grok1": GROK, "grok1-314b": GROK, "grok-1": GROK,
}


def value_of(name: str, text: str) -> Any:
    """Of a setting, in the words of weft.models. ValueError if it is no number."""
    word = text.strip().lower()
    if name == "recomputation":
        return RECOMPUTATION.get(word, word)
    if name == "sequence_parallel":
        return word in ("1", "true", "yes")
    if name == "sharded":
        return SHARDED.get(word, word if word in ("zero1", "fsdp") else "none")
    if name == "schedule":
        return SCHEDULES.get(word, word)
    if name in ("attention", "gather"):
        return word
    number = re.fullmatch(r"(\d+)(\.0*)?(k?)\??", word)
    if not number:
        raise ValueError(f"{name} must be a whole number, got {text!r}")
    thousand = 1024 if name == "sequence" else 1000
    count = int(number[1]) * (thousand if number[3] else 1)
    if count < 1:
        raise ValueError(f"{name} must be at least 1, got {text!r}")
    return count


def family_of(row: dict[str, str]) -> str:
    """With a gated perceptron it is a llama."""
    return "llama" if re.search(f"llama|{EXPERTS}", row.get("model", ""), re.IGNORECASE) else "gpt"


def problem_of(row: dict[str, str]) -> str | None:
    """What no model here has."""
    if "8" in row.get("precision", "").lower().replace("bf16", "") or row.get("float8", "").strip() in ("1", "true"):
        return "products in FP8 are not modelled"
    if row.get("act_cpu_offload", "").strip().lower() in ("1", "true"):
        return "activations in the host's memory are not modelled"
    return None


def settings_of(row: dict[str, str], source: Source | None, given: dict[str, Any]) -> dict[str, Any]:
    """What a row says of the run, in the words of weft.models. ValueError says which column it cannot be had of."""
    known = dict(source.settings) if source else {}
    known |= MODELS.get(row.get("model", "").lower(), {})
    for name, columns in COLUMNS.items():
        unsaid = WORDS_OF_NOTHING if name not in NAMED else ("",)
        text = next((row[c] for c in columns if row.get(c, "").strip(" ?").lower() not in unsaid), None)
        # Rounded to thousands it is less than what the source says of it.
        if text is not None and not (name == "vocabulary" and text.endswith("k") and name in known):
            known[name] = value_of(name, text)
    # There a degree, here a switch.
    if source and source.name == "NeMo" and row.get("fsdp", "").strip().lower() in ("1", "yes", "true"):
        known["sharded"] = "fsdp"
    known |= given
    if re.search(EXPERTS, row.get("model", ""), re.IGNORECASE) and "ffn" in known:
        known["ffn"] *= ACTIVE_EXPERTS
    if known.get("sharded") != "zero1":
        known.pop("gather", None)
    if source and known.get("recomputation") == "full":
        known["recomputation"] = source.full
    if "layers" not in known and "hidden" in known:
        known["layers"] = layers_of(row, known)
    if known.get("schedule", "").startswith("interleaved"):
        known.setdefault("chunks", 2)
    if "local_batch" in known:
        # Of a replica in a step: TorchTitan cuts it into a micro-batch a stage.
        local, stages = known.pop("local_batch"), known.get("pipeline", 1) * known.get("chunks", 1)
        known.setdefault("micro_batch", max(1, local // stages))
    return known


def layers_of(row: dict[str, str], known: dict[str, Any]) -> int:
    """From the billions of parameters: the multiple of the pipeline's ranks that comes nearest."""
    size = re.fullmatch(r"([\d.]+)b?", (row.get("size") or row.get("parameters (billion)") or "").strip().lower())
    if not size:
        raise ValueError("no column says how many layers there are")
    stages = known.get("pipeline", 1)
    return stages * max(1, round(float(size[1]) * 1e9 / (12 * known["hidden"] ** 2 * stages)))


def cases_of(settings: dict[str, Any]):
    """All settings that are plausible, and what was assumed for them."""
    open_ = {name: values for name, values in ASSUMED.items() if name not in settings}
    if settings.get("tensor", 1) == 1:
        open_.pop("sequence_parallel", None)
    for values in itertools.product(*open_.values()):
        case = settings | dict(zip(open_, values))
        devices = case.pop("devices", None)
        shared = case["tensor"] * case["pipeline"] * case["context"]
        case.setdefault("data", devices // shared if devices else 1)
        if devices and case["data"] * shared != devices:
            raise ValueError(f"data x tensor x pipeline x context is {case['data'] * shared}, not the {devices} devices")
        if case["pipeline"] == 1:
            case["chunks"] = 1
            case.pop("schedule", None)
        if case["tensor"] == 1:
            case["sequence_parallel"] = False
        yield case, {name: value for name, value in zip(open_, values) if len(open_[name]) > 1 or name == "vocabulary"}


def measured_of(row: dict[str, str], columns=MEASURED):
    """(column, seconds or GiB, purposes of memory, what it says of the run) of all that the row measured; nan of what
    is no positive number."""
    for column, unit, *purposes, says in columns:
        if row.get(column, "").strip():
            yield column, number_of(row[column]) * unit, purposes[0] if purposes else None, says


def number_of(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        return math.nan
    return number if 0 < number < math.inf else math.nan
