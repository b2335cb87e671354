# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""benchmarks/compare_xla.py on two cases, and on a program that Weft does not compile."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys

import pytest

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
pytest.importorskip("jax", reason="XLA is what is compared with")

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))

import jax  # noqa: E402
from xla_comparison import measure, table  # noqa: E402
from xla_comparison.case import Case  # noqa: E402
from xla_models import MODELS  # noqa: E402


def compare(folder, *arguments):
    """(output, records)"""
    run = subprocess.run(
        [sys.executable, ROOT / "benchmarks/compare_xla.py", "--json", folder / "out.json",
         "--cache", folder / "cache.json", *arguments],
        capture_output=True, text=True, timeout=280)
    assert run.returncode in (0, 1), run.stderr
    return run.stdout, json.loads((folder / "out.json").read_text())


def test_two_cases(tmp_path):
    arguments = ["--models", "vae", "gcn", "--strategies", "DP", "--sizes", "small"]
    output, records = compare(tmp_path, *arguments, "--jobs", "2", "--details")
    vae, gcn = records
    # Data parallelism reduces the gradient of each parameter and the loss, nothing else.
    config = MODELS["vae"].sizes["small"]
    i, w, z = config.inputs, config.width, config.latent
    parameters = (i * w + w) + 2 * w * z + (z * w + w) + (w * i + i)
    for side in vae["xla"], vae["weft"]:
        # The loss has up to four terms, of which the chunks of a ring are a byte each.
        scalars = (side["bytes"] - 2 * 7 / 8 * 4 * parameters) / (2 * 7)
        assert scalars in range(1, 5)
        assert side["time"] == side["calls"] * 5e-6 + side["bytes"] / 50e9
    # Every device needs the features of all nodes.
    gathered = sum(t["bytes"] for t in gcn["weft"]["traffic"] if t["kind"] == "all-gather")
    config = MODELS["gcn"].sizes["small"]
    assert gathered >= 7 / 8 * 4 * config.nodes * config.width
    for record, name in (vae, "vae"), (gcn, "gcn"):
        (row,) = (line for line in output.splitlines()
                  if line.startswith(f"{name} ") and "|" in line)
        sent = [f"{record[side]['bytes'] / 1024:,.1f}" for side in ("weft", "xla")]
        assert row.split("|")[1].split()[:2] == sent
    assert 'partial sums over "data"' in output and "0 cases that Weft does not compile" in output

    earlier = tmp_path / "earlier.json"
    vae["weft"]["bytes"] *= 2
    earlier.write_text(json.dumps(records))
    output, again = compare(tmp_path, *arguments, "--jobs", "1", "--against", earlier)
    assert "  bytes: geometric mean 0.707, less in 1, more in 0\n" in output
    assert "  memory: geometric mean 1.000, less in 0, more in 0" in output
    # Kept, to the seconds that it took.
    assert [record["xla"] for record in again] == [record["xla"] for record in records]
    assert again[1]["weft"]["bytes"] == gcn["weft"]["bytes"]


def test_no_more_bytes_for_the_same_time(tmp_path):
    """The maximum and the sum of split logits, in as many calls as if the logits were gathered: a small part of the step."""
    _, (record,) = compare(tmp_path, "--models", "resnet", "--strategies", "TP", "--sizes", "large")
    assert record["weft"]["bytes"] < record["xla"]["bytes"] and record["weft"]["calls"] <= record["xla"]["calls"]


def test_what_weft_does_not_compile_is_reported(monkeypatch):
    mlp = MODELS["mlp"]

    def loss(params, batch, config):
        return mlp.loss(params, {**batch, "x": jax.lax.reduce_precision(batch["x"], 5, 4)}, config)

    monkeypatch.setitem(MODELS, "mlp", dataclasses.replace(mlp, loss=loss))
    result, *_ = measure.measure(Case("mlp", "DP", "small"), {}, {})
    assert result.weft is None and result.xla.bytes > 0
    assert "stablehlo.reduce_precision" in result.error
    assert "mlp              DP       small | not compiled by Weft: " in table.row(result)
    assert f"1 cases that Weft does not compile\n  mlp DP small: {result.error}" in table.summary([result])
