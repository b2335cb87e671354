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
    "layers": "layers num_layers n_layers number_of_layers n_layer num_hidden_layers transformer_layers l",
    "hidden": "hidden hidden_size hidden_dim hidden_dimension d_model model_dim embedding_dim n_embd dim h",
    "heads": "heads attention_heads num_heads n_heads n_head num_attention_heads number_of_attention_heads a",
    "kv_heads": "kv_heads num_kv_heads n_kv_heads num_key_value_heads key_value_heads query_groups num_query_groups",
    "ffn": "ffn ffn_hidden ffn_hidden_size ffn_size ffn_dim intermediate_size d_ff mlp_dim",
    "vocabulary": "vocabulary vocab vocab_size vocabulary_size v",
    "sequence": "sequence seq seq_len seq_length seqlen sequence_length context_length max_seq_len",
    "tensor": "tensor tp tp_size tensor_parallel tensor_parallelism tensor_parallel_size tensor_model_parallel_size "
              "tensor_mp_size tensor_model_parallelism t",
    "pipeline": "pipeline pp pp_size pipeline_parallel pipeline_parallelism pipeline_parallel_size "
                "pipeline_model_parallel_size pipeline_mp_size pipeline_stages p",
    "chunks": "chunks vp vpp vp_size virtual_pipeline virtual_pipeline_size interleaving",
    "context": "context cp cp_size context_parallel context_parallelism context_parallel_size",
    "data": "data dp dp_size data_parallel data_parallelism data_parallel_size d",
    "micro_batch": "micro_batch mbs micro_batch_size microbatch microbatch_size",
    "local_batch": "local_batch local_batch_size",
    "gradient_accumulation": "grad_accum gradient_accumulation gradient_accumulation_steps num_microbatches microbatches",
    "global_batch": "global_batch gbs global_batch_size total_batch_size batch_size batch",
    "batch_tokens": "batch_tokens global_batch_tokens batch_size_tokens global_batch_size_tokens tokens_batch "
                    "tokens_global_batch",
    "devices": "devices gpus num_gpus n_gpus number_of_gpus gpu_count num_devices world_size accelerators",
    "nodes": "nodes num_nodes n_nodes number_of_nodes",
    "recomputation": "recomputation recompute act_ckpt activation_checkpointing activation_recomputation "
                     "activation_recompute recompute_granularity checkpointing ac",
    "sequence_parallel": "sequence_parallel sequence_parallelism sp",
    "sharded": "sharded sharding zero_stage zero sharding_strategy",
    "schedule": "schedule pp_schedule pipeline_schedule",
    "attention": "attention",
    "flash_attention": "flash_attention flash_attn flash",
    "gather": "gather",
}
SETTINGS = {name: spellings.split() for name, spellings in SETTINGS.items()}
# Settings that are words; of a number these say that there is none.
WORDS = ("recomputation", "sequence_parallel", "sharded", "schedule", "attention", "flash_attention", "gather")
NOTHING = ("", "-", "none", "n/a", "na", "nan", "?")
YES, NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
RECOMPUTATION = {"no": "none", "false": "none", "0": "none", "off": "none", "-": "none", "": "none", "true": "full",
                 "yes": "full", "on": "full", "1": "full", "block": "full", "uniform": "full", "selective-op": "alternate",
                 "selective_op": "alternate", "op": "alternate"}
SHARDED = {"0": "none", "1": "zero1", "2": "fsdp", "3": "fsdp", "full_shard": "fsdp", "shard_grad_op": "fsdp",
           "hybrid_shard": "fsdp", "zero-1": "zero1", "zero-2": "fsdp", "zero-3": "fsdp", "zero2": "fsdp", "zero3": "fsdp",
           "distributed_optimizer": "zero1"}
SCHEDULES = {"interleaved1f1b": "interleaved-1f1b", "interleaved": "interleaved-1f1b"}
THOUSANDS = {"": 1, "k": 1000, "m": 10**6}
POWERS = {"": 1, "k": 2**10, "m": 2**20}

