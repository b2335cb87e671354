# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans for CPUs under mpirun: the bits of one process, and what is said of one that fails."""

import contextlib
import json
import os
import re
import signal
import subprocess
import time

import numpy as np
import pytest

from conftest import EXAMPLE, binaries, tool
from launchers import ENVIRONMENT, run

@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    """Four ranks, and inputs of some steps."""
    folder = tmp_path_factory.mktemp("mpi")
    result = tool("shard-compile", EXAMPLE / "mlp_lm.mlir", "--mesh", "data=2,model=2", "-o",
                  folder / "mlp.plan")
    assert result.returncode == 0, result.stderr
    numbers = np.random.default_rng(1)
    np.save(folder / "x.npy", numbers.integers(0, 256, (256, 16), np.int32))
    np.save(folder / "y.npy", numbers.integers(0, 256, 256, np.int32))
    return folder


def command(plan, steps, *options):
    return [binaries() / "shard-run", plan / "mlp.plan", "--init", "init", "--entry", "train_step",
            "--steps", str(steps), "--input", f"x={plan / 'x.npy'}", "--input",
            f"y={plan / 'y.npy'}", *options]


def outputs(folder):
    folder.mkdir()
    return folder, ["--metrics", folder / "metrics.csv", "--save", folder / "states.safetensors"]


@pytest.mark.parametrize("processes", [2, 4])
def test_processes_have_the_bits_of_threads(mpirun, plan, processes, tmp_path):
    threads, files = outputs(tmp_path / "threads")
    assert run(command(plan, 3, *files)).returncode == 0
    several, files = outputs(tmp_path / "several")
    result = run([*mpirun, "-n", processes, *command(plan, 3, *files)])
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("3 steps in") == 1, "process 0 prints"
    for name in ("metrics.csv", "states.safetensors"):
        assert (several / name).read_bytes() == (threads / name).read_bytes()


def test_processes_that_cannot_share_the_ranks(mpirun, plan):
    result = run([*mpirun, "-n", 3, *command(plan, 1)])
    assert result.returncode != 0
    text = result.stdout + result.stderr
    # MPICH may end the others, and their output, with the first that ends.
    assert re.search(r"the plan has 4 ranks, which 3 processes \(the variables of .*\) cannot share "
                     r"equally; start a number that divides 4|BAD TERMINATION", text), text


