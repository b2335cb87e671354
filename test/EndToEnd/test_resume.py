# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints of shard-run: a run that is resumed has the bits of one that never stopped."""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest
import safetensors.numpy

from conftest import EXAMPLE, tool
from launchers import ENVIRONMENT, run
from test_mpi import Job, command, plan  # noqa: F401

STEPS = 6


def checkpoints(folder):
    return sorted(path.name for path in folder.iterdir())


def contents(folder):
    """All files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def options(folder, *more):
    return ["--checkpoint", folder / "run", "--every", "2", "--metrics", folder / "metrics.csv", *more]


@pytest.fixture(scope="module")
def whole(plan, tmp_path_factory):  # noqa: F811
    """A run that never stopped."""
    folder = tmp_path_factory.mktemp("whole")
    result = run(command(plan, STEPS, *options(folder)))
    assert result.returncode == 0, result.stderr
    return folder


def damage(path, position=-1):
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)


def test_other_tools_read_them(whole):
    folder = whole / "run" / f"step-{STEPS:08}"
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    arrays = {}
    for file in set(index["weight_map"].values()):
        arrays |= safetensors.numpy.load_file(folder / file)
    assert arrays.keys() == index["weight_map"].keys()
    assert index["metadata"]["total_size"] == sum(array.nbytes for array in arrays.values())
    assert all(np.isfinite(array).all() for array in arrays.values())


@pytest.mark.parametrize("processes", [2, 4])
def test_processes_write_the_files_of_threads(mpirun, plan, whole, processes, tmp_path):  # noqa: F811
    result = run([*mpirun, "-n", processes, *command(plan, STEPS, *options(tmp_path))])
    assert result.returncode == 0, result.stdout + result.stderr
    assert contents(tmp_path) == contents(whole)


def test_a_resumed_run_has_the_bits_of_one_that_never_stopped(mpirun, plan, whole, tmp_path):  # noqa: F811
    """Half of the steps in one process, half in two."""
    given = options(tmp_path, "--resume")
    assert run(command(plan, STEPS - 2, *given)).returncode == 0
    result = run([*mpirun, "-n", 2, *command(plan, STEPS, *given)])
    assert result.returncode == 0, result.stdout + result.stderr
    assert contents(tmp_path) == contents(whole)
    # Nothing is left to do.
    again = run(command(plan, STEPS, *given))
    assert again.returncode == 0 and "step" not in again.stdout
    assert contents(tmp_path) == contents(whole)


@pytest.mark.parametrize("mesh", ["data=1", "model=4", "data=3"])
def test_another_mesh_has_the_same_states(plan, whole, mesh, tmp_path):  # noqa: F811
    shutil.copytree(whole / "run", tmp_path / "run")
    assert tool("shard-compile", EXAMPLE / "mlp_lm.mlir", "--mesh", mesh, "-o",
                tmp_path / "other.plan").returncode == 0
    words = command(plan, STEPS, *options(tmp_path, "--resume", "--save", tmp_path / "end.safetensors"))
    words[1] = tmp_path / "other.plan"
    result = run(words)
    assert result.returncode == 0, result.stderr
    for name, saved in safetensors.numpy.load_file(tmp_path / "end.safetensors").items():
        file = whole / "run" / f"step-{STEPS:08}" / "model-00001-of-00001.safetensors"
        np.testing.assert_array_equal(saved, safetensors.numpy.load_file(file)[name])


@pytest.mark.parametrize("launcher", [(), ("mpirun.mpich", "-n", "2")], ids=["threads", "processes"])
def test_killed_at_any_moment(plan, launcher, tmp_path):  # noqa: F811
    """SIGKILL some time after each new checkpoint, while the next ones are written, until a run
    comes to its end; that has lost nothing but the steps since the last checkpoint."""
    if launcher and not shutil.which(launcher[0]):
        pytest.skip(f"{launcher[0]} is not installed (scripts/setup.sh)")
    steps, kills, numbers = 12 if launcher else 30, 0, random.Random(1)
    never = tmp_path / "never"
    never.mkdir()
    assert run(command(plan, steps, *options(never))).returncode == 0
    folder, before = tmp_path / "run", -1
    words = [*launcher, *command(plan, steps, "--checkpoint", folder, "--every", "1", "--metrics",
                                 tmp_path / "metrics.csv", "--resume")]
    while before < steps:
        # In a group of its own, whose processes are killed together.
        job = subprocess.Popen([*map(str, words)], env=os.environ | ENVIRONMENT, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True)
        deadline = time.monotonic() + 60
        while job.poll() is None and last_checkpoint(folder) <= before:
            assert time.monotonic() < deadline
            time.sleep(0.002)
        time.sleep(numbers.uniform(0, 0.05))
        kills += job.poll() is None
        kill(job, folder)
        assert last_checkpoint(folder) > before, job.stdout.read()
        before = last_checkpoint(folder)
    assert kills >= 3
    assert run(words).returncode == 0, "what was left is removed"
    assert [path.name for path in sorted(folder.iterdir())] == [f"step-{i:08}" for i in range(1, steps + 1)]
    assert contents(folder / f"step-{steps:08}") == contents(never / "run" / f"step-{steps:08}")
    assert (tmp_path / "metrics.csv").read_bytes() == (never / "metrics.csv").read_bytes()


def last_checkpoint(folder):
    """Its step, or 0."""
    names = os.listdir(folder) if folder.exists() else []
    return max([int(name[5:]) for name in names if re.fullmatch(r"step-\d{8}", name)], default=0)


def kill(job, folder):
    """Of the job all processes, also those that a launcher has put in groups of their own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(job.pid, signal.SIGKILL)
    kill_stragglers(folder)
    job.wait()