_SECOND = "(s|sec|secs|second|seconds)"
_END = "(_(derived|reported|measured|present|pct|percent|bf16))*"
# What a column measures: its kind, and the spelling.
MEASURED = [(kind, re.compile(f"(?:{pattern}){_END}")) for kind, pattern in {
    "seconds": rf"((train_)?(step|iteration|iter|batch)_time|(elapsed_)?time_(step|iteration|iter|batch))(_({_SECOND}|ms))?"
               rf"|({_SECOND}|ms)_(step|iteration|iter|batch)|{_SECOND}_it",
    "tokens/s/device": rf"(.*_)?(tokens|toks|words)(_{_SECOND}_(gpu|device|chip)|_(gpu|device|chip)_{_SECOND})|tgs|wps|tps",
    "tokens/s": rf"(.*_)?(tokens|toks|words)_{_SECOND}",
    "sequences/s": rf"(.*_)?(samples|sequences|seqs)_{_SECOND}",
    "flop/s/device": r"(.*_)?(tflops?|teraflops?)(_s)?(_(gpu|device|chip))?",
    "mfu": r"(bf16_)?mfu|model_flops?_utili[sz]ation|(.*_)?percentage_of_theoretical_peak.*",
}.items()]
# Of these the one that is nearest to a measurement is taken.
PREFERRED = [kind for kind, _ in MEASURED]


def plain(name: str) -> str:
    """`"# GPUs"` is gpus, `"tokens/s/GPU"` and `"tokens_per_s_per_gpu"` are tokens_s_gpu."""
    words = re.findall(r"[a-z0-9]+", name.lower())
    return "_".join(word for word in words if word != "per")


def fields(row: dict[str, str]) -> dict[str, str]:
    """A row by the plain names of its columns; of several with one name, the first that says anything."""
    found: dict[str, str] = {}
    for column, text in row.items():
        if not found.get(name := plain(column)):
            found[name] = text.strip()
    return found


def setting_of(known: dict[str, str], name: str) -> str | None:
    """What the fields of a row say of a setting; None if nothing."""
    unsaid = NOTHING if name not in WORDS else ("", "?")
    spellings = [*SETTINGS[name], *([f for f in known if f.startswith("gpus_")] if name == "devices" else [])]
    return next((known[s] for s in spellings if known.get(s, "").strip(" ?").lower() not in unsaid), None)


def value_of(name: str, text: str) -> Any:
    """Of a setting, in the words of weft.models. ValueError if it is no number."""
    word = text.strip().lower()
    if name == "recomputation":
        return RECOMPUTATION.get(word, word)
    if name == "sequence_parallel":
        return word in YES
    if name == "flash_attention":
        return word not in NO
    if name == "sharded":
        return SHARDED.get(word, word if word in ("zero1", "fsdp") else "none")
    if name == "schedule":
        return SCHEDULES.get(word, word)
    if name in WORDS:
        return word
    number = re.fullmatch(r"(\d{1,3}(?:,\d{3})+|\d+)(\.0*)?([km]?)\??", word)
    if not number:
        raise ValueError(f"{name} must be a whole number, got {text!r}")
    unit = (POWERS if name in ("sequence", "batch_tokens") else THOUSANDS)[number[3]]
    count = int(number[1].replace(",", "")) * unit
    if count < 1:
        raise ValueError(f"{name} must be at least 1, got {text!r}")
    return count


def number_of(text: str) -> float:
    """nan of what is no positive number."""
    try:
        number = float(text.strip().rstrip("%").replace(",", ""))
    except ValueError:
        return math.nan
    return number if 0 < number < math.inf else math.nan


def kind_of(column: str) -> str | None:
    """What a column measures, of MEASURED."""
    name = plain(column)
    return next((kind for kind, pattern in MEASURED if pattern.fullmatch(name)), None)
