# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How tables name their columns, and what their fields say."""

from __future__ import annotations

import math
import re
from typing import Any

# Of each setting of weft.models, and of what they are made from, in the spelling of `plain`. The first that a row has
# counts.
SETTINGS = {
    "layers": "layers num_layers n_layers number_of_layers no_of_layers n_layer num_hidden_layers transformer_layers "
              "num_transformer_layers decoder_layers blocks num_blocks l",
    "hidden": "hidden hidden_size hidden_dim hidden_dimension d_model model_dim embedding_dim embed_dim embedding_size n_embd "
              "dim width h",
    "heads": "heads attention_heads attn_heads num_heads n_heads n_head num_attention_heads n_attention_heads query_heads "
             "q_heads num_query_heads number_of_attention_heads number_of_heads a",
    "kv_heads": "kv_heads num_kv_heads n_kv_heads num_key_value_heads key_value_heads query_groups num_query_groups "
                "gqa_groups num_kv_groups",
    "ffn": "ffn ffn_hidden ffn_hidden_size ffn_hidden_dim ffn_size ffn_dim feed_forward feed_forward_size feed_forward_dim "
           "feedforward_dim intermediate_size intermediate_dim mlp_hidden_size d_ff mlp_dim",
    "vocabulary": "vocabulary vocab vocab_size vocabulary_size n_vocab padded_vocab_size v",
    "sequence": "sequence seq seq_len seq_length seqlen sequence_len sequence_length sequence_length_tokens seq_len_tokens "
                "context_length context_len context_size context_window ctx ctx_len n_ctx max_seq_len max_sequence_length",
    "tensor": "tensor tp tp_size tensor_parallel tensor_parallelism tensor_parallel_size tensor_model_parallel "
              "tensor_model_parallel_size tensor_mp_size tensor_model_parallelism t",
    "model_parallel": "model_parallel model_parallel_size model_parallelism",
    "pipeline": "pipeline pp pp_size pipeline_parallel pipeline_parallelism pipeline_parallel_size pipeline_model_parallel "
                "pipeline_model_parallel_size pipeline_mp_size pipeline_stages num_pipeline_stages stages num_stages p",
    "chunks": "chunks model_chunks num_model_chunks vp vpp vp_size vpp_size virtual_pp virtual_pipeline virtual_pipeline_size "
              "virtual_pipeline_stages virtual_pipeline_parallel_size virtual_pipeline_model_parallel_size virtual_stages "
              "interleaving",
    "context": "context cp cp_size context_parallel context_parallelism context_parallel_size",
    "data": "data dp dp_size data_parallel data_parallelism data_parallel_size replicas num_replicas d",
    "micro_batch": "micro_batch mbs micro_batch_size microbatch microbatch_size micro_bs micro_batch_size_gpu "
                   "train_micro_batch_size_gpu device_train_batch_size device_train_microbatch_size",
    "local_batch": "local_batch local_batch_size local_bs batch_gpu batch_size_gpu batch_device batch_size_device "
                   "gpu_batch_size device_batch_size batch_size_replica",
    "gradient_accumulation": "grad_accum grad_acc ga gas grad_accum_steps gradient_accumulation gradient_accumulation_steps "
                             "accumulation_steps num_microbatches num_micro_batches microbatches micro_batches",
    "global_batch": "global_batch gbs global_bs global_batch_size global_batch_sequences total_batch_size train_batch_size "
                    "effective_batch_size batch_size batch batch_size_sequences batch_size_samples bs",
    "batch_tokens": "batch_tokens global_batch_tokens batch_size_tokens global_batch_size_tokens tokens_batch "
                    "tokens_global_batch tokens_step tokens_iteration batch_size_in_tokens",
    "devices": "devices gpus num_gpus n_gpus ngpus number_of_gpus no_of_gpus of_gpus total_gpus gpus_total gpu_count "
               "num_devices n_devices number_of_devices total_devices world_size accelerators num_accelerators chips "
               "num_chips ranks num_ranks",
    "nodes": "nodes num_nodes n_nodes nnodes number_of_nodes no_of_nodes of_nodes hosts num_hosts servers",
    "devices_of_node": "gpus_node num_gpus_node n_gpus_node ngpus_node devices_node gpus_host gpus_server nproc_node",
    "recomputation": "recomputation recompute act_ckpt act_checkpointing activation_ckpt activation_checkpoint activation_checkpointing "
                     "activation_recomputation act_recompute "
                     "activation_recompute activation_recompute_granularity recompute_granularity gradient_checkpointing "
                     "grad_checkpointing remat checkpointing ac",
    "sequence_parallel": "sequence_parallel sequence_parallelism seq_parallel sp",
    "sharded": "sharded sharding zero_stage zero zero_level deepspeed_zero sharding_strategy fsdp_strategy "
               "distributed_optimizer use_distributed_optimizer dist_opt",
    "schedule": "schedule pp_schedule pipeline_schedule",
    "attention": "attention",
    "flash_attention": "flash_attention flash_attn flash",
    "gather": "gather",
}
SETTINGS = {name: spellings.split() for name, spellings in SETTINGS.items()}
# What a name may have in brackets and mean the same without: short names, and what is counted anyway.
SAID_TWICE = {*(s for spellings in SETTINGS.values() for s in spellings), "vpp", "sequences", "samples", "seqs", "total", "size"}
# Columns that have several settings in one field, such as "TP8 PP16, VP=2, ZeRO-1".
LISTS = "parallelism parallel parallel_config parallelism_config parallel_strategy parallelization strategy layout mapping config"
IN_LISTS = re.compile(r"\b(tp|pp|dp|cp|vpp?|mbs|gbs|sp|zero|fsdp)(?:[\s=:_x-]*(\d+))?\b")

