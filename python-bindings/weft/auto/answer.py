# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`AutoPlan`: a choice as an annotated program."""

from __future__ import annotations

import dataclasses
from typing import Any

from .. import tree as trees
from ..compiled import Compiled
from ..jit import Jitted, Parameters, jit
from ..layout import Layout
from ..mesh import AbstractMesh
from ..pipeline import Pipeline
from ..predicted import Predicted
from ..session import Plan
from ..spec import PartitionSpec
from ..written_rules import arguments_text, mesh_text
from .choices import PIPE, Choice
from .planner import Planner
from .program import FunctionProgram, alike
from .search import Estimate


@dataclasses.dataclass(frozen=True, repr=False)
class AutoPlan:
    """A choice, and what a step takes with it."""

    _planner: Planner
    _estimate: Estimate
    predicted: Predicted | None
    """By the simulator, of the whole program; None if it was only estimated."""
    memory_limit: int | None
    """To be given to the compiler, which recomputes as much as that takes; None if it need not."""

    @property
    def choice(self) -> Choice:
        return self._estimate.choice

    @property
    def step_seconds(self) -> float:
        """Of a step, predicted or estimated."""
        return self.predicted.step if self.predicted else self._estimate.seconds

    @property
    def memory(self) -> int:
        """Bytes of the rank that has the most, predicted or estimated."""
        return self.predicted.memory if self.predicted else int(self._estimate.memory)

    @property
    def mesh(self) -> AbstractMesh:
        return self.choice.mesh()

    @property
    def specs(self) -> dict[str, PartitionSpec]:
        """By the paths of arguments."""
        found = self._planner.structure.specs(self.choice)
        return {each.name: found[alike(each.name)] for each in self._planner.structure.arguments}

    @property
    def activations(self) -> dict[str, PartitionSpec]:
        """Of what the program names by `weft.checkpoint_name`."""
        return self._planner.structure.activations(self.choice)

    def as_text(self) -> str:
        """The annotated program."""
        return self._planner.source(self.choice).text

    def jit(self) -> Jitted:
        """`weft.jit` of the function, with all that was chosen. Raises `TypeError` if it was a program in text."""
        program = self._planner.program
        if not isinstance(program, FunctionProgram):
            raise TypeError("a program in text has no function: as_text() has it annotated")
        choice, mesh = self.choice, self.mesh
        layout = Layout(mesh, activations=self.activations, reduce_dtype="float32")
        return jit(program.function, layout=layout, in_shardings=self._shardings(program),
                   donate_argnums=program.donate_argnums, memory_limit=self.memory_limit, pipeline=self._pipeline(),
                   microbatches=choice.microbatches if choice.pipeline == 1 and choice.microbatches > 1 else None)

    def compile(self, target: str | None = None) -> Compiled:
        """The plan, to be saved or called; see `Lowered.compile`."""
        program = self._planner.program
        if isinstance(program, FunctionProgram):
            return self.jit().lower(*program.arguments).compile(target, cluster=self._planner.cluster)
        source = self._planner.source(self.choice)
        options = self._planner.options(self.choice, self.memory_limit or 0) | {"target": target or "none"}
        return Compiled(Plan(source.compile(**options)), source=source, options=options)

    def _pipeline(self) -> Pipeline | None:
        choice = self.choice
        if choice.pipeline == 1:
            return None
        return Pipeline(PIPE, choice.schedule, chunks=choice.chunks, stages="auto", microbatches=choice.microbatches)

    def _shardings(self, program: FunctionProgram) -> tuple[Any, ...]:
        names = [Parameters(program.function).name(i) for i in range(len(program.arguments))]
        structure = trees.structure(program.arguments)
        return structure.unflatten(self.specs[trees.place(names, path)] for path in structure.paths())

    def as_python(self) -> str:
        """What is to be written into a program."""
        lines = [f"mesh = {mesh_text(self.mesh)}", f"in_shardings = {arguments_text(self.specs)}"]
        if (pipeline := self._pipeline_text()):
            lines.append(f"pipeline = {pipeline}")
        if isinstance(self._planner.program, FunctionProgram):
            lines.append(f"weft.jit(step, {', '.join(['in_shardings=in_shardings', *self._words()])})")
        return "\n".join(lines)

    def _pipeline_text(self) -> str:
        choice = self.choice
        if choice.pipeline == 1:
            return ""
        return (f'weft.Pipeline("{PIPE}", "{choice.schedule}", chunks={choice.chunks}, stages="auto", '
                f"microbatches={choice.microbatches})")

    def _words(self) -> list[str]:
        named = f", activations={self.activations!r}" if self.activations else ""
        words = [f'layout=weft.Layout(mesh{named}, reduce_dtype="float32")']
        choice = self.choice
        if choice.pipeline > 1:
            words.append("pipeline=pipeline")
        elif choice.microbatches > 1:
            words.append(f"microbatches={choice.microbatches}")
        if self.memory_limit:
            words.append(f"memory_limit={self.memory_limit}")
        return words

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        choice = dataclasses.asdict(self.choice)
        return {"mesh": dict(self.mesh.shape_tuple), "choice": choice, "step_seconds": self.step_seconds,
                "memory_bytes": self.memory, "is_predicted": self.predicted is not None,
                "predicted": self.predicted.as_dict() if self.predicted else None,
                "specs": {name: repr(spec) for name, spec in self.specs.items()},
                "activations": {name: repr(spec) for name, spec in self.activations.items()},
                "memory_limit": self.memory_limit}

    def __repr__(self) -> str:
        return f"AutoPlan({self.choice}: {self.step_seconds:.6g} s)"
