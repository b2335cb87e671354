# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of published runs as different people write them: what benchmarks/predict.py reads in each."""

import math
import sys

import pytest
from conftest import ROOT, binaries

sys.path += [str(ROOT / "benchmarks"), str(binaries().parent / "python")]

import predict as predict_script  # noqa: E402
import weft  # noqa: E402
from prediction import columns, rows, sources, steps  # noqa: E402


def read(tmp_path, text, encoding="utf-8"):
    csv = tmp_path / "rows.csv"
    csv.write_bytes(text.encode(encoding))
    return [row for _, row in predict_script.read_rows(csv)]


# A run of GPT-3 175B on 1024 A100, in tables of many kinds.
GPT3 = dict(layers=96, hidden=12288, heads=96, tensor=8, pipeline=16, data=8, micro_batch=1, global_batch=1536)
SAME_RUN = {
    "short names": "model,gpus,tp,pp,dp,mbs,gbs,step_time_s\ngpt-175b,1024,8,16,8,1,1536,24",
    "long names": "Model Name,Number of GPUs,Tensor Parallel Size,Pipeline Parallel Size,Data Parallel Size,Micro-batch Size,"
                  "Global Batch Size,Time per iteration (s)\nGPT-3 175B,1024,8,16,8,1,1536,24",
    "short names in brackets": "Model,# of GPUs,Tensor parallel (TP),Pipeline parallel (PP),Data parallel (DP),"
                               "Micro batch size (MBS),Global batch size (GBS),Step time [ms]\nGPT-3 175B,1024,8,16,8,1,1536,24000",
    "degrees": "model,GPUs,TP degree,PP degree,DP degree,micro_batch_size,Global batch size (sequences),Iteration Time (sec)\n"
               "gpt3-175b,1024,8,16,8,1,1536,24.0",
    "one column of parallelism": "model,gpus,parallelism,mbs,batch size,s/step\nGPT 175B,1024,TP8 PP16 DP8,1,1536,24",
    "with signs": 'model,gpus,Parallelism,gbs,sec/iteration\nGPT 175B,"1,024","TP=8, PP=16, DP=8, MBS=1","1,536",24',
    "size beside the name": "Model,Params,World size,TP,PP,MBS,GBS,iteration_time_ms\nGPT-3,175B,1024,8,16,1,1536,24000",
    "billions": "architecture,Model size (B),n_gpus,tp,pp,mbs,gbs,avg step time (s)\nGPT,175,1024,8,16,1,1536,24",
    "all parameters": "model,parameters,n_gpus,tp,pp,mbs,gbs,mean_step_time_sec\ngpt,175000000000,1024,8,16,1,1536,24",
    "widths": "L,H,A,GPUs,T,P,micro batch,batch size,elapsed time per iteration (ms)\n96,12288,96,1024,8,16,1,1536,24000",
    "nodes": "model,nodes,gpus per node,tp,pp,mbs,gbs,step time\nGPT-3 175B,128,8,8,16,1,1536,24 s",
    "device beside the number": "model,GPUs,tp,pp,mbs,gbs,step time\nGPT-3 175B,1024 A100,8,16,1,1536,24000 ms",
    "device times the number": "model,GPUs,tp,pp,mbs,gbs,step time (s)\nGPT-3 175B,1024x A100-80GB,8,16,1,1536,24 ± 0.1",
    "tokens": "model,gpus,tp,pp,mbs,seq length,batch size (tokens),step_duration_s\ngpt-175b,1024,8,16,1,2048,3M,24",
    "gpu is a number": "model,gpu,gpu type,tp,pp,mbs,gbs,seconds per step\ngpt-175b,1024,A100,8,16,1,1536,24",
    "accumulation": "model,gpus,tp,pp,mbs,gradient accumulation steps,step_s\ngpt-175b,1024,8,16,1,192,24",
    "semicolons": "model;gpus;tp;pp;mbs;gbs;step time (s)\ngpt-175b;1024;8;16;1;1536;24",
    "tabs": "model\tgpus\ttp\tpp\tmbs\tgbs\tstep time (s)\ngpt-175b\t1024\t8\t16\t1\t1536\t24",
    "bars": "| model | gpus | tp | pp | mbs | gbs | step time (s) |\n|---|---|---|---|---|---|---|\n| gpt-175b | 1024 | 8 | 16 | 1 | 1536 | 24 |",
    "a title": "Runs of 2021\n\nmodel,gpus,tp,pp,mbs,gbs,step time (s)\n,,,,,,\ngpt-175b,1024,8,16,1,1536,24",
    "ranks of a model": "model,gpus,model-parallel size,pipeline parallel size,mbs,gbs,step time (s)\ngpt-175b,1024,128,16,1,1536,24",
    "units": "model,gpus,tp,pp,mbs,gbs,step time (min)\ngpt-175b,1024 GPUs,8-way,16 stages,1,1536 sequences,0.4",
}


