# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Provokes each fault of a job of two processes with two ranks each, and prints what came of it.

    build/venv/bin/python test/EndToEnd/fault_table.py [--launcher NAME] [--kills 50] [--only WORD ...]

A row has how long it took until the other process said what is wrong (of what is wrong from the start: from the start
of the launcher), until the launcher ended, its exit status, what was said, and how many steps were lost. After
each fault of a run the same command with --resume makes the steps that are left, and states and metrics
must have the bits of a run that never stopped. Exits with 1 if something does not hold: a deadline, a message, bits. The
single faults are tests of the suite as well (test_mpi.py, test_faults.py, test_resume.py).
"""

import argparse
import contextlib
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

import conftest
import slurm
import test_mpi
from launchers import COMMANDS, ENVIRONMENT, run
from test_faults import Ended, compile_large, limited, replaced, without_memory
from test_mpi import command
from test_resume import contents, damage, kill, kill_stragglers, last_checkpoint

STEPS, EVERY = 400, 5
# The longest that a fault may take until it is reported, and until the job is over.
MOST_REPORT, MOST_END = {"kill": 5, "stop": 5, "start": 30}, 30


def signalled(number):
    @contextlib.contextmanager
    def strike(process):
        os.kill(process, number)
        yield
    return strike


class Running(test_mpi.Job):
    """Two processes with an output file each, which run until something happens."""

    def __init__(self, mpirun, words, folder):
        self.metrics, self.folder = folder / "metrics.csv", folder
        script = folder / "run.sh"
        script.write_text('#!/bin/bash\nexec "$@" > ' + str(folder) + '/out${PMIX_RANK:-$PMI_RANK} 2>&1\n')
        script.chmod(0o755)
        self.launcher = subprocess.Popen([*mpirun, "-n", "2", script, *map(str, words)], env=os.environ | ENVIRONMENT,
                                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def steps(self):
        return max(0, self.metrics.read_text().count("\n") - 1) if self.metrics.exists() else 0

    def after(self, step):
        deadline = time.monotonic() + 60
        while self.steps() < step:
            assert time.monotonic() < deadline and self.launcher.poll() is None, self.texts()
            time.sleep(0.01)

    def texts(self):
        return [path.read_text() if (path := self.folder / f"out{i}").exists() else "" for i in range(2)]


class Table:
    def __init__(self, options, folder, mpirun):
        self.options, self.folder, self.mpirun, self.problems = options, folder, mpirun, []
        self.plan = folder / "plan"
        self.plan.mkdir()
        made = conftest.tool("shard-compile", conftest.EXAMPLE / "mlp_lm.mlir", "--mesh", "data=2,model=2", "-o",
                             self.plan / "mlp.plan")
        assert made.returncode == 0, made.stderr
        numbers = np.random.default_rng(1)
        np.save(self.plan / "x.npy", numbers.integers(0, 256, (256, 16), np.int32))
        np.save(self.plan / "y.npy", numbers.integers(0, 256, 256, np.int32))
        print("| fault | reported after | ended after | exit status | what was said | steps lost |\n"
              "| --- | ---: | ---: | ---: | --- | ---: |", flush=True)

    def row(self, fault, reported, ended, status, said, lost, kind):
        said = said.replace(str(self.folder), "FOLDER").replace("|", "\\|")
        seconds = ["-" if value is None else f"{value:.1f} s" for value in (reported, ended)]
        print(f"| {fault} | {seconds[0]} | {seconds[1]} | {status} | {said or '-'} | {lost} |", flush=True)
        for value, most in ((reported, MOST_REPORT[kind]), (ended, MOST_END)):
            if value is not None and value > most:
                self.problems.append(f"{fault}: {value:.1f} s, at most {most} s")

    def fresh(self, name):
        folder = self.folder / name
        folder.mkdir()
        return folder

    def never(self, steps):
        """The checkpoint and the metrics of a run of so many steps that never stopped."""
        folder = self.folder / f"never-{steps}"
        if not folder.exists():
            folder.mkdir()
            given = ["--checkpoint", folder / "run", "--metrics", folder / "metrics.csv", "--quiet"]
            assert run(command(self.plan, steps, *given)).returncode == 0
        return contents(folder / "run" / f"step-{steps:08}"), (folder / "metrics.csv").read_bytes()

    def resume(self, fault, folder, done):
        """How many steps were lost; the rest is made."""
        lost = done - last_checkpoint(folder / "run")
        steps = done + 5
        result = run(command(self.plan, steps, "--checkpoint", folder / "run", "--metrics", folder / "metrics.csv",
                             "--resume", "--quiet"))
        here = contents(folder / "run" / f"step-{steps:08}"), (folder / "metrics.csv").read_bytes()
        if result.returncode != 0 or here != self.never(steps):
            self.problems.append(f"{fault}: the resumed run differs: {result.stderr}")
        return lost

    def struck(self, fault, strike, process, kind, expected):
        """What is wrong in the middle of a run; `strike` is a context in which it happens to a process."""
        folder = self.fresh(fault.replace(" ", "-"))
        words = command(self.plan, 100000, "--quiet", "--metrics", folder / "metrics.csv", "--checkpoint", folder / "run",
                        "--every", EVERY)
        with Running(self.mpirun, words, folder) as job, contextlib.ExitStack() as during:
            job.after(3 * EVERY + 2)
            during.enter_context(strike(job.processes()[process]))
            begin, reported = time.monotonic(), None
            while job.launcher.poll() is None:
                if reported is None and "error:" in job.texts()[1 - process]:
                    reported = time.monotonic() - begin
                time.sleep(0.01)
                if time.monotonic() - begin > 2 * MOST_END:
                    self.problems.append(f"{fault}: hangs")
                    break
            ended, text = time.monotonic() - begin, job.texts()[1 - process]
            done, said = job.steps(), re.search("error: .*", text)
        if said is None and kind == "kill" and "mpich" in self.mpirun[0]:
            said = re.search("BAD TERMINATION", job.launcher.stdout.read())  # it ends the other one before
        if said is None or not re.search(expected, said[0]):
            self.problems.append(f"{fault}: said {text!r}")
        lost = self.resume(fault, folder, done)
        if lost > 2 * EVERY:
            self.problems.append(f"{fault}: {lost} steps lost")
        self.row(fault, reported, ended, job.launcher.returncode, said[0] if said else "", lost, kind)

    def slow(self):
        folder = self.fresh("slow")
        words = command(self.plan, STEPS, "--quiet", "--metrics", folder / "metrics.csv", "--measure")
        with Running(self.mpirun, words, folder) as job:
            job.after(5)
            stopped = 0
            while job.launcher.poll() is None and stopped < 5:
                process = job.processes().get(1)
                if process:
                    os.kill(process, signal.SIGSTOP)
                    time.sleep(0.2)
                    os.kill(process, signal.SIGCONT)
                    stopped += 1
                time.sleep(0.05)
            job.launcher.wait(timeout=120)
        lines = [line.split(",") for line in (folder / "metrics.csv").read_text().splitlines()]
        named = [dict(zip(lines[0], line)) for line in lines[1:]]
        named = [line for line in named if float(line["seconds"]) > 0.15]
        right = sum(line["straggler"] in ("2", "3") for line in named)
        if not named or right == 0:
            self.problems.append(f"slow: {right} of {len(named)} slow steps name a rank of process 1")
        self.row("process 1 pauses for 0.2 s, five times", None, None, job.launcher.returncode,
                 f"--measure: {right} of the {len(named)} steps of more than 0.15 s name rank 2 or 3 as straggler", 0, "start")

    def started(self, fault, first, second, expected):
        """What is wrong from the start, in one process or in both."""
        job = Ended(self.mpirun, self.fresh(fault.replace(" ", "-")), first, second)
        self.judge(fault, job.seconds, job.status, "\n".join(job.texts), expected)

    def judge(self, fault, seconds, status, text, expected, lost=0):
        said = re.search(f"error: .*(?:{expected}).*", text)
        if status == 0 or said is None:
            self.problems.append(f"{fault}: status {status}, said {text!r}")
        self.row(fault, seconds, seconds, status, said[0] if said else "", lost, "start")

    def world_size(self):
        begin = time.monotonic()
        result = run([*self.mpirun, "-n", 3, *command(self.plan, 1)])
        self.judge("three processes for four ranks", time.monotonic() - begin, result.returncode,
                   result.stdout + result.stderr, "which 3 processes .* cannot share equally")

    def inputs(self):
        words, other = command(self.plan, 3), self.folder / "other"
        other.mkdir()
        np.save(other / "x.npy", np.load(self.plan / "x.npy").astype(np.float32))
        assert conftest.tool("shard-compile", conftest.EXAMPLE / "mlp_lm.mlir", "--mesh", "data=4", "-o",
                             other / "mlp.plan").returncode == 0
        self.started("another plan in process 1", words, replaced(words, self.plan / "mlp.plan", other / "mlp.plan"),
                     "the ranks differ in what they run|plan")
        self.started("an input of another type in process 1", words,
                     replaced(words, f"x={self.plan / 'x.npy'}", f"x={other / 'x.npy'}"), "the plan wants i32")
        (other / "file").touch()
        words = command(self.plan, 3, "--checkpoint", other / "file" / "run")
        self.started("a folder that cannot be written", words, words, "cannot create the folder")

    def memory(self):
        folder = self.fresh("memory")
        words = replaced(command(self.plan, 3), self.plan / "mlp.plan", compile_large(folder))
        self.started("no memory for the ranks of process 1", words, limited(words, 1000000), "cannot allocate an arena")

    def disk(self):
        folder = self.fresh("disk")
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", folder], capture_output=True).returncode:
            return print("only root can mount a small file system", file=sys.stderr)
        try:
            begin = time.monotonic()
            result = run([*self.mpirun, "-n", 2, *command(self.plan, 6, "--checkpoint", folder / "run", "--every", 2)])
            self.judge("a full disk (12 MB) at the second checkpoint", time.monotonic() - begin, result.returncode,
                       result.stdout + result.stderr, "checkpoint of step 4: .* No space left on device", lost=2)
            if os.listdir(folder / "run") != ["step-00000002"]:
                self.problems.append(f"a full disk: left {os.listdir(folder / 'run')}")
        finally:
            subprocess.run(["umount", folder], check=True)

    def shards(self):
        whole = self.fresh("whole")
        assert run(command(self.plan, 4, "--checkpoint", whole / "run", "--every", 2)).returncode == 0
        expected = {"truncated": "has 100 bytes, and had", "missing": "the file is missing", "flipped byte": "has changed"}
        for how, message in expected.items():
            run_ = self.folder / f"shard-{how.replace(' ', '-')}"
            shutil.copytree(whole / "run", run_)
            file = run_ / "step-00000004" / "model-00001-of-00001.safetensors"
            if how == "missing":
                file.unlink()
            elif how == "truncated":
                os.truncate(file, 100)
            else:
                damage(file)
            words = command(self.plan, 6, "--checkpoint", run_, "--resume")
            self.started(f"a shard: {how}", words, words, message)
            # With --skip-damaged the one before is used.
            result = run([*self.mpirun, "-n", 2, *words, "--skip-damaged"])
            if result.returncode != 0 or "resumed from" not in result.stdout + result.stderr:
                self.problems.append(f"a shard: {how}: --skip-damaged: {result.stdout}{result.stderr}")

    def kills(self):
        """At random moments, in steps that each write a checkpoint."""
        folder, numbers, kills, lost = self.fresh("kills"), random.Random(3), 0, []
        words = [*self.mpirun, "-n", "2", *command(self.plan, 100000, "--checkpoint", folder / "run", "--every", "1",
                                                   "--keep", "3", "--metrics", folder / "metrics.csv", "--resume", "--quiet")]
        before = 0
        while kills < self.options.kills:
            job = subprocess.Popen([*map(str, words)], env=os.environ | ENVIRONMENT, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, start_new_session=True)
            deadline = time.monotonic() + 60
            while job.poll() is None and last_checkpoint(folder / "run") <= before:
                assert time.monotonic() < deadline, "no new checkpoint"
                time.sleep(0.002)
            time.sleep(numbers.uniform(0, 0.1))
            assert job.poll() is None, job.stdout.read()
            if self.mpirun[0] == "srun":  # whose job would last, without it
                kill_stragglers(folder / "run")
                job.wait(timeout=60)
            else:
                kill(job, folder / "run")
            kills += 1
            before = last_checkpoint(folder / "run")
            lost.append((folder / "metrics.csv").read_text().count("\n") - 1 - before)
        self.resume("killed while saving", folder, before)
        if max(lost) > 3:
            self.problems.append(f"killed while saving: {max(lost)} steps lost")
        self.row(f"killed while saving at {kills} random moments", None, None, "-",
                 "resumed each time, in the end with the bits of a run that never stopped",
                 f"at most {max(lost)}", "start")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--launcher", choices=COMMANDS | slurm.COMMANDS, default="openmpi")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--only", nargs="*", default=[], help="signals kernel slow world inputs memory disk shards kills")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as daemons:
        if options.launcher in slurm.COMMANDS:
            os.environ |= daemons.enter_context(slurm.one_node(daemons.enter_context(tempfile.TemporaryDirectory())))
        table = Table(options, pathlib.Path(folder), (COMMANDS | slurm.COMMANDS)[options.launcher])
        gone = r"process \d \(ranks \d, \d\) (has )?ended|BAD TERMINATION"
        silent = r"process \d \(ranks \d, \d\) has not answered for 3 s"
        parts = {
            "signals": lambda: [
                table.struck("SIGKILL of process 1", signalled(signal.SIGKILL), 1, "kill", gone),
                table.struck("SIGKILL of process 0", signalled(signal.SIGKILL), 0, "kill", gone),
                table.struck("SIGSTOP of process 1", signalled(signal.SIGSTOP), 1, "stop", silent),
                table.struck("SIGSTOP of process 0", signalled(signal.SIGSTOP), 0, "stop", silent)],
            "kernel": lambda: [
                table.struck(f"process {process} killed by the kernel for its memory", without_memory, process, "kill", gone)
                for process in (1, 0)],
            "slow": table.slow, "world": table.world_size, "inputs": table.inputs, "memory": table.memory, "disk": table.disk,
            "shards": table.shards, "kills": table.kills}
        for name, provoke in parts.items():
            if not options.only or name in options.only:
                provoke()
    for problem in table.problems:
        print(f"error: {problem}", file=sys.stderr)
    sys.exit(bool(table.problems))


if __name__ == "__main__":
    main()
