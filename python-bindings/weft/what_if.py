# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What another mesh, other specs or another schedule would take: each variant is planned without machine code, predicted,
and ranked against the plan as it is.

    compiled.what_if(mesh=["data=4,model=2", "data=2,model=4"])
    compiled.what_if(specs={"params['w2']": P("model", None)})
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import itertools
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from .columns import aligned, percent, reasons_text, wrapped
from .diagnostics import CompileError, brief
from .errors import listing, size_text
from .legality import violations
from .lowered import CompilerWarning, Lowered, Source
from .path_groups import group_paths
from .predicted import Predicted
from .rules import Rules
from .session import Plan
from .simulation import checked_cluster
from .spec import PartitionSpec
from .spec_text import as_mesh
from .units import seconds_text
from .variants import mesh_of, named_values, with_mesh, with_specs, written_specs

if TYPE_CHECKING:
    from .compiled import Compiled

# What Lowered.compile takes and a variant may change.
OPTIONS = tuple(name for name in inspect.signature(Lowered.compile).parameters
                if name not in ("self", "target", "cluster", "entry"))
# How many neighbours of the best variant are tried to find the next change.
_MOST_TRIED = 12
_INDEX = re.compile(r"(?<=\[)\d+(?=\])")
_KEY = re.compile(r"\[(?:'([^']*)'|(\d+))\]|\.(\w+)")


@dataclasses.dataclass(frozen=True)
class Variant:
    """A program with some changes, and what a step takes then."""

    change: str
    """In words; empty for the plan as it is."""
    predicted: Predicted
    compiled: Compiled

    def order(self) -> tuple[bool, float]:
        return not self.predicted.fits, self.predicted.step


@dataclasses.dataclass(frozen=True, repr=False)
class WhatIf:
    """All variants with the plan as it is: first those that fit into memory, of them the fastest."""

    cluster: str
    variants: tuple[Variant, ...]
    left_out: tuple[tuple[str, str], ...]
    """What cannot be, and why."""
    next_change: Variant | None
    """Of the best: the one more change that gains most, of those that were tried."""

    @property
    def before(self) -> Variant:
        """The plan as it is."""
        return next(each for each in self.variants if not each.change)

    def __str__(self) -> str:
        before = self.before.predicted
        rows = [["", "", "step time", "", "exposed", "bubble", "memory", ""]]
        for number, each in enumerate(self.variants, 1):
            found = each.predicted
            rows.append([str(number), each.change or "as it is", seconds_text(found.step), _relative(found, before),
                         percent(found.exposed / found.step), percent(found.bubble / found.step), size_text(found.memory),
                         "fits" if found.fits else f"exceeds {size_text(found.usable)}"])
        if not any(each.predicted.bubble for each in self.variants):
            rows = [[*row[:5], *row[6:]] for row in rows]
        text = aligned(rows, left=(1,))
        if self.left_out:
            text += reasons_text(f"{change}: {reason}" for change, reason in self.left_out)
        if self.next_change:
            best = self.variants[0].predicted
            text += "\n".join(wrapped(f"next: {self.next_change.change}: {seconds_text(best.step)} -> "
                                      f"{seconds_text(self.next_change.predicted.step)} "
                                      f"({_relative(self.next_change.predicted, best)})", "", "  ")) + "\n"
        return text

    __repr__ = __str__

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        def row(each: Variant) -> dict[str, Any]:
            return {"change": each.change} | each.predicted.as_dict()

        return {"cluster": self.cluster, "variants": [*map(row, self.variants)],
                "left_out": [{"change": change, "reason": reason} for change, reason in self.left_out],
                "next": row(self.next_change) if self.next_change else None}


def _relative(found: Predicted, before: Predicted) -> str:
    return "" if found is before else f"{100 * (found.step / before.step - 1):+.1f} %"


@dataclasses.dataclass(frozen=True)
class _Setting:
    """A program with changes that is not planned yet."""

    change: tuple[str, ...]
    text: str
    options: dict[str, Any]

    def named(self, change: str, **changed: Any) -> _Setting:
        return dataclasses.replace(self, change=(*self.change, change), **changed)


def what_if(compiled: Compiled, *, mesh: Any = None, specs: Mapping[str, PartitionSpec] | None = None,
            rules: Rules | Sequence[tuple[str, PartitionSpec]] | None = None, pipeline: Any = None, schedule: Any = None,
            cluster: str = "", next_change: bool = True, **options: Any) -> WhatIf:
    """See `Compiled.what_if`."""
    if compiled._source is None:
        raise ValueError("a plan that was loaded has no program to vary: compile the function, or use weft try with its "
                         "text")
    cluster = cluster or compiled.cluster or ""
    if cluster:
        cluster = checked_cluster(cluster)
    _check_options(options)
    start = _Setting((), compiled._source.text, {**compiled._options, "target": "none"})
    settings = [start]
    for changes in (_meshes(mesh), _specs(start, specs, rules), _pipelines(start, pipeline, schedule), *_options(options)):
        settings = [changed for setting in settings for changed in changes(setting)]
    planner = _Planner(compiled, cluster)
    before = Variant("", Predicted.of(compiled, cluster), compiled)
    found, left_out = [before], []
    changed = [setting for setting in settings if setting.change]
    for setting, made in zip(changed, planner.plan_all(changed)):
        if isinstance(made, Variant):
            found.append(made)
        else:
            left_out.append((listing(setting.change), brief(made)))
    found.sort(key=Variant.order)
    by_change = {each.change: setting for each in found for setting in settings if listing(setting.change) == each.change}
    best = by_change.get(found[0].change, start)
    more = _next_change(planner, found[0], best, [start, *settings]) if next_change else None
    return WhatIf(cluster, tuple(found), tuple(left_out), more)