@pytest.mark.parametrize("name", SAME_RUN)
def test_one_run_in_tables_of_many_kinds(name, tmp_path):
    (row,) = read(tmp_path, SAME_RUN[name])
    settings = rows.settings_of(row, None, {"vocabulary": 51200, "sequence": 2048, "recomputation": "full", "sharded": "none"})
    (case, other) = [case for case, _ in rows.cases_of(settings)]
    assert case.items() >= (GPT3 | {"sequence_parallel": False}).items() and other["sequence_parallel"]
    assert weft.models.gpt(**case).parallelism.devices == 1024
    assert [seconds for _, seconds, _ in rows.measured_of(row)] == [pytest.approx(24)]
    assert rows.family_of(row) == "gpt" and rows.problem_of(row) is None


def test_what_columns_of_sizes_and_checkpointing_say():
    row = {"model": "Mixtral", "params": "8x7B", "act. checkpointing": "selective", "parallelism": "TP8, ZeRO-1"}
    settings = rows.settings_of(row, None, {})
    assert settings.items() >= dict(layers=32, kv_heads=8, recomputation="selective", tensor=8, sharded="zero1").items()
    assert rows.model_of({"model": "ours", "params": "many"}) == "ours"


def test_a_table_in_utf_16(tmp_path):
    (row,) = read(tmp_path, SAME_RUN["tabs"], "utf-16")
    assert rows.settings_of(row, None, {})["tensor"] == 8


@pytest.mark.parametrize("column, text, kind, value", [
    ("Throughput (tokens/s)", "63.1k", "tokens/s", 63100),
    ("throughput per GPU (tokens/s)", "500", "tokens/s/device", 500),
    ("tokens/sec/GPU", "1,234.5", "tokens/s/device", 1234.5),
    ("Tokens per second per device", "500", "tokens/s/device", 500),
    ("samples/s", "12", "sequences/s", 12),
    ("samples per second per GPU", "0.5", "sequences/s/device", 0.5),
    ("it/s", "0.25", "steps/s", 0.25),
    ("steps per second", "0.25", "steps/s", 0.25),
    ("TFLOP/s per GPU", "140", "flop/s/device", 140),
    ("Achieved TFLOPS/GPU", "140", "flop/s/device", 140),
    ("Achieved aggregate petaFLOP/s", "143.8", "pflop/s", 143.8),
    ("aggregate TFLOPs", "143800", "tflop/s", 143800),
    ("MFU (%)", "54 %", "mfu", 54),
    ("model_mfu", "0.54", "mfu", 0.54),
])
def test_rates(column, text, kind, value):
    assert rows.rate_of({column.lower(): text}) == (column.lower(), kind, value)


def test_rates_of_a_step():
    step = weft.models.gpt(layers=2, hidden=64, heads=4, vocabulary=128, sequence=32, data=2, global_batch=8)
    predicted = steps.Predicted(1.0, {"arena": 0}, 1e12, step.sizes, step.parallelism, steps.Device(2**36, 2**35, 1e14, 8))
    for kind, value in (("steps/s", 0.5), ("sequences/s/device", 2), ("tflop/s", 1), ("pflop/s", 1e-3)):
        assert predicted.seconds_of(kind, value, False) == pytest.approx(2), kind


@pytest.mark.parametrize("column", ["peak TFLOPs", "theoretical_tflops_per_gpu", "predicted step time (s)", "time", "params",
                                    "max tokens/s", "simulated_iteration_time_ms", "gpus per node"])
def test_what_is_no_measurement(column):
    assert columns.kind_of(column) is None


@pytest.mark.parametrize("text, value", [
    ("1,234.5", 1234.5), ("8.3s", 8.3), ("830 ms", 0.83), ("1.5 min", 90), ("~8.3", 8.3), ("8.3 ± 0.1", 8.3), ("8.3 (best)", 8.3),
    ("1e3", 1000), ("54%", 54), (".5", 0.5),
    # A comma that is no mark of thousands may be one of decimals.
    ("8,3", math.nan), ("12,34", math.nan), ("8.3.1", math.nan), ("about 8", math.nan), ("-3", math.nan), ("inf", math.nan), ("8 h", math.nan),
])
def test_numbers(text, value):
    assert columns.number_of(text) == pytest.approx(value, nan_ok=True)


