# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""benchmarks/predict.py: columns, what is assumed, ranges, what is left out, and the summary."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
from conftest import ROOT, binaries

sys.path += [str(ROOT / "benchmarks"), str(binaries().parent / "python")]

import predict as predict_script  # noqa: E402
import weft  # noqa: E402
from prediction import accuracy, architectures, columns, memory, rows, sources, steps  # noqa: E402

PERF_DATA = ROOT / "benchmarks" / "perf_data"

HEADER = "gpus,global batch,micro batch,hidden size,attention heads,# layers,sequence length,tensor parallelism,data parallelism,pipeline parallelism"
ROWS = f"""{HEADER},iteration time (ms),peak_mem_GiB,notes
2,8,2,64,4,2,32,1,2,1,10,1.5,a
4,8,1,64,4,2,32,2,1,2,20,,b
4,8,1,64,3,2,32,2,1,2,20,,c
8,8,1,64,4,2,32,2,1,2,20,,d
16,16,1,64,4,x,32,1,16,1,20,,e
"""


def predict(csv, *options):
    package = binaries().parent / "python"
    return subprocess.run([sys.executable, ROOT / "benchmarks/predict.py", csv, "--simulator", binaries() / "shard-sim",
                           *options],
                          capture_output=True, text=True, timeout=300, env=os.environ | {"PYTHONPATH": str(package)})


def test_rows_are_predicted_or_left_out_with_a_reason(tmp_path: pathlib.Path):
    csv = tmp_path / "rows.csv"
    csv.write_text(ROWS)
    given = ("--set", "vocabulary=128", "recomputation=full")
    ran = predict(csv, *given, "--cluster=dgx-a100")
    assert ran.returncode == 0, ran.stderr
    header, first, bytes_, second, heads, devices, layers, summary, memory = ran.stdout.splitlines()
    assert re.fullmatch(r" *0 +0\.010 s +\d+\.\d{3} +-?\d+\.\d% +\d+\.\d +\d+\.\d  fits +sharded none, software megatron-2022", first)
    assert re.fullmatch(r" *0 +1\.500 GiB +\d+\.\d{3} +-?\d+\.\d% +\d+\.\d  fits +sharded none, software megatron-2022", bytes_)
    assert re.fullmatch(r" *1 +0\.020 s +\d+\.\d{3} +-?\d+\.\d% +\d+\.\d +\d+\.\d  fits +software megatron-2022", second)
    assert heads.endswith("left out: weft.models.gpt: heads must divide hidden, but 64 is no multiple of 3")
    assert devices.endswith("left out: data x tensor x pipeline x context is 4, not the 8 devices")
    assert layers.endswith("left out: layers must be a whole number, got 'x'")
    assert re.match(r"2 runs: mean error \d+\.\d%, signed [+-]\d+\.\d%, worst [+-]\d+\.\d% \(row [01], iteration time \(ms\)\)",
                    summary)
    assert re.fullmatch(r"memory: 1 runs: mean error \d+\.\d%, signed [+-]\d+\.\d%, worst [+-]\d+\.\d% \(row 0, peak_mem_gib\)", memory)
    ranged = predict(csv, *given, "--rows=1:2", "--cluster=dgx-a100", "--software=weft").stdout.splitlines()[1]
    assert re.search(r"\d+\.\d{3} to \d+\.\d{3} .* fits +sequence_parallel False or True$", ranged)
    refused = predict(csv, *given, "--rows=1:2", "--cluster=h100-sxm").stdout
    assert "left out: train_step: the mesh has 4 devices, H100 SXM has 1: it needs a larger cluster" in refused
    unknown = predict(csv, *given, "--rows=1:2").stdout
    assert "left out: no cluster is known for this table: name one by --cluster" in unknown