# Settings that are words; of a number these say that there is none.
WORDS = ("recomputation", "sequence_parallel", "sharded", "schedule", "attention", "flash_attention", "gather")
NOTHING = ("", "-", "--", "–", "—", "none", "n/a", "na", "nan", "null", "tbd", "?")
YES = ("1", "true", "yes", "on", "y", "enabled", "✓", "✔")
NO = ("0", "false", "no", "off", "n", "disabled", "✗", "✘", "-", "none", "")
OUT_OF_MEMORY = re.compile(r"\b(oom|out[ -]of[ -]memory)\b", re.IGNORECASE)
# Words by what they mean, with hyphens between them.
RECOMPUTATION = {
    "none": (*NO, "no-recompute"),
    "selective": ("selective", "partial", "attention", "attn", "core-attn", "core-attention", "selective-attention"),
    "alternate": ("alternate", "selective-op", "selective-ops", "op"),
    "full": (*YES, "full", "all", "block", "uniform", "full-block", "full-uniform", "per-block", "per-layer", "layer"),
    "whole": ("whole",),
}
SHARDED = {
    "none": (*NO, "no-shard", "ddp", "replicated"),
    "zero1": (*YES, "zero1", "zero-1", "stage-1", "zero-stage-1", "distributed-optimizer"),
    "fsdp": ("2", "3", "zero2", "zero3", "zero-2", "zero-3", "stage-2", "stage-3", "zero-stage-2", "zero-stage-3", "fsdp",
             "fsdp1", "fsdp2", "hsdp", "full-shard", "shard-grad-op", "hybrid-shard", "fully-sharded"),
}
SCHEDULES = {
    "1f1b": ("1f1b", "pipedream-flush", "non-interleaved", "default"),
    "interleaved-1f1b": ("interleaved-1f1b", "interleaved1f1b", "interleaved", "1f1b-interleaved", "interleaved-1-f-1-b"),
    "gpipe": ("gpipe", "afab", "all-forward-all-backward"),
    "zb-h1": ("zb-h1", "zb1p", "zero-bubble", "zb"),
    "zb-v": ("zb-v", "zbv", "zbv-zero-bubble", "zbvzerobubble"),
    **{name: (name,) for name in ("eager-1f1b", "looped-bfs", "zb-h2", "interleaved-zb", "v-half", "v-min", "dualpipev")},
}
MEANINGS = {"recomputation": RECOMPUTATION, "sharded": SHARDED, "schedule": SCHEDULES}
THOUSANDS = {"": 1, "k": 1000, "m": 10**6}
POWERS = {"": 1, "k": 2**10, "m": 2**20}
# Behind a number, what it counts.
COUNTED = (r"(?:(?:[\s-]*(?:x|×)?\s*(?:nvidia\s*)?(?:gb|gh|[abhlv])\d{2,3}\b.*)|[\s-]*(?:way|gpus?|devices|chips|nodes|layers|heads|"
           r"stages|tokens|sequences|seqs|samples))?")