@pytest.mark.parametrize("name, text, value", [
    ("sequence", "8K", 8192), ("sequence", "4096 tokens", 4096), ("batch_tokens", "0.5M", 2**19), ("vocabulary", "51.2k", 51200),
    ("devices", "64 x H100", 64), ("devices", "512 GPUs", 512), ("tensor", "8-way", 8),
    ("sequence_parallel", "8", True), ("sequence_parallel", "1", True), ("sequence_parallel", "✓", True), ("sequence_parallel", "off", False),
    ("recomputation", "Selective", "selective"), ("recomputation", "core_attn", "selective"), ("recomputation", "full (block)", "full"),
    ("recomputation", "✗", "none"), ("recomputation", "-", "none"), ("recomputation", "sometimes", None),
    ("sharded", "ZeRO-3", "fsdp"), ("sharded", "ZeRO Stage 1", "zero1"), ("sharded", "FSDP2", "fsdp"), ("sharded", "DDP", "none"),
    ("sharded", "True", "zero1"), ("sharded", "0", "none"), ("sharded", "sometimes", None),
    ("schedule", "Interleaved 1F1B", "interleaved-1f1b"), ("schedule", "ZBV", "zb-v"), ("schedule", "1F1B", "1f1b"), ("schedule", "odd", None),
])
def test_values(name, text, value):
    assert columns.value_of(name, text) == value


@pytest.mark.parametrize("name, text", [("tensor", "2-4"), ("devices", "8x8"), ("layers", "2.5"), ("heads", "1/2"), ("layers", "96 (48 + 48)")])
def test_values_that_are_no_numbers(name, text):
    with pytest.raises(ValueError, match=f"{name} must be a whole number, got "):
        columns.value_of(name, text)


SMALL = {"layers": "4", "hidden": "1024", "vocab": "512", "seq": "128", "tp": "2", "pp": "2", "gbs": "8", "mbs": "1",
         "recompute": "no", "sp": "no", "sharding": "none"}


def declared(row):
    (case, assumed), *_ = rows.cases_of(rows.settings_of(row, None, {}))
    return case, assumed


@pytest.mark.parametrize("changed, want", [
    ({"heads": "8", "gpus": "8"}, {}),
    ({"gpus": "8"}, {"head width": 128}),
    ({"heads": "8"}, {"data": 1}),
    ({"heads": "8", "gpus": "8", "schedule": "interleaved"}, {"chunks": 2}),
    ({"heads": "8", "gpus": "8", "schedule": "odd"}, {"schedule": "unknown: 'odd'"}),
    ({"heads": "8", "gpus": "8", "recompute": "odd"}, {"recomputation": "none"}),
    ({"heads": "8", "gpus": "8", "sharding": ""}, {"sharded": "none"}),
    ({"heads": "8", "gpus": "8", "vocab": ""}, {"vocabulary": 51200}),
    ({"heads": "8", "gpus": "8", "seq": ""}, {"sequence": 2048}),
    ({"heads": "8", "gpus": "8", "pp": ""}, {"pipeline": 1}),
    ({"heads": "8", "gpus": "8", "gbs": ""}, {"global_batch": 32}),
    ({"heads": "8", "gpus": "8", "cp": "2", "dp": "2"}, {"data": 1}),
    ({"heads": "8", "nodes": "2", "gpus per node": "4"}, {"devices of a node": "8 and not 4"}),
    ({"heads": "8", "gpus": "8", "layers": "", "params": "50M"}, {"layers": 4}),
])
def test_what_no_column_says_is_declared(changed, want):
    case, assumed = declared(SMALL | changed)
    assert assumed == want
    weft.models.gpt(**case)


def test_a_batch_of_a_replica_is_no_batch_of_all():
    for column in ("batch size per GPU", "per_device_batch_size", "local_batch_size"):
        case, assumed = declared(SMALL | {"gpus": "16", "heads": "8", "gbs": "", "mbs": "", column: "8"})
        assert (case["global_batch"], case["micro_batch"], assumed) == (32, 4, {}), column


def test_ranks_that_share_a_model_are_as_few_as_fit(tmp_path):
    """Where no column says how many."""
    machine = predict_script.Machine("dgx-a100", "megatron-2022")
    row = {"model": "gpt-39.1b", "gpus": "512", "gbs": "1536", "mbs": "1", "recompute": "full", "sharding": "none", "sp": "0"}
    simulator = predict_script.Steps(binaries() / "shard-sim")
    cases = predict_script.plausible_cases(simulator, "gpt", rows.settings_of(row, None, {}), machine)
    shared = {case["tensor"] * case["pipeline"] for case, _ in cases}
    assert len(shared) == 1 and 8 < shared.pop() <= 32
    assert all({"tensor", "pipeline"} <= assumed.keys() for _, assumed in cases)


