# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A row of a table of published runs as settings of weft.models, and what it measured."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

from .architectures import ACTIVE_EXPERTS, EXPERTS, GATED, UNGATED, size_in, sizes_of
from .columns import (NO, NOTHING, OUT_OF_MEMORY, PREFERRED, SETTINGS, YES, fields, kind_of, number_of, plain, setting_of, unit_of,
                      value_of)
from .sources import Source

# Columns that say how the run was configured, beside what they measured.
MEASURED_AS = {
    "iter_s_full_recompute": {"recomputation": "full", "sequence_parallel": False},
    "iter_s_seqpar_selective": {"recomputation": "selective", "sequence_parallel": True},
}
GB = 1e9 / 2**30
# Measured GiB of columns that say what they count beside it: the unit, what is counted (steps.Predicted.gib), and what
# the column says of the run.
MEMORY = {
    "mem_gib_params_opt_gpu": (1, "states", {"recomputation": "selective", "sequence_parallel": True}),
    "mem_gib_act_none": (1, "activations", {"recomputation": "none", "sequence_parallel": False}),
    "mem_gib_act_seqpar_selective": (1, "activations", {"recomputation": "selective", "sequence_parallel": True}),
}
# Of all others. A peak is what an allocator counts; memory that is in use is the device's, but in GiB, as allocators log it.
MEMORY_NAME = re.compile(r"(?P<most>peak_|max_)?(gpu_)?(mem|memory)(_(usage|used|allocated|reserved|peak|max|in_use))*"
                         r"(_(gpu|device|rank))?_(?P<unit>gib|gb|mib|mb)(_(gpu|device|rank))?")
MEMORY_UNITS = {"gib": 1, "gb": GB, "mib": 1 / 1024, "mb": GB / 1000}
# What is tried where neither a column nor the source says it.
ASSUMED = {"vocabulary": [51200], "sequence": [2048], "tensor": [1, 2, 4, 8], "pipeline": [1, 2, 4, 8, 16, 32], "chunks": [1],
           "context": [1],
           "micro_batch": [1, 4], "recomputation": ["none", "full"], "sequence_parallel": [False, True], "sharded": ["none"]}
# Micro-batches for each rank of a pipeline where no column says a global batch.
ASSUMED_MICROBATCHES = 8
HEAD_SIZE = 128
# Without these a run is another one: what is assumed for them is printed though there is one value only.
DECLARED = ("vocabulary", "sequence", "tensor", "pipeline", "sharded")
# Columns that name a model, and of its billions of parameters.
NAMES = ("model", "model_name", "name", "architecture", "arch", "network", "llm")
BILLIONS = ("parameters_billion", "parameters_b", "params_b", "params_billion", "model_size_b", "size_b", "billion_parameters",
            "number_of_parameters_billion", "parameters_in_billions", "size", "params", "parameters", "model_size", "num_params",
            "n_params", "num_parameters", "number_of_parameters", "param_count")


def billions_of(row: dict[str, str]) -> float | None:
    """Of parameters; None if no column says it."""
    said = fields(row)
    text = next((said[column] for column in BILLIONS if said.get(column)), "").lower().replace(",", "")
    size = re.fullmatch(r"([\d.]+)\s*(b|m|t|billion|million|trillion)?", text)
    if not size or size[1].count(".") > 1 or not float(size[1].rstrip(".") or 0):
        return None
    number, unit = float(size[1]), (size[2] or "")[:1]
    return number * {"m": 1e-3, "t": 1e3, "b": 1}.get(unit, 1e-9 if number > 1e6 else 1)


def model_of(row: dict[str, str]) -> str:
    """The name of a row's model, with its size if another column has it; nothing if the row names none."""
    said = fields(row)
    name, billions = next((said[column] for column in NAMES if said.get(column)), ""), billions_of(row)
    if size_in(name):
        return name
    if billions is None:  # 8x7B
        return f"{name} {next((said[column] for column in BILLIONS if size_in(said.get(column, ''))), '')}".strip()
    return f"{name} {billions:g}b" if billions >= 1 else f"{name} {1000 * billions:g}m"