_SECOND = "(s|sec|secs|second|seconds)"
_TIME = f"({_SECOND}|ms|msecs?|milliseconds?|mins?|minutes?)"
_STEP = "(step|iteration|iter|batch)"
_DEVICE = "(gpu|device|chip|accelerator)"
_TOKENS = "(tokens|toks?|words)"
_BEGIN = "((avg|average|mean|median|measured|observed|actual|elapsed|train|training|global)_)*"
_END = "(_(derived|reported|measured|observed|published|actual|avg|mean|median|present|pct|percent|bf16))*"
# Of the device, and of other models, nothing is measured.
_ALL = "(?!(.*_)?(peak|theoretical|max|spec|predicted|simulated|estimated)_)(.*_)?"
# What a column measures: its kind, and the spelling.
MEASURED = [(kind, re.compile(f"(?:{pattern}){_END}")) for kind, pattern in {
    "seconds": rf"{_BEGIN}({_STEP}_(time|latency|duration)|time_{_STEP})(_{_TIME})?|{_BEGIN}{_TIME}_{_STEP}|{_SECOND}_it"
               rf"|time_{_TIME}|{_STEP}_{_TIME}|train_step_timing(_in_s)?",
    "tokens/s/device": rf"{_ALL}{_TOKENS}(_{_SECOND}_{_DEVICE}|_{_DEVICE}_{_SECOND})|{_ALL}{_DEVICE}_(.*_)?{_TOKENS}_{_SECOND}"
                       "|tgs|wps|tps",
    "tokens/s": rf"{_ALL}{_TOKENS}_{_SECOND}",
    "sequences/s/device": rf"{_ALL}(samples|sequences|seqs)(_{_SECOND}_{_DEVICE}|_{_DEVICE}_{_SECOND})",
    "sequences/s": rf"{_ALL}(samples|sequences|seqs)_{_SECOND}",
    "steps/s": rf"{_ALL}(steps|iterations|iters|its)_{_SECOND}",
    "pflop/s": rf"{_ALL}(pflops?|petaflops?)(_s)?",
    "tflop/s": rf"{_ALL}(aggregate|total|system|overall)_(.*_)?(tflops?|teraflops?)(_s)?",
    "flop/s/device": rf"{_ALL}(tflops?|teraflops?)(_s)?(_{_DEVICE})?",
    "mfu": rf"{_ALL}mfu|model_flops?_utili[sz]ation|(.*_)?percentage_of_theoretical_peak.*",
}.items()]
# Of these the one that is nearest to a measurement is taken.
PREFERRED = [kind for kind, _ in MEASURED]
# Of times and what else a field may say of its unit.
UNITS = {"s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1, "ms": 1e-3, "msec": 1e-3, "msecs": 1e-3, "millisecond": 1e-3,
         "milliseconds": 1e-3, "min": 60, "mins": 60, "minute": 60, "minutes": 60}
_PREFIXES = {"k": 1e3, "m": 1e6}


def plain(name: str) -> str:
    """`"# GPUs"` is gpus, `"tokens/s/GPU"` and `"tokens_per_s_per_gpu"` are tokens_s_gpu."""
    words = re.findall(r"[a-z0-9]+", name.lower())
    return "_".join(word for word in words if word != "per")


