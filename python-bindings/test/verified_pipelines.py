# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pipelines whose runs are verified, and faults that are planted in the messages between their stages.

    python verified_pipelines.py [SEED] [COUNT]     faults, by class
"""

import random
import re
import sys
from collections import Counter, defaultdict

import verified

import weft
import weft.numpy as wnp
from weft.session import Plan
from weft.verify import draw

_VALUE = re.compile(r"%[\w.#]+")
_NAME = re.compile(r'weft\.name = "((?:[^"\\]|\\.)*)"')
_FUNCTION = re.compile(r"^ *func\.func @(\S+?)\(")
_ACTION = re.compile(r'weft\.segment<entry = ".*?", action = "(\d+)([A-Z_]+)\d*", role = (\d+)>')
# Of each micro-batch.
_MESSAGE = re.compile(r'#weft.message<kind = "[FB]", source = (\d+), destination = (\d+), queue = \d+, values = \[(.*?)\]>')


def mlp(layers, schedule, mesh=((2,), ("pipe",)), microbatches=4):
    def loss(w, x):
        for each in w:
            x = wnp.tanh(x @ each)
        return (x ** 2).mean()

    def step(w, x):
        value, gradients = weft.value_and_grad(loss)(w, x)
        return [a - 0.1 * g for a, g in zip(w, gradients)], value

    pipeline = weft.Pipeline("pipe", stages="auto", microbatches=microbatches, schedule=schedule)
    batch = weft.P("data") if "data" in mesh[1] else weft.P()
    jitted = weft.jit(step, mesh=weft.make_mesh(*mesh), pipeline=pipeline, in_shardings=([weft.P()] * layers, batch))
    return jitted.lower([verified.array(8, 8)] * layers, verified.array(16, 8))


def gpt(**options):
    sizes = dict(layers=2, hidden=32, heads=4, vocabulary=48, sequence=16, global_batch=4, micro_batch=1, pipeline=2)
    return weft.models.gpt(**sizes | options).lower()


PIPELINES = {
    "mlp, 1f1b": lambda: mlp(4, "1f1b"),
    "mlp, gpipe, 4 stages": lambda: mlp(4, "gpipe", ((4,), ("pipe",))),
    "mlp, zb-h1, data": lambda: mlp(4, "zb-h1", ((2, 2), ("pipe", "data"))),
    "gpt, 1f1b": gpt,
    "gpt, interleaved, tensors": lambda: gpt(layers=4, chunks=2, schedule="interleaved-1f1b", tensor=2, sequence_parallel=True),
}


class Segment:
    """A function of the text."""

    def __init__(self, lines, start):
        self.start = start
        self.end = next(i for i in range(start, len(lines)) if lines[i].lstrip().startswith("return"))
        head, _, results = lines[start].partition(") -> (")
        self.stage, self.kind, self.role = (int(part) if part.isdigit() else part for part in _ACTION.search(lines[start]).groups())
        #: By name of a state, the argument and the value that is returned for it.
        self.arguments = dict(zip(_NAME.findall(head), re.findall(r"(%arg\d+):", head)))
        self.returned = dict(zip(_NAME.findall(results), _VALUE.findall(lines[self.end].partition(" : ")[0])))
        self.defined = {}
        self.users = defaultdict(list)
        self.types = dict(zip(self.arguments.values(), re.findall(r"%arg\d+: (tensor<[^>]*>)", head)))
        for i in range(start + 1, self.end):
            for value in verified._made(lines[i]):
                self.defined[value] = i
                if "arith.cmp" not in lines[i]:
                    self.types[value] = re.findall(r"tensor<[^>]*>", lines[i])[-1]
            for value in verified._operands(lines[i]):
                self.users[value].append(i)
        number = re.search(r"(%arg\d+): tensor<i32> \{weft\.counts", head)
        self.number = number and number[1]


class Pipeline:
    """The text of an SPMD program of segments."""

    def __init__(self, text):
        self.lines = text.split("\n")
        self.segments = [Segment(self.lines, i) for i, line in enumerate(self.lines)
                         if _FUNCTION.match(line) and "weft.segment" in line]
        entry = next(line for line in self.lines if line.lstrip().startswith("func.func private @") and "weft.timeline" in line)
        #: The stages that each connects, and the names of what it carries.
        self.messages = [(int(source), int(destination), re.findall(r'"(.*?)"', values))
                         for source, destination, values in _MESSAGE.findall(entry)]
        orders = {}
        for attributes in verified._results(entry):
            if found := verified._OBSERVED.search(attributes):
                orders[_NAME.search(attributes)[1]] = int(found[1])
        #: By segment and value, the place among the observed ones.
        self.place = {}
        for segment in self.segments:
            for name, value in segment.returned.items():
                if name in orders:
                    self._observe(segment, value, orders[name])

    def _observe(self, segment, value, order):
        """What is returned, or each micro-batch has put into what is."""
        name = next((name for name, argument in segment.arguments.items() if argument == value), None)
        if name is None:
            self.place.setdefault((segment.start, value), order)
            return
        for other in self.segments:
            made = other.returned.get(name)
            if other.role != segment.role or made is None or made not in other.defined:
                continue
            line = self.lines[other.defined[made]]
            operands = verified._operands(line)
            if name in other.arguments and "arith.select" in line and operands[2] == other.arguments[name]:
                self.place.setdefault((other.start, verified._operands(self.lines[other.defined[operands[1]]])[0]), order)
            elif name not in other.arguments or "arith.select" not in line:
                self.place.setdefault((other.start, made), order)

    def readers(self, names):
        """The places of what is first made of states in other segments than those that make them."""
        found, seen = set(), set()
        waiting = [(segment, segment.arguments[name]) for name in names for segment in self.segments if name in segment.arguments]
        while waiting:
            segment, value = waiting.pop()
            if (segment.start, value) in seen:
                continue
            seen.add((segment.start, value))
            for i in segment.users[value]:
                for made in verified._made(self.lines[i]):
                    if (segment.start, made) in self.place:
                        found.add(self.place[segment.start, made])
                    else:
                        waiting.append((segment, made))
            for name, returned in segment.returned.items():
                if returned == value and value not in segment.arguments.values():
                    waiting += [(other, other.arguments[name]) for other in self.segments if name in other.arguments]
        return frozenset(found)

    def with_lines(self, changed):
        """The text with other lines, by their numbers."""
        return "\n".join(changed.get(i, line) for i, line in enumerate(self.lines))

    def returning(self, segment, name, value, before=()):
        """The text in which a segment returns something else, after more lines."""
        head, separator, types = self.lines[segment.end].partition(" : ")
        values = _VALUE.findall(head)
        values[list(segment.returned).index(name)] = value
        return self.with_lines({segment.end: "\n".join([*before, f"    return {', '.join(values)}{separator}{types}"])})

    def sent(self):
        """Who makes each value of each micro-batch that is sent, and its name."""
        for source, _, names in self.messages:
            for name in names:
                for segment in self.segments:
                    if segment.stage == source and segment.returned.get(name) in segment.defined:
                        yield segment, name


def wrong_values(program):
    """A stage sends another value of the type."""
    for segment, name in program.sent():
        sent = segment.returned[name]
        for other, type in segment.types.items():
            if other != sent and type == segment.types[sent] and "constant" not in program.lines[segment.defined.get(other, 0)]:
                yield [name], program.returning(segment, name, other)


def stale_buffers(program):
    """A stage sends what it had of the micro-batch before; at first, what the buffer was filled with."""
    for segment, name in program.sent():
        sent = segment.returned[name]
        for user in segment.users[sent]:
            # What it has had of all micro-batches.
            if "weft.broadcast" not in program.lines[user]:
                continue
            for kept in segment.users[verified._made(program.lines[user])[0]]:
                if "arith.select" not in program.lines[kept]:
                    continue
                carried, type = verified._operands(program.lines[kept])[2], segment.types[verified._made(program.lines[kept])[0]]
                integers = re.sub(r"x[a-z]+\d+>$", "xi32>", type)
                zero = "0.0" if re.search(r"f\d+>$", type) else "0"
                yield [name], program.returning(segment, name, "%stale", [
                    "    %one = arith.constant dense<1> : tensor<i32>",
                    f"    %before = arith.subi {segment.number}, %one : tensor<i32>",
                    f"    %wanted = weft.broadcast %before dims = [] : tensor<i32> -> {integers}",
                    f"    %each = weft.iota dim = 0 : {integers}",
                    f"    %is = arith.cmpi eq, %each, %wanted : {integers}",
                    f"    %zero = arith.constant dense<{zero}> : {type}",
                    f"    %masked = arith.select %is, {carried}, %zero : {integers[:-4]}i1>, {type}",
                    f"    %stale = weft.reduce sum %masked dims = [0] : {type} -> {segment.types[sent]}"])


def exchanged_microbatches(program):
    """A stage takes each message for that of its neighbour: 0 and 1 are exchanged, 2 and 3, and so on."""
    for stage in sorted({segment.stage for segment in program.segments}):
        changed = {}
        for segment in program.segments:
            if segment.stage == stage and segment.number:
                for i in segment.users[segment.number]:
                    changed[i] = verified._renamed(program.lines[i], segment.number, "%other")
                changed[segment.start] = "\n".join([
                    program.lines[segment.start], "    %flip = arith.constant dense<1> : tensor<i32>",
                    f"    %other = arith.xori {segment.number}, %flip : tensor<i32>"])
        yield [name for *ends, names in program.messages if stage in ends for name in names], program.with_lines(changed)


KINDS = {"wrong value sent": wrong_values, "stale buffer received": stale_buffers, "micro-batches exchanged": exchanged_microbatches}


class Subject(verified.Subject):
    """A pipeline in which faults are planted."""

    def __init__(self, name):
        self.model, self.mesh = name, "a pipeline"
        self.graph, options = verified.verifiable(PIPELINES[name]())
        self.reference = Plan(self.graph.compile("cpu", verified="reference", **options))
        self.plan = Plan(self.graph.compile("cpu", verified="values", **options))
        self.program = Pipeline(self.graph.lower("spmd", verified="values", target="cpu", **options))
        # Of what is compiled of the text, in which they are.
        self.options = {key: value for key, value in options.items() if key != "reduce_dtype"}
        self.inputs = draw(self.plan.entries[0], 1)
        self.numbers = self.results(self.plan)

    def faults(self, kind, generator):
        every = list(KINDS[kind](self.program))
        generator.shuffle(every)
        for names, text in every:
            if places := self.program.readers(names):
                yield verified.Fault(kind, ", ".join(names), text, places)


def plant(seed, count):
    """Faults that change a number, with what is found of each."""
    return verified.plant_in([Subject(name) for name in PIPELINES], list(KINDS), random.Random(seed), count)


def main(arguments):
    seed, count = (int(each) for each in (*arguments, "0", "30")[:2]) if len(arguments) != 1 else (int(arguments[0]), 30)
    located, all_of = Counter(), Counter()
    for subject, fault, found in plant(seed, count):
        all_of[fault.kind] += 1
        located[fault.kind] += verified.is_located(subject, fault, found)
        if not verified.is_located(subject, fault, found):
            print(fault.kind, "in", subject.model, "\n ", fault.line, sorted(fault.places), "\n", found, [each.place for each in found.wrong])
    for kind in KINDS:
        print(f"{kind}: {located[kind]} of {all_of[kind]}")


if __name__ == "__main__":
    main(sys.argv[1:])
