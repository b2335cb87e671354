# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models whose runs are verified on several meshes, and faults that are planted in their programs of ranks.

    python verified.py clean             every model on every mesh
    python verified.py faults [SEED]     100 faults, by class
"""

import dataclasses
import random
import re
import sys
from collections import Counter, defaultdict
from typing import Any, Callable

import cnn
import numpy as np
import tiny_models

import weft
import weft.numpy as wnp
from weft import P, lax, nn, optim
from weft.lowered import Source
from weft.session import Plan, Session
from weft.verify import _OF_GRAPHS, draw, plans, verify_plans

MESHES = [((2,), ("data",)), ((4,), ("model",)), ((3,), ("data",)), ((2, 2), ("data", "model")), ((4, 2), ("data", "model")),
          ((2, 4), ("data", "model")), ((3, 2), ("data", "model")), ((2, 2, 2), ("data", "seq", "model"))]


def array(*shape, dtype="float32"):
    return weft.ShapeDtypeStruct(shape, dtype)


@dataclasses.dataclass(frozen=True)
class Case:
    """A function and its arguments with their specs; axes that a mesh does not have split nothing."""

    function: Callable
    arguments: tuple
    specs: tuple
    donated: tuple = ()
    options: dict = dataclasses.field(default_factory=dict)

    def lower(self, shape, names):
        def on_mesh(spec):
            entries = [tuple(axis for axis in (entry if isinstance(entry, tuple) else (entry,)) if axis in names) or None
                       for entry in spec]
            return P(*entries)

        specs = weft.tree.map(on_mesh, self.specs, is_leaf=lambda each: isinstance(each, P))
        jitted = weft.jit(self.function, mesh=weft.make_mesh(shape, names), in_shardings=specs,
                          donate_argnums=self.donated)
        return jitted.lower(*self.arguments)


ROWS, COLUMNS, BATCH = P("model", None), P(None, "model"), P("data")


def mlp(params, x, y):
    hidden = nn.gelu(x @ params["w1"] + params["b1"])
    return ((hidden @ params["w2"] - y) ** 2).mean()


def mlp_step(params, x, y):
    value, gradients = weft.value_and_grad(mlp)(params, x, y)
    return weft.tree.map(lambda w, g: w - 0.1 * g, params, gradients), value


def _mlp(dtype="float32", function=mlp_step):
    params = {"w1": array(24, 48, dtype=dtype), "b1": array(48, dtype=dtype), "w2": array(48, 12, dtype=dtype)}
    return Case(function, (params, array(24, 24, dtype=dtype), array(24, 12, dtype=dtype)),
                ({"w1": COLUMNS, "b1": P("model"), "w2": ROWS}, BATCH, BATCH),
                (0,) if function is mlp_step else ())


def accumulated_step(params, x, y):
    value, gradients = weft.microbatches(weft.value_and_grad(mlp), 3)(params, x, y)
    return weft.tree.map(lambda w, g: w - 0.1 * g, params, gradients), value


def _accumulated(dtype="float32"):
    return dataclasses.replace(_mlp(dtype), function=accumulated_step)


def adamw_step(state, x, y):
    optimizer = optim.chain(optim.clip_by_global_norm(1.0), optim.adamw(1e-2))
    value, gradients = weft.value_and_grad(mlp)(state["params"], x, y)
    updates, moments = optimizer.update(gradients, state["optimizer"], state["params"])
    return {"params": optim.apply_updates(state["params"], updates), "optimizer": moments}, value


def _adamw():
    of_sgd = _mlp()
    params = of_sgd.arguments[0]
    state = {"params": params, "optimizer": weft.eval_shape(optim.chain(
        optim.clip_by_global_norm(1.0), optim.adamw(1e-2)).init, params)}
    return Case(adamw_step, (state, *of_sgd.arguments[1:]),
                ({"params": of_sgd.specs[0], "optimizer": None}, BATCH, BATCH), (0,))


def _transformer(name, seq=False):
    model = dataclasses.replace(tiny_models.MODELS[name], config=dataclasses.replace(
        tiny_models.MODELS[name].config, layers=1, vocab=24, context=12, width=24, hidden=24))
    params = model.params()
    tokens = array(12, 12, dtype="int32")
    leaves, structure = weft.tree.flatten_with_keys(params)
    columns = ("wq", "wk", "wv", "w1", "gate", "up", "head")
    specs = {**{each: COLUMNS for each in columns}, "wo": ROWS, "w2": ROWS, "down": ROWS, "wte": ROWS}
    spec_tree = structure.unflatten([specs.get(str(path[-1].value), P()) for path, _ in leaves])
    shapes = weft.tree.map(lambda leaf: array(*leaf.shape), params)

    def step(params, batch):
        value, gradients = weft.value_and_grad(model.loss())(params, batch)
        return weft.tree.map(lambda w, g: w - 0.1 * g, params, gradients), value

    of_batch = P("data", "seq") if seq else BATCH
    return Case(step, (shapes, {"tokens": tokens, "targets": tokens}), (spec_tree, of_batch), (0,))


def norms(x, scale, bias):
    x = wnp.tanh(nn.layer_norm(x) * scale + bias)
    return nn.softmax(x, axis=-1), nn.logsumexp(x, axis=0), x.std(axis=1), x.max(axis=0)


def pieces(x, y):
    x = wnp.roll(x, 3, axis=0)
    both = wnp.concatenate([x[:, 2:14], y[:, :12] * 0.5], axis=1)
    return wnp.pad(both, ((1, 1), (0, 0)))[2:20], both[::-1].reshape(12, 2, 24).sum(axis=1), wnp.flip(x, axis=1)


def lookup(table, indices, weights):
    rows = wnp.take(table, indices, axis=0) * weights[:, None]
    return (rows ** 2).sum(), rows


def lookup_step(table, indices, weights):
    (value, rows), gradient = weft.value_and_grad(lookup, has_aux=True)(table, indices, weights)
    return table - 0.1 * gradient, value, rows


def attend(q, k, v):
    def loss(q, k, v):
        return (nn.dot_product_attention(q, k, v, is_causal=True) ** 2).sum()

    return weft.grad(loss, argnums=(0, 1, 2))(q, k, v)


def einsums(a, b, c):
    scores = wnp.einsum("bik,bjk->bij", a, b)
    return wnp.einsum("bij,jk->ik", scores, c), scores.transpose(0, 2, 1).sum(axis=2), wnp.einsum("bij->ij", scores)


def recurrent(w, u, x):
    hidden = wnp.zeros((x.shape[1], w.shape[0]), w.dtype)
    for step in range(x.shape[0]):
        hidden = wnp.tanh(hidden @ w + x[step] @ u)
    return hidden


def sorted_rows(x):
    order = wnp.argsort(x, axis=1)
    return wnp.take_along_axis(x, order, axis=1), wnp.cumsum(x, axis=1), wnp.where(x > 0, x, -x).mean(axis=0)


def dropout(x, w):
    key = weft.random.key(3)
    return (x * weft.random.bernoulli(key, 0.5, x.shape).astype(x.dtype) * 2.0) @ w


def integers(x, y):
    return (x * y + 3) % 7, (x @ y.T).sum(axis=0), wnp.maximum(x, y).max(axis=1), (x << 2) ^ y


def residuals(x, weights):
    for w in weights:
        x = x + nn.silu(weft.with_sharding_constraint(x @ w, P(None, None)))
    return x


def clipped(grads):
    norm = wnp.sqrt(sum(wnp.sum(wnp.square(g)) for g in grads))
    return [g * wnp.minimum(1.0, 1.0 / (norm + 1e-6)) for g in grads], norm


def classes(w, x, labels):
    def loss(w):
        return nn.softmax_cross_entropy_with_integer_labels(x @ w, labels).mean()

    return weft.value_and_grad(loss)(w)


def cast_step(w, x, y):
    def loss(w):
        return ((x.astype("bfloat16") @ w.astype("bfloat16")).astype("float32") - y).mean() ** 2

    value, gradient = weft.value_and_grad(loss)(w)
    return w - gradient, value


def _lenet():
    params = weft.tree.map(lambda leaf: array(*leaf.shape), cnn.lenet_init(np.random.default_rng(0)))
    return Case(lambda params, images, labels: weft.value_and_grad(
        lambda p: cnn.lenet_loss(p, (images, labels), x=weft))(params),
        (params, array(12, 12, 12, 1), array(12, dtype="int32")), (None, BATCH, BATCH))


MODELS: dict[str, Callable[[], Case]] = {
    "mlp": lambda: _mlp(function=mlp),
    "mlp, SGD": _mlp,
    "mlp, AdamW": _adamw,
    "mlp, f64": lambda: _mlp("float64"),
    "mlp, bf16": lambda: _mlp("bfloat16"),
    "micro-batches": _accumulated,
    "micro-batches, bf16": lambda: _accumulated("bfloat16"),
    "mlp, mixed": lambda: Case(cast_step, (array(24, 12), array(24, 24), array(24, 12)), (COLUMNS, BATCH, BATCH), (0,)),
    "GPT-2": lambda: _transformer("gpt2"),
    "Llama": lambda: _transformer("llama", seq=True),
    "norms": lambda: Case(norms, (array(24, 36), array(36), array(36)), (P("data", "model"), P(), P())),
    "pieces": lambda: Case(pieces, (array(24, 24), array(24, 24)), (P("data", "model"), P("model", None))),
    "lookup": lambda: Case(lookup_step, (array(48, 12), array(24, dtype="int32"), array(24)), (ROWS, BATCH, BATCH), (0,)),
    "attention": lambda: Case(attend, (array(6, 12, 4, 8),) * 3, (P("data", "seq", "model"),) * 3),
    "einsum": lambda: Case(einsums, (array(6, 12, 16), array(6, 12, 16), array(12, 8)), (BATCH, BATCH, COLUMNS)),
    "recurrent": lambda: Case(recurrent, (array(24, 24), array(12, 24), array(3, 12, 12)), (COLUMNS, COLUMNS, P(None, "data"))),
    "sorted": lambda: Case(sorted_rows, (array(12, 16),), (P("data", "model"),)),
    "dropout": lambda: Case(dropout, (array(24, 24), array(24, 12)), (P("data", "model"), ROWS)),
    "integers": lambda: Case(integers, (array(12, 24, dtype="int32"),) * 2, (P("data", "model"),) * 2),
    "residuals": lambda: Case(residuals, (array(23, 24), [array(24, 24)] * 3), (BATCH, [COLUMNS, ROWS, P("data", "model")])),
    "clipped": lambda: Case(clipped, ([array(24, 24), array(48), array(12, 6)],), ([P("data", "model"), P("model"), BATCH],)),
    "classes": lambda: Case(classes, (array(24, 12), array(24, 24), array(24, dtype="int32")), (COLUMNS, BATCH, BATCH)),
    "LeNet": _lenet,
}


def verifiable(lowered):
    """The graph of a program with the options that its plans are made with."""
    options = dict(lowered._options)
    graph = Source(lowered.source.lower("graph", locations=True, **options), lowered.source.name)
    return graph, {key: value for key, value in options.items() if key not in _OF_GRAPHS}


def clean(model, mesh, seed=0):
    """What a verified run of a model finds."""
    lowered = MODELS[model]().lower(*mesh)
    plan, reference = plans(lowered.source, lowered._options)
    return verify_plans(plan, reference, draw(plan.entries[0], seed), entry=plan.entries[0].name)


# Faults

_RESULT = re.compile(r"^ *(%\S+) = ")
_VALUE = re.compile(r"%[\w.#]+")
_AXES = re.compile(r'over <@mesh, \{("[\w"]+(?:, "\w+")*)\}>')
_OBSERVED = re.compile(r"weft\.observed = \{.*?order = (\d+) : i64")


@dataclasses.dataclass(frozen=True)
class Fault:
    kind: str
    line: str
    """Before."""
    text: str
    """Of the whole program, with the fault."""
    places: frozenset[int]
    """Of the observed values that the faulty op makes."""


class Program:
    """The text of an SPMD program or a schedule with one function of values."""

    def __init__(self, text):
        self.lines = text.split("\n")
        start = next(i for i, line in enumerate(self.lines) if line.lstrip().startswith("func.func @") and
                     "weft.observed" in line)
        self.body = range(start + 1, next(i for i in range(start, len(self.lines)) if self.lines[i].lstrip().startswith("return")) + 1)
        self.returned = _VALUE.findall(self.lines[self.body[-1]].partition(" : ")[0])
        results = _results(self.lines[start])
        self.place = {}
        for value, attributes in zip(self.returned, results):
            if found := _OBSERVED.search(attributes):
                self.place.setdefault(value, int(found[1]))
        self.users = defaultdict(list)
        for i in self.body[:-1]:
            for value in _operands(self.lines[i]):
                self.users[value].append(i)
        loops = []
        for line in (self.lines[i] for i in self.body):
            if " = weft.repeat " in line:
                loops.append(line)
            elif line.lstrip().startswith("weft.yield"):
                self._leave(_VALUE.findall(line.partition(" : ")[0]), _made(loops.pop()))

    def _leave(self, yielded, results):
        """What an iteration of a loop hands on is a result of the loop."""
        for value, result in zip(yielded, results):
            if result in self.place:
                self.place.setdefault(value, self.place[result])
            self.users[value] += self.users[result]

    def results(self, index):
        """The values that a line makes."""
        return _made(self.lines[index])

    def observed(self, index):
        """The places of what a line makes, or else of what is first made of it."""
        found, waiting, seen = set(), [index], set()
        while waiting:
            line = waiting.pop()
            for value in self.results(line):
                if value in self.place:
                    found.add(self.place[value])
                    continue
                for user in self.users[value]:
                    if user not in seen:
                        seen.add(user)
                        waiting.append(user)
        return frozenset(found)

    def with_line(self, index, line):
        return "\n".join([*self.lines[:index], *([] if line is None else [line]), *self.lines[index + 1:]])


def _made(line):
    match = _RESULT.match(line)
    if not match:
        return []
    name, _, count = match[1].partition(":")
    return [f"{name}#{i}" for i in range(int(count))] if count else [name]


def _operands(line):
    return _VALUE.findall(line.partition(" = ")[2].partition(" : ")[0])


def _results(header):
    """The attributes of each result of a function."""
    text, depth, quoted, parts = header.partition(" -> (")[2], 0, False, [""]
    for letter in text:
        quoted ^= letter == '"'
        if not quoted:
            depth += (letter in "({[<") - (letter in ")}]>")
            if depth < 0:
                break
            if letter == "," and depth == 0:
                parts.append("")
                continue
        parts[-1] += letter
    return parts


def _renamed(text, value, other):
    return re.sub(re.escape(value) + r"(?![\w.#])", other, text)


def wrong_groups(program, axes):
    """A collective over other axes of the same size."""
    for i in program.body:
        line = program.lines[i]
        if not (match := _AXES.search(line)) or "weft.all_slice" in line:
            continue
        mine = re.findall(r'"(\w+)"', match[1])
        if len(mine) != 1:
            continue
        for other, size in axes.items():
            if other != mine[0] and size == axes.get(mine[0]):
                yield i, program.with_line(i, line[:match.start(1)] + f'"{other}"' + line[match.end(1):])


def missing_reductions(program, axes):
    """What is not added up."""
    for i in program.body:
        line = program.lines[i]
        if "weft.all_reduce" in line:
            text = program.with_line(i, None)
            yield i, _renamed(text, program.results(i)[0], _operands(line)[0])
        elif "weft.reduce_scatter" in line:
            yield i, program.with_line(i, re.sub(r"weft\.reduce_scatter \w+", "weft.all_slice", line))


def wrong_slices(program, axes):
    """Another part of a dimension."""
    for i in program.body:
        line = program.lines[i]
        match = re.search(r"weft\.slice \S+ starts = \[(.*?)\] limits = \[(.*?)\].*: tensor<([\dx]+)x\w+> ->", line)
        if match:
            starts, limits, sizes = ([int(n) for n in re.findall(r"\d+", part)] for part in match.groups())
            for dim, (start, limit, size) in enumerate(zip(starts, limits, sizes)):
                for shift in (1, -1):
                    if (start > 0 or limit < size) and 0 <= start + shift and limit + shift <= size:
                        moved = [list(part) for part in (starts, limits)]
                        moved[0][dim] += shift
                        moved[1][dim] += shift
                        yield i, program.with_line(i, line.replace(
                            f"starts = [{match[1]}] limits = [{match[2]}]", f"starts = {moved[0]} limits = {moved[1]}"))
        elif "weft.all_slice" in line and (match := _AXES.search(line)):
            mine = re.findall(r'"(\w+)"', match[1])
            for other, size in axes.items():
                if len(mine) == 1 and other != mine[0] and size == axes.get(mine[0]):
                    yield i, program.with_line(i, line[:match.start(1)] + f'"{other}"' + line[match.end(1):])


def missing_scales(program, axes):
    """A product with a constant, or a quotient, that is left out."""
    constant = set()
    for i in program.body:
        line = program.lines[i]
        operands = _operands(line)
        if "arith.constant" in line or ("weft.broadcast" in line and operands[0] in constant):
            constant.update(program.results(i))
        elif re.search(r" = arith\.(mulf|divf) ", line) and operands[1] in constant and operands[0] not in constant:
            yield i, _renamed(program.with_line(i, None), program.results(i)[0], operands[0])


def stale_buffers(program, axes):
    """An instruction of the schedule that reads what an earlier one has left in another buffer."""
    types, made = {}, []
    for i in program.body[:-1]:
        line = program.lines[i]
        if re.search(r"= weft\.(launch|gemm|start)", line):
            for operand in _operands(line):
                for other in made:
                    if other != operand and types.get(other) == types.get(operand) is not None:
                        call, _, rest = line.partition(" : ")
                        yield i, program.with_line(i, _renamed(call, operand, other) + " : " + rest)
        outputs = re.findall(r"tensor<[^>]*>", line.rpartition("->")[2] if "->" in line else line.rpartition(" : ")[2])
        for value, type in zip(program.results(i), outputs):
            types[value] = type
            if value in program.returned:
                made.append(value)


KINDS = {"wrong group": ("spmd", wrong_groups), "missing reduction": ("spmd", missing_reductions),
         "wrong slice": ("spmd", wrong_slices), "stale buffer": ("schedule", stale_buffers),
         "missing scale": ("spmd", missing_scales)}
FAULTY_MESHES = [((2, 2), ("data", "model")), ((2, 2, 2), ("data", "seq", "model"))]


@dataclasses.dataclass
class Subject:
    """A model on a mesh in which faults are planted."""

    model: str
    mesh: Any

    def __post_init__(self):
        self.graph, self.options = verifiable(MODELS[self.model]().lower(*self.mesh))
        self.reference = Plan(self.graph.compile("cpu", verified="reference", **self.options))
        self.plan = Plan(self.graph.compile("cpu", verified="values", **self.options))
        self.programs = {form: Program(self.graph.lower(form, verified="values", target="cpu", **self.options))
                         for form in ("spmd", "schedule")}
        self.inputs = draw(self.plan.entries[0], 1)
        self.numbers = self.results(self.plan)

    def faults(self, kind, generator):
        """Some faults of a kind, in random order."""
        form, plant = KINDS[kind]
        program, axes = self.programs[form], dict(zip(self.mesh[1], self.mesh[0]))
        every = list(plant(program, axes))
        generator.shuffle(every)
        for index, text in every:
            if places := program.observed(index):
                yield Fault(kind, program.lines[index].strip(), text, places)

    def results(self, plan):
        """What the ranks hold of all results."""
        session, entry = Session(plan), plan.entries[0]
        for name, value in self.inputs.items():
            session.set_input(entry.name, name, value)
        session.run(entry.name)
        return [session.shard(info.name, rank).tobytes() for info in entry.outputs for rank in range(plan.ranks)]

    def find(self, fault):
        """What a verified run says of a fault; None if it changes no number, or is no program."""
        try:
            plan = Plan(Source(fault.text, self.graph.name).compile("cpu", **self.options))
        except weft.CompileError:
            return None
        if self.results(plan) == self.numbers:
            return None
        return verify_plans(plan, self.reference, self.inputs, entry=plan.entries[0].name)


def plant(seed, count):
    """Faults with what was found of each: their kinds in turn, in models and on meshes that are drawn."""
    generator = random.Random(seed)
    subjects = [Subject(model, mesh) for model in
                ("mlp, SGD", "GPT-2", "Llama", "pieces", "lookup", "norms", "einsum", "residuals", "mlp, AdamW", "classes",
                 "micro-batches")
                for mesh in generator.sample(FAULTY_MESHES, 1)]
    return plant_in(subjects, list(KINDS), generator, count)


def plant_in(subjects, kinds, generator, count):
    """The same in subjects, of kinds."""
    waiting = {(kind, i): iter(subject.faults(kind, generator)) for kind in kinds for i, subject in enumerate(subjects)}
    planted = 0
    while planted < count:
        kind = kinds[planted % len(kinds)]
        choices = [key for key in waiting if key[0] == kind]
        if not choices:
            raise RuntimeError(f"no more faults of the kind {kind}")
        key = generator.choice(choices)
        fault = next(waiting[key], None)
        if fault is None:
            del waiting[key]
            continue
        found = subjects[key[1]].find(fault)
        if found is not None:
            planted += 1
            yield subjects[key[1]], fault, found


def is_located(subject, fault, found):
    """Whether what is said to be wrong is what the faulty op makes, and that alone."""
    return bool(found.wrong) and all(each.place in fault.places for each in found.wrong)


def main(arguments):
    if arguments[:1] == ["clean"]:
        wrong = 0
        for model in MODELS:
            for mesh in MESHES:
                try:
                    found = clean(model, mesh)
                except (ValueError, weft.CompileError) as error:
                    print(model, mesh, "does not compile:", str(error).splitlines()[0])
                    continue
                wrong += not found
                print(model, mesh, found if not found else f"{found.values} values, {found.largest:.2g} of the bound", flush=True)
        print(f"{wrong} false alarms")
        return
    seed = int(arguments[1]) if len(arguments) > 1 else 0
    located, all_of = Counter(), Counter()
    for subject, fault, found in plant(seed, 100):
        all_of[fault.kind] += 1
        located[fault.kind] += is_located(subject, fault, found)
        if not is_located(subject, fault, found):
            print(fault.kind, "in", subject.model, "on", subject.mesh, "\n ", fault.line, fault.places, "\n", found, [each.place for each in found.wrong])
    for kind in KINDS:
        print(f"{kind}: {located[kind]} of {all_of[kind]}")


if __name__ == "__main__":
    main(sys.argv[1:])