def test_what_cannot_be_predicted_is_named(tmp_path):
    csv, cluster = tmp_path / "rows.csv", tmp_path / "mine.toml"
    csv.write_text(ROWS)
    given = (csv, "--rows=0:1", "--set", "vocabulary=128", "recomputation=full")
    ran = predict(*given, "--cluster=nope")
    assert "left out: cannot read the cluster file nope: No such file or directory; " in ran.stdout
    assert (ran.returncode, ran.stderr) == (1, "error: no row could be predicted\n")
    assert "left out: cannot read the software profile nope: " in predict(*given, "--cluster=dgx-a100", "--software=nope").stdout
    cluster.write_text("speed = 1")
    assert f'left out: {cluster}:1:1: missing key "device"' in predict(*given, f"--cluster={cluster}").stdout


def test_help_needs_no_package(tmp_path):
    csv = tmp_path / "rows.csv"
    csv.write_text(ROWS)

    def run(*options):
        return subprocess.run([sys.executable, ROOT / "benchmarks/predict.py", *options], capture_output=True, text=True,
                              env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"})

    shown, refused = run("--help"), run(csv)
    assert (shown.returncode, shown.stderr) == (0, "") and "--simulator" in shown.stdout
    assert refused.returncode == 2
    assert refused.stderr.endswith("error: No module named 'weft'; the package is in the folder python of a build: "
                                   "PYTHONPATH=build/release/python\n")


def test_odd_tables_are_no_failure(tmp_path):
    """With a byte order mark, fields that are missing or too many, and numbers that are none."""
    csv = tmp_path / "rows.csv"
    row = "2,8,1,64,4,2,32,2,1,1"
    csv.write_text(f"\ufeff{HEADER},step_time_s\n{row},5 h\n{row},0\n{row},nan\n{row}\n\n{row},5,6,7\n"
                   "2,8,1,64,4,2,32,2,1,0,5\n2,8,1,64,4,2,32,-2,1,1,5\n")
    ran = predict(csv, "--cluster=dgx-a100", "--set", "vocabulary=128", "recomputation=full", "sequence_parallel=no")
    assert ran.returncode == 0, ran.stderr
    header, *lines, summary = ran.stdout.splitlines()
    said = [line.partition("left out: ")[2] for line in lines]
    assert said == ["step_time_s must be a positive number, got '5 h'", "step_time_s must be a positive number, got '0'",
                    "", "", "", "pipeline must be at least 1, got '0'",
                    "tensor must be a whole number, got '-2'"]
    assert all(re.match(rf" *{number} +- s +\d", lines[number]) for number in (2, 3))
    assert summary.startswith("1 runs: mean error")


def test_words_for_nothing_are_no_numbers():
    row = {"vp": "-", "cp": "n/a", "tp": "2", "recompute": "none"}
    given = {"layers": 2, "hidden": 64, "heads": 4}
    assert rows.settings_of(row, None, given) == {"tensor": 2, "recomputation": "none"} | given


def test_a_sequence_of_8k_is_8192():
    assert (columns.value_of("sequence", "8k"), columns.value_of("vocabulary", "250k")) == (8192, 250000)


def test_software_changes_the_prediction(tmp_path):
    csv, slow = tmp_path / "rows.csv", tmp_path / "slow.toml"
    csv.write_text(ROWS)
    slow.write_text('name = "slow"\nissue_seconds = 0.5\n')
    given = (csv, "--rows=0:1", "--cluster=dgx-a100", "--set", "vocabulary=128", "recomputation=full")
    seconds = [float(predict(*given, *more).stdout.splitlines()[1].split()[3]) for more in ((), (f"--software={slow}",))]
    assert seconds[0] < 0.5 < seconds[1]


def published():
    return [(path.stem, number, row) for path in sorted(PERF_DATA.glob("*.csv"))
            for number, row in predict_script.read_rows(path) if any(rows.measured_of(row))]


@pytest.mark.parametrize("name", sorted({name for name, _, _ in published()}))
def test_all_published_rows_are_steps(name):
    """Of models that there are, on clusters and software that are shipped."""
    for number, row in [(number, row) for table, number, row in published() if table == name]:
        source = sources.source_of(row)
        assert (ROOT / "clusters" / f"{sources.cluster_of(row, source)}.toml").is_file()
        assert (ROOT / "software" / f"{sources.software_of(row, source)}.toml").is_file()
        for column, measured, says in rows.measured_of(row):
            for case, _ in rows.cases_of(rows.settings_of(row, source, says)):
                step = getattr(weft.models, rows.family_of(row))(**case)
                counts = [int(text)] if (text := columns.setting_of(columns.fields(row), "devices")) else []
                assert measured > 0 and step.parallelism.devices == (counts or [step.parallelism.devices])[0]


def test_what_sources_leave_unsaid():
    of = {name: (row, sources.source_of(row)) for name, number, row in published() if number == 1 or "korth" in name}
    settings = {name: rows.settings_of(row, source, {}) for name, (row, source) in of.items()}
    assert settings["calib_bloom"]["layers"] == 80 and settings["calib_bloom"]["vocabulary"] == 250880
    assert settings["calib_korthikanti"]["attention"] == "unfused"
    assert settings["calib_torchtitan"]["recomputation"] == "alternate"
    assert settings["calib_torchtitan"]["kv_heads"] == 8
    assert settings["calib_llm_foundry"]["sharded"] == "fsdp"
    assert sources.software_of(*of["calib_torchtitan"]) == "torchtitan-2024.12"
    eager = published_row("calib_torchtitan", 0)
    assert sources.software_of(eager, sources.source_of(eager)) == "torchtitan-2024.12-eager"
    forty = published_row("calib_llm_foundry", 13)
    assert sources.cluster_of(forty, sources.source_of(forty)) == "a100-40gb-foundry"


def published_row(name, number):
    return next(row for table, at, row in published() if (table, at) == (name, number))


def test_a_cluster_is_for_rows_of_its_device():
    row = published_row("calib_llm_foundry", 13)
    assert sources.contradicts(row, "dgx-h100") and not sources.contradicts(row, "dgx-a100")
    assert not sources.contradicts(row, "mine.toml") and not sources.contradicts({}, "dgx-h100")


def test_layers_that_no_column_says_are_those_of_the_size():
    for number, layers in ((2, 78), (3, 77), (5, 81), (7, 77), (8, 72)):
        row = published_row("calib_bloom", number)
        assert rows.settings_of(row, sources.source_of(row), {})["layers"] == layers
    with pytest.raises(ValueError, match="no column says how many layers there are"):
        rows.settings_of({"hidden": "64"}, None, {})


def test_what_no_model_has_is_left_out():
    assert rows.problem_of({"precision": "FP8"}) == "products in FP8 are not modelled"
    assert rows.problem_of({"float8": "1"}) == "products in FP8 are not modelled"
    assert rows.problem_of({"act_cpu_offload": "True"}) == "activations in the host's memory are not modelled"
    assert rows.problem_of({"precision": "BF16", "float8": "0", "act_cpu_offload": "False"}) is None


def test_experts_are_taken_as_a_dense_model():
    row = {"model": "Grok1", "ffn_hidden": "32768", "hidden": "6144"}
    assert (rows.family_of(row), rows.settings_of(row, None, {})["ffn"]) == ("llama", 65536)


@pytest.mark.parametrize("names, want", [
    ("# GPUs|Number of GPUs|gpus_a100_80gb|world size", {"devices": 64}),
    ("Hidden Size|d_model|n_embd", {"hidden": 64}),
    ("Tensor model-parallel size|TP|tensor parallelism", {"tensor": 64}),
    ("Global Batch Size|GBS|Batch size", {"global_batch": 64}),
    ("num_query_groups|KV heads|num_key_value_heads", {"kv_heads": 64}),
])
def test_columns_have_several_names(names, want):
    base = {"hidden": "64", "layers": "2", "heads": "4"}
    for name in names.split("|"):
        row = {k: v for k, v in base.items() if k not in want} | {name.lower(): "64"}
        assert rows.settings_of(row, None, {}).items() >= want.items(), name


@pytest.mark.parametrize("name, kind", [
    ("step_time_s_derived", "seconds"), ("iteration time (ms)", "seconds"), ("sec/iter", "seconds"), ("Time per step (s)", "seconds"),
    ("tokens/s/GPU", "tokens/s/device"), ("tokens_per_s", "tokens/s"), ("Throughput (samples/sec)", "sequences/s"),
    ("Achieved teraFLOP/s per GPU", "flop/s/device"), ("model_tflops_per_gpu_reported", "flop/s/device"), ("BF16 MFU", "mfu"),
    ("mfu_pct_reported", "mfu"), ("MFU (%)", "mfu"), ("hfu_pct_reported", None), ("tokens", None), ("batch size", None),
])
def test_what_columns_measure(name, kind):
    assert columns.kind_of(name) == kind


def test_numbers_have_units_and_separators():
    assert columns.value_of("vocabulary", "128,256") == 128256
    assert columns.value_of("batch_tokens", "16M") == 2**24
    with pytest.raises(ValueError, match="hidden must be a whole number, got '12x'"):
        columns.value_of("hidden", "12x")


def test_a_batch_in_tokens_is_that_of_the_step():
    """Llama's tables have beside it the batch of a replica."""
    settings = rows.settings_of({"model": "llama3-8b", "gpus": "64", "seq. len.": "8,192", "batch size": "4", "tokens/batch": "16M",
                                 "mbs": "1", "recompute": "none"}, None, {})
    assert {case["global_batch"] for case, _ in rows.cases_of(settings)} == {2048}


def test_a_device_without_a_source_is_a_dgx():
    assert sources.cluster_of({"gpu": "NVIDIA H200"}, None) == "hgx-h200"
    assert sources.cluster_of({"gpu": "TPUv4"}, None) is None and sources.cluster_of({}, None) is None


def test_models_are_known_by_their_names():
    for name, layers in (("Llama 3.1 405B", 126), ("llama2-70b", 80), ("LLaMA-30B", 60), ("GPT-3 175B", 96), ("gpt 1T", 128),
                         ("grok1", 64), ("Mixtral-8x7B", 32)):
        assert architectures.sizes_of(name)["layers"] == layers, name
    assert architectures.sizes_of("unknown") == architectures.sizes_of("") == {}
    with pytest.raises(ValueError, match="no column says how wide the model is"):
        rows.settings_of({"model": "unknown"}, None, {})


def test_rates_are_times():
    """Of a row without a time, by what its source counts."""
    step = weft.models.gpt(layers=2, hidden=64, heads=4, vocabulary=128, sequence=32, data=2, global_batch=8, recomputation="full")
    device = steps.Device(2**36, 2**35, 1e14, 8)
    predicted = steps.Predicted(1.0, {"arena": 0}, 1e12, step.sizes, step.parallelism, device)
    assert predicted.seconds_of("tokens/s", 512, False) == 0.5
    assert predicted.seconds_of("tokens/s/device", 512, False) == 0.25
    assert predicted.seconds_of("sequences/s", 4, False) == 2
    assert predicted.seconds_of("mfu", 50, False) == predicted.seconds_of("mfu", 0.5, False) == pytest.approx(0.02)
    assert predicted.seconds_of("flop/s/device", 1, False) == 1
    assert predicted.seconds_of("flop/s/device", 1, True) == pytest.approx(4 / 3)
    row = {"tokens/s": "512", "mfu": "50", "tflops": "x"}
    assert rows.rate_of(row) == ("tokens/s", "tokens/s", 512)


def test_usual_software_is_that_of_the_device():
    for cluster, settings, want in (("dgx-h100", {}, "nemo-25"), ("dgx-a100", {}, "megatron-2022"),
                                    ("dgx-b200", {"sharded": "fsdp"}, "torchtitan-2024.12"),
                                    ("a100-sxm", {"sharded": "fsdp"}, "foundry-2023")):
        assert sources.usual_source(cluster, settings).software == want
    assert sources.usual_source("cpu-2core", {}) is None
    megatron = {"framework": "Megatron-LM", "gpu": "H100"}
    assert sources.source_of(megatron).software == "nemo-25"
    assert sources.source_of(megatron | {"gpu": "A100"}).software == "megatron-2021"


def memory_rows(name):
    """(column, GiB, those predicted) of a table."""
    for number, row in predict_script.read_rows(PERF_DATA / f"{name}.csv"):
        source = sources.source_of(row)
        framework = memory.framework_of(sources.software_of(row, source))
        for column, measured, counts, says in rows.memory_of(row):
            case = next(rows.cases_of(rows.settings_of(row, source, says)))[0]
            step = getattr(weft.models, rows.family_of(row))(**case)
            yield column, measured, getattr(memory.memory_of(step, framework, 1.5 * 2**30), counts) / 2**30


def test_memory_of_megatron_is_what_its_authors_count():
    found = list(memory_rows("calib_korthikanti"))
    assert [column for column, _, _ in found] == ["mem_gib_params_opt_per_gpu", "mem_gib_act_none", "mem_gib_act_seqpar_selective"]
    for column, measured, predicted in found:
        assert predicted == pytest.approx(measured, rel=1e-3), column


@pytest.mark.parametrize("name, mean, worst", [("calib_bloom", 0.03, 0.08), ("calib_torchtitan", 0.05, 0.05)])
def test_memory_of_frameworks(name, mean, worst):
    errors = [abs(predicted / measured - 1) for _, measured, predicted in memory_rows(name)]
    assert sum(errors) / len(errors) <= mean and max(errors) <= worst


def test_terms_add_up_and_runs_that_fail_are_called(tmp_path):
    csv = tmp_path / "rows.csv"
    csv.write_text("model,gpus,tp,pp,mbs,gbs,seq,recompute,oom\ngpt-13b,8,1,1,8,64,2048,none,1\ngpt-1.3b,8,1,1,1,64,2048,full,0\n")
    ran = predict(csv, "--cluster=dgx-h100", "--only=memory", "--terms")
    assert ran.returncode == 0, ran.stderr
    header, first, terms, second, _, summary = ran.stdout.splitlines()
    sizes = [float(size) for size in re.findall(r" (\d+\.\d\d)(?:,|$)", terms)]
    assert sum(sizes) == pytest.approx(float(first.split()[3]), abs=0.1)
    assert "exceeds 78.1" in first and " fits" in second
    assert summary == "out of memory: 1 of 1 that ran out are predicted to, 0 of 1 that ran"


def test_cases_that_do_not_fit_are_left_out(tmp_path):
    """Of a model that fits with recomputation only."""
    machine = steps.Machine("dgx-a100", "megatron-2022")
    settings = rows.settings_of({"model": "gpt-22b", "gpus": "8", "tp": "8", "mbs": "8", "gbs": "8", "attention": "unfused"}, None, {})
    cases = predict_script.plausible_cases(steps.Steps(binaries() / "shard-sim"), "gpt", settings, machine)
    assert {case["recomputation"] for case, _ in cases} == {"full"}


def test_micro_batches_that_leave_stages_empty_are_left_out():
    machine = steps.Machine("dgx-h100", "nemo-25")
    settings = rows.settings_of({"model": "gpt-13b", "gpus": "64", "tp": "8", "pp": "8", "gbs": "8", "sp": "1"}, None, {})
    cases = predict_script.plausible_cases(steps.Steps(binaries() / "shard-sim"), "gpt", settings, machine)
    assert {case["micro_batch"] for case, _ in cases} == {1}


SMALL = dict(hidden=512, heads=8, vocabulary=4096, sequence=512, attention="unfused", pipeline=2, data=2, tensor=2,
             micro_batch=1, global_batch=8)


@pytest.mark.parametrize("software, more", [
    ("megatron-2022", dict(recomputation="whole", sharded="zero1", gather="next-step")),
    ("megatron-2022", dict(recomputation="selective", attention="fused")),
    ("nemo-25", dict(sharded="zero1", gather="next-step", attention="fused", sequence_parallel=True)),
], ids=["whole blocks", "selective", "overlap"])
def test_few_layers_of_a_stage_stand_for_many(software, more, monkeypatch):
    monkeypatch.setattr(steps, "MANY_LAYERS", 6)
    machine = steps.Machine("dgx-a100", software, sources.options_of(software))
    settings = SMALL | dict(hidden=8192, heads=64, sequence=2048) | more
    # Of two stages one has a layer more.
    settings["layers"] = 2 * 10 + 1
    few, whole = (steps.Steps(binaries() / "shard-sim", whole=each).predict("gpt", settings, machine) for each in (False, True))
    assert few.of_few_layers and not whole.of_few_layers
    assert few.flops == whole.flops
    assert few.seconds == pytest.approx(whole.seconds, rel=3e-3)
    for purpose in ("parameters", "optimizer state", "activations"):
        assert few.memory[purpose] == pytest.approx(whole.memory[purpose], rel=1e-2)


def test_other_steps_are_compiled_whole():
    settings = SMALL | {"layers": 48}
    assert steps.repeats_layers(weft.models.gpt(**settings))
    for other in ({"sharded": "fsdp"}, {"layers": 36}, {"chunks": 6}, {"pipeline": 1}):
        assert not steps.repeats_layers(weft.models.gpt(**settings | other)), other


def test_plans_do_what_the_software_does():
    keeps = {"recompute_in_kernels": False}
    assert sources.options_of("torchtitan-2024.12-eager") == keeps | {"collective_pieces": 1}
    assert sources.options_of("torchtitan-2024.12-async-tp") == sources.options_of("nemo-25") == keeps
    assert sources.options_of(None) == {}


def test_megatron_calls_blocks_again():
    for name, recomputation in (("vtrain_multi_calibration", "whole"), ("calib_bloom", "whole"), ("calib_llm_foundry", "full")):
        row = published_row(name, 0)
        assert rows.settings_of(row, sources.source_of(row), {})["recomputation"] == recomputation


def test_accuracy_of_a_constant_and_of_a_model():
    runs = [accuracy.Run("a", 1, 1.1, 100), accuracy.Run("b", 2, 1.8, 100)]
    assert accuracy.mean_error(runs) == pytest.approx(0.1)
    assert accuracy.bias(runs) == pytest.approx(0)
    assert accuracy.best_constant(runs) == pytest.approx(0.25)
    assert accuracy.skill(runs) == pytest.approx(0.6)
    assert accuracy.skill(runs[:1]) is None


def test_no_row_is_an_error(tmp_path):
    csv = tmp_path / "rows.csv"
    csv.write_text(ROWS)
    ran = predict(csv, "--rows=5:9")
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", f"error: {csv} has 5 rows, none of them in --rows 5:9\n")
    for text in ("", f"{HEADER}\n"):
        csv.write_text(text)
        ran = predict(csv)
        assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", f"error: {csv} has no rows\n")
    ran = predict(tmp_path / "none.csv")
    assert ran.returncode == 2 and "there is no file" in ran.stderr
    ran = predict(csv, "--set", "width=3")
    assert ran.returncode == 2 and "got width=3" in ran.stderr
    ran = predict(csv, "--rows", "first")
    assert ran.returncode == 2 and "--rows: want FIRST:END, got first" in ran.stderr
    ran = predict(csv, "--jobs", "0")
    assert ran.returncode == 2 and "--jobs: want at least 1, got 0" in ran.stderr