class Job:
    """shard-run in two processes, which run until something happens."""

    def __init__(self, mpirun, plan, folder, *options, deadline=3):
        self.metrics = folder / "metrics.csv"
        words = [*mpirun, "-n", "2", "env", f"TMPDIR={folder}", *command(
            plan, 100000, "--deadline", deadline, "--quiet", "--metrics", self.metrics, *options)]
        self.launcher = subprocess.Popen([*map(str, words)], env=os.environ | ENVIRONMENT,
                                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def __enter__(self):
        return self

    def processes(self):
        """By their numbers."""
        found = {}
        for entry in os.scandir("/proc"):
            try:
                with open(f"/proc/{entry.name}/environ", "rb") as file:
                    environment = file.read()
                with open(f"/proc/{entry.name}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            number = re.search(rb"\bPMIX?_RANK=(\d)", environment)
            # The processes of srun are children of a daemon, not of the launcher.
            if words[0].endswith(b"/shard-run") and str(self.metrics).encode() in words and number:
                found[int(number[1])] = int(entry.name)
        return found

    def signal(self, number, process):
        """Once there was a step."""
        self.wait()
        os.kill(self.processes()[process], number)

    def wait(self):
        deadline = time.monotonic() + 60
        while not self.metrics.exists() or self.metrics.read_text().count("\n") < 2:
            assert time.monotonic() < deadline and self.launcher.poll() is None
            time.sleep(0.05)

    def end(self):
        """What was printed, and the exit status."""
        text, _ = self.launcher.communicate(timeout=60)
        return text, self.launcher.returncode

    def __exit__(self, *_):
        for process in self.processes().values():
            with contextlib.suppress(ProcessLookupError):  # the launcher ends the others with the first
                os.kill(process, signal.SIGKILL)
        self.launcher.kill()
        self.launcher.wait()


def test_a_killed_process_ends_the_job(mpirun, plan, tmp_path):
    with Job(mpirun, plan, tmp_path) as job:
        job.signal(signal.SIGKILL, process=1)
        begin = time.monotonic()
        text, status = job.end()
        assert time.monotonic() - begin < 5
    assert status != 0
    # Who started the processes may end the other one before it can say so, and so does UCX if that one reads the
    # memory of the killed one at this moment.
    assert re.search(r"process 1 \(ranks 2, 3\) ended|ignal 9|task 1: Killed|returned -1: No such process", text), text


@pytest.mark.parametrize("process", [0, 1])
def test_a_stopped_process_is_named_by_the_other_one(mpirun, plan, process, tmp_path):
    """By the deadline, where that is shorter than the heartbeat."""
    with Job(mpirun, plan, tmp_path, "--heartbeat", 6) as job:
        job.signal(signal.SIGSTOP, process)
        text, status = job.end()
    assert status != 0
    ranks = {0: "ranks 0, 1", 1: "ranks 2, 3"}[process]
    assert re.search(r"error: step \d+ \w+ on rank \d: .*", text), text
    assert re.search(rf"(rank\w? [0-3](, [0-3])? (is|are) in process {process}|"
                     rf"{ranks} are in process {process})", text), text
    # What the others did last.
    report = (tmp_path / f"weft-failure-rank-{2 - 2 * process}.txt").read_text()
    assert report.startswith(f"weft: rank {2 - 2 * process} of 4, process {1 - process} of 2\n")
    assert re.search(r"did not arrive within 3 s|no data has moved for 3 s", report), report
    events = report.partition("last events of this rank:\n")[2].splitlines()
    assert re.search(r"run \d+ entry \d+ (step \d+ (enqueued|waits)|begins)$", events[-1]), events[-3:]


@pytest.mark.parametrize("process", [0, 1])
def test_a_stopped_process_is_noticed_long_before_the_deadline(mpirun, plan, process, tmp_path):
    with Job(mpirun, plan, tmp_path, deadline=90) as job:
        job.signal(signal.SIGSTOP, process)
        begin, report = time.monotonic(), tmp_path / f"weft-failure-rank-{2 - 2 * process}.txt"
        while not report.exists():
            assert time.monotonic() - begin < 5
            time.sleep(0.05)
        # The launcher may wait for the one that is stopped.
        text, status = job.end()
    assert status != 0
    said = (rf"process {process} \(ranks {2 * process}, {2 * process + 1}\) has not answered for 3 s; "
            "it is stopped or its machine hangs")
    assert re.search(rf"error: {said}; rank {2 - 2 * process} is in step \d+ \w+", text), text
    report = report.read_text()
    assert re.search(said, report) and "last events of this rank:\n" in report, report


def test_a_process_that_pauses_is_not_stopped(mpirun, plan, tmp_path):
    """Without a heartbeat, for as long as the deadline lets it."""
    for process, seconds, options in (0, 1, ()), (1, 1, ()), (1, 6, ("--heartbeat", 0)):
        folder = tmp_path / f"{process}-{seconds}"
        folder.mkdir()
        with Job(mpirun, plan, folder, *options, deadline=90) as job:
            job.signal(signal.SIGSTOP, process)
            time.sleep(seconds)
            os.kill(job.processes()[process], signal.SIGCONT)
            before, deadline = job.metrics.read_text().count("\n"), time.monotonic() + 60
            while job.metrics.read_text().count("\n") < before + 20:
                assert time.monotonic() < deadline and job.launcher.poll() is None
                time.sleep(0.05)


def test_a_slow_process_is_named_in_the_metrics(mpirun, plan, tmp_path):
    """One that pauses again and again while the other one waits for it. Where it is stopped in a wait of its own or
    between two steps, its ranks have not computed longer."""

    def has_named(step):
        rank = step["straggler"]
        return rank in ("2", "3") and float(step[f"seconds_{rank}"]) - float(step[f"wait_seconds_{rank}"]) > 0.2

    with Job(mpirun, plan, tmp_path, "--measure") as job:
        job.wait()
        process, steps, deadline = job.processes()[1], [], time.monotonic() + 50
        while not any(map(has_named, steps)):
            assert time.monotonic() < deadline and job.launcher.poll() is None
            os.kill(process, signal.SIGSTOP)
            time.sleep(0.3)
            os.kill(process, signal.SIGCONT)
            time.sleep(0.2)
            header, *rows = [line.split(",") for line in job.metrics.read_text().splitlines()[:-1]]
            steps = [dict(zip(header, row)) for row in rows]


def test_one_trace_of_all_processes(mpirun, plan, tmp_path):
    result = run([*mpirun, "-n", 2, *command(plan, 2, "--trace", tmp_path / "trace.json")])
    assert result.returncode == 0, result.stdout + result.stderr
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {event["pid"] for event in events if event["ph"] == "X"} == {0, 1, 2, 3}


def test_the_mfu_counts_what_the_simulator_counts(plan, tmp_path):
    result = run(command(plan, 2, "--metrics", tmp_path / "m.jsonl", "--measure", "--peak-tflops", "0.5", "--tokens", "256"))
    assert result.returncode == 0, result.stderr
    step = json.loads((tmp_path / "m.jsonl").read_text().splitlines()[-1])
    simulated = tool("shard-sim", "plan", plan / "mlp.plan", "--entry=train_step", "--json")
    assert simulated.returncode == 0, simulated.stderr
    flops = sum(role["model_flops"] for role in json.loads(simulated.stdout)[0]["roles"])
    assert flops > 0 and step["mfu"] * step["seconds"] * 0.5e12 == pytest.approx(flops, rel=1e-6)
    assert step["tokens_per_second"] * step["seconds"] == pytest.approx(256)
