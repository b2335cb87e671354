# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Predicted`: what a step of a plan takes, by the simulator."""

from __future__ import annotations

import dataclasses
from typing import Any

from .compiled import Compiled
from .simulation import simulate


@dataclasses.dataclass(frozen=True)
class Predicted:
    """Times are seconds of a rank, with a pipeline the mean of its roles; bytes are those of the rank that has the most."""

    step: float
    kernels: float
    """It computes."""
    exposed: float
    """It waits for collectives."""
    bubble: float
    """It waits for other stages."""
    memory: int
    """The arena."""
    usable: int
    """What the device has for it."""
    sent: int
    """By a rank, in a call."""

    @staticmethod
    def of(compiled: Compiled, cluster: str = "") -> Predicted:
        """On a cluster, by default the one that it was compiled for."""
        step = simulate(compiled, cluster or compiled.cluster or "")
        roles = step["roles"]
        kernels = [f"{kind}_seconds" for kind in ("gemm", "convolution", "attention", "other_kernel", "contention")]
        return Predicted(
            step["step_seconds"],
            sum(role[name] for role in roles for name in kernels) / len(roles),
            step["exposed_seconds"], step["bubble_seconds"],
            step["memory"]["arena_bytes"], int(step["memory"]["usable_bytes"]), compiled.cost().wire_bytes)

    @property
    def fits(self) -> bool:
        return self.memory <= self.usable

    def as_dict(self) -> dict[str, Any]:
        return {"step_seconds": self.step, "kernel_seconds": self.kernels, "exposed_seconds": self.exposed,
                "bubble_seconds": self.bubble, "memory_bytes": self.memory, "usable_bytes": self.usable,
                "sent_bytes": self.sent, "fits": self.fits}
