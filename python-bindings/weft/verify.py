# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the ranks of a plan, and the ops of its graph on one device, and compares every value.

One device computes each op on what the ranks computed it on, so a value is wrong only if what made it is, and the
bound of its error is that of one op. A value that each micro-batch has is compared for all of them, along a first
dimension that the value does not have.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .columns import wrapped
from .dtypes import as_tensor
from .lowered import Source
from .names import escape
from .session import EntryInfo, Plan, Session
from .wording import as_python

if TYPE_CHECKING:
    from .compiled import Compiled

# What is in the graph already that the plans are made of.
_OF_GRAPHS = ("target", "mesh", "memory_limit", "pipeline", "pipeline_table", "pipeline_table_name")
# Of the results that a pipeline changes.
_PRINTED = 4


@dataclasses.dataclass(frozen=True)
class WrongValue:
    """A value that some ranks hold wrong, though what it is made of is right."""

    name: str
    """``dot_general (mlp.py:9)``, or the cause of a collective."""
    is_moved: bool
    """Whether it is another value in another sharding, which a collective makes."""
    place: int
    """Among the values of the graph, which are in program order."""
    ranks: tuple[int, ...]
    where: str
    """What these ranks have in common: ``model = 1``; empty if nothing, or if it is all."""
    differing: tuple[str, ...]
    """Axes along which ranks that should hold copies hold different values."""
    received: tuple[str, ...]
    """What it is made of that another stage of a pipeline has, and has right: the op is wrong, or the message."""
    elements: int
    """How many are wrong on some rank, and of how many."""
    of: int
    index: tuple[int, ...]
    """Of the element that is furthest beyond its bound."""
    value: float
    expected: float
    bound: float
    """How large its error might be, with sums in any order."""


@dataclasses.dataclass(frozen=True)
class Verification:
    """What a verified run found. It is true if all values are right."""

    values: int
    """How many were compared: results of ops, and what collectives make of them."""
    ranks: int
    largest: float
    """The largest error of a right value, as a part of its bound."""
    wrong: tuple[WrongValue, ...]
    behind: int
    """How many more differ, which are made of wrong values."""
    changed: tuple[str, ...]
    """Results of which a pipeline computes other bits than the same program without it."""
    text: str = dataclasses.field(repr=False)

    def __bool__(self) -> bool:
        return not self.wrong and not self.changed

    def __str__(self) -> str:
        return self.text

    def as_dict(self) -> dict[str, Any]:
        return {key: value for key, value in dataclasses.asdict(self).items() if key != "text"}


def verify(compiled: Compiled, *args: Any, reference: str | os.PathLike | None = None, seed: int = 0,
           **kwargs: Any) -> Verification:
    """Runs a compiled function on arrays, its ranks as threads of this process, with the values of its graph as
    results, and compares each with what one device makes of the same operands. Without arrays they are drawn:
    floats from a normal distribution, integers from 0 to 3.

    What runs is compiled of the same graph, with the same shardings and collectives; its kernels write values that
    they would otherwise keep. A plan that was loaded runs itself: it must have been made to be verified, and
    `reference` is the file that ``shard-compile --reference`` wrote with it.

    Of a pipeline each value is compared in the stage that computes it, so a message that brings something wrong is found
    at what is first made of it; and the bits of all results with those of the same program without the pipeline, whose
    sums are the same in the same order.

    Raises `ValueError` for a plan that was not, and `ExecutionError` if the reference is of another program."""
    if (compiled._source is None) != (reference is not None):
        raise ValueError("a plan that was loaded takes the reference that shard-compile --reference wrote with it, "
                         "a compiled function takes none")
    if reference is None:
        graph, options = _graph(compiled._source, compiled._options)
        plan, other = _plans(graph, options)
    else:
        plan, other = compiled.plan, Plan.load(reference)
    entry = compiled.entry
    if args or kwargs:
        leaves = compiled.signature.leaves(args, kwargs)
        values = compiled._checked(leaves)
        inputs = {info.name: np.asarray(value) for info, value in zip(entry.inputs, values)}
    else:
        inputs = draw(entry, seed)
    found = verify_plans(plan, other, inputs, entry=entry.name)
    if reference is not None or "pipeline" not in compiled._options:
        return found
    return _with_pipeline(found, compiled.plan, Plan(graph.compile("cpu", verified="results", **options)), entry, inputs)


