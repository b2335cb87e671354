# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Planner`: a program with a choice written into it, compiled without machine code and predicted."""

from __future__ import annotations

import functools
import os
import warnings
from typing import Any

from ..compiled import Compiled
from ..lowered import CompilerWarning, Source
from ..predicted import Predicted
from ..session import Plan
from ..variants import with_activations, with_mesh, with_specs
from .choices import Choice, Structure
from .program import Program, Size, alike


class Planner:
    """Of one program and cluster."""

    def __init__(self, program: Program, structure: Structure, cluster: str):
        self.program, self.structure, self.cluster = program, structure, cluster
        self.cluster_devices = 0
        self.compiled = 0
        """How many programs were, those that a search before this one compiled included."""

    def source(self, choice: Choice, layers: int = 0) -> Source:
        """The annotated program, of so many layers."""
        rows = choice.data * choice.rows * choice.microbatches if self.program.splits_batch else 0
        source = self.program.source(Size(layers, choice.microbatches, rows))
        specs = self.structure.specs(choice)
        text = with_specs(with_mesh(source.text, choice.mesh()), lambda name, rank: specs.get(alike(name)))
        return Source(with_activations(text, self.structure.activations(choice)), source.name)

    def options(self, choice: Choice, memory_limit: int = 0) -> dict[str, Any]:
        options: dict[str, Any] = {"target": "none", "cluster": self.cluster, "reduce_dtype": "float32"}
        if choice.pipeline > 1:
            options["pipeline"] = choice.pipeline_text()
            if not self.program.splits_batch:
                options["pipeline"] += f" microbatches={choice.microbatches}"
        if memory_limit:
            options["memory_limit"] = str(memory_limit)
        return options

    def compile(self, choice: Choice, layers: int = 0, memory_limit: int = 0) -> Compiled:
        """Raises `CompileError`."""
        source, options = self.source(choice, layers), self.options(choice, memory_limit)
        self.compiled += 1
        if not layers:
            return _compiled(source, tuple(options.items()))
        return _compiled_small(source, tuple(options.items()), _version(self.cluster))

    def predict(self, choice: Choice, layers: int = 0, memory_limit: int = 0) -> Predicted:
        return Predicted.of(self.compile(choice, layers, memory_limit), self.cluster)


def _compiled(source: Source, options: tuple[tuple[str, Any], ...]) -> Compiled:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompilerWarning)  # of what is replicated
        return Compiled(Plan(source.compile(**dict(options))), source=source, options=dict(options))


@functools.lru_cache(maxsize=256)
def _compiled_small(source: Source, options: tuple[tuple[str, Any], ...], cluster: tuple[int, int] | None) -> Compiled:
    """Another search for the same program, as for more devices or with less memory, asks for the same ones."""
    return _compiled(source, options)


def _version(cluster: str) -> tuple[int, int] | None:
    """Of a file; None of a name."""
    try:
        found = os.stat(cluster)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