def family_of(row: dict[str, str]) -> str:
    """With a gated perceptron it is a llama. A table that names no model that is known has one if its perceptron is not
    4 times as wide as the residual stream."""
    name, known = model_of(row), fields(row)
    if re.search(GATED, name, re.IGNORECASE) or re.search(UNGATED, name, re.IGNORECASE):
        return "llama" if re.search(GATED, name, re.IGNORECASE) else "gpt"
    hidden, ffn = (number_of(setting_of(known, name) or "") for name in ("hidden", "ffn"))
    return "llama" if ffn > 0 and hidden > 0 and ffn != 4 * hidden else "gpt"


EXPERT_COLUMNS = ("experts", "num_experts", "n_experts", "number_of_experts", "moe_experts", "num_moe_experts")
ACTIVE_COLUMNS = ("top_k", "topk", "active_experts", "experts_token", "experts_top_k", "moe_top_k", "moe_router_topk")
PRECISIONS = ("precision", "dtype", "data_type", "datatype", "compute_dtype", "training_precision", "numerics")


def problem_of(row: dict[str, str]) -> str | None:
    """What no model here has."""
    said = fields(row)
    precision = " ".join(said.get(column, "") for column in PRECISIONS).lower()
    if re.search(r"\b(mx|nv)?(fp|float|int)[48]\b|e4m3|e5m2", precision) or said.get("float8", said.get("fp8", "")).lower() in YES:
        return "products in FP8 are not modelled"
    if re.search(r"\b(fp|float|tf)32\b", precision) and not re.search("16|mixed|amp", precision):
        return "products in 32 bits are not modelled"
    if said.get("act_cpu_offload", "").lower() in YES:
        return "activations in the host's memory are not modelled"
    experts, active = (number_of(next((said[c] for c in columns if said.get(c)), "")) for columns in (EXPERT_COLUMNS, ACTIVE_COLUMNS))
    if (experts > 1 or number_of(said.get("ep", "")) > 1) and not active > 0 and not re.search(EXPERTS, model_of(row), re.IGNORECASE):
        return "of a mixture of experts no column says how many a token is sent to (top_k)"
    return None


def settings_of(row: dict[str, str], source: Source | None, given: dict[str, Any]) -> dict[str, Any]:
    """What a row says of the run, in the words of weft.models, and as "declared" what was made of it that no column says.
    ValueError says which column it cannot be had of."""
    said, name_of_model, declared = fields(row), model_of(row), {}
    known = (dict(source.settings) if source else {}) | sizes_of(name_of_model)
    for name in SETTINGS:
        text = setting_of(said, name)
        # Rounded to thousands it is less than what the source says of it.
        if text is None or name == "vocabulary" and text.endswith("k") and name in known:
            continue
        name = "batch_tokens" if name == "global_batch" and "tok" in text.lower() else name
        if (value := value_of(name, text)) is None:
            declared[name] = f"unknown: {text!r}"
        else:
            known[name] = value
    if "flash_attention" in known:
        known["attention"] = "fused" if known.pop("flash_attention") else "unfused"
    # A degree in some tables, a switch in others.
    if _shards_all(said.get("fsdp", ""), source):
        known["sharded"] = "fsdp"
    known |= given
    active = number_of(next((said[c] for c in ACTIVE_COLUMNS if said.get(c)), ""))
    if "ffn" in known and (active > 0 or re.search(EXPERTS, name_of_model, re.IGNORECASE)):
        known["ffn"] *= int(active) if active > 0 else ACTIVE_EXPERTS
    if known.get("sharded") != "zero1":
        known.pop("gather", None)
    if source and known.get("recomputation") == "full":
        known["recomputation"] = source.full
    if "hidden" not in known:
        raise ValueError("no column says how wide the model is (hidden), nor its name (model)")
    if ranks := known.pop("model_parallel", None):
        _split_model(ranks, known, declared)
    if "heads" not in known:
        known["heads"] = heads_of(known["hidden"], known.get("tensor", 1))
        declared["head width"] = known["hidden"] // known["heads"]
    if "layers" not in known:
        known["layers"] = declared["layers"] = layers_of(row, known)
    if known.get("schedule", "").startswith("interleaved") and "chunks" not in known:
        known["chunks"] = declared["chunks"] = 2
    if declared:
        known["declared"] = declared
    return known