def kill_stragglers(folder):
    """What a launcher has put in groups of their own."""
    for entry in os.scandir("/proc"):
        try:
            with open(f"/proc/{entry.name}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"shard-run") and str(folder).encode() in words:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(entry.name), signal.SIGKILL)


def test_only_some_are_kept(plan, tmp_path):  # noqa: F811
    assert run(command(plan, 5, *options(tmp_path, "--keep", "2"))).returncode == 0
    assert checkpoints(tmp_path / "run") == ["step-00000004", "step-00000005"]


def test_a_damaged_checkpoint(plan, whole, tmp_path):  # noqa: F811
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    damage(tmp_path / "run" / f"step-{STEPS:08}" / "model-00001-of-00001.safetensors")
    result = run(command(plan, STEPS, *options(tmp_path, "--resume")))
    assert result.returncode == 2
    assert re.search(r'error: \S*/step-00000006/model-00001-of-00001.safetensors: tensor "\w+" has changed '
                     r"since the file was written; --skip-damaged resumes from the last checkpoint that is "
                     r"not damaged", result.stderr)
    result = run(command(plan, STEPS, *options(tmp_path, "--resume", "--skip-damaged")))
    assert result.returncode == 0, result.stderr
    assert "note: skipped a damaged checkpoint: " in result.stderr
    assert re.search(r"note: resumed from \S*/step-00000004", result.stderr)
    assert contents(tmp_path) == contents(whole)


@pytest.mark.parametrize("how", ["missing", "truncated", "flipped"])
def test_a_damaged_shard_is_named_by_all_processes(mpirun, plan, whole, how, tmp_path):  # noqa: F811
    shutil.copytree(whole / "run", tmp_path / "run")
    for step in (2, 4):
        shutil.rmtree(tmp_path / "run" / f"step-{step:08}")
    file = tmp_path / "run" / f"step-{STEPS:08}" / "model-00001-of-00001.safetensors"
    if how == "missing":
        file.unlink()
    elif how == "truncated":
        os.truncate(file, 100)
    else:
        damage(file)
    result = run([*mpirun, "-n", 2, *command(plan, STEPS + 1, *options(tmp_path, "--resume"))])
    assert result.returncode != 0
    expected = {"missing": "the file is missing; it has tensors", "flipped": "has changed since the file was",
                "truncated": "the file has 100 bytes, and had"}
    assert f"{file}: " in result.stdout + result.stderr
    assert expected[how] in result.stdout + result.stderr
    assert "step 7" not in result.stdout, "nothing was run"


def test_a_checkpoint_of_another_plan(plan, whole, tmp_path):  # noqa: F811
    shutil.copytree(whole / "run", tmp_path / "run")
    other = tmp_path / "other.mlir"
    source = (EXAMPLE / "mlp_lm.mlir").read_text()
    other.write_text(source.replace('"b1"', '"bias1"'))
    assert tool("shard-compile", other, "--mesh", "data=2", "-o", tmp_path / "other.plan").returncode == 0
    words = command(plan, STEPS, *options(tmp_path, "--resume", "--skip-damaged"))
    words[1] = tmp_path / "other.plan"
    result = run(words)
    assert result.returncode == 2
    assert 'it has no state "bias1"; it has "b1", which is no state of the plan' in result.stderr


def test_metrics_of_another_run(plan, whole, tmp_path):  # noqa: F811
    shutil.copytree(whole / "run", tmp_path / "run")
    (tmp_path / "metrics.csv").write_text("time,loss\n")
    result = run(command(plan, STEPS + 1, *options(tmp_path, "--resume")))
    assert result.returncode == 1
    assert 'is not of this run: its first line is not "step,loss"; remove it, or give another file' in result.stderr


@pytest.mark.parametrize("given, message", [
    (["--every", "2"], "--every requires --checkpoint"),
    (["--resume"], "--resume requires --checkpoint"),
    (["--keep", "2"], "--keep requires --checkpoint"),
    (["--checkpoint", "run", "--skip-damaged"], "--skip-damaged requires --resume"),
    (["--checkpoint", "run", "--every", "0"], "--every: must be an integer of at least 1, got \"0\""),
])
def test_options_that_need_others(plan, given, message):  # noqa: F811
    result = run(command(plan, 1, *given))
    assert result.returncode == 2 and message in result.stderr


def test_no_step_is_left_for_an_output(plan, whole, tmp_path):  # noqa: F811
    result = run(command(plan, STEPS, "--checkpoint", whole / "run", "--resume", "--output",
                         f"loss={tmp_path / 'loss.npy'}"))
    assert result.returncode == 2
    assert f"--output loss: the checkpoint of step {STEPS} leaves no step of {STEPS} to run" in result.stderr


@pytest.fixture
def small_disk(tmp_path):
    """A file system that is full after one checkpoint."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", folder], capture_output=True).returncode:
        pytest.skip("only root can mount a small file system")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_full_disk(plan, small_disk, processes):  # noqa: F811
    start = [] if processes == 1 else ["mpirun.mpich", "-n", "2"]
    if start and not shutil.which(start[0]):
        pytest.skip(f"{start[0]} is not installed (scripts/setup.sh)")
    result = run([*start, *command(plan, STEPS, "--checkpoint", small_disk / "run", "--every", "2")])
    assert result.returncode != 0
    assert re.search(r"error: checkpoint of step 4: .*: cannot write the file: No space left on device",
                     result.stdout + result.stderr)
    # The one before is whole, and nothing else is left.
    assert checkpoints(small_disk / "run") == ["step-00000002"]
    result = run([*start, *command(plan, 2, "--checkpoint", small_disk / "run", "--resume")])
    assert result.returncode == 0, result.stderr


def test_a_folder_of_another_run(plan, whole, tmp_path):  # noqa: F811
    """Without --resume: who resumes later would continue from the other run."""
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    result = run(command(plan, 2, *options(tmp_path)))
    assert result.returncode == 2
    assert result.stderr == (f"shard-run: error: --checkpoint: {tmp_path}/run has the checkpoint of step {STEPS} of another "
                             "run; give --resume to continue from it, or another folder\n")
    assert contents(tmp_path) == contents(whole)


def test_a_folder_that_cannot_be_written(plan, tmp_path):  # noqa: F811
    (tmp_path / "file").touch()
    result = run(command(plan, 1, "--checkpoint", tmp_path / "file" / "run"))
    assert result.returncode == 2
    assert "file/run: cannot read the folder: Not a directory" in result.stderr


def test_steps_go_on_while_one_is_written(plan, tmp_path):  # noqa: F811
    """Each is of the step of its name."""
    assert run(command(plan, 3, "--checkpoint", tmp_path / "run", "--every", "1")).returncode == 0
    for step in (1, 2, 3):
        alone = tmp_path / f"alone{step}"
        assert run(command(plan, step, "--checkpoint", alone)).returncode == 0
        assert contents(alone / f"step-{step:08}") == contents(tmp_path / "run" / f"step-{step:08}")


def saved_by_signal(folder, status, text):
    """The step after which a run was ended by a signal."""
    assert status == 3, text
    step = last_checkpoint(folder / "run")
    assert checkpoints(folder / "run") == [f"step-{step:08}"]
    assert (folder / "metrics.csv").read_text().count("\n") == step + 1
    return step


def continues_from(plan, folder, step, never, start=()):  # noqa: F811
    """Two steps more have the bits of a run that never stopped."""
    never.mkdir()
    given = ["--checkpoint", folder / "run", "--metrics", folder / "metrics.csv", "--resume", "--keep", "1"]
    assert run([*start, *command(plan, step + 2, *given)]).returncode == 0
    given = ["--checkpoint", never / "run", "--metrics", never / "metrics.csv"]
    assert run(command(plan, step + 2, *given)).returncode == 0
    assert contents(folder / "run") == contents(never / "run")
    assert (folder / "metrics.csv").read_bytes() == (never / "metrics.csv").read_bytes()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_a_signal_ends_a_run_after_a_checkpoint(plan, number, tmp_path):  # noqa: F811
    words = command(plan, 1000000, "--checkpoint", tmp_path / "run", "--metrics", tmp_path / "metrics.csv", "--save",
                    tmp_path / "end.safetensors")
    # What a shell has started in the background ignores SIGINT, and so does a run that it starts.
    job = subprocess.Popen([*map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
    try:
        wait_for_steps(tmp_path / "metrics.csv", job)
        job.send_signal(number)
        _, errors = job.communicate(timeout=60)
    finally:
        job.kill()
    step = saved_by_signal(tmp_path, job.returncode, errors)
    assert errors == (f"shard-run: note: stopped by a signal after step {step} of 1000000, which is saved in "
                      f"{tmp_path / 'run'}; --resume continues from there\n")
    assert not (tmp_path / "end.safetensors").exists()
    continues_from(plan, tmp_path, step, tmp_path / "never")


def wait_for_steps(metrics, job):
    deadline = time.monotonic() + 60
    while not metrics.exists() or metrics.read_text().count("\n") < 3:
        assert time.monotonic() < deadline and job.poll() is None
        time.sleep(0.02)


def test_without_checkpoints_a_signal_ends_a_run_at_once(plan, tmp_path):  # noqa: F811
    words = command(plan, 1000000, "--metrics", tmp_path / "metrics.csv")
    job = subprocess.Popen([*map(str, words)], stdout=subprocess.DEVNULL)
    wait_for_steps(tmp_path / "metrics.csv", job)
    job.send_signal(signal.SIGTERM)
    assert job.wait(60) == -signal.SIGTERM


@pytest.mark.parametrize("process", [0, 1])
def test_a_signal_to_one_process_ends_all_after_the_same_step(mpirun, plan, process, tmp_path):  # noqa: F811
    with Job(mpirun, plan, tmp_path, "--checkpoint", tmp_path / "run") as job:
        job.signal(signal.SIGTERM, process)
        text, status = job.end()
    step = saved_by_signal(tmp_path, status, text)
    continues_from(plan, tmp_path, step, tmp_path / "never", [*mpirun, "-n", 2])


def test_mpirun_passes_on_that_a_run_is_to_stop(mpirun, plan, tmp_path):  # noqa: F811
    with Job(mpirun, plan, tmp_path, "--checkpoint", tmp_path / "run") as job:
        job.wait()
        job.launcher.send_signal(signal.SIGUSR1)
        text, status = job.end()
    # That of MPICH does not always know the status of its ranks then.
    is_unknown = "mpich" in mpirun[0] and status == 0
    saved_by_signal(tmp_path, 3 if is_unknown else status, text)


def test_a_process_that_hangs_when_the_other_one_is_to_stop(mpirun, plan, tmp_path):  # noqa: F811
    with Job(mpirun, plan, tmp_path, "--checkpoint", tmp_path / "run", "--heartbeat", 6) as job:
        job.signal(signal.SIGSTOP, process=1)
        os.kill(job.processes()[0], signal.SIGTERM)
        text, status = job.end()
    assert status not in (0, 3)
    assert re.search(r"process 1 did not say within 3 s which step it is in|"
                     r"for 3 s .*(rank [23] is|ranks 2, 3 are) in process 1|ranks? [23](, 3)? did not arrive within 3 s", text, re.DOTALL), text
    assert checkpoints(tmp_path / "run") == []
