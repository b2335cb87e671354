# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bad input of examples/gpt is told at once and in full, and costs nothing."""

import numpy as np
import pytest

import checkpoint
import model
import sample
import train
import weft
from conftest import SMALL, STEPS, run


def refused(*arguments):
    """The lines of a refusal, without "error: "."""
    with pytest.raises(SystemExit) as stopped:
        run(*arguments)
    lines = str(stopped.value).splitlines()
    assert lines and all(line.startswith("error: ") for line in lines)
    return [line.removeprefix("error: ") for line in lines]


def test_all_that_is_wrong_is_said_at_once(tmp_path):
    (tmp_path / "short").write_bytes(b"too short")
    assert refused("--data", tmp_path / "short", "--layers=0", "--learning-rate=much", "--width=30",
                   "--heads=4", "--steps=10", "--prompt=", "--mesh=data=3", "--parallel=dp+pd",
                   "--resume", "--out", tmp_path) == [
        "--layers: want an integer of 1 or more, got '0'",
        "--learning-rate: want a number of 0 or more, got 'much'",
        f"--resume: {tmp_path}: no checkpoint",
        "--parallel: unknown mode pd; modes are dp, zero1, fsdp, hsdp, tp, sp, cp, ep, pp, and "
        "sums of them as fsdp+tp",
        "--width 30 must be a multiple of --heads 4",
        "--warmup 20 must be less than --steps 10",
        "--prompt: the sample continues at least one byte",
        "--data: 9 bytes for training, which needs more than the --context of 256",
        "--data: 0 bytes for validation, which needs more than the --context of 256",
    ]
    assert [each.name for each in tmp_path.iterdir()] == ["short"]


@pytest.mark.parametrize(("arguments", "problems"), [
    (["--mesh=data,data=2,data=3,model=0"], [
        "--mesh: want axis=size, size 1 or more, got 'data'",
        "--mesh: the axis data is there twice",
        "--mesh: want axis=size, size 1 or more, got 'model=0'"]),
    (["--mesh=replica=2,data=2,model=16", "--parallel=hsdp+sp", "--batch=3", "--context=12"], [
        "--batch 3 cannot be split over replica=2,data=2: 1 of 4 ranks would have nothing of it",
        "--heads 8 cannot be split over model=16: 8 of 16 ranks would have nothing of it",
        "--context 12 cannot be split over model=16: 4 of 16 ranks would have nothing of it"]),
    (["--mesh=data=2", "--parallel=dp+tp+sp"], [
        "--parallel tp+sp splits over the axis model, which the mesh data=2 does not have"]),
    (["--mesh=data=2,model=2", "--parallel=dp"], [
        "--mesh: nothing is split over the axis model by --parallel dp"]),
    (["--mesh=rows=2"], ["--mesh: nothing is split over the axis rows by --parallel (none)"]),
    (["--mesh=pipe=2,data=2", "--batch=6"], [
        "--batch 6 in --micro-batches 4 cannot be split over data=2: 1 of 2 ranks would have nothing of it",
        "--batch 6 must be a multiple of --micro-batches 4"]),
    (["--mesh=expert=2"], ["--parallel ep splits experts, which a model has by --moe"]),
    (["--mesh=expert=8", "--moe=experts=4,top=5,tops=1,capacity=0"], [
        "--moe: want experts=N, top=N, capacity=N, parts=N with numbers above 0, got 'tops=1'",
        "--moe: want experts=N, top=N, capacity=N, parts=N with numbers above 0, got 'capacity=0'",
        "--moe experts=4 cannot be split over expert=8: 4 of 8 ranks would have nothing of it",
        "--moe: top=5 is more than experts=4"]),
    (["--moe=top=2", "--context=5"], ["--moe: say how many experts there are, as in experts=8,top=2"]),
    (["--mesh=context=2", "--moe=experts=4,parts=3"], [
        "--context 256 must be a multiple of --moe parts=3"]),
    (["--mesh=context=2", "--moe=experts=4"], [
        "--moe parts=1 cannot be split over context=2: 1 of 2 ranks would have nothing of it"]),
    (["--mesh=pipe=2", "--layers=3", "--schedule=zb-v"], [
        "--layers 3 cannot be cut into the 4 stages of the pipeline: each has one or more"]),
    (["--mesh=pipe=4", "--schedule=zb-h2", "--chunks=2", "--micro-batches=4"], [
        "--schedule: schedule zb-h2 admits chunks = 1 and microbatches >= 2 * ranks - 1, got ranks = 4, "
        "microbatches = 4 and chunks = 2"]),
    (["--mesh=pipe=2", "--schedule=/no/such.csv"], ["--schedule: /no/such.csv: No such file or directory"]),
    (["--mesh=data=2", "--schedule=1f1b", "--chunks=2"], [
        "--schedule is an option of --parallel pp", "--chunks is an option of --parallel pp"]),
    (["--mesh=data=2", "--parallel=pp+dp"], [
        "--parallel pp splits over the axis pipe, which the mesh data=2 does not have"]),
    (["--mesh=pipe=2", "--schedule=wrong"], [
        f"--schedule: unknown schedule \"wrong\"; there are {', '.join(weft.pipeline.schedule_names())}"]),
    (["--data", "/no/such/file"], ["--data: /no/such/file: No such file or directory"]),
])
def test_each_problem(tmp_path, arguments, problems):
    assert refused(*arguments, "--out", tmp_path / "run") == problems
    assert not (tmp_path / "run").exists()