# Tensor ranks that share a node, of those that share a model.
MOST_TENSOR = 8


def _split_model(ranks: int, known: dict[str, Any], declared: dict[str, Any]):
    """Tensor and pipeline of so many ranks that share a model, where no column says them."""
    for name in ("tensor", "pipeline"):
        if name not in known:
            other = known.get("pipeline" if name == "tensor" else "tensor", 1)
            known[name] = declared[name] = math.gcd(ranks // other, MOST_TENSOR) if name == "tensor" else ranks // other


def heads_of(hidden: int, tensor: int) -> int:
    """A number of heads that tensor ranks share and whose width is the nearest to HEAD_SIZE."""
    possible = [heads for heads in range(tensor, hidden + 1, tensor) if hidden % heads == 0]
    return min(possible, key=lambda heads: abs(math.log(hidden / heads / HEAD_SIZE)), default=max(1, hidden // HEAD_SIZE))


def _shards_all(fsdp: str, source: Source | None) -> bool:
    word = fsdp.lower()
    if source and source.name != "usual":
        return source.name == "NeMo" and word in YES
    return word in YES or word.isdecimal() and int(word) > 1


def layers_of(row: dict[str, str], known: dict[str, Any]) -> int:
    """From the billions of parameters: the multiple of the pipeline's ranks that comes nearest."""
    billions = billions_of(row)
    if billions is None:
        raise ValueError("no column says how many layers there are")
    stages = known.get("pipeline", 1)
    return stages * max(1, round(billions * 1e9 / (12 * known["hidden"] ** 2 * stages)))


def cases_of(settings: dict[str, Any], devices_of_node: int = 8):
    """All settings that are plausible, and what was assumed for them."""
    settings = dict(settings)
    declared = settings.pop("declared", {})
    open_ = {name: values for name, values in ASSUMED.items() if name not in settings}
    if settings.get("tensor") == 1:
        open_.pop("sequence_parallel", None)
    if {"global_batch", "gradient_accumulation"} <= settings.keys() or "local_batch" in settings:
        open_.pop("micro_batch", None)
    problem, found = None, False
    for values in itertools.product(*open_.values()):
        case, made = settings | dict(zip(open_, values)), dict(declared)
        try:
            made |= _replicas(case, devices_of_node) | _batches(case)
        except ValueError as error:
            problem = problem or error
            continue
        if case["pipeline"] == 1:
            case["chunks"] = 1
            case.pop("schedule", None)
        if case["tensor"] == 1:
            if "sequence_parallel" in open_ and case["sequence_parallel"]:
                continue
            case["sequence_parallel"] = False
        alone = [name for name in DECLARED if name != "sharded" or case["data"] > 1]
        assumed = {name: value for name, value in zip(open_, values) if len(open_[name]) > 1 or name in alone}
        yield case, assumed | {name: value for name, value in made.items() if name not in assumed}
        found = True
    if problem and not found:
        raise problem


def _replicas(case: dict[str, Any], devices_of_node: int) -> dict[str, Any]:
    """Sets the number of replicas of a case from what tables say of devices; returns what was made of it."""
    devices, nodes, of_node = (case.pop(name, None) for name in ("devices", "nodes", "devices_of_node"))
    made = {}
    if nodes and of_node and of_node != devices_of_node:
        made["devices of a node"] = f"{devices_of_node} and not {of_node}"
    devices = devices or (nodes * (of_node or devices_of_node) if nodes else None)
    others = case["tensor"] * case["pipeline"]
    if devices and "data" in case and case["data"] * others == devices and case["context"] > 1:
        # Some count the ranks that share a sequence as replicas.
        case["data"] = made["data"] = case["data"] // case["context"]
    if "data" not in case:
        case["data"] = devices // (others * case["context"]) if devices else 1
        made |= {} if devices else {"data": 1}
    count = case["data"] * others * case["context"]
    if devices and count != devices:
        raise ValueError(f"data x tensor x pipeline x context is {count}, not the {devices} devices")
    return made


def _batches(case: dict[str, Any]) -> dict[str, Any]:
    """Sets the batches of a case from what tables say instead; returns what was assumed."""
    tokens, steps, local = (case.pop(name, None) for name in ("batch_tokens", "gradient_accumulation", "local_batch"))
    if tokens:
        # Where both are named, the other one is often that of a replica.
        case["global_batch"] = max(1, tokens // case["sequence"])
    if local:
        # Of a replica in a step: TorchTitan cuts it into a micro-batch a stage.
        case.setdefault("global_batch", case["data"] * local * (steps or 1))
        case.setdefault("micro_batch", max(1, local // (case["pipeline"] * case["chunks"])))
    if steps and "micro_batch" not in case:
        case["micro_batch"] = max(1, case["global_batch"] // (case["data"] * steps))
    if "global_batch" in case:
        return {}
    count = steps or (ASSUMED_MICROBATCHES * case["pipeline"] if case["pipeline"] > 1 else 1)
    case["global_batch"] = case["data"] * case["micro_batch"] * count
    return {} if steps else {"global_batch": case["global_batch"]}


def _is_said(text: str) -> bool:
    return text.strip().lower() not in NOTHING and not OUT_OF_MEMORY.search(text)


def measured_of(row: dict[str, str]):
    """(column, seconds, what it says of the run) of all times of a step that the row measured; nan of what is no positive
    number."""
    for column, text in row.items():
        if _is_said(text) and (column in MEASURED_AS or kind_of(column) == "seconds"):
            yield column, number_of(text, unit_of(column)), MEASURED_AS.get(column, {})


def memory_of(row: dict[str, str]):
    """(column, GiB, what it counts, what it says of the run) of all memory that the row measured."""
    for column, text in row.items():
        name = plain(column)
        found = MEMORY_NAME.fullmatch(name)
        if not _is_said(text) or name not in MEMORY and not found:
            continue
        if name in MEMORY:
            unit, counts, says = MEMORY[name]
        else:
            unit, says = MEMORY_UNITS[found["unit"]], {}
            counts = "allocated" if found["most"] or found["unit"] == "gib" else "device"
        yield column, number_of(re.sub(r"\s*g(i)?b$", "", text.strip(), flags=re.IGNORECASE)) * unit, counts, says


def rate_of(row: dict[str, str]) -> tuple[str, str, float] | None:
    """(column, kind, value) of what a row says of its speed that is no time; None if nothing."""
    found = [(kind, column, number_of(text)) for column, text in row.items() if (kind := kind_of(column)) and text.strip()]
    rates = [each for each in found if each[0] != "seconds" and not math.isnan(each[2])]
    kind, column, value = min(rates, key=lambda each: PREFERRED.index(each[0]), default=(None, "", 0.0))
    return (column, kind, value) if kind else None


def ran_out_of_memory(row: dict[str, str]) -> bool | None:
    """What a row says of that, in a column of its own or in place of what it would have measured; None if nothing."""
    text = fields(row).get("oom", "").lower()
    if text in (*YES, *NO) and text:
        return text in YES
    measures = (column for column in row if kind_of(column) or MEMORY_NAME.fullmatch(plain(column)))
    return True if any(OUT_OF_MEMORY.search(row[column]) for column in measures) else None
