# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Planner`: a program with a choice written into it, compiled without machine code and predicted."""

from __future__ import annotations

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
        """How many programs were."""

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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CompilerWarning)  # of what is replicated
            return Compiled(Plan(source.compile(**options)), source=source, options=options)

    def predict(self, choice: Choice, layers: int = 0, memory_limit: int = 0) -> Predicted:
        return Predicted.of(self.compile(choice, layers, memory_limit), self.cluster)
