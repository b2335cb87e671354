# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training step through the compiler and the simulator."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import pathlib
import subprocess
import tempfile
import warnings
from typing import Any

import weft


@dataclasses.dataclass(frozen=True)
class Machine:
    """What steps are predicted for: a cluster and a software profile, each a name or a file (None: the cluster's)."""

    cluster: str
    software: str | None = None


@dataclasses.dataclass(frozen=True)
class Predicted:
    """Of one step: seconds, bytes of memory by purpose and in all ("arena"), and the FLOPs of the model on a device."""

    seconds: float
    memory: dict[str, float]
    flops: float

    def gib(self, purposes=("arena",)) -> float:
        return sum(self.memory.get(purpose, 0) for purpose in purposes) / 2**30


class Steps:
    """Predicts steps with a shard-sim. In a folder, plans are kept for the next time."""

    def __init__(self, simulator: pathlib.Path, plans: pathlib.Path | None = None):
        self.simulator = simulator
        self.plans = plans

    def predict(self, family: str, settings: dict[str, Any], machine: Machine) -> Predicted:
        """ValueError says why there is no prediction."""
        step = getattr(weft.models, family)(**settings)
        tokens = step.parallelism.global_batch * step.sizes.sequence
        work = 6 * step.parameters + 12 * step.sizes.layers * step.sizes.hidden * step.sizes.sequence
        flops = tokens * work / step.parallelism.devices
        with contextlib.ExitStack() as stack:
            report = self.simulate(self._plan(step, machine.cluster, stack), machine)
        memory = report["memory"]
        return Predicted(report["step_seconds"], memory["peak_bytes"] | {"arena": memory["arena_bytes"]}, flops)

    def simulate(self, plan: pathlib.Path, machine: Machine) -> dict[str, Any]:
        software = [f"--software={machine.software}"] if machine.software else []
        ran = subprocess.run([self.simulator, "plan", plan, f"--cluster={machine.cluster}", "--json", *software],
                             capture_output=True, text=True)
        if ran.returncode != 0:
            raise ValueError(ran.stderr.strip().rpartition(f"{plan.name}: ")[2])
        return json.loads(ran.stdout)[0]

    def _plan(self, step: weft.models.TrainingStep, cluster: str, stack: contextlib.ExitStack) -> pathlib.Path:
        if self.plans:
            described = f"{step.name} {step.sizes} {step.parallelism} {cluster}"
            plan = self.plans / f"{hashlib.sha256(described.encode()).hexdigest()[:24]}.plan"
            if plan.is_file():
                return plan
            self.plans.mkdir(parents=True, exist_ok=True)
        else:
            plan = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()), "step.plan")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", weft.CompilerWarning)  # of what a plan without ZeRO replicates
            # What the predicted software does not do: cut collectives beside matmuls.
            compiled = step.lower().compile(target="none", cluster=cluster, collective_pieces=1)
        part = plan.with_suffix(f".{os.getpid()}")
        compiled.save(part)
        part.rename(plan)  # whole, or not there
        return plan