def test_runs_that_ran_out_say_so_in_any_column(tmp_path):
    header = "model,gpus,tp,mbs,gbs,seq,recompute,step time (s),peak memory (GiB),OOM\n"
    texts = ("gpt-13b,8,1,8,64,2048,no,OOM,,", "gpt-13b,8,1,8,64,2048,no,,out of memory,", "gpt-13b,8,1,8,64,2048,no,-,,yes",
             "gpt-13b,8,1,8,64,2048,no,3,40,no", "gpt-13b,8,1,8,64,2048,no,3,40,")
    found = read(tmp_path, header + "\n".join(texts))
    assert [rows.ran_out_of_memory(row) for row in found] == [True, True, True, False, None]
    assert [len(list(rows.measured_of(row))) for row in found] == [0, 0, 0, 1, 1]


@pytest.mark.parametrize("column, text, gib, counts", [
    ("Peak memory (GiB)", "70.5", 70.5, "allocated"), ("max_memory_allocated_gb", "70.5", 70.5e9 / 2**30, "allocated"),
    ("mem/GPU (GB)", "70", 70e9 / 2**30, "device"), ("memory_GB", "70 GB", 70e9 / 2**30, "device"), ("memory_mib", "1024", 1, "device"),
    ("Memory per GPU", "70", None, None),
])
def test_memory(column, text, gib, counts):
    found = list(rows.memory_of({column.lower(): text}))
    assert found == ([] if gib is None else [(column.lower(), pytest.approx(gib), counts, {})])


@pytest.mark.parametrize("row, cluster", [
    ({"gpu type": "NVIDIA H100 80GB HBM3"}, "dgx-h100"), ({"gpus": "64 A100"}, "dgx-a100"), ({"cluster": "DGX H200"}, "hgx-h200"),
    ({"gpu": "A100-SXM4-40GB"}, "dgx-a100-40gb"), ({"gpu": "A100 40 GB"}, "dgx-a100-40gb"), ({"gpu": "A100 80GB PCIe"}, "8xa100-pcie"),
    ({"hardware": "GB200 NVL72"}, "dgx-gb200"), ({"gpu": "H100 PCIe"}, None), ({"gpu": "V100"}, None), ({"gpu": "64"}, None),
    ({"gpus_a100_80gb": "64"}, "dgx-a100"), ({"gpus per node": "8"}, None),
])
def test_devices_are_those_of_clusters(row, cluster):
    assert sources.cluster_of(row, None) == cluster
    assert cluster is None or (ROOT / "clusters" / f"{cluster}.toml").is_file()


@pytest.mark.parametrize("row, problem", [
    ({"dtype": "fp8"}, "FP8"), ({"precision": "BF16/FP8 hybrid"}, "FP8"), ({"FP8": "yes"}, "FP8"), ({"precision": "FP32"}, "32 bits"),
    ({"num_experts": "8"}, "top_k"), ({"model": "dense", "ep": "4"}, "top_k"),
    ({"precision": "bf16-mixed"}, None), ({"precision": "fp32 master, bf16"}, None), ({"num_experts": "8", "top_k": "2"}, None),
    ({"model": "mixtral-8x7b", "ep": "8"}, None), ({"fp8": "0"}, None), ({"num_experts": "1"}, None),
])
def test_what_no_model_has(row, problem):
    found = rows.problem_of({name.lower(): text for name, text in row.items()})
    assert found is None if problem is None else problem in found


def test_experts_that_a_token_is_sent_to_count():
    row = {"hidden": "4096", "layers": "32", "heads": "32", "ffn": "1024", "num_experts": "64", "top_k": "6"}
    assert rows.settings_of(row, None, {})["ffn"] == 6144


@pytest.mark.parametrize("row, family", [
    ({"model": "Qwen2.5-72B"}, "llama"), ({"model": "Nemotron-4 15B", "hidden": "6144", "ffn": "24576"}, "gpt"),
    ({"model": "ours", "hidden": "4096", "ffn": "11008"}, "llama"), ({"model": "ours", "hidden": "4096", "ffn": "16384"}, "gpt"),
    ({"model": "ours"}, "gpt"),
])
def test_families(row, family):
    assert rows.family_of(row) == family


@pytest.mark.parametrize("hidden, tensor, heads", [(12288, 8, 96), (1600, 1, 10), (768, 1, 6), (5120, 8, 40), (100, 3, 1)])
def test_heads_divide_what_they_share(hidden, tensor, heads):
    assert rows.heads_of(hidden, tensor) == heads and hidden % heads == 0
