# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft.sweep`: every combination is predicted or says why not, the best first."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

import weft
import weft.numpy as wnp
from weft import P
from weft.models import gpt
from weft.simulation import simulate
from weft.sweep import __main__ as command_line
from weft.sweep.processes import run_each

SIZES = {"layers": 2, "hidden": 256, "heads": 4, "vocabulary": 1024, "sequence": 256, "global_batch": 8}


def lowered(ways, rows=1024):
    """A product of which 8 ranks share the rows or the columns."""
    mesh = weft.Mesh((8 // ways, ways), ("data", "model"))
    jitted = weft.jit(lambda x, w: wnp.tanh(x @ w), mesh=mesh, in_shardings=(P("data"), P(None, "model")))
    return jitted.lower(weft.ShapeDtypeStruct((rows, 1024), "bfloat16"), weft.ShapeDtypeStruct((1024, 1024), "bfloat16"))


def test_rows_are_those_of_the_simulator():
    found = weft.sweep(lowered, {"ways": [1, 2, 4], "rows": [1024, 65536]}, cluster="dgx-h100")
    assert len(found.rows) == 6 and found.left_out == ()
    assert [row.step_seconds for row in found.rows] == sorted(row.step_seconds for row in found.rows)
    for row in found.rows:
        compiled = lowered(**row.settings).compile(None, cluster="dgx-h100")
        step = simulate(compiled, "dgx-h100")
        assert (row.step_seconds, row.mfu, row.mesh) == (step["step_seconds"], step["mfu"], step["mesh"])
        assert row.arena_bytes == compiled.memory().arena and row.devices == 8 and row.tokens == 0
        assert row.fits and row.bubble_seconds == 0


def test_exposed_communication_and_bubbles_are_means_of_the_roles():
    def make(pipeline):
        return gpt(**SIZES, pipeline=pipeline, data=4 // pipeline)

    found = weft.sweep(make, {"pipeline": [1, 2]}, cluster="dgx-h100")
    alone, staged = sorted(found.rows, key=lambda row: row.settings["pipeline"])
    roles = simulate(make(2).lower().compile(None, cluster="dgx-h100"), "dgx-h100")["roles"]
    assert alone.bubble_seconds == 0 < staged.bubble_seconds
    assert staged.bubble_seconds == pytest.approx(sum(role["bubble_seconds"] for role in roles) / 2)
    assert staged.exposed_seconds == pytest.approx(
        sum(each["exposed_seconds"] for role in roles for each in role["communication"]) / 2)
    assert staged.tokens == 8 * 256


def test_what_compiles_is_compiled_for_the_cluster():
    """A function that is compiled already stays as it is."""
    clusters = {}

    def make(how):
        made = lowered(2)
        return made if how == "lowered" else made.compile(None, cluster="dgx-a100")

    for row in weft.sweep(make, {"how": ["lowered", "compiled"]}, cluster="dgx-h100").rows:
        clusters[row.settings["how"]] = row.step_seconds
    assert clusters.keys() == {"lowered", "compiled"}


def test_what_does_not_fit_comes_last(tmp_path):
    (tmp_path / "small.toml").write_text('base = "dgx-h100"\nname = "small"\n[device]\nmemory_bytes = 1700000000\n')
    found = weft.sweep(lowered, {"rows": [1 << 20, 1024], "ways": [1]}, cluster=tmp_path / "small.toml")
    assert [(row.settings["rows"], row.fits) for row in found.rows] == [(1024, True), (1 << 20, False)]
    assert re.search(r"exceeds [\d.]+ MiB\n", str(found))


def test_more_tokens_a_second_are_better():
    """Although the step of a larger batch takes longer."""
    found = weft.sweep(lambda batch: gpt(**SIZES | {"global_batch": batch}), {"batch": [8, 64]}, cluster="dgx-h100")
    assert [row.settings["batch"] for row in found.rows] == [64, 8]
    assert found.rows[0].step_seconds > found.rows[1].step_seconds
    assert "tokens/s" in str(found)


def test_none_is_lost():
    def make(how):
        if how == "raises":
            raise KeyError("no such layer")
        if how == "aborts":
            os.abort()
        if how == "is killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "exits":
            os._exit(7)
        if how == "is no function":
            return 3
        return lowered(16 if how == "is illegal" else 2)

    ways = ["works", "raises", "aborts", "is killed", "exits", "is no function", "is illegal"]
    found = weft.sweep(make, {"how": ways}, cluster="dgx-h100", jobs=2)
    assert [row.settings for row in found.rows] == [{"how": "works"}]
    assert [each.settings["how"] for each in found.left_out] == ways[1:]
    reasons = {each.settings["how"]: each.reason for each in found.left_out}
    assert reasons["raises"] == "KeyError: 'no such layer'"
    assert reasons["aborts"] == "its process was ended by signal 6"
    assert reasons["is killed"] == "its process was ended by signal 9"
    assert reasons["exits"] == "its process ended with status 7"
    assert reasons["is no function"] == "TypeError: make must return a compiled or lowered function, got int"
    assert reasons["is illegal"] == "Mesh axis sizes must be at least 1, got (0, 16)"
    text = str(found)
    assert text.startswith("1 of 7 combinations on dgx-h100, 8 devices\n") and "left out\n" in text
    assert max(map(len, text.splitlines())) <= 80
    assert all(f" how={how}: {reasons[how]} " in " ".join(text.split()) + " " for how in ways[1:])


def test_a_large_cluster_is_needed():
    found = weft.sweep(lowered, {"ways": [2]}, cluster="h100-sxm")
    assert "the mesh has 8 devices" in found.left_out[0].reason and "the only one: " in str(found)


def test_what_is_wrong_with_the_cluster_is_said_once(tmp_path, capsys):
    def make(ways):
        raise AssertionError("nothing is compiled")

    with pytest.raises(ValueError, match="cannot read the cluster file dgx-h10: .*clusters with a name are 8xa100-pcie, "):
        weft.sweep(make, {"ways": [1, 2]}, cluster="dgx-h10")
    (tmp_path / "wrong.toml").write_text('base = "dgx-h100"\nname = 1\n[network]\nrails = 3\n')
    with pytest.raises(ValueError, match="wrong.toml:2:1: .*\n.*wrong.toml:4:1: "):
        weft.sweep(make, {"ways": [1, 2]}, cluster=tmp_path / "wrong.toml")
    assert command_line.main([*GPT[:-1], "tensor=1,2", "--cluster=dgx-h10"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: cannot read the cluster file dgx-h10: ") and err.count("dgx-h10:") == 1


def test_the_table_has_what_varies():
    text = str(weft.sweep(lowered, {"ways": [1, 2], "rows": [1024]}, cluster="dgx-h100"))
    head, *rows = text.splitlines()[1:]
    assert head.split() == ["ways", "mesh", "step", "time", "MFU", "exposed", "memory"]
    assert len(rows) == 2 and all(row.endswith("  fits") for row in rows)
    text = str(weft.sweep(lambda data: gpt(**SIZES, data=data, pipeline=2), {"data": [1, 2]}, cluster="dgx-h100"))
    first, head, *rows = text.splitlines()
    assert first == "2 of 2 combinations on dgx-h100"
    assert head.split() == ["data", "mesh", "devices", "step", "time", "tokens/s", "efficiency", "MFU", "exposed", "bubble",
                            "memory"]
    assert repr(weft.sweep(lowered, {"ways": []}, cluster="dgx-h100")) == "0 of 0 combinations on dgx-h100\n"


def test_no_more_than_jobs_at_a_time(tmp_path):
    def task(number):
        (tmp_path / f"{number}").touch()
        time.sleep(0.05)
        seen = len(list(tmp_path.iterdir()))
        (tmp_path / f"{number}").unlink()
        return number, seen

    done = []
    results = run_each([lambda number=number: task(number) for number in range(8)], 3, lambda *at: done.append(at))
    assert [number for number, _ in results] == [*range(8)]
    assert 1 < max(seen for _, seen in results) <= 3
    assert done == [(count, 8) for count in range(1, 9)]


def test_processes_end_with_the_caller(tmp_path):
    """An error of the caller, as Ctrl-C, stops what runs."""
    def slow():
        (tmp_path / "pid").write_text(str(os.getpid()))
        time.sleep(60)

    def fail(done, all_):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        run_each([lambda: time.sleep(0.5), slow], 2, fail)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.parametrize("jobs", [0, 1.5, True])
def test_jobs_is_a_number(jobs):
    with pytest.raises(ValueError, match=f"jobs must be a number of at least 1, got {jobs}"):
        weft.sweep(lowered, {}, cluster="dgx-h100", jobs=jobs)


# The command line

GPT = ["gpt", *(f"{name}={value}" for name, value in SIZES.items()), "--cluster=dgx-h100"]
MLIR = """
weft.mesh @mesh = <["data"=2, "model"=2]>
func.func @step(%x: tensor<4096x4096xbf16> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"data"}, {"model"}]>},
                %w: tensor<4096x4096xbf16> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<4096x4096xbf16> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}) {
  %y = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  return %y : tensor<4096x4096xbf16>
}
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "step.mlir").write_text(MLIR)
    return str(tmp_path / "step.mlir")


def run(capsys, *arguments):
    status = command_line.main([*arguments])
    out, err = capsys.readouterr()
    assert err == ""
    return status, out


def rows_of(capsys, *arguments):
    status, out = run(capsys, *arguments, "--json")
    found = json.loads(out)
    assert status == (0 if found["rows"] else 1)
    return found["rows"], found["left_out"]


def test_models(capsys):
    rows, left_out = rows_of(capsys, *GPT, "tensor=1,2,8", "pipeline=1,2", "--devices=8", "--jobs=2")
    assert {(r["settings"]["tensor"], r["settings"]["pipeline"]): r["mesh"] for r in rows} == {
        (1, 1): {"data": 8}, (2, 1): {"data": 4, "tensor": 2}, (1, 2): {"pipeline": 2, "data": 4},
        (2, 2): {"pipeline": 2, "data": 2, "tensor": 2}}
    assert {each["reason"] for each in left_out} == {
        "weft.models.gpt: tensor must divide heads, but 4 is no multiple of 8",
        "pipeline x context x tensor is 16, which does not divide 8 devices"}


def test_llama(capsys):
    rows, _ = rows_of(capsys, "llama", *GPT[1:], "kv_heads=2", "sharded=none,fsdp", "data=4")
    assert {row["settings"]["sharded"] for row in rows} == {"none", "fsdp"}


def test_the_rest_of_the_devices(capsys):
    rows, _ = rows_of(capsys, *GPT, "data=1,2", "--devices=4", "--rest=tensor")
    assert sorted(str(row["mesh"]) for row in rows) == ["{'data': 2, 'tensor': 2}", "{'tensor': 4}"]
    _, left_out = rows_of(capsys, *GPT, "data=2", "tensor=2", "--devices=8")
    assert left_out[0]["reason"] == "pipeline x data x context x tensor is 4, not 8 devices"


def test_strong_scaling(capsys, program):
    rows, left_out = rows_of(capsys, *GPT, "tensor=2", "--devices=2,4,8,3")
    assert [row["settings"]["devices"] for row in rows] == [8, 4, 2] and all(row["tokens"] == rows[0]["tokens"] for row in rows)
    assert left_out[0]["reason"] == "pipeline x context x tensor is 2, which does not divide 3 devices"
    for arguments in ([*GPT, "tensor=2"], [program, "model=2", "--cluster=dgx-h100"]):
        rows, _ = rows_of(capsys, *arguments, "--devices=2,4")
        (head, *lines) = run(capsys, *arguments, "--devices=2,4")[1].splitlines()[1:]
        assert head.split()[:2] == ["devices", "mesh"] and head.split().count("devices") == 1
        for row, line in zip(rows, lines):
            smallest = next(each for each in rows if each["devices"] == 2)
            efficiency = smallest["step_seconds"] * 2 / row["step_seconds"] / row["devices"]
            assert f"  {100 * efficiency:.1f} %  " in line


@pytest.mark.parametrize("text", ["0", "8,", "8,x", "-8", ""])
def test_numbers_of_devices(program, capsys, text):
    with pytest.raises(SystemExit) as ended:
        command_line.main([program, "--cluster=dgx-h100", f"--devices={text}"])
    assert ended.value.code == 2
    assert f"numbers of devices of at least 1, separated by commas, are wanted, got {text!r}" in capsys.readouterr().err


def test_options_of_the_compiler(capsys):
    rows, _ = rows_of(capsys, *GPT, "data=8", "overlap_collectives=true,false")
    times = {row["settings"]["overlap_collectives"]: row["step_seconds"] for row in rows}
    assert times[True] < times[False]
    rows, left_out = rows_of(capsys, *GPT, "memory_limit=1KB,1GiB")
    assert [row["settings"]["memory_limit"] for row in rows] == ["1GiB"]
    assert "memory limit" in left_out[0]["reason"]


def test_a_file(capsys, program):
    rows, left_out = rows_of(capsys, program, "model=1,2,4,3", "--devices=8", "--cluster=dgx-h100")
    assert {row["settings"]["model"]: row["mesh"] for row in rows} == {
        1: {"data": 8, "model": 1}, 2: {"data": 4, "model": 2}, 4: {"data": 2, "model": 4}}
    assert left_out[0]["reason"] == "model is 3, which does not divide 8 devices"
    rows, _ = rows_of(capsys, program, "--cluster=dgx-h100")
    assert rows[0]["mesh"] == {"data": 2, "model": 2}
    rows, left_out = rows_of(capsys, program, "data=2,4", "model=4", "overlap_collectives=true,false", "--devices=8",
                             "--cluster=dgx-h100")
    assert len(rows) == 2 and left_out[0]["reason"] == "data x model is 16, not 8 devices"
    rows, _ = rows_of(capsys, program, "data=2", "memory_limit=2GiB,1GiB", "--cluster=dgx-h100")
    assert len(rows) == 2
    _, left_out = rows_of(capsys, program, "tensor=2", "--cluster=dgx-h100")
    assert left_out[0]["reason"].startswith("tensor: neither an axis of the mesh (data, model) nor an option (batch_launches,")


def test_an_entry_of_a_file(capsys, program):
    with open(program, "a") as file:
        file.write('func.func @other(%x: tensor<8xf32> {weft.name = "x"}) -> (tensor<8xf32> {weft.name = "y"}) {\n'
                   "  %y = arith.addf %x, %x : tensor<8xf32>\n  return %y : tensor<8xf32>\n}\n")
    both = {entry: rows_of(capsys, program, f"--entry={entry}", "--cluster=dgx-h100")[0][0]["step_seconds"]
            for entry in ("step", "other")}
    assert both["other"] < both["step"]
    _, left_out = rows_of(capsys, program, "--cluster=dgx-h100")
    assert left_out[0]["reason"] == "the plan has several entries; name one of step, other as entry="


def test_tables(capsys, program):
    status, out = run(capsys, program, "model=1,3", "--devices=8", "--cluster=dgx-h100")
    assert status == 0
    assert re.fullmatch(r"1 of 2 combinations on dgx-h100, 8 devices\n"
                        r" +model +mesh  step time +MFU  exposed +memory\n"
                        r"1 +1  data=8 x model=1 .* fits\n"
                        r"left out\n  model=3: model is 3, which does not divide 8 devices\n", out)
    assert run(capsys, program, "model=3", "--devices=8", "--cluster=dgx-h100")[0] == 1


def test_progress_on_a_terminal(program, monkeypatch, capsys):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    assert command_line.main([program, "model=1,2", "--cluster=dgx-h100"]) == 0
    assert "\r1 of 2" in sys.stderr.getvalue() and sys.stderr.getvalue().endswith("\r")


def test_as_a_module(program):
    ran = subprocess.run([sys.executable, "-m", "weft.sweep", program, "--cluster=dgx-h100"], capture_output=True, text=True)
    assert ran.returncode == 0 and ran.stderr == "" and ran.stdout.startswith("1 of 1 combination on dgx-h100, 4 devices\n")


@pytest.mark.parametrize("arguments, expected", [
    (["bert", "--cluster=dgx-h100"], "error: MODEL must be one of gpt, llama or a file that ends in .mlir, got 'bert'"),
    (["none.mlir", "--cluster=dgx-h100"], "error: cannot open none.mlir: No such file or directory"),
    (["gpt"], "the following arguments are required: --cluster"),
    (["gpt", "tensor", "--cluster=dgx-h100"], r"must be NAME=VALUE or NAME=VALUE,VALUE,..., got 'tensor'"),
    (["gpt", "tensor=1,,2", "--cluster=dgx-h100"], r"must be NAME=VALUE or NAME=VALUE,VALUE,..., got 'tensor=1,,2'"),
    (["gpt", "--cluster=dgx-h100", "--jobs=0"], "error: jobs must be a number of at least 1, got 0"),
    (["STEP", "--cluster=dgx-h100", "--devices=8", "--rest=tensor"],
     "error: the mesh has no axis 'tensor' that takes the rest of the devices; --rest names one of data, model"),
])
def test_errors(program, capsys, arguments, expected):
    try:
        status = command_line.main([program if each == "STEP" else each for each in arguments])
    except SystemExit as exit_:
        status = exit_.code
    assert status == 2 and re.search(expected, capsys.readouterr().err)


def test_settings_that_are_no_numbers(capsys):
    _, left_out = rows_of(capsys, *GPT, "tensor=two")
    assert left_out[0]["reason"] == "tensor must be a whole number, got 'two'"
    _, left_out = rows_of(capsys, *GPT, "colour=red")
    assert "unknown setting colour" in left_out[0]["reason"]