def plans(source: Source, options: Mapping[str, Any]) -> tuple[Plan, Plan]:
    """Of a program: a plan with the values of the graph as results, and its reference."""
    return _plans(*_graph(source, options))


def _graph(source: Source, options: Mapping[str, Any]) -> tuple[Source, dict[str, Any]]:
    """The graph of a program, and the options of what is made of it."""
    lowering = {key: value for key, value in options.items() if key != "target"}
    graph = dataclasses.replace(source, text=source.lower("graph", locations=True, **lowering))
    return graph, {key: value for key, value in options.items() if key not in _OF_GRAPHS}


def _plans(graph: Source, options: Mapping[str, Any]) -> tuple[Plan, Plan]:
    return tuple(Plan(graph.compile("cpu", verified=what, **options)) for what in ("values", "reference"))


def _with_pipeline(found: Verification, pipeline: Plan, plain: Plan, entry: EntryInfo,
                   inputs: Mapping[str, np.ndarray]) -> Verification:
    """The same, and which results the pipeline changes."""
    values = [inputs[info.name] for info in entry.inputs]
    results = (Session(plan).call(entry.name, values) for plan in (pipeline, plain))
    changed = {info.name: _first_difference(*pair) for info, *pair in zip(entry.outputs, *results)
               if pair[0].tobytes() != pair[1].tobytes()}
    count = len(entry.outputs)
    lines = ["with the pipeline: the same bits of all results"] if not changed else \
        [f"with the pipeline: other bits of {len(changed)} of {count} results, such as",
         *(f"  {name}: {what}" for name, what in itertools.islice(changed.items(), _PRINTED))]
    return dataclasses.replace(found, changed=tuple(changed), text="\n".join([found.text, *lines]))


def _first_difference(with_it: np.ndarray, without: np.ndarray) -> str:
    bits = np.dtype(f"V{with_it.dtype.itemsize}")
    index = tuple(int(i[0]) for i in np.nonzero(np.atleast_1d(with_it.view(bits) != without.view(bits))))
    at = f"at {list(index)} " if with_it.ndim else ""
    return f"{at}{np.atleast_1d(with_it)[index]}, without {np.atleast_1d(without)[index]}"


def verify_plans(plan: Plan, reference: Plan, inputs: Mapping[str, np.ndarray], *, entry: str) -> Verification:
    """The same of an entry of a plan that was made to be verified, on whole arrays by the names of inputs."""
    from . import _runtime

    tensors = {escape(name): as_tensor(np.asarray(value, order="C")) for name, value in inputs.items()}
    found = _runtime.compare_values(Session(plan)._handle, Session(reference)._handle, entry, tensors)
    wrong = tuple(_wrong_value(each) for each in found.wrong)
    lines = (wrapped(line, "", " " * (len(line) - len(line.lstrip()) + 2)) for line in as_python(str(found)).splitlines())
    return Verification(found.values, found.ranks, found.largest, wrong, found.behind, (),
                        "\n".join(part for each in lines for part in each))


def _wrong_value(found) -> WrongValue:
    fields = {field.name: getattr(found, field.name) for field in dataclasses.fields(WrongValue)}
    return WrongValue(**{key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}
                      | {"name": as_python(found.name), "received": tuple(map(as_python, found.received))})


def draw(entry: EntryInfo, seed: int) -> dict[str, np.ndarray]:
    """Arrays for the inputs of an entry."""
    generator = np.random.default_rng(seed)
    inputs = {}
    for info in entry.inputs:
        is_integer = info.dtype.kind in "iub"
        drawn = generator.integers(0, 2 if info.dtype.kind == "b" else 4, info.shape) if is_integer else \
            generator.standard_normal(info.shape)
        inputs[info.name] = np.asarray(drawn).astype(info.dtype)
    return inputs