def test_each_problem_of_a_table(tmp_path):
    """What is wrong with one; and what of one that another pipeline would have."""
    (tmp_path / "wrong.csv").write_text("0F0,0F1,0B0\n1F0,1W0,1I0,1F1,1B1\n")
    assert refused("--mesh=pipe=2", "--schedule", tmp_path / "wrong.csv", "--out", tmp_path / "run") == [
        f"--schedule: {tmp_path}/wrong.csv: row 1: 0B1 is missing; add it, or 0I1 and 0W1",
        f"--schedule: {tmp_path}/wrong.csv: row 2: 1W0 stands before 1I0, which it needs; move it behind"]
    (tmp_path / "other.csv").write_text("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n")
    lines = refused(*SMALL, "--mesh=pipe=2", "--micro-batches=4", "--schedule", tmp_path / "other.csv",
                    "--out", tmp_path / "run")
    assert any("has 2 micro-batches, but @train_step has 4" in line for line in lines), lines


def test_a_checkpoint_is_not_lost(workshop, tmp_path):
    folder = workshop.training("data=1", "dp").folder
    assert refused(*SMALL, "--out", folder) == [
        f"--out: the checkpoint in {folder} is of another run and would be lost; continue it "
        "with --resume, or name another folder"]
    other = tmp_path / "text"
    other.write_bytes(bytes(1000))
    assert refused("--resume", "--out", folder, "--width=64", "--seed=1", "--moe=experts=4", "--data", other) == [
        "--width 64: the run of the checkpoint has 32; leave it out, or begin another run with "
        "another --out",
        "--seed 1: the run of the checkpoint has 0; leave it out, or begin another run with "
        "another --out",
        "--moe experts=4: the run of the checkpoint has 0; leave it out, or begin another run with "
        "another --out",
        "--data: the text is not that of the checkpoint, whose run would not be continued"]
    assert weft.saved_steps(folder) == [STEPS]


def test_checkpoints_that_are_none(tmp_path):
    weft.save(tmp_path, {"a": np.zeros(3)}, step=1).wait()
    assert refused("--resume", "--out", tmp_path) == [
        f"--resume: {tmp_path}: the checkpoint is not of this program"]
    (tmp_path / "step-00000001" / "checkpoint.json").write_text("{}")
    assert refused("--resume", "--out", tmp_path) == [
        f"--resume: {tmp_path}/step-00000001/checkpoint.json: it is no description of a checkpoint"]


def test_a_checkpoint_of_another_model(tmp_path):
    """Every array that does not fit is named."""
    config = model.Config(1, 8, 2, 4)
    params = model.init(config, 0)
    params["norm"] = np.ones(9, np.float32)
    del params["blocks"][0]["up"]
    settings = {"layers": 1, "width": 8, "heads": 2, "context": 4}
    weft.save(tmp_path, {"state": {"params": params}}, step=0, metadata=checkpoint.metadata(settings)).wait()
    with pytest.raises(ValueError) as raised:
        checkpoint.params(checkpoint.read(tmp_path))
    assert str(raised.value).splitlines() == [
        f"{tmp_path}/step-00000000 is not like the tree:",
        "  state['params']['blocks'][0]['up'] is not in it",
        "  state['params']['norm'] is float32[9] in it and float32[8] in the tree"]


def test_a_loss_that_is_no_number(tmp_path):
    """The last checkpoint stays."""
    (line,) = refused(*SMALL[:-1], "--learning-rate=1e30", "--checkpoint-every=1", "--out", tmp_path)
    assert line.endswith("a smaller --learning-rate may help")
    found = checkpoint.read(tmp_path)
    assert f"the loss of step {found.step + 1} is nan" in line


def test_samples_need_a_model(tmp_path, monkeypatch):
    weft.save(tmp_path, {}, step=0, metadata=checkpoint.metadata({"layers": 1})).wait()
    monkeypatch.setattr("sys.argv", ["sample.py", str(tmp_path)])
    with pytest.raises(SystemExit, match="the settings of the run have no width, heads, context"):
        sample.main()


def test_help_lists_the_modes(capsys):
    with pytest.raises(SystemExit) as stopped:
        train.main(["--help"])
    assert stopped.value.code == 0
    assert "fsdp   dp with all states in parts (ZeRO-3)" in capsys.readouterr().out
