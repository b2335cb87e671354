# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""benchmarks/gpu/breakdown.py: the sums that it makes of a trace written by hand."""

import json
import subprocess
import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "benchmarks/gpu"))

import breakdown  # noqa: E402
import problem  # noqa: E402
import run as program  # noqa: E402


def event(step, name, begin, end, predicted=0, stream=0, rank=0, entry="step", **args):
    if predicted:
        args["predicted_us"] = predicted
    return {"name": name, "ph": "X", "ts": begin, "dur": end - begin, "pid": rank, "tid": stream,
            "args": {"entry": entry, "step": step, **args}}


FIRST = [event(0, "gemm", 0, 900, 40)]
SECOND = [
    event(0, "gemm", 1000, 1050, 40, location="mlp.py:3"),
    event(1, "all_reduce", 1050, 1090, stream=1, wire_bytes=4),
    event(2, "add of 16", 1050, 1060, 10, cause="gradient of w"),
    event(3, "wait", 1060, 1090),
    event(4, "attention", 1090, 1120, 25),
    event(5, "copy", 1130, 1132, 2),
    event(6, "gemm", 1140, 1200, 50),
    event(7, "all_gather", 1140, 1190, stream=2, wire_bytes=64),
    # Another rank is not looked at.
    event(0, "gemm", 1000, 5000, 40, rank=1),
]


@pytest.fixture
def found():
    return breakdown.of_events([e for e in FIRST + SECOND if e["pid"] == 0])


def test_parts_of_the_last_run(found):
    assert (found["us"], found["predicted_us"]) == (200, 127)
    assert {name: (part["count"], part["us"], part["predicted_us"]) for name, part in found["parts"].items()} == {
        "GEMMs": (2, 110, 90), "attention": (1, 30, 25), "kernels": (1, 10, 10), "copies": (1, 2, 2),
        "waits for collectives": (1, 30, 0), "collectives beside them": (2, 90, 0), "gaps": (0, 18, 0)}
    beside = found["parts"].pop("collectives beside them")
    assert sum(part["us"] for part in found["parts"].values()) == 200
    assert sum(part["share"] for part in found["parts"].values()) == pytest.approx(1)
    assert sum(part["predicted_share"] for part in found["parts"].values()) == pytest.approx(1)
    assert beside["share"] == pytest.approx(0.45)


def test_instructions_in_order(found):
    assert [each["step"] for each in found["longest"]] == [6, 0, 3, 4, 2, 5]
    # By what they took beyond the prediction: 30, 10, 10, 5, 0, 0.
    assert [each["step"] for each in found["slowest"]] == [3, 0, 6, 4, 2, 5]
    assert found["longest"][1] == {"step": 0, "name": "gemm", "location": "mlp.py:3", "us": 50, "predicted_us": 40}


def test_entries_are_apart():
    events = [event(0, "gemm", 0, 10, entry="init"), event(1, "gemm", 20, 50)]
    assert breakdown.of_events(events)["us"] == 30


def test_nothing_recorded():
    assert breakdown.of_events([])["parts"] == {}


def test_the_program_prints_it(tmp_path):
    names = {"name": "process_name", "ph": "M", "pid": 0, "tid": 0, "args": {"name": "rank 0"}}
    trace = tmp_path / "trace.json"
    trace.write_text(json.dumps({"traceEvents": [names, *FIRST, *SECOND]}))
    result = subprocess.run([sys.executable, ROOT / "benchmarks/gpu/breakdown.py", trace, "--top", "1"],
                            capture_output=True, text=True, check=True)
    assert result.stdout.splitlines() == [
        "                                         measured           predicted",
        "GEMMs                       2     0.110 ms  55.0%     0.090 ms  70.9%",
        "collectives beside them     2     0.090 ms  45.0%     0.000 ms   0.0%",
        "waits for collectives       1     0.030 ms  15.0%     0.000 ms   0.0%",
        "attention                   1     0.030 ms  15.0%     0.025 ms  19.7%",
        "gaps                        0     0.018 ms   9.0%     0.000 ms   0.0%",
        "kernels                     1     0.010 ms   5.0%     0.010 ms   7.9%",
        "copies                      1     0.002 ms   1.0%     0.002 ms   1.6%",
        "instructions that took longest:",
        "      6       60.0 us, predicted     50.0: gemm  ",
        "instructions that exceed most what was predicted:",
        "      3       30.0 us, predicted      0.0: wait  ",
    ]


def test_operations_of_a_model():
    """GPT-2 has 124 million parameters, and 1024 positions of 768 that count as none here."""
    config = problem.SIZES["124M"]
    assert config.parameters + 1024 * 768 == pytest.approx(124.4e6, rel=3e-3)
    assert config.flops_per_token == 6 * config.parameters + 6 * 12 * 768 * 1024


def test_figures_of_a_speed(monkeypatch):
    monkeypatch.setattr(problem, "peak", lambda: 1e15)
    found = problem.figures(problem.SIZES["124M"], 64, [0.2, 0.1, 0.4])
    assert found["seconds"] == 0.2
    assert found["tokens_per_second"] == 64 * 1024 / 0.2
    assert found["mfu"] == found["tokens_per_second"] * problem.SIZES["124M"].flops_per_token / 1e15


def test_the_ratio_and_whether_it_is_fair():
    part = {"GEMMs": {"share": 0.5, "predicted_share": 0.25}}
    weft = {"tokens_per_second": 90.0, "batch": 8, "losses": [4.0, 3.0], "parts": part}
    jax = {"tokens_per_second": 100.0, "batch": 8, "losses": [4.0, 3.003]}
    torch = {"tokens_per_second": 120.0, "batch": 16, "losses": [1.0, 1.0]}
    assert program.comparison("124M", {"weft": weft, "torch": torch, "jax": jax}) == [
        "GPT-2 124M: 0.750 of torch, the better of torch, jax",
        # Of another batch, losses say nothing.
        "GPT-2 124M: losses differ from those of jax by 1.0e-03",
        "GPT-2 124M: GEMMs 50.0% (predicted 25.0%)"]
    other = {**jax, "losses": [4.0, 3.3]}
    assert program.comparison("124M", {"weft": weft, "jax": other})[1].endswith(
        "by 9.1e-02: NOT THE SAME TRAINING")
    assert program.comparison("124M", {"jax": jax}) == []
