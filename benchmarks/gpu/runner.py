# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the programs that the steps of run.py are made of, and finds what they need."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys

import cases

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OUT = ROOT / "build/gpu"


class Skip(Exception):
    """Why a step cannot run here."""


@dataclasses.dataclass
class Gpu:
    """What nvidia-smi says of the device."""

    number: int
    name: str
    driver: str
    processor: str

    @staticmethod
    def find(number):
        fields = "name,driver_version,compute_cap"
        line = subprocess.run(
            ["nvidia-smi", f"--id={number}", f"--query-gpu={fields}", "--format=csv,noheader"],
            capture_output=True, text=True, check=True).stdout.strip()
        name, driver, capability = (field.strip() for field in line.split(","))
        return Gpu(number, name, driver, "sm_" + capability.replace(".", ""))

    @property
    def target(self):
        """What plans are compiled for: the latest processor that is no later than this one."""
        known = [80, 90, 100]
        return f"cuda:sm_{max(each for each in known if each <= int(self.processor[3:]))}"


class Runner:
    """Runs commands; what they print goes to build/gpu/<step>.log."""

    def __init__(self, arguments):
        self.build = (arguments.build or ROOT / "build/release").resolve()
        self.folder = (arguments.prepared or arguments.prepare or OUT / "prepared").resolve()
        self.is_prepared = bool(arguments.prepared)
        self.steps, self.target, self.batch = arguments.steps, arguments.target, arguments.batch
        self.loss_steps = arguments.loss_steps
        self.pythons = dict(arguments.python)
        self.speeds = {}
        # Devices in the order of nvidia-smi, which otherwise is not CUDA's.
        self.environment = {
            **os.environ, "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
            "CUDA_VISIBLE_DEVICES": str(arguments.device),
            "PYTHONPATH": os.pathsep.join([str(self.build / "python"), str(ROOT / "python-bindings/test"),
                                           str(ROOT / "test/Import"), str(HERE)]),
        }
        OUT.mkdir(parents=True, exist_ok=True)

    def binary(self, name):
        """A program of the build, which may be that of the runtime alone."""
        path = self.build / "bin" / name
        if not path.exists():
            raise Skip(f"there is no {path}")
        return path

    def run(self, step, *command, **environment):
        log = OUT / f"{step}.log"
        with open(log, "a") as file:
            file.write(f"$ {' '.join(map(str, command))}\n")
            file.flush()
            code = subprocess.run([str(word) for word in command], cwd=ROOT, stdout=file,
                                  stderr=subprocess.STDOUT,
                                  env={**self.environment, **environment}).returncode
        lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
        if code:
            raise RuntimeError(f"{lines[-1][:150]} (status {code}, {log.relative_to(ROOT)})")
        return lines

    def measure(self, step, script, *arguments, python=sys.executable):
        """The JSON in the last line of what a script prints."""
        lines = self.run(step, python, HERE / script, *arguments)
        # What the runtime did that was not asked for.
        for note in dict.fromkeys(line for line in lines
                                  if line.startswith("shard-run: note: ") or "RuntimeWarning: " in line):
            print(f"  {note}", flush=True)
        return json.loads(lines[-1])

    def prepare(self, step, case):
        """The folder of a case, compiled here unless it was compiled ahead."""
        folder = self.folder / case
        if self.is_prepared:
            if not (folder / cases.RECORD).exists():
                raise Skip(f"{self.folder} has no {case}; run.py --prepare makes it")
            return folder
        self.run(step, sys.executable, HERE / "prepare.py", case, "--target", self.target,
                 "--out", self.folder, "--bin", self.build / "bin", "--steps", self.loss_steps,
                 *(["--batch", self.batch] if self.batch and case.startswith("speed") else []))
        return folder
