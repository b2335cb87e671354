# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Parallelism`: what the ranks of a mesh share out of a training step."""

from __future__ import annotations

import dataclasses
from typing import Any

import weft
from weft import P
from weft.layout import checked_reduce_dtype

from .sizes import Sizes, is_count

SHARDED = ("none", "zero1", "fsdp")
GATHER = ("after-update", "next-step")
RECOMPUTATION = ("none", "selective", "alternate", "full", "whole")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Parallelism:
    """What the ranks of a mesh share out of a training step.

    data               replicas, each of which has a part of the batch
    tensor             ranks that share heads, perceptrons and the vocabulary
    context            ranks that share the positions of a sequence (ring attention)
    pipeline           ranks that share the layers; `chunks` stages each, in the order of `schedule`,
                       by default "1f1b", with chunks "interleaved-1f1b"
    sequence_parallel  norms and residuals in parts over the tensor ranks
    sharded            what the replicas have in parts: "none", "zero1", the state of the optimizer,
                       or "fsdp", parameters and gradients as well (ZeRO-3)
    gather             when "zero1" gathers parameters: "after-update", so that they rest whole, or in the
                       "next-step", in the type it computes with and behind its first layers
    micro_batch        sequences of a replica at a time
    global_batch       sequences of a step; by default one micro-batch of every replica
    recomputation      in the backward pass: "none", "selective", all of a block but its matmuls
                       and attention (if it is unfused, attention alone), "alternate", all of a block but
                       every other matmul and attention, "full", all of a block, or "whole", also
                       what nothing needs again: its last product, as software that calls a block twice
    reduce_dtype       "float32" sums gradients over replicas in it, None in the type of activations

    Ranks that are next to each other share tensors; then come context, data and pipeline.
    """

    data: int = 1
    tensor: int = 1
    context: int = 1
    pipeline: int = 1
    chunks: int = 1
    schedule: str | None = None
    sequence_parallel: bool = False
    sharded: str = "none"
    gather: str = "after-update"
    micro_batch: int = 1
    global_batch: int | None = None
    recomputation: str = "none"
    reduce_dtype: Any = "float32"

    def __post_init__(self):
        if self.global_batch is None and is_count(self.data) and is_count(self.micro_batch):
            object.__setattr__(self, "global_batch", self.data * self.micro_batch)

    def problems(self, sizes: Sizes) -> list[str]:
        """What is impossible, for a model of these sizes."""
        counts = ("data", "tensor", "context", "pipeline", "chunks", "micro_batch", "global_batch")
        wrong = [f"{name} must be at least 1, got {getattr(self, name)!r}"
                 for name in counts if not is_count(getattr(self, name))]
        for name, allowed in (("sharded", SHARDED), ("gather", GATHER), ("recomputation", RECOMPUTATION)):
            if getattr(self, name) not in allowed:
                wrong.append(f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}")
        if not isinstance(self.sequence_parallel, bool):
            wrong.append(f"sequence_parallel must be True or False, got {self.sequence_parallel!r}")
        try:
            checked_reduce_dtype("", self.reduce_dtype)
        except TypeError as error:
            wrong.append(str(error))
        if wrong:
            return wrong
        if self.gathers_once and self.sharded != "zero1":
            wrong.append(f'gather="next-step" is for sharded="zero1", got {self.sharded!r}')
        step = self.data * self.micro_batch
        if self.global_batch % step:
            wrong.append(f"global_batch must be a multiple of data x micro_batch = {step}, got {self.global_batch}")
        if self.chunks > 1 and self.pipeline == 1:
            wrong.append(f"chunks are stages of the ranks of a pipeline, but pipeline is 1 and chunks {self.chunks}")
        if self.stages > sizes.layers:
            wrong.append(f"{sizes.layers} layers cannot be cut into pipeline x chunks = {self.stages} stages")
        if self.schedule and self.pipeline == 1:
            wrong.append(f"schedule {self.schedule!r} needs a pipeline of 2 ranks or more")
        for name, size in (("heads", sizes.heads), ("ffn", sizes.ffn)):
            if size % self.tensor:
                wrong.append(f"tensor must divide {name}, but {size} is no multiple of {self.tensor}")
        for name, ways in (("context", self.context), ("tensor", self.tensor if self.sequence_parallel else 1)):
            if sizes.sequence % ways:
                wrong.append(f"{name} must divide sequence, but {sizes.sequence} is no multiple of {ways}")
        return wrong

    @property
    def devices(self) -> int:
        return self.data * self.tensor * self.context * self.pipeline

    @property
    def stages(self) -> int:
        return self.pipeline * self.chunks

    @property
    def microbatches(self) -> int:
        """Of each replica in a step."""
        return self.global_batch // (self.data * self.micro_batch)

    @property
    def gathers_once(self) -> bool:
        return self.gather == "next-step"

    def mesh(self) -> weft.Mesh:
        axes = {name: size for name in ("pipeline", "data", "context", "tensor")
                if (size := getattr(self, name)) > 1} or {"data": 1}
        return weft.Mesh(tuple(axes.values()), tuple(axes))

    def layout(self, sizes: Sizes, model: Any) -> weft.Layout:
        """Where the parameters and activations of a model are, by the names of their dimensions."""
        mesh = self.mesh()

        def axes(*names):
            return tuple(name for name in names if name in mesh.axis_names)

        tensor = axes("tensor")
        compute = {"batch": axes("data"), "time": axes("context"), "heads": tensor, "hidden": tensor,
                   "vocabulary": tensor,
                   # Fewer heads of keys than ranks: each rank has all that its queries read.
                   "kv_heads": tensor if sizes.kv_heads % self.tensor == 0 else (),
                   "residual time": axes("context", *(["tensor"] if self.sequence_parallel else []))}
        shards = compute | {"width": axes("data", "context")}

        def table(splits):
            return weft.rules([(pattern, _spec(dims, splits)) for pattern, dims in model.PARAMETERS])

        return weft.Layout(
            mesh, rest=table(shards if self.sharded == "fsdp" or self.gathers_once else compute), compute=table(compute),
            optimizer=table(compute if self.sharded == "none" else shards), gather="step" if self.gathers_once else "use",
            activations={name: _spec(dims, compute) for name, dims in model.ACTIVATIONS.items()},
            reduce_dtype=self.reduce_dtype)

    def batch_spec(self) -> P:
        """Of tokens and targets, [batch, time]."""
        names = self.mesh().axis_names
        return P(*("data" if "data" in names else None, "context" if "context" in names else None))

    def as_pipeline(self) -> weft.Pipeline | None:
        if self.pipeline == 1:
            return None
        usual = "1f1b" if self.chunks == 1 else "interleaved-1f1b"
        return weft.Pipeline("pipeline", self.schedule or usual, chunks=self.chunks)


def _spec(dims, splits):
    return P(*(splits.get(dim) or None for dim in dims))
