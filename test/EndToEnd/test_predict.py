# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""benchmarks/predict.py: columns, what is assumed, ranges, what is left out, and the summary."""

import os
import pathlib
import re
import subprocess
import sys

from conftest import ROOT, binaries

HEADER = "# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,tensor parallelism,data parallelism,pipeline parallelism"
ROWS = f"""{HEADER},iteration time (ms),notes
2,8,2,64,4,2,32,1,2,1,10,a
4,8,1,64,4,2,32,2,1,2,20,b
4,8,1,64,3,2,32,2,1,2,20,c
8,8,1,64,4,2,32,2,1,2,20,d
16,16,1,64,4,x,32,1,16,1,20,e
"""


def predict(csv, *options):
    package = binaries().parent / "python"
    return subprocess.run([sys.executable, ROOT / "benchmarks/predict.py", csv, "--cluster=dgx-a100", *options],
                          capture_output=True, text=True, timeout=300, env=os.environ | {"PYTHONPATH": str(package)})


def test_rows_are_predicted_or_left_out_with_a_reason(tmp_path: pathlib.Path):
    csv = tmp_path / "rows.csv"
    csv.write_text(ROWS)
    ran = predict(csv, "--set", "vocabulary=128", "recomputation=full")
    assert ran.returncode == 0, ran.stderr
    header, first, second, heads, devices, layers, summary = ran.stdout.splitlines()
    assert re.fullmatch(r" *0 +0\.010 +\d+\.\d{3} +-?\d+\.\d% +\d+\.\d +", first)
    assert re.fullmatch(r" *1 +0\.020 +\d+\.\d{3} to \d+\.\d{3} +-?\d+\.\d% +\d+\.\d  sequence_parallel False or True", second)
    assert heads.endswith("left out: weft.models.gpt: heads must divide hidden, but 64 is no multiple of 3")
    assert devices.endswith("left out: data x tensor x pipeline x context is 4, not the 8 devices")
    assert layers.endswith("left out: layers must be a whole number, got 'x'")
    refused = predict(csv, "--set", "vocabulary=128", "recomputation=full", "--rows=1:2", "--cluster=h100-sxm").stdout
    assert "left out: the mesh has 4 devices, H100 SXM has 1: it needs a larger cluster" in refused
    assert re.match(r"2 runs: mean error \d+\.\d%, signed [+-]\d+\.\d%, worst [+-]\d+\.\d% \(row [01], iteration time \(ms\)\)",
                    summary)


def test_no_row_is_an_error(tmp_path):
    csv = tmp_path / "rows.csv"
    csv.write_text(f"{HEADER}\n")
    ran = predict(csv)
    assert (ran.returncode, ran.stderr) == (1, "error: no row could be predicted\n")
    ran = predict(tmp_path / "none.csv")
    assert ran.returncode == 2 and "there is no file" in ran.stderr
    ran = predict(csv, "--set", "width=3")
    assert ran.returncode == 2 and "got width=3" in ran.stderr