class _Planner:
    """Plans variants of a program."""

    def __init__(self, compiled: Compiled, cluster: str):
        self._compiled = compiled
        self._cluster = cluster

    def plan_all(self, settings: Sequence[_Setting]) -> list[Variant | CompileError | ValueError]:
        """Each, or why it cannot be; as many at once as there are cores."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CompilerWarning)  # such as of what a plan replicates
            with ThreadPoolExecutor(max(1, min(len(settings), os.cpu_count() or 1))) as pool:
                return list(pool.map(self._plan, settings))

    def _plan(self, setting: _Setting) -> Variant | CompileError | ValueError:
        from .compiled import Compiled

        old = self._compiled
        source = Source(setting.text, old._source.name)
        try:
            _check_specs(setting.text)
            plan = Plan(source.compile(**setting.options))
            made = Compiled(plan, old.signature, old.entry.name, source=source, options=setting.options)
            return Variant(listing(setting.change), Predicted.of(made, self._cluster), made)
        except (CompileError, ValueError) as error:
            return error


def _check_specs(text: str) -> None:
    """Raises for the first spec that the mesh does not allow, which the compiler says in its own words."""
    mesh = mesh_of(text)
    legal: set[PartitionSpec] = set()
    for name, spec in written_specs(text).items():
        if spec and mesh is not None and spec not in legal:
            if found := violations(spec, mesh):
                raise ValueError(f"{name}: {found[0].text}")
            legal.add(spec)


# Changes: of a setting all variants, in which nothing else changes.

def _meshes(given: Any):
    meshes = [as_mesh(each) for each in _several(given)]

    def vary(setting: _Setting) -> Iterator[_Setting]:
        if not meshes:
            yield setting
        for mesh in meshes:
            if mesh == mesh_of(setting.text):
                yield setting
            else:
                text = ", ".join(f"{axis}={size}" for axis, size in mesh.shape_tuple)
                yield setting.named(f"mesh {text}", text=with_mesh(setting.text, mesh))

    return vary


def _specs(start: _Setting, specs: Mapping[str, PartitionSpec] | None,
           rules: Rules | Sequence[tuple[str, PartitionSpec]] | None):
    known = named_values(start.text) if specs or rules else {}
    wanted = _named_specs(specs or {}, known) | _ruled_specs(rules, known)
    named = group_paths(wanted, lambda name: wanted[name])
    text = ", ".join(f"{group} as {wanted[group.paths[0]]!r}" for group in named)

    def vary(setting: _Setting) -> Iterator[_Setting]:
        if not wanted:
            yield setting
        else:
            yield setting.named(text, text=with_specs(setting.text, lambda name, _: wanted.get(name)))

    return vary


def _named_specs(specs: Mapping[str, PartitionSpec], known: Mapping[str, int]) -> dict[str, PartitionSpec]:
    """Of all arguments and results that the names mean, of which an index may be ``[*]``."""
    found = {}
    for wanted, spec in specs.items():
        names = [name for name in known if wanted in (name, _INDEX.sub("*", name))]
        if not names:
            raise ValueError(f"the program has no argument or result {wanted!r}{_did_you_mean(wanted, known)}")
        if not isinstance(spec, PartitionSpec):
            raise TypeError(f"the spec of {wanted} must be a PartitionSpec, got {spec!r}")
        if len(spec) > known[names[0]]:
            raise ValueError(f"{wanted} has {known[names[0]]} dimensions, and {spec!r} is of {len(spec)}")
        found |= dict.fromkeys(names, spec)
    return found


def _ruled_specs(rules: Rules | Sequence[tuple[str, PartitionSpec]] | None, known: Mapping[str, int]) -> dict[str, PartitionSpec]:
    """Of all values whose paths, or the ends of them, match: rules are of the tree of parameters, which is a part of an
    argument."""
    found: dict[str, PartitionSpec] = {}
    for rule in (rules if isinstance(rules, Rules) else Rules(rules or ())).rules:
        ends = re.compile(f"(?:.*/)?(?:{rule.pattern})")
        names = [name for name in known if ends.fullmatch(_slashed(name)) and len(rule.spec) <= known[name]]
        if not names:
            raise ValueError(f"{rule} matches no argument{_did_you_mean(rule.pattern, map(_slashed, known))}")
        for name in names:
            found.setdefault(name, rule.spec)
    return found


def _slashed(name: str) -> str:
    """``params/blocks/0/wq``"""
    return _KEY.sub(lambda match: "/" + next(filter(None, match.groups()), ""), name)


def _did_you_mean(wanted: str, known: Iterable[str]) -> str:
    known = [*dict.fromkeys(known)]
    near = difflib.get_close_matches(wanted, known, 1, 0.5)
    return f"; did you mean {near[0]!r}?" if near else f"; it has {listing(known[:8])}{', ...' if len(known) > 8 else ''}"


def _pipelines(start: _Setting, pipeline: Any, schedule: Any):
    """Pipelines, or schedules for the one that the plan has."""
    current = start.options.get("pipeline", "")
    if schedule is not None and not current and pipeline is None:
        raise ValueError("the program was compiled without a pipeline: give pipeline=weft.Pipeline(axis, schedule)")
    pipelines = [_pipeline_options(each) for each in _several(pipeline)] or [None]
    schedules = _several(schedule) or [None]

    def vary(setting: _Setting) -> Iterator[_Setting]:
        for chosen, name in itertools.product(pipelines, schedules):
            options = {key: value for key, value in setting.options.items() if not key.startswith("pipeline") or not chosen}
            options |= chosen or {}
            words = [f"pipeline {chosen['pipeline']}"] if chosen else []
            if name is not None:
                without_table = {key: value for key, value in options.items() if not key.startswith("pipeline_table")}
                options = without_table | {"pipeline": _with_schedule(options["pipeline"], name)}
                words.append(f"schedule {name}")
            same = options == setting.options
            yield setting if same else dataclasses.replace(setting, change=(*setting.change, *words), options=options)

    return vary


def _with_schedule(pipeline: str, name: str) -> str:
    items = pipeline.split()
    if not any(item.startswith("schedule=") for item in items):
        items.insert(1, "schedule=")
    return " ".join(f"schedule={name}" if item.startswith("schedule=") else item for item in items)


def _pipeline_options(given: Any) -> dict[str, str]:
    if isinstance(given, str):
        return {"pipeline": given}
    return given.options(splits_batch=False)


def _check_options(options: Mapping[str, Any]) -> None:
    for name in options:
        if name not in OPTIONS:
            settings = ("mesh", "specs", "rules", "pipeline", "schedule", *OPTIONS)
            raise ValueError(f"what_if has no setting {name!r}{_did_you_mean(name, settings)}")


def _options(options: Mapping[str, Any]):
    """One for each option of the compiler, with the values to be tried."""
    def of(name: str, values: Sequence[Any]):
        def vary(setting: _Setting) -> Iterator[_Setting]:
            for value in values:
                known = str(value) if name == "memory_limit" else value
                text = str(value).lower() if isinstance(value, bool) else str(value)
                yield setting.named(f"{name} {text}", options={**setting.options, name: known})

        return vary

    return [of(name, _several(values)) for name, values in options.items()]


def _several(given: Any) -> list[Any]:
    if given is None:
        return []
    return [*given] if isinstance(given, (list, tuple)) else [given]


# The next change

def _next_change(planner: _Planner, best: Variant, setting: _Setting, known: Sequence[_Setting]) -> Variant | None:
    """Of the neighbours that are tried the one with the shortest step, if it is shorter than the best's. None of those
    that are known is."""
    tried = planner.plan_all([*itertools.islice(_others(_neighbours(best, setting), known), _MOST_TRIED)])
    fastest = min([best, *(each for each in tried if isinstance(each, Variant))], key=Variant.order)
    return None if fastest is best else fastest


def _neighbours(best: Variant, setting: _Setting) -> Iterator[_Setting]:
    """Other shapes of the mesh, and the edits of the reasons of collectives, in turn."""
    setting = dataclasses.replace(setting, change=())
    return (each for pair in itertools.zip_longest(_reshaped(setting), _edited(best, setting)) for each in pair if each)


def _others(settings: Iterable[_Setting], known: Sequence[_Setting]) -> Iterator[_Setting]:
    """Those that differ from the known ones, and from each other."""
    seen = [(each.text, each.options) for each in known]
    for each in settings:
        if (each.text, each.options) not in seen:
            seen.append((each.text, each.options))
            yield each


def _reshaped(setting: _Setting) -> Iterator[_Setting]:
    """A factor of 2 from one axis of the mesh to another."""
    mesh = mesh_of(setting.text)
    sizes = dict(mesh.shape_tuple) if mesh else {}
    for source, target in itertools.permutations(sizes, 2):
        if sizes[source] % 2 == 0 and f"axis={source}" not in setting.options.get("pipeline", "") \
                and f"axis={target}" not in setting.options.get("pipeline", ""):
            moved = sizes | {source: sizes[source] // 2, target: sizes[target] * 2}
            text = ", ".join(f"{axis}={size}" for axis, size in moved.items())
            yield setting.named(f"mesh {text}", text=with_mesh(setting.text, as_mesh(moved)))


def _edited(best: Variant, setting: _Setting) -> Iterator[_Setting]:
    """The edits of what is sent, that which sends most first."""
    from .suggestions import candidates

    for edit in candidates(best.compiled):
        try:
            yield setting.named(edit.text, text=edit.apply(setting.text))
        except ValueError:  # nothing to edit
            continue
