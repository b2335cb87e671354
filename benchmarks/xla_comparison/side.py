# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a compiler made of a case."""

import dataclasses

# An alpha-beta model as that of weft::cost::CollectiveCost: 5 us and 50 GB/s, for both compilers.
LATENCY_SECONDS, SECONDS_PER_BYTE = 5e-6, 1 / 50e9


@dataclasses.dataclass(frozen=True)
class Traffic:
    """Equal collectives."""

    kind: str
    bytes: float
    """What one rank sends in all of them."""
    calls: int
    cause: str
    """Of XLA the type of the result and the name of the op in JAX."""


@dataclasses.dataclass(frozen=True)
class Side:
    traffic: list[Traffic]
    memory: int
    """Bytes of a rank beside those of the states: arguments, results and temporary buffers."""
    seconds: float
    """What it took to compile."""

    @property
    def bytes(self):
        return sum(t.bytes for t in self.traffic)

    @property
    def calls(self):
        return sum(t.calls for t in self.traffic)

    @property
    def time(self):
        """Predicted seconds of communication in one step, one collective after the other."""
        return self.calls * LATENCY_SECONDS + self.bytes * SECONDS_PER_BYTE

    def by_kind(self):
        kinds = {}
        for t in self.traffic:
            kinds[t.kind] = kinds.get(t.kind, 0) + t.bytes
        return kinds
