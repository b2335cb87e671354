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


# Layers of a stage that stand for more.
FEW_LAYERS = (3, 4)


@dataclasses.dataclass(frozen=True)
class Machine:
    """What steps are predicted for: a cluster and a software profile, each a name or a file (None: the cluster's), and
    the options of the compiler by which a plan does what that software does."""

    cluster: str
    software: str | None = None
    options: dict[str, Any] = dataclasses.field(default_factory=dict)


def repeats_layers(step: weft.models.TrainingStep, machine: Machine) -> bool:
    """Each layer more of a stage takes as long as the one before: where steps are in the order of the program, and all
    stages have as many layers. Of several stages a rank, or where blocks keep what they compute, memory peaks elsewhere
    with fewer layers."""
    layers, stages = step.sizes.layers, step.parallelism.stages
    in_order = not machine.options.get("overlap_collectives", True)
    keeps_blocks = step.parallelism.recomputation != "whole"
    return in_order and not keeps_blocks and step.parallelism.chunks == 1 and layers % stages == 0 and layers // stages > sum(FEW_LAYERS)


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
        if not repeats_layers(step, machine):
            seconds, memory = self._predict(step, machine)
            return Predicted(seconds, memory, flops)
        few = [getattr(weft.models, family)(**settings | {"layers": count * step.parallelism.stages}) for count in FEW_LAYERS]
        (less, low), (more, high) = (self._predict(each, machine) for each in few)
        times = step.sizes.layers // step.parallelism.stages - FEW_LAYERS[1]
        return Predicted(more + times * (more - less),
                         {name: size + times * (size - low.get(name, 0)) for name, size in high.items()}, flops)

    def _predict(self, step: weft.models.TrainingStep, machine: Machine) -> tuple[float, dict[str, float]]:
        with contextlib.ExitStack() as stack:
            report = self.simulate(self._plan(step, machine, stack), machine)
        memory = report["memory"]
        return report["step_seconds"], memory["peak_bytes"] | {"arena": memory["arena_bytes"]}

    def simulate(self, plan: pathlib.Path, machine: Machine) -> dict[str, Any]:
        software = [f"--software={machine.software}"] if machine.software else []
        ran = subprocess.run([self.simulator, "plan", plan, f"--cluster={machine.cluster}", "--json", *software],
                             capture_output=True, text=True)
        if ran.returncode != 0:
            raise ValueError(ran.stderr.strip().rpartition(f"{plan.name}: ")[2])
        return json.loads(ran.stdout)[0]

    def _plan(self, step: weft.models.TrainingStep, machine: Machine, stack: contextlib.ExitStack) -> pathlib.Path:
        if self.plans:
            described = f"{step.name} {step.sizes} {step.parallelism} {machine.cluster} {sorted(machine.options.items())}"
            plan = self.plans / f"{hashlib.sha256(described.encode()).hexdigest()[:24]}.plan"
            if plan.is_file():
                return plan
            self.plans.mkdir(parents=True, exist_ok=True)
        else:
            plan = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()), "step.plan")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", weft.CompilerWarning)  # of what a plan without ZeRO replicates
            compiled = step.lower().compile(target="none", cluster=machine.cluster, **machine.options)
        part = plan.with_suffix(f".{os.getpid()}")
        compiled.save(part)
        part.rename(plan)  # whole, or not there
        return plan
