# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program before compilation, and the call of the compiler."""

from __future__ import annotations

import dataclasses
import warnings
from typing import TYPE_CHECKING

from . import mesh as meshes
from .diagnostics import CompileError, Diagnostic
from .mesh import AbstractMesh
from .signature import METADATA_KEY, Signature

if TYPE_CHECKING:
    from .budget import Budget
    from .compiled import Compiled

FORMS = ("graph", "sharded", "spmd", "schedule", "plan")


class CompilerWarning(UserWarning):
    """Something the compiler noticed in a program that it compiles all the same."""

    __module__ = "weft"


@dataclasses.dataclass(frozen=True)
class Source:
    """A program as text: a graph, or StableHLO in generic form. `name` is its file in messages."""

    text: str
    name: str

    def lower(self, form: str, **options) -> str:
        """The text of a form up to "schedule"."""
        from . import _compiler

        return self._checked(_compiler.lower(self.text, self.name, form=form, **options))

    def compile(self, target: str, **options) -> bytes:
        """The bytes of a plan."""
        from . import _compiler

        _check_options(options)
        return self._checked(_compiler.compile(self.text, self.name, target=target, **options))

    def _checked(self, outcome: tuple):
        result, records = outcome
        diagnostics = [Diagnostic.of(record) for record in records]
        if result is None:
            raise CompileError(diagnostics, {self.name: self.text})
        for diagnostic in diagnostics:
            if diagnostic.severity == "warning":
                warnings.warn(str(diagnostic), CompilerWarning, stacklevel=5)
        return result


_FLAGS = ("optimize_shardings", "combine_collectives", "overlap_collectives", "keep_gathered", "fuse_epilogues",
          "batch_launches", "recompute_in_kernels")


def _check_options(options: dict) -> None:
    for name in _FLAGS:
        if not isinstance(options.get(name, False), bool):
            raise TypeError(f"{name} must be True or False, got {options[name]!r}")
    pieces = options.get("collective_pieces", 0)
    if isinstance(pieces, bool) or not isinstance(pieces, int) or pieces < 0:
        raise ValueError(f"collective_pieces must be an integer of at least 0, got {pieces!r}")


def _as_bytes(memory_limit: int | str) -> str:
    """As the compiler reads it."""
    if isinstance(memory_limit, bool) or not isinstance(memory_limit, (int, str)):
        raise TypeError(f"memory_limit must be a number of bytes or text, got {memory_limit!r}")
    return str(memory_limit)


class Lowered:
    """A traced or imported program: text, with the trees of its arguments and results.

    `compile` makes a plan of it. Nothing here needs a device, nor a machine like the one that
    will run the plan.
    """

    def __init__(self, source: Source, signature: Signature, mesh: AbstractMesh | None = None,
                 memory_limit: int | str | None = None, options: dict | None = None,
                 budget: Budget | None = None):
        self.source = source
        self.signature = signature
        self.mesh = mesh
        """The caller's, on which the shardings of the plan will be."""
        self._memory_limit = memory_limit
        self._options = options or {}
        self._budget = budget

    def as_text(self, form: str | None = None, *, locations: bool = False) -> str:
        """The program as it was lowered, or in a form: "graph", "sharded", "spmd",
        "schedule"; `locations` adds the source location of every op. Options such as `reduce_dtype`
        are no part of the program as lowered: tools that read it must be given them again."""
        if form is None:
            return self.source.text
        if form not in FORMS or form == "plan":
            raise ValueError(f"form must be one of {', '.join(FORMS[:-1])}, got {form!r}")
        return self.source.lower(form, locations=locations, **self._options)

    def compile(
        self,
        target: str | None = "cpu",
        *,
        optimize_shardings: bool = True,
        combine_collectives: bool = True,
        overlap_collectives: bool = True,
        collective_pieces: int = 0,
        keep_gathered: bool = False,
        fuse_epilogues: bool = True,
        batch_launches: bool = True,
        recompute_in_kernels: bool = True,
        gemm_precision: str = "full",
        memory_limit: int | str | None = None,
        cluster: str | None = None,
        entry: str | None = None,
    ) -> Compiled:
        """The plan, for "cpu" (this machine's), "cpu:<processor>" as LLVM names it,
        "cuda:sm_80", "cuda:sm_90" or "cuda:sm_100", which takes no GPU, or None: without
        machine code, which is what planning needs and takes the least time.

        `memory_limit` is what a rank may take: bytes, or text such as "2GiB" or "1500MB". What
        the backward pass needs is then recomputed as far as necessary, with the fewest FLOPs.
        Results stay the same, but for the order of sums over devices where other shardings
        are chosen then.

        `cluster` is the name of a cluster that is shipped, as "dgx-h100", or a file: the machines
        that the plan is made for. All that is chosen by time is chosen for them, "dgx-h100" by
        default, whatever the target.

        `optimize_shardings` chooses the shardings that nobody wrote by cost over the whole
        graph; without, every op obeys propagation.

        `collective_pieces` is the number of pieces into which all-gathers, reduce-scatters and
        all-reduces are cut, so that one is sent while a matmul of another runs: as many as pay
        if it is 0, and 1 cuts none.
        `keep_gathered` gathers parameters that rest in shards once for all micro-batches and holds
        them whole meanwhile, where the predicted step is shorter for it; a `memory_limit` does so
        by itself where it fits.
        `recompute_in_kernels` lets kernels recompute what would take memory at the peak, where
        that is worth the time: 1 % of the predicted step for 20 % of what a rank holds beside its states.

        For CUDA, `gemm_precision` "tf32" lets matmuls round their float32 operands to 10
        bits of mantissa, which "full" does not; `fuse_epilogues` lets them add biases and apply
        GELU before they store; and `batch_launches` makes one launch of several of the same
        kernel, as of the updates of parameters."""
        from .compiled import Compiled
        from .session import Plan
        from .simulation import checked_cluster

        if not isinstance(target, (str, type(None))):
            raise TypeError(
                "target must be a string, as \"cpu\", or None for a plan without machine code, got "
                f"{target!r} of type {type(target).__name__}"
            )
        options = {
            **self._options,
            "optimize_shardings": optimize_shardings,
            "combine_collectives": combine_collectives,
            "overlap_collectives": overlap_collectives,
            "collective_pieces": collective_pieces,
            "keep_gathered": keep_gathered,
            "fuse_epilogues": fuse_epilogues,
            "batch_launches": batch_launches,
            "recompute_in_kernels": recompute_in_kernels,
            "gemm_precision": gemm_precision,
        }
        if cluster is not None and cluster != "":
            options["cluster"] = checked_cluster(cluster)
        if memory_limit is None:
            memory_limit = self._memory_limit
        if memory_limit is not None:
            options["memory_limit"] = _as_bytes(memory_limit)
        metadata = {METADATA_KEY: self.signature.text} if self.signature.text else {}
        if self.mesh is not None:
            metadata[meshes.METADATA_KEY] = meshes.write(self.mesh)
        contents = self.source.compile(target or "none", metadata=metadata, **options)
        compiled = Compiled(Plan(contents), self.signature, entry, source=self.source,
                            options={"target": target or "none", **options})
        if self._budget is not None:
            self._budget.check(compiled)
        return compiled

    def __repr__(self) -> str:
        on = "" if self.mesh is None else f" on {self.mesh}"
        return f"Lowered({self.source.name}{on})"
