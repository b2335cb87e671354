# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Layout`: where the values of a training step are, apart from the model.

    layout = weft.Layout(mesh, rest=shards, compute=whole, activations={"residual": P("data")})
    specs = {"params": layout.parameter_specs(params),
             "optimizer": layout.optimizer_specs(optimizer_state, params)}
    weft.jit(step, layout=layout, in_shardings=(specs, P("data")))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from . import tree as trees
from .mesh import AbstractMesh
from .optim.specs import state_specs
from .resolve import given_specs
from .spec import PartitionSpec


class Layout:
    """Tables of specs for the values of a training step.

    rest         where parameters are between steps; without it nothing is said of them and of gradients
    compute      where `weft.value_and_grad` computes with them: what is split at rest and whole
                 here is gathered at its use and its gradient reduce-scattered. By default no
                 more is said than where they rest.
    optimizer    where the state of the optimizer is that belongs to a parameter, by default
                 where the parameter rests
    gradients    where the results of `weft.value_and_grad` are, by default where the state of
                 the optimizer is, which they update
    gather       when what `compute` gathers is: for each "use", or once a "step", before all
                 micro-batches, and kept through what `weft.checkpoint` recomputes
    activations  where the values are that the model names by `weft.checkpoint_name`
    reduce_dtype the type in which the partial sums of gradients of 16-bit floats are formed and summed
                 over devices: float32, or None, which is their own

    `rest` to `gradients` are `weft.rules`, or prefix trees of specs, of the tree of parameters.
    """

    def __init__(
        self,
        mesh: AbstractMesh,
        *,
        rest: Any = None,
        compute: Any = None,
        optimizer: Any = None,
        gradients: Any = None,
        gather: str = "use",
        activations: Mapping[str, PartitionSpec] | None = None,
        reduce_dtype: Any = None,
    ):
        self.mesh = mesh
        self.rest = rest
        self.compute = compute
        self.optimizer = rest if optimizer is None else optimizer
        self.gradients = self.optimizer if gradients is None else gradients
        self.gather = _checked_gather(gather, compute)
        self.activations = dict(activations or {})
        _check_activations(self.activations)
        self.reduce_dtype = checked_reduce_dtype("Layout: ", reduce_dtype)

    def parameter_specs(self, params: Any) -> Any:
        """The spec at rest of every parameter."""
        specs = given_specs(self.rest, params, "Layout rest")
        return trees.structure(params).unflatten(spec for _, spec in specs)

    def optimizer_specs(self, state: Any, params: Any) -> Any:
        """The spec of every leaf of an optimizer's state; see `weft.optim.state_specs`."""
        return state_specs(state, params, self.optimizer)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and vars(self) == vars(other)

    def __hash__(self) -> int:
        # Tables may be trees with dicts, and have no hash.
        return hash((self.mesh, self.gather, self.reduce_dtype, *sorted(self.activations)))

    def __repr__(self) -> str:
        tables = ["rest", "compute", "optimizer", "gradients", "activations"]
        if self.gather != "use":
            tables.append("gather")
        if self.reduce_dtype:
            tables.append("reduce_dtype")
        return f"Layout({self.mesh!r}, {', '.join(f'{t}={getattr(self, t)!r}' for t in tables)})"


def checked_reduce_dtype(where: str, given: Any) -> str | None:
    """The name of the type. `where` is for the message."""
    try:
        name = None if given is None else np.dtype(given).name
    except TypeError:
        name = ""
    if name not in (None, "float32"):
        raise TypeError(f"{where}reduce_dtype must be float32, or None for the type of the "
                        f"gradients, got {given!r}")
    return name


def _checked_gather(gather: str, compute: Any) -> str:
    if gather not in ("use", "step"):
        raise ValueError(f'Layout: gather must be "use" or "step", got {gather!r}')
    if gather == "step" and compute is None:
        raise ValueError('Layout: gather="step" is for what the table compute gathers; give it, too')
    return gather


def _check_activations(activations: dict) -> None:
    wrong = [f'"{name}" has {spec!r} of type {type(spec).__name__}'
             for name, spec in activations.items() if not isinstance(spec, PartitionSpec)]
    if wrong:
        raise TypeError("Layout: activations must have a PartitionSpec for each name, but "
                        + "; ".join(wrong))
