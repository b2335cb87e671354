# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compiled function: called like the function, and asked what it sends, stores and costs."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import signature as signatures
from .arguments import fit
from .arrays import Array, Residents
from .lowered import FORMS, Source
from .pipeline import Schedule
from .records import Collective, Cost, Memory, Message, Padding, Records, Stage
from .session import EntryInfo, Plan, Session, Shards
from .sharding import NamedSharding
from .signature import Signature
from .wording import as_python

if TYPE_CHECKING:
    from .suggestions import Suggestion
    from .what_if import WhatIf
    from .why import Why
    from .why_memory import WhyMemory
    from .why_value import WhyValue


class Compiled:
    """One entry of a plan with the trees of its arguments and results.

    Calling it takes whole NumPy arrays, `Array`s or `Shards`, and runs the ranks as threads of this
    process. Results are `Array`s, which stay on the ranks until they are looked at. One that is passed to the
    next call for a donated argument is not moved, and it is deleted, as in JAX. An array of NumPy is copied
    to the ranks, and stays valid where its argument is donated.
    """

    def __init__(
        self,
        plan: Plan,
        signature: Signature | None = None,
        entry: str | None = None,
        *,
        source: Source | None = None,
        options: dict | None = None,
    ):
        self.plan = plan
        self.entry = _find_entry(plan, entry)
        self.signature = signature or _stored_signature(plan, self.entry)
        self._inputs = _bind_inputs(self.entry, self.signature)
        # Of leaves that are the inputs, in order.
        self._kinds = (tuple((info.shape, info.dtype) for info in self.entry.inputs)
                       if self._inputs == [*range(len(self.signature.in_paths))] else ())
        self._source = source
        self._options = options or {}
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._residents: Residents | None = None

    # Running

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function of arrays, which are passed by position or by name."""
        return self._call(args, kwargs, Session.output)

    def call_sharded(self, *args: Any, **kwargs: Any) -> Any:
        """The same, with every result as `Shards`: the parts that the ranks hold."""
        return self._call(args, kwargs, Session.shards)

    def _call(self, args: tuple, kwargs: dict[str, Any], take) -> Any:
        return self.call_leaves(self.signature.leaves(args, kwargs), None, take)

    def call_leaves(self, leaves: Sequence[Any], kinds: Any = None, take=Session.output) -> Any:
        """The function of the leaves of arguments whose structure is the one compiled for. Leaves
        of which `kinds` says that they are arrays of the shapes and dtypes of the inputs are not
        looked at."""
        values = leaves if kinds == self._kinds else self._checked(leaves)
        with self._lock:
            if self._session is None:
                self._session = self.session()
                self._residents = Residents(self._session, self.entry)
            try:
                results = self._run(self._session, leaves, values, take)
            except BaseException:  # final for a session, such as Ctrl-C
                self._session = self._residents = None
                raise
        return self.signature.unflatten(results)

    def _run(self, session: Session, leaves: Sequence[Any], values: Sequence[Any], take) -> list:
        if take is Session.output and (values is leaves or Shards not in map(type, values)):
            return self._residents.call(values, self.signature.results_stay)
        values = [np.asarray(value) if isinstance(value, Array) else value for value in values]
        self._residents.leave()
        for info, value in zip(self.entry.inputs, values):
            session.set_input(self.entry.name, info.name, value)
        session.run(self.entry.name)
        return [take(session, info.name) for info in self.entry.outputs]

    def session(self, **options: Any) -> Session:
        """A session of its own, to keep states on the ranks between runs."""
        return Session(self.plan, **options)

    def _checked(self, leaves: Sequence[Any]) -> list[Any]:
        """The value of every input; all that do not fit are named in one error."""
        values, problems = [], []
        for info, number in zip(self.entry.inputs, self._inputs):
            leaf = leaves[number]
            if type(leaf) is Array and (leaf.shape, leaf.dtype) == (info.shape, info.dtype):
                value, problem = leaf, ""
            else:
                value, problem = fit(leaf, info, self.plan.ranks)
            values.append(value)
            if problem:
                problems.append(f"  {info.name}: {problem}")
        if problems:
            raise TypeError(
                f"{len(problems)} of {len(values)} arguments do not fit what was compiled:\n"
                + "\n".join(problems)
            )
        return values

    # Looking at it

    def as_text(self, form: str = "plan") -> str:
        """The program in a form: "graph", "sharded", "spmd", "schedule" or "plan"."""
        if form not in FORMS:
            raise ValueError(f"form must be one of {', '.join(FORMS)}, got {form!r}")
        if form == "plan":
            return self.plan.as_text()
        if self._source is None:
            raise ValueError(f"a plan that was loaded has the form plan only, got {form!r}")
        return self._source.lower(form, **self._options)

    def _records(self) -> Records:
        return Records.of(self.plan, self.entry)

    def collectives(self) -> list[Collective]:
        """What the ranks exchange and why, in program order; equal ones are counted."""
        return list(self._records().collectives)

    def why(self, collective: Collective | str, cluster: str = "") -> Why:
        """Why a collective is there: the chain from what the user wrote at both of its ends, what
        else was weighed, and what to write instead. `collective` is one of `collectives()`, or a
        text that only one of them has in its call (``all_reduce over data``), its cause or its
        location; times are predicted for `cluster`. Raises `ValueError` if none or several have it."""
        from .why import find

        return find(self, collective, cluster)

    def why_value(self, value: str) -> list[WhyValue]:
        """Why values have their shardings: for each axis the annotation that it came from, and over which ops, or
        that the optimizer chose it. `value` is the path of an argument, or a text in the op and line of values,
        as ``tanh`` or ``mlp.py:8``; those that read alike are there once. Raises `ValueError` if there is none,
        and for a plan that was loaded, which has no graph."""
        from .why_value import why_value

        return why_value(self, value)

    def why_memory(self) -> WhyMemory:
        """What is alive when the most memory is in use, and by how much less would be if each of it took nothing."""
        from .why_memory import why_memory

        return why_memory(self)

    def suggest(self, cluster: str = "") -> list[Suggestion]:
        """What to annotate otherwise, with the predicted time of the step, the bytes sent and the memory
        that each takes: those first that take no more memory, the fastest first. Every suggestion was
        compiled, which takes as long as compiling some dozens of times. Times are predicted for `cluster`,
        by default the one it was compiled for. Raises `ValueError` for a plan that was loaded."""
        from .suggestions import suggest

        return suggest(self, cluster)

    def what_if(self, *, mesh: Any = None, specs: Any = None, rules: Any = None, pipeline: Any = None, schedule: Any = None,
                cluster: str = "", next_change: bool = True, **options: Any) -> WhatIf:
        """What other meshes, specs, schedules or options of the compiler would take: all combinations are planned
        without machine code and predicted, and ranked with the plan as it is.

        `mesh` is a `weft.Mesh`, a dict of sizes or a text such as ``"data=2,model=4"``; `specs` are by the paths of
        arguments, ``{"params['w2']": P("model", None)}``, in which an index may be ``[*]``; `rules` are those of
        `weft.rules`; `pipeline` is a `weft.Pipeline`, and `schedule` the name of another schedule for it. `options` are
        those of `Lowered.compile`. Of all but specs and rules a list has several to be tried. The result also has the next
        change, found by trying other shapes of the mesh and edits of specs with the best, unless `next_change` is false. Times
        are predicted for `cluster`, by default the one it was compiled for. What cannot be is in `left_out`, with the reason.
        Raises `ValueError` for names that are unknown, and for a plan that was loaded."""
        from .what_if import what_if

        return what_if(self, mesh=mesh, specs=specs, rules=rules, pipeline=pipeline, schedule=schedule, cluster=cluster,
                       next_change=next_change, **options)

    def memory(self) -> Memory:
        return self._records().memory

    def cost(self) -> Cost:
        return self._records().cost

    def padding(self) -> list[Padding]:
        """The dimensions of arguments and results that are padded; none if axes divide all."""
        return list(self._records().padding)

    def stages(self) -> list[Stage]:
        """What the stages of a pipeline compute and send; none without a pipeline."""
        return list(self._records().stages)

    def messages(self) -> list[Message]:
        """What the stages of a pipeline send to each other."""
        return list(self._records().messages)

    def schedule(self) -> Schedule | None:
        """When the stages of a pipeline run, in microseconds that the compiler estimates for the
        micro-batches alone; in a notebook it shows its picture."""
        return self._records().schedule

    def report(self) -> str:
        """The tables that shard-compile prints; `weft.report` makes a page."""
        return as_python(str(self.plan.handle.report()))

    @property
    def input_shardings(self) -> dict[str, NamedSharding]:
        """By the path of the argument: ``params['w1']``."""
        return {info.name: info.sharding for info in self.entry.inputs}

    @property
    def output_shardings(self) -> Any:
        """A tree like the result."""
        return self.signature.unflatten([info.sharding for info in self.entry.outputs])

    @property
    def donated(self) -> tuple[str, ...]:
        """Paths of the arguments whose memory is that of a result."""
        return tuple(info.name for info in self.entry.inputs if info.is_state)

    @property
    def cluster(self) -> str | None:
        """The cluster that it was compiled for, if one was named."""
        return self._options.get("cluster")

    def save(self, path: str | os.PathLike) -> None:
        """Writes the plan file; `weft.load` and shard-run read it."""
        self.plan.save(path)

    def __reduce__(self):
        return _rebuild, (self.plan, self.signature, self.entry.name, self._source, self._options)

    def __repr__(self) -> str:
        return f"Compiled({self.entry.name}, {self.plan.ranks} ranks)"


def _rebuild(plan, signature, entry, source, options) -> Compiled:
    return Compiled(plan, signature, entry, source=source, options=options)


def load(path: str | os.PathLike, *, entry: str | None = None) -> Compiled:
    """A plan file as a callable; `entry` says which of its entries, if there are several.

    A plan that `Compiled.save` wrote is called as its function was; dataclasses and named
    tuples of its results come back as named tuples of the same fields. One that shard-compile
    wrote takes and returns a dict of arrays by name.
    """
    return Compiled(Plan.load(path), entry=entry)


def _find_entry(plan: Plan, name: str | None) -> EntryInfo:
    entries = {entry.name: entry for entry in plan.entries}
    if name is None and len(entries) == 1:
        return next(iter(entries.values()))
    if name not in entries:
        problem = f"has no entry {name!r}" if name else "has several entries"
        raise ValueError(f"the plan {problem}; name one of {', '.join(entries)} as entry=")
    return entries[name]


def _stored_signature(plan: Plan, entry: EntryInfo) -> Signature:
    stored = plan.metadata.get(signatures.METADATA_KEY)
    if stored:
        return signatures.read(stored)
    names = [[info.name for info in infos] for infos in (entry.inputs, entry.outputs)]
    return signatures.of_names(*names)


def _bind_inputs(entry: EntryInfo, signature: Signature) -> list[int]:
    """For each input of the entry the leaf that it takes. They have the same names; a leaf that
    the program does not use may have no input."""
    positions = {path: i for i, path in enumerate(signature.in_paths)}
    missing = [info.name for info in entry.inputs if info.name not in positions]
    if missing:
        raise ValueError(
            f"inputs of the plan are no arguments of its signature: {', '.join(missing)}"
        )
    return [positions[info.name] for info in entry.inputs]
