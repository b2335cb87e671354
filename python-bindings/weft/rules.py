# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules: a spec for every parameter, from regular expressions over parameter paths.

    >>> import weft
    >>> from weft import P
    >>> params = {"blocks": [{"wq": weft.ShapeDtypeStruct((8, 8), "float32"),
    ...                       "scale": weft.ShapeDtypeStruct((8,), "float32")}]}
    >>> weft.rules([("blocks/.*/w[qkv]", P("data", "model")), (".*/scale", P())])(params)
    {'blocks': [{'scale': P(), 'wq': P('data', 'model')}]}
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Sequence
from typing import Any

from . import tree as trees
from .errors import SpecError, count, listing
from .legality import violations
from .mesh import AbstractMesh
from .offenders import Leaf, array_text, as_array, report
from .path_groups import group_paths
from .spec import PartitionSpec


@dataclasses.dataclass(frozen=True)
class Rule:
    """A regular expression that must match a whole path, and the spec of what it matches.
    Rules are numbered from 1, as written."""

    number: int
    pattern: str
    spec: PartitionSpec

    def matches(self, path: str) -> bool:
        return re.fullmatch(self.pattern, path) is not None

    def __str__(self) -> str:
        return f'rule {self.number} "{self.pattern}"'


class Rules:
    """An ordered list of rules. The first one that matches a parameter's path gives its spec.

    Calling it with a tree of arrays or `ShapeDtypeStruct`s gives the tree of their specs. A
    parameter that no rule matches is an error, and so is a rule that gives no parameter
    its spec. With a mesh, specs are also checked against the shapes. Rules may also stand in a
    prefix tree of specs, for what is below their place.
    """

    def __init__(self, rules: Sequence[tuple[str, PartitionSpec]]):
        self.rules = tuple(_checked_rules(rules))

    def __call__(self, tree: Any, mesh: AbstractMesh | None = None) -> Any:
        leaves, treedef = trees.flatten_with_keys(tree)
        matched = self.match(tree)
        if mesh is not None:
            paths = trees.distinct_slashes([path for path, _ in leaves])
            arrays = [
                Leaf(path, as_array(array), rule.spec)
                for path, (_, array), rule in zip(paths, leaves, matched)
            ]
            report(
                "rules",
                arrays,
                lambda leaf: violations(leaf.spec, mesh, leaf.array.shape),
                mesh,
            )
        return treedef.unflatten(rule.spec for rule in matched)

    def match(self, tree: Any) -> list[Rule]:
        """The rule of every leaf of a tree, in order."""
        leaves = trees.flatten_with_keys(tree)[0]
        texts = trees.distinct_slashes([path for path, _ in leaves])
        paths = {text: as_array(leaf) for text, (_, leaf) in zip(texts, leaves)}
        found = {
            path: next((rule for rule in self.rules if rule.matches(path)), None) for path in paths
        }
        unmatched = [path for path, rule in found.items() if rule is None]
        idle = [rule for rule in self.rules if rule not in found.values()]
        if unmatched or idle:
            raise SpecError(self._report(paths, found, unmatched, idle))
        return [rule for rule in found.values() if rule is not None]

    def _report(self, paths, found, unmatched: list[str], idle: list[Rule]) -> str:
        what = []
        if unmatched:
            verb = "matches" if len(paths) == 1 else "match"
            what.append(f"{len(unmatched)} of {count(len(paths), 'parameter')} {verb} no rule")
        if idle:
            verb = "applies" if len(self.rules) == 1 else "apply"
            what.append(f"{len(idle)} of {count(len(self.rules), 'rule')} never {verb}")
        lines = [f"rules: {', '.join(what)}"]
        told = set()
        for group in group_paths(unmatched, lambda path: array_text(paths[path])):
            lines.append(f"no rule matches {group}: {array_text(paths[group.paths[0]])}")
            closest, hint = self._closest_rule(group.paths[0])
            lines.append("  " + hint)
            told.add(closest)
        if unmatched:
            lines.append('to replicate what no rule matches, end the list with (".*", P())')
        for rule in idle:
            line, hint = _idle(rule, found)
            lines.append(line)
            if hint and rule not in told:
                lines.append(f"  {hint}")
        return "\n  ".join(lines)

    def _closest_rule(self, path: str) -> tuple[Rule | None, str]:
        """The rule that was probably meant for a path, and a sentence that says so."""
        for rule in self.rules:
            part = re.search(rule.pattern, path)
            if part:
                before = ".*" * (part.start() > 0)
                after = ".*" * (part.end() < len(path))
                return rule, (
                    f'{rule} matches only "{part.group()}" of it, and rules match whole paths: '
                    f'write "{before}{rule.pattern}{after}"'
                )
        closest = max(self.rules, key=lambda rule: _likeness(rule.pattern, path), default=None)
        return closest, f"closest: {closest}" if closest else "there are no rules"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rules) and self.rules == other.rules

    def __hash__(self) -> int:
        return hash(self.rules)

    def __repr__(self) -> str:
        return f"Rules({[(rule.pattern, rule.spec) for rule in self.rules]!r})"


def rules(patterns: Sequence[tuple[str, PartitionSpec]]) -> Rules:
    """`Rules` of (regular expression over ``/``-joined paths, spec) pairs."""
    return Rules(patterns)


def _checked_rules(given: Sequence[tuple[str, PartitionSpec]]) -> list[Rule]:
    """The rules, or one error for all that are none."""
    checked, problems = [], []
    for number, rule in enumerate(given, 1):
        problem = _rule_problem(rule)
        if problem:
            problems.append(f"\n  rule {number}: {problem}")
        else:
            checked.append(Rule(number, *rule))
    if problems:
        raise SpecError(
            f"{count(len(problems), 'rule')} cannot be used:" + "".join(problems)
        )
    return checked


def _rule_problem(rule: Any) -> str | None:
    if not isinstance(rule, tuple) or len(rule) != 2:
        return f"expected a pair of a regular expression and a PartitionSpec, got {rule!r}"
    pattern, spec = rule
    if not isinstance(pattern, str):
        return f"expected a regular expression, got {pattern!r} of type {type(pattern).__name__}"
    if not isinstance(spec, PartitionSpec):
        return f'"{pattern}" has {spec!r} of type {type(spec).__name__}; expected a PartitionSpec'
    try:
        re.compile(pattern)
    except re.error as error:
        return f'"{pattern}" is not a regular expression: {error}'
    return None


def _likeness(pattern: str, path: str) -> float:
    return difflib.SequenceMatcher(None, pattern, path).ratio()


def _idle(rule: Rule, found: dict[str, Rule | None]) -> tuple[str, str]:
    """That a rule applies to no parameter, and why: what it matches went to rules before it, or
    there is nothing that it matches."""
    taken = [path for path in found if rule.matches(path)]
    if taken:
        by = sorted({found[path].number for path in taken})
        those = f"rule{'s' * (len(by) > 1)} {listing([str(n) for n in by])}"
        have = "has" if len(by) == 1 else "have"
        all_of = "the only parameter" if len(taken) == 1 else f"all {len(taken)} parameters"
        return f"{rule} never applies", f"{those} before it {have} {all_of} that it matches: move it up"
    partly = next((path for path in found if re.search(rule.pattern, path)), None)
    if partly:
        return f"{rule} matches no parameter", f'it matches only a part of "{partly}"'
    closest = max(found, key=lambda path: _likeness(rule.pattern, path), default=None)
    hint = f'closest parameter: "{closest}"' if closest is not None else ""
    return f"{rule} matches no parameter", hint
