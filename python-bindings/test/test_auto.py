# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft.auto`: dimensions that are split together are found without names, plans are no slower than written ones, run,
and what is said of them is what the compiler and the simulator say."""

import dataclasses
import functools
import json
import math
import sys

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import P
from weft.__main__ import main
from weft.auto.cells import Cell, Line, seconds_of, slowest
from weft.auto.choices import Choice, Structure
from weft.auto.confirmation import Confirmation
from weft.auto.dimensions import find_dimensions
from weft.auto.planner import Planner
from weft.auto.program import FunctionProgram, Size, read_arguments
from weft.auto.ranking import Ranking
from weft.auto.search import Estimate, Search
from weft.models import gpt, llama
from weft.predicted import Predicted
from weft.simulation import simulate

SIZES = dict(layers=3, hidden=512, heads=8, vocabulary=4096, sequence=256)
TINY = dict(layers=2, hidden=32, heads=4, vocabulary=64, sequence=16, dtype="float32")


def structure_of(step):
    function, arguments = step.unannotated()
    source = FunctionProgram(function, arguments, 0).source(Size())
    arguments = read_arguments(source.text)
    return Structure.of(arguments, find_dimensions(source, arguments))


def specs_of(structure, **choice):
    """Of the parameters of a layer, by the end of their paths."""
    return {name.rsplit("'", 2)[1]: spec for name, spec in structure.specs(Choice(**choice)).items() if "params" in name}


# Dimensions

def test_megatron_is_found_without_names():
    structure = structure_of(gpt(**TINY, global_batch=8, micro_batch=8))
    split = next(i for i, each in enumerate(structure.splits) if len(each) > 1)
    specs = specs_of(structure, tensor=2, split=split)
    assert {name for name, spec in specs.items() if spec == P(None, "model")} == {"wq", "wk", "wv", "w1"}
    assert {name for name, spec in specs.items() if spec == P("model", None)} == {"wo", "w2", "wte"}
    assert {name for name, spec in specs.items() if spec == P("model")} == {"bq", "bk", "bv", "b1"}
    assert structure.specs(Choice(data=4))["batch['tokens']"] == P("data", None)


def test_grouped_queries_and_gates_are_found():
    structure = structure_of(llama(**TINY, kv_heads=2, ffn=96, global_batch=8, micro_batch=8))
    split = next(i for i, each in enumerate(structure.splits) if len(each) > 1)
    specs = specs_of(structure, tensor=2, split=split)
    assert {name for name, spec in specs.items() if spec == P(None, "model")} == {"wq", "wk", "wv", "gate", "up", "head"}
    assert {name for name, spec in specs.items() if spec == P("model", None)} == {"wo", "down", "wte"}


def test_states_rest_in_parts_where_the_axis_divides():
    structure = structure_of(gpt(**TINY, global_batch=8, micro_batch=8))
    split = next(i for i, each in enumerate(structure.splits) if len(each) > 1)
    whole = structure.specs(Choice(data=2, tensor=2, split=split))
    parts = structure.specs(Choice(data=2, tensor=2, split=split, states="all"))
    optimizer = structure.specs(Choice(data=2, tensor=2, split=split, states="optimizer"))
    w1, moment = "state['params']['blocks'][*]['mlp']['w1']", "state['optimizer']['adamw']['mu']['blocks'][*]['mlp']['w1']"
    assert (whole[w1], parts[w1], optimizer[w1]) == (P(None, "model"), P("data", "model"), P(None, "model"))
    assert parts[moment] == optimizer[moment] == P("data", "model")


def test_layers_are_left_out():
    function, arguments = gpt(**TINY | {"layers": 5}, global_batch=8, micro_batch=8).unannotated()
    program = FunctionProgram(function, arguments, 0)
    assert program.layers == 5
    of_two = read_arguments(program.source(Size(layers=2)).text)
    assert len([each for each in of_two if "['wq']" in each.name and "params" in each.name]) == 2
    assert [each.is_differentiated for each in of_two] == ["params" in each.name for each in of_two]


def test_more_micro_batches_are_simulated_without_another_plan():
    function, arguments = gpt(**TINY, global_batch=2, micro_batch=2).unannotated()
    program = FunctionProgram(function, arguments, 0)
    planner = Planner(program, Structure.of(small := read_arguments(program.source(Size()).text),
                                            find_dimensions(program.source(Size()), small)), "dgx-h100")
    program.set_batch(planner.structure.batch.members)
    two, five = (planner.compile(Choice(data=2, microbatches=number)) for number in (2, 5))
    assert simulate(two, "dgx-h100", turns=(2, 5))["step_picoseconds"] == simulate(five, "dgx-h100")["step_picoseconds"]
    assert simulate(two, "dgx-h100", turns=(3, 5))["step_picoseconds"] == simulate(two, "dgx-h100")["step_picoseconds"]


def test_what_many_ranks_cannot_split_is_whole():
    """1024 ranks split no dimension of the model."""
    structure = structure_of(gpt(**TINY, global_batch=1024, micro_batch=1024))
    parts = Choice(data=2, states="all")
    assert structure.specs(dataclasses.replace(parts, stands_for=1024)) == structure.specs(Choice(data=2))
    assert structure.specs(dataclasses.replace(parts, stands_for=4)) == structure.specs(parts)


# Estimates

def test_stages_are_cut_within_layers():
    """The longest of stages; what is behind all layers takes as long as two of them."""
    cell = Cell(once=Line(0, 0), each=Line(2.0, 1.0), memory=Line(0, 0), activations=Line(0, 0), temporaries=Line(0, 0))
    assert slowest(cell, 8, 2) == pytest.approx(5, abs=0.01)
    assert slowest(cell, 8, 4) == pytest.approx(8 / 3, abs=0.01)  # of 2.5 on average
    assert slowest(cell, 8, 8) == pytest.approx(2, abs=0.01)
    two = Choice(pipeline=2, microbatches=9, schedule="1f1b")
    assert seconds_of(two, cell, 8) == pytest.approx(50, abs=0.1)


def search_of(step, cluster="dgx-h100", limit=10**13):
    function, arguments = step.unannotated()
    program = FunctionProgram(function, arguments, 0)
    source = program.source(Size(layers=2))
    few = read_arguments(source.text)
    structure = Structure.of(few, find_dimensions(source, few))
    program.set_batch(structure.batch.members)
    structure = dataclasses.replace(structure, arguments=program.all_arguments(few))
    return Search(Planner(program, structure, cluster), limit, program.layers)


def test_estimates_are_near_what_is_compiled():
    """Of memory and time, without a pipeline and with one, whose first rank has four micro-batches in flight."""
    search = search_of(gpt(layers=8, hidden=2048, heads=16, vocabulary=8192, sequence=1024, global_batch=64, micro_batch=64))
    for choice in (Choice(data=2, states="optimizer", rows=2, microbatches=16),
                   Choice(pipeline=4, schedule="1f1b", rows=2, microbatches=32)):
        estimate, predicted = search.estimate(choice), search.planner.predict(choice)
        assert estimate.memory == pytest.approx(predicted.memory, rel=0.15), choice
        assert estimate.seconds == pytest.approx(predicted.step, rel=0.12), choice


def test_bounds_are_below_estimates():
    """Of all choices, few micro-batches and states in parts included."""
    search = search_of(gpt(**SIZES, global_batch=16, micro_batch=16))
    choices = list(search.choices(4))
    assert {each.states for each in choices} == {"whole", "optimizer", "all"} and any(each.pipeline > 1 for each in choices)
    for choice in choices:
        least = search.least(choice)
        bounds = [search.bound(choice), search.tighter_bound(choice), least.whole[0], search.nearly(least).whole[0],
                  search.estimate(choice).whole[0]]
        assert all(a <= 1.001 * b for a, b in zip(bounds, bounds[1:])), (choice, bounds)


def test_states_in_parts_make_no_layer_faster():
    """What is sent for a micro-batch is hidden behind the second layer of the small program, and not by how much more each hides."""
    rest = dict(once=Line(0, 0), memory=Line(0, 0), activations=Line(0, 0), temporaries=Line(0, 0))
    whole = Cell(each=Line(5.0, 8.0), **rest)
    assert Cell(each=Line(17.0, 5.0), **rest).no_faster(whole).each == Line(11.0, 8.0)  # 27 with two layers
    slower = Cell(each=Line(6.0, 9.0), **rest)
    assert slower.no_faster(whole) == slower


class Listed:
    """A search whose choices have bounds and estimates."""

    def __init__(self):
        self.estimated = []

    def choices(self, devices):
        return [Choice(data=number) for number in range(1, devices + 1)]

    def bound(self, choice):
        return choice.data / 2

    def tighter_bound(self, choice):
        return choice.data * 0.75

    def least(self, choice):
        return Estimate(choice, float(choice.data), 1, 0, "does not fit" if choice.data == 2 else "")

    def nearly(self, least):
        return dataclasses.replace(least, seconds=least.seconds + 0.25)

    def estimate(self, choice):
        self.estimated.append(choice.data)
        return Estimate(choice, choice.data + (10.0 if choice.data == 1 else 0.5), 1, 0)


def test_no_more_is_estimated_than_may_be_among_the_best():
    search = Listed()
    ranking = Ranking(search, 8)
    assert [ranking.find_below(100.0).choice.data for _ in range(3)] == [3, 4, 5]
    assert search.estimated == [1, 3, 4, 5]
    assert [each.choice.data for each in ranking.impossible] == [2] and ranking.left == 4
    assert ranking.find_below(6.0) is None and ranking.find_below(100.0, True) is None
    assert [each.choice.data for each in ranking.estimated(10, 0)] == [1] and ranking.left == 3
    assert ranking.find_below(100.0, False).choice.data == 6
    # Not enough have been for a table of two.
    assert [each.choice.data for each in ranking.estimated(10, 2)] == [7, 8] and ranking.left == 0


def test_what_was_compiled_says_what_need_not_be_estimated():
    """Plans take three times as long as estimated."""
    search = Listed()
    ranking = Ranking(search, 8)
    ranking.find_below(100.0)
    ranking.expect(lambda each, seconds: 3 * seconds)
    assert ranking.find_below(14.0).choice.data == 4
    assert ranking.find_below(14.0) is None and search.estimated == [1, 3, 4]  # the fifth takes 15 at least


# The answer

class Known:
    """A search that has been made: estimated and predicted seconds of choices."""

    planner = None

    def __init__(self, memory=1):
        self.confirmed = []
        self.memory = memory

    def confirm(self, found):
        self.confirmed.append(found.choice)
        step = {1: 80.0, 2: 130.0, 4: 120.0, 8: 110.0}[found.choice.pipeline]
        if found.is_compiled:
            return Predicted(step=step * 1.1, kernels=step, exposed=0.0, bubble=0.0, memory=2, usable=2, sent=0), 2
        return Predicted(step=step, kernels=step, exposed=0.0, bubble=0.0, memory=self.memory, usable=2, sent=0), 0

    def with_memory(self, found, seconds, memory):
        dropped = max(memory - 2, 0)
        return dataclasses.replace(found, seconds=seconds * (1 + dropped / 3), memory=memory, dropped=dropped,
                                   whole=(seconds, memory))


def test_estimates_of_pipelines_do_not_hide_what_has_none():
    """Their estimates are too low, and the plan without one comes fourth."""
    possible = [Estimate(Choice(pipeline=ranks, data=8 // ranks), seconds, 1, 0)
                for ranks, seconds in ((2, 70.0), (4, 75.0), (8, 79.0), (1, 81.0))]
    search = Known()
    confirmation = Confirmation(search, possible, 2)
    confirmation.run(1)
    assert [each.pipeline for each in search.confirmed] == [2, 1]
    assert [each.choice.pipeline for each in confirmation.left] == [4, 8]


def test_what_does_not_fit_is_recomputed_only_if_it_is_the_best():
    """All take three of two bytes: with recomputation 8 stages are expected to take 110 s and a third more, and do 121 s."""
    possible = [Estimate(Choice(pipeline=ranks, data=8 // ranks), seconds, 1.5, 0)
                for ranks, seconds in ((8, 100.0), (4, 119.0))]
    search = Known(memory=3)
    confirmation = Confirmation(search, possible, 2)
    confirmation.run(1)
    assert [each.pipeline for each in search.confirmed] == [8, 8]
    assert [plan.step_seconds for plan in confirmation.plans] == [pytest.approx(121.0)]
    assert confirmation.plans[0].memory_limit == 2


def test_what_may_not_fit_is_compiled_only_if_it_is_faster():
    """The first is estimated to take nearly all of the memory, and to be a little faster than the second, or a tenth."""
    for seconds, expected in ((79.0, [8]), (72.0, [4])):
        possible = [Estimate(Choice(pipeline=4, data=2), seconds, 1.99, 0), Estimate(Choice(pipeline=8), 80.0, 1.5, 0)]
        search = Known(memory=1.5)
        confirmation = Confirmation(search, possible, 2)
        confirmation.run(1)
        assert [each.pipeline for each in search.confirmed] == expected


class Tight(Listed):
    """Plans take twice as much memory as estimated."""

    planner = None

    def least(self, choice):
        return Estimate(choice, float(choice.data), 0, 0)

    def estimate(self, choice):
        return Estimate(choice, choice.data + 0.5, {1: 1.5, 2: 1.4, 3: 0.5}[choice.data], 0)

    def confirm(self, found):
        return Predicted(step=found.seconds, kernels=found.seconds, exposed=0.0, bubble=0.0, memory=2 * found.memory, usable=2,
                         sent=0), 0

    def with_memory(self, found, seconds, memory):
        return dataclasses.replace(found, seconds=math.inf, memory=memory, reason="needs more", whole=(seconds, memory))


def test_what_is_estimated_too_small_does_not_end_the_search():
    """The first does not fit, nor will the second by what is known then; the third does."""
    confirmation = Confirmation(Tight(), [], 2, Ranking(Tight(), 3))
    confirmation.run(1)
    assert [plan.choice.data for plan in confirmation.plans] == [3]
    assert [each.choice.data for each in confirmation.impossible] == [1]


@functools.cache
def found(**options):
    function, arguments = gpt(**SIZES, global_batch=16, micro_batch=16).unannotated()
    return weft.auto(function, *arguments, devices=4, donate_argnums=0, confirm=1, **options)


def test_plans_are_ranked_and_say_what_the_simulator_says():
    result = found()
    confirmed = [each for each in result.plans if each.predicted]
    assert confirmed and confirmed == list(result.plans[:len(confirmed)]) and len(result.plans) == 10
    assert [each.step_seconds for each in confirmed] == sorted(each.step_seconds for each in confirmed)
    best = result.best
    assert best.mesh.size == 4 and best.memory <= result.memory_limit
    assert Predicted.of(best.compile(), "dgx-h100") == best.predicted
    lines = str(result).splitlines()
    assert lines[0].startswith(f"10 plans of {result.looked_at} choices for 4 devices of dgx-h100, 78.1 GiB each")
    assert sum(number for _, number in result.rejected) + 10 == result.looked_at


class Exhaustive(Ranking):
    """Everything is estimated."""

    def __init__(self, search, devices):
        super().__init__(search, devices)
        estimates = [(number, search.estimate(each)) for _, number, _, each, _ in self._heap]
        self.impossible = [each for _, each in estimates if each.reason]
        self._heap = [(each.seconds, number, 5, each, each.seconds) for number, each in estimates if not each.reason]
        self._heap.sort(key=lambda each: each[:2])


@pytest.mark.parametrize("limit", ["78 GiB", "220 MiB"])
def test_bounds_leave_out_no_better_plan(monkeypatch, limit):
    pruned = found(memory_limit=limit)
    monkeypatch.setattr(sys.modules["weft.auto"], "Ranking", Exhaustive)
    whole = found.__wrapped__(memory_limit=limit)
    assert [(each.choice, each.step_seconds) for each in whole.plans if each.predicted] == \
        [(each.choice, each.step_seconds) for each in pruned.plans if each.predicted]
    assert whole.looked_at == pruned.looked_at and whole.compiled >= pruned.compiled


def test_no_written_layout_is_faster():
    """But FSDP's that says where parameters are whole: docs/Auto.md, What it does not do."""
    best = found().best.step_seconds
    for written in (dict(data=4), dict(data=4, sharded="zero1"), dict(data=2, tensor=2),
                    dict(tensor=4, sequence_parallel=True), dict(data=2, pipeline=2, micro_batch=2)):
        step = gpt(**SIZES, global_batch=16, **{"micro_batch": 16 // written.get("data", 1)} | written)
        assert best <= Predicted.of(step.lower().compile(None, cluster="dgx-h100"), "dgx-h100").step, written


def test_a_memory_limit_is_kept():
    unlimited = found().best
    limit = unlimited.memory // 2
    result = found(memory_limit=limit)
    assert result.memory_limit == limit and all(each.memory <= limit for each in result.plans)
    assert result.best.step_seconds >= unlimited.step_seconds
    assert result.best.compile().memory().arena <= limit


def test_what_fits_nowhere_says_how_many_devices_do():
    function, arguments = gpt(**SIZES, global_batch=16, micro_batch=16).unannotated()
    with pytest.raises(ValueError, match=r"auto: no plan for 1 device fits into 150 MiB a device; the smallest, .*, (needs|states "
                                         r"and gradients alone take) .*; the least number that does, of 1 times powers of two, is \d+"):
        weft.auto(function, *arguments, devices=1, donate_argnums=0, memory_limit="150 MiB")


def test_numbers_of_devices_that_divide_nothing():
    function, arguments = gpt(**SIZES, global_batch=16, micro_batch=16).unannotated()
    with pytest.raises(ValueError, match="auto: no mesh of 7 devices for the program: its batch has 16 members, and no other "
                                         "dimension is split that far; take a number of devices that divides the batch, or fewer"):
        weft.auto(function, *arguments, devices=7, donate_argnums=0)


def test_limits_that_no_number_of_devices_meets():
    function, arguments = gpt(**SIZES, global_batch=16, micro_batch=16).unannotated()
    with pytest.raises(ValueError, match="; by the same estimates none does for up to 16384 devices either"):
        weft.auto(function, *arguments, devices=2, donate_argnums=0, memory_limit="1 KiB")


def check_that_it_trains(plan, function, arguments):
    random = np.random.default_rng(0)
    state, batch = arguments
    state = weft.tree.map(lambda leaf: random.normal(0, 0.1, leaf.shape).astype(leaf.dtype) ** 2, state)
    batch = weft.tree.map(lambda leaf: random.integers(0, 64, leaf.shape).astype(np.int32), batch)
    _, expected = weft.jit(function)(state, batch)
    _, loss = plan.compile("cpu")(state, batch)
    assert float(loss) == pytest.approx(float(expected), rel=1e-5)


def test_the_answer_trains():
    function, arguments = gpt(**TINY, global_batch=8, micro_batch=8).unannotated()
    best = weft.auto(function, *arguments, devices=2, donate_argnums=0, confirm=1).best
    check_that_it_trains(best, function, arguments)


def test_positions_of_long_sequences_are_shared():
    """Each rank has at least 8,192: four ranks are too many. A single head cannot be split otherwise."""
    sizes = SIZES | {"hidden": 128, "heads": 1, "vocabulary": 256, "sequence": 16384}
    function, arguments = gpt(**sizes, global_batch=2, micro_batch=2).unannotated()
    result = weft.auto(function, *arguments, devices=4, donate_argnums=0, confirm=1)
    best = result.best
    assert best.predicted and best.choice.context > 1 and "context" in best.mesh.axis_names
    assert {each.choice.context for each in result.plans} <= {1, 2}
    assert best.specs["batch['tokens']"] == P("data", "context")
    assert any(each.kind == "permute" for each in best.compile().collectives())  # the ring


def test_a_plan_of_shared_positions_trains(monkeypatch):
    monkeypatch.setattr(sys.modules["weft.auto.search"], "_LEAST_POSITIONS", 4)
    function, arguments = gpt(**TINY, global_batch=2, micro_batch=2).unannotated()
    result = weft.auto(function, *arguments, devices=4, donate_argnums=0, confirm=1)
    plan = next(each for each in result.plans if each.choice.context == 2)
    check_that_it_trains(plan, function, arguments)


def test_what_is_printed_can_be_pasted():
    best = found().best
    function, arguments = gpt(**SIZES, global_batch=16, micro_batch=16).unannotated()
    *names, call = best.as_python().splitlines()
    space = {"weft": weft, "P": P, "step": function}
    exec("\n".join(names), space)
    jitted = eval(call.replace("weft.jit(step, ", "weft.jit(step, donate_argnums=0, "), space)
    compiled = jitted.lower(*arguments).compile(None, cluster="dgx-h100")
    assert Predicted.of(compiled, "dgx-h100") == best.predicted


# Programs in text

def mlp(params, x, y):
    def loss(params, x, y):
        return ((wnp.tanh(x @ params["up"]) @ params["down"] - y) ** 2).mean()

    value, gradients = weft.value_and_grad(loss)(params, x, y)
    return weft.tree.map(lambda w, g: w - 0.1 * g, params, gradients), value


@pytest.fixture
def program(tmp_path):
    shape = lambda *sizes: weft.ShapeDtypeStruct(sizes, "float32")
    params = {"up": shape(1024, 4096), "down": shape(4096, 1024)}
    lowered = weft.jit(mlp, donate_argnums=0).lower(params, shape(64, 1024), shape(64, 1024))
    path = tmp_path / "mlp.mlir"
    path.write_text(lowered.as_text())
    return path, lowered


def test_a_text_becomes_an_annotated_text(program, tmp_path, capsys):
    path, lowered = program
    assert main(["auto", str(path), "--devices=4", "-o", str(tmp_path / "annotated.mlir"), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    best = result["plans"][0]
    # Of a small batch, weights are shared: as Megatron's.
    assert best["mesh"] == {"model": 4} and best["specs"]["params['up']"] == "P(None, 'model')"
    assert best["specs"]["params['down']"] == "P('model', None)"
    assert main(["why", str(tmp_path / "annotated.mlir"), "--value", "params['up']"]) == 0
    assert "P(None, 'model')" in capsys.readouterr().out
    assert all(each["is_predicted"] for each in result["plans"])
    assert weft.auto(lowered, devices=2).best.compile().plan.ranks == 2


@pytest.mark.parametrize("arguments, expected", [
    (["PROGRAM", "--devices=0"], "auto: devices must be a number of at least 1, got 0"),
    (["PROGRAM", "--devices=2", "--cluster=dgx-h101"], "dgx-h101"),
    (["PROGRAM", "--devices=100000"], "auto: the cluster DGX H100 has 16384 devices, not 100000"),
    (["PROGRAM", "layers=2", "--devices=2"], "a program in text has no settings: layers=2"),
    (["model.txt", "--devices=2"], "PROGRAM is one of gpt, llama or a file that ends in .mlir, got 'model.txt'"),
    (["gpt", "layers=2", "hidden=64", "heads=4", "vocabulary=64", "sequence=32", "--devices=2", "--confirm=0"],
     "auto: confirm must be a number of at least 1, got 0"),
    (["gpt", "layers", "--devices=2"], "a setting is NAME=VALUE, got 'layers'"),
    (["gpt", "layer=2", "--devices=2"], "unknown setting layer"),
])
def test_errors_of_the_command(program, capsys, arguments, expected):
    assert main(["auto", *(str(program[0]) if each == "PROGRAM" else each for each in arguments)]) == 2
    assert expected in capsys.readouterr().err