def _shorter(name: str) -> str:
    """Without a short name in brackets or the word "degree" at the end: "tensor_parallel" of `"Tensor parallel (TP) degree"`."""
    bare = re.sub(r"[(\[](.*?)[)\]]", lambda found: "" if plain(found[1]) in SAID_TWICE else found[0], name)
    return plain(bare).removesuffix("_degree")


def fields(row: dict[str, str]) -> dict[str, str]:
    """A row by the plain names of its columns, and by those without what they say twice; of several with one name, the
    first that says anything. A column that lists settings gives those that have no column of their own."""
    found: dict[str, str] = {}
    for name_of in (plain, _shorter):
        for column, text in row.items():
            if not found.get(name := name_of(column)):
                found[name] = text.strip()
    for column in LISTS.split():
        for name, degree in IN_LISTS.findall(found.get(column, "").lower()):
            if not found.get(name) and (degree or name in ("fsdp", "sp")):
                found[name] = degree or "1"
    return found


def setting_of(known: dict[str, str], name: str) -> str | None:
    """What the fields of a row say of a setting; None if nothing."""
    unsaid = NOTHING if name not in WORDS else ("", "?")
    spellings = list(SETTINGS[name])
    if name == "devices":
        # gpus_a100_80gb; and of a column "gpu" that has a number in it.
        spellings += [f for f in known if f.startswith("gpus_") and f not in SETTINGS["devices_of_node"]]
        spellings += [f for f in ("gpu", "device") if known.get(f, "").isdecimal()]
    return next((known[s] for s in spellings if known.get(s, "").strip(" ?").lower() not in unsaid), None)


def value_of(name: str, text: str) -> Any:
    """Of a setting, in the words of weft.models; None for a word that is not known. ValueError if it is no number."""
    word = text.strip().lower()
    if name in MEANINGS:
        hyphened = re.sub(r"[^a-z0-9✓✔✗✘]+", "-", word).strip("-")
        return next((meaning for meaning, words in MEANINGS[name].items() if hyphened in words), None)
    if name == "sequence_parallel":
        # A degree in some tables.
        return word in YES or word.isdecimal() and int(word) > 1
    if name == "flash_attention":
        return word not in NO
    if name in WORDS:
        return word
    number = re.fullmatch(r"(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?\s*([km]?)\??" + COUNTED, word)
    if not number:
        raise ValueError(f"{name} must be a whole number, got {text!r}")
    unit = (POWERS if name in ("sequence", "batch_tokens") else THOUSANDS)[number[3]]
    count = float(number[1].replace(",", "") + (number[2] or "")) * unit
    if count != round(count):
        raise ValueError(f"{name} must be a whole number, got {text!r}")
    if count < 1:
        raise ValueError(f"{name} must be at least 1, got {text!r}")
    return int(count)


def number_of(text: str, unit: float = 1) -> float:
    """A number in a unit, or in the unit that stands behind it; nan of what is no positive number. Deviations behind it
    are left out: "8.3 ± 0.1", "830 ms", "54 %", "63.1k"."""
    found = re.fullmatch(r"[~≈]?\s*(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d*\.?\d+(?:e[+-]?\d+)?|\d+\.)\s*([a-z]*)\s*%?",
                         re.split(r"±|\+/-|\(", text.strip().lower())[0].strip())
    if not found or found[2] not in (*UNITS, *_PREFIXES, "", "gb", "gib", "x"):
        return math.nan
    number = float(found[1].replace(",", "")) * UNITS.get(found[2], _PREFIXES.get(found[2], 1) * unit)
    return number if 0 < number < math.inf else math.nan


def kind_of(column: str) -> str | None:
    """What a column measures, of MEASURED."""
    if re.fullmatch(rf"(it|iter|iteration|step)s?\s*/\s*{_SECOND}", column.strip().lower()):
        return "steps/s"
    name = plain(column)
    return next((kind for kind, pattern in MEASURED if pattern.fullmatch(name)), None)


def unit_of(column: str) -> float:
    """Seconds of the unit that the name of a column says, 1 if none. "Min" stands for minutes at its end only."""
    words = plain(column).split("_")
    return next((UNITS[word] for word in words if word in UNITS and (word != "min" or word == words[-1])), 1)
