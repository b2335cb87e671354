# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training step through the compiler and the simulator."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import math
import os
import pathlib
import subprocess
import tempfile
import warnings
from typing import Any

import weft

from .memory import Memory, framework_of, memory_of

# Models with so many layers are predicted from two with fewer, but not from those with fewer than LEAST_LAYERS: there
# a layer more costs some percent more or less.
MANY_LAYERS, LEAST_LAYERS = 40, 8


@dataclasses.dataclass(frozen=True)
class Machine:
    """What steps are predicted for: a cluster and a software profile, each a name or a file (None: the cluster's), and
    the options of the compiler by which a plan does what that software does."""

    cluster: str
    software: str | None = None
    options: dict[str, Any] = dataclasses.field(default_factory=dict)


def few_layers(stages: int) -> tuple[int, int]:
    """Of each stage, that stand for more."""
    few = max(2, math.ceil(LEAST_LAYERS / stages))
    return few, few + 1


def repeats_layers(step: weft.models.TrainingStep) -> bool:
    """Whether a few layers of each stage stand for all: in a pipeline each one more takes as long as the one before. Not
    with FSDP, where what is gathered at once depends on how many layers there are. In small models the order of
    collectives, and with it the time of a step, changes by a percent with each layer; these are compiled whole."""
    layers, ranks = step.sizes.layers, step.parallelism
    return (ranks.pipeline > 1 and ranks.sharded != "fsdp" and layers >= MANY_LAYERS
            and layers // ranks.stages > sum(few_layers(ranks.stages)))


@dataclasses.dataclass(frozen=True)
class Device:
    """Of a cluster: bytes of memory and how many of them a plan can have, the peak of 16-bit products, and how many
    devices a node has."""

    memory: float
    usable: float
    flops: float
    of_node: int


# What the purposes of a plan's memory report are counted as.
STATES = ("parameters", "gradients", "optimizer state")


@dataclasses.dataclass(frozen=True)
class Predicted:
    """Of one step: seconds and bytes of the plan's memory by purpose and in all ("arena"), both None where no plan was
    needed, the FLOPs of the model on a device, what the step is, the device, the memory that its software needs, where that is known
    (memory.py), and whether steps of a few layers stand for it."""

    seconds: float | None
    memory: dict[str, float] | None
    flops: float
    sizes: weft.models.Sizes
    parallelism: weft.models.Parallelism
    device: Device
    framework: Memory | None = None
    of_few_layers: bool = False

    def gib(self, counts: str = "allocated") -> float:
        """Of the software, or of the plan where that is not known: "states", "activations", "allocated", all of a plan
        or a framework, or "device", with what the device reserves."""
        if self.framework:
            return getattr(self.framework, counts) / 2**30
        if counts == "states":
            return sum(self.memory.get(purpose, 0) for purpose in STATES) / 2**30
        if counts == "activations":
            return self.memory["activations"] / 2**30
        return (self.memory["arena"] + (counts == "device") * (self.device.memory - self.device.usable)) / 2**30

    @property
    def fits(self) -> bool:
        return self.gib() <= self.device.usable / 2**30

    def seconds_of(self, kind: str, value: float, is_of_hardware: bool) -> float:
        """The time of this step at a measured rate (columns.MEASURED). FLOPs a second are the model's, or count what is
        recomputed as well: a third of the model's if that is whole blocks."""
        ranks, sizes = self.parallelism, self.sizes
        recomputed = is_of_hardware and ranks.recomputation in ("full", "whole")
        flops = self.flops * (4 / 3 if recomputed else 1)
        work = {"sequences/s": ranks.global_batch, "tokens/s": ranks.global_batch * sizes.sequence,
                "tokens/s/device": ranks.global_batch * sizes.sequence / ranks.devices,
                "sequences/s/device": ranks.global_batch / ranks.devices, "steps/s": 1,
                "tflop/s": flops * ranks.devices / 1e12, "pflop/s": flops * ranks.devices / 1e15,
                "flop/s/device": flops / 1e12, "mfu": self.flops / self.device.flops * (100 if value > 1 else 1)}
        return work[kind] / value


class Steps:
    """Predicts steps with a shard-sim. In a folder, plans are kept for the next time. Where stages have many layers, steps
    of a few stand for them unless `whole`."""

    def __init__(self, simulator: pathlib.Path, plans: pathlib.Path | None = None, whole: bool = False):
        self.simulator = simulator
        self.plans = plans
        self.whole = whole
        self._devices: dict[str, Device] = {}

    def device(self, cluster: str) -> Device:
        """Of a cluster's name or file. ValueError says what is wrong with it."""
        if cluster not in self._devices:
            described = self._run("cluster", cluster, "--format=json")
            device = described["device"]
            peak = device["flops_per_second"]
            self._devices[cluster] = Device(device["memory_bytes"], device["usable_bytes"],
                                            peak.get("bf16", max(peak.values())), described["node"]["devices"])
        return self._devices[cluster]

    def framework_memory(self, step: weft.models.TrainingStep, machine: Machine) -> Memory | None:
        """What the software of a machine needs; None where that is not known."""
        framework, device = framework_of(machine.software), self.device(machine.cluster)
        return memory_of(step, framework, device.memory - device.usable) if framework else None

    def predict(self, family: str, settings: dict[str, Any], machine: Machine, memory_only: bool = False) -> Predicted:
        """ValueError says why there is no prediction. `memory_only` makes no plan where memory is known without one."""
        step = getattr(weft.models, family)(**settings)
        tokens = step.parallelism.global_batch * step.sizes.sequence
        work = 6 * step.parameters + 12 * step.sizes.layers * step.sizes.hidden * step.sizes.sequence
        known = (tokens * work / step.parallelism.devices, step.sizes, step.parallelism, self.device(machine.cluster),
                 self.framework_memory(step, machine))
        if memory_only and known[-1]:
            return Predicted(None, None, *known)
        if self.whole or not repeats_layers(step):
            return Predicted(*self._predict(step, machine), *known)
        # As many stages have a layer more than others.
        stages = step.parallelism.stages
        least, larger = divmod(step.sizes.layers, stages)
        few = few_layers(stages)
        (less, low), (more, high) = (
            self._predict(getattr(weft.models, family)(**settings | {"layers": count * stages + larger}), machine)
            for count in few)
        times = least - few[1]
        return Predicted(more + times * (more - less),
                         {name: size + times * (size - low.get(name, 0)) for name, size in high.items()}, *known, True)

    def _predict(self, step: weft.models.TrainingStep, machine: Machine) -> tuple[float, dict[str, float]]:
        with contextlib.ExitStack() as stack:
            report = self.simulate(self._plan(step, machine, stack), machine)
        memory = report["memory"]
        return report["step_seconds"], memory["peak_bytes"] | {"arena": memory["arena_bytes"]}

    def simulate(self, plan: pathlib.Path, machine: Machine) -> dict[str, Any]:
        software = [f"--software={machine.software}"] if machine.software else []
        return self._run("plan", plan, f"--cluster={machine.cluster}", "--json", *software)[0]

    def _run(self, command: str, subject: Any, *options: str) -> Any:
        ran = subprocess.run([self.simulator, command, subject, *options], capture_output=True, text=True)
        if ran.returncode != 0:
            said = ran.stderr.strip().removeprefix("shard-sim: error: ")
            # Plans are files of our own.
            raise ValueError(said.removeprefix(f"{subject}: ") if command == "plan" else said)
        return json.loads(ran.stdout)

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
