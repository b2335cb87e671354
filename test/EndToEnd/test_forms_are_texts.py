# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forms are texts: every form of every example, test model and JAX fixture, printed and read
again, compiles to the same plan, byte for byte with locations, and to the same instructions,
offsets and kernels without. Locations decide nothing."""

import dataclasses
import gzip
import re
import subprocess
import sys
from functools import cache, partial

import pytest
from conftest import EXAMPLE, ROOT, binaries
from test_elementwise_types import CASES, entry, program

sys.path.insert(0, str(ROOT / "python-bindings" / "test"))
sys.path.insert(0, str(ROOT / "examples" / "gpt"))

import layouts  # noqa: E402
import model as gpt  # noqa: E402
import parallelisms  # noqa: E402
import staged_models  # noqa: E402
import tiny_models  # noqa: E402
import training  # noqa: E402
from options import SETTINGS  # noqa: E402

import weft  # noqa: E402
from weft import tree  # noqa: E402

FORMS = ("graph", "sharded", "spmd", "schedule")

# ===----------------------------------------------------------------------===
# Programs
# ===----------------------------------------------------------------------===


def gpt_example(modes, axes):
    """The training step of examples/gpt, small."""
    settings = {name: default for name, (_, default, _) in SETTINGS.items()}
    settings |= {"layers": 1, "width": 32, "heads": 4, "context": 32, "batch": 8}
    config = gpt.config_of(settings)
    layout, batch = layouts.layout(modes, axes, config)
    state = training.first_state(config, settings)
    specs = {"params": layout.parameter_specs(state["params"]),
             "optimizer": layout.optimizer_specs(state["optimizer"], state["params"])}
    tokens = weft.ShapeDtypeStruct((8, config.context), "int32")
    step = weft.jit(training.train_step(config, settings), layout=layout, donate_argnums=0,
                    in_shardings=(specs, batch, batch))
    return step.lower(state, tokens, tokens).source.text


def tiny_model(name, way):
    model = tiny_models.MODELS[name]
    return parallelisms.lower_step(model, tiny_models.adamw(), way).source.text


def microbatched(name, way=None, cuts=(), ranks=0):
    """A training step over four micro-batches, with boundaries for stages along an axis of `ranks`."""
    model, optimizer = staged_models.MODELS[name], tiny_models.adamw()
    params = model.params()
    state = {"params": params, "optimizer": weft.eval_shape(optimizer.init, params)}
    options = {"mesh": weft.Mesh((ranks,), ("pipe",))} if ranks else {}
    if way:
        used = parallelisms.PARALLELISMS[way]
        used = dataclasses.replace(used, mesh=({"pipe": ranks} if ranks else {}) | {axis: 2 for axis in used.mesh})
        layout = used.layout(params)
        options = {"layout": layout, "in_shardings": used.in_shardings(layout, state)}
    step = weft.jit(model.train_step(optimizer, staged_models.cut_behind(cuts), 4), donate_argnums=0, **options)
    return step.lower(state, tree.map(lambda x: x[0], model.batches(1, 16))).source.text


def published():
    """A model of weft.models."""
    return weft.models.gpt(layers=2, hidden=16, heads=2, vocabulary=32, sequence=16, tensor=2, pipeline=2,
                           global_batch=4).lower().source.text


def jax_stages():
    """A step of JAX over a whole batch, on a mesh with an axis for stages."""
    text = gzip.decompress((ROOT / "test" / "Import" / "inputs" / "mlp.stablehlo.mlir.gz").read_bytes()).decode()
    return text.replace('#sdy.mesh<["data"=4, "model"=2]>', '#sdy.mesh<["pipe"=2, "data"=2]>').replace('"model"', '"data"')


def elementwise(*types):
    """Every op of arith and math."""
    return program(2, [entry(t, CASES[t]) for t in types])


def textbook(name, **layouts):
    """A model whose file leaves layouts open."""
    text = (ROOT / "test" / "EndToEnd" / f"{name}.mlir").read_text()
    for key, value in layouts.items():
        text = text.replace(key, value)
    return text


FILES = [
    *sorted(EXAMPLE.glob("*.mlir")),
    *(ROOT / "test" / "EndToEnd" / f"{name}.mlir" for name in (
        "checkpoint-fsdp", "cross-entropy-vocabulary", "reduce-dtype")),
    *(ROOT / "test" / "Plan" / f"{name}.mlir" for name in ("attention", "memory-report")),
]
FIXTURES = sorted((ROOT / "test" / "Import" / "inputs").iterdir())
# Name -> the text of the program.
PROGRAMS = {
    **{path.stem: path.read_text for path in FILES},
    **{f"jax {path.name.split('.')[0]}": partial(lambda path: gzip.decompress(path.read_bytes()).decode(),
                                                 path) for path in FIXTURES},
    **{f"gpt2 by {way}": partial(tiny_model, "gpt2", way) for way in parallelisms.PARALLELISMS},
    "every elementwise op": partial(elementwise, "f32", "i32"),
    "llama by fsdp+tp": partial(tiny_model, "llama", "fsdp+tp"),
    "gpt example by fsdp+tp": partial(gpt_example, ["fsdp", "tp"], {"data": 2, "model": 2}),
    "gpt example by dp+cp": partial(gpt_example, ["dp", "cp"], {"data": 2, "context": 2}),
    "textbook zero": partial(textbook, "textbook-zero", REST='[{"data"}, {}]'),
    "textbook sequence parallelism": partial(
        textbook, "textbook-tensor-parallel", RESIDUAL='[{}, {"model"}, {}]', HEADS='[{}, {}, {"model"}, {}]',
        HIDDEN='[{}, {}, {"model"}]', ATTENDED='[{}, {"model"}, {}, {}]'),
}

PROGRAMS |= {
    "gpt over micro-batches": partial(microbatched, "short gpt"),
    "llama over micro-batches by fsdp+tp": partial(microbatched, "llama", "fsdp+tp"),
    "gpt in stages by fsdp+tp": partial(microbatched, "short gpt", "fsdp+tp", (0,), 2),
    "gpt in stages that are found": partial(microbatched, "short gpt", None, (0,), 2),
    "gpt in stages under a limit": partial(microbatched, "short gpt", None, (0,), 2),
    "untied gpt in stages": partial(microbatched, "untied gpt", None, (0,), 2),
    "t5 in stages by zero1": partial(microbatched, "t5", "zero1", (0, 1, 2), 2),
    "weft.models.gpt": published,
    "jax mlp in stages": jax_stages,
}
# Of the compilation of the model, not of its forms.
OPTIONS = {
    "gpt in stages by fsdp+tp": {"pipeline": "axis=pipe"},
    "gpt in stages that are found": {"pipeline": "axis=pipe schedule=auto"},
    "gpt in stages under a limit": {"pipeline": "axis=pipe", "memory_limit": "1GiB"},
    "untied gpt in stages": {"pipeline": "axis=pipe schedule=zb-h1"},
    "t5 in stages by zero1": {"pipeline": "axis=pipe schedule=zb-v"},
    "weft.models.gpt": {"pipeline": "axis=pipeline"},
    "jax mlp in stages": {"pipeline": "axis=pipe stages=auto microbatches=4"},
}

# ===----------------------------------------------------------------------===
# Round trips
# ===----------------------------------------------------------------------===


class Program:
    """A text in any form, and what the compiler makes of it."""

    def __init__(self, text, **options):
        self.source = weft.lowered.Source(text, "program.mlir")
        self.options = options

    @cache
    def emit(self, form, locations=False):
        return self.source.lower(form, locations=locations, **self.options)

    def plan(self):
        return self.source.compile(**{"target": "none"} | self.options)

    def schedule(self, names=True):
        """Instructions, offsets and kernels: not the lines that causes name."""
        text = re.sub(r'cause = "[^"]*"', "", self.emit("schedule"))
        return text if names else re.sub(r'(weft\.name|gradient_of|values) = (\[("[^"]*"(, )?)*\]|"[^"]*")', "", text)

    def forms(self, locations=False):
        """The program in each form, which is made of the text of the form before."""
        forms, program = {}, self
        for form in FORMS:
            text = program.emit(form, locations)
            # The pipeline is of the model, not of its forms.
            program = Program(text, **{key: value for key, value in self.options.items() if key == "target"})
            forms[form] = program
        return forms


def differing(made_of, program, forms):
    """The form from which on another thing is made than of the program. All have been printed and
    read on the way to the last one: the others are asked only if that differs."""
    expected = made_of(program)
    if made_of(forms[FORMS[-1]]) == expected:
        return []
    return [next(form for form in FORMS if made_of(forms[form]) != expected)]


def check_plans(program):
    """With locations."""
    return [f"the plan of the {form} differs"
            for form in differing(Program.plan, program, program.forms(locations=True))]


def check_schedules(program):
    """Without, from the beginning or from any form on."""
    problems = [f"the schedule of the {form} differs"
                for form in differing(Program.schedule, program, program.forms())]
    stripped = Program(tool("shard-opt", "--allow-unregistered-dialect", "--strip-debuginfo", "-", text=program.source.text),
                       **program.options)
    # JAX gives arguments their names in locations.
    is_named = "stablehlo" not in program.source.text
    if stripped.schedule(is_named) != program.schedule(is_named):
        problems.append("the schedule without locations differs")
    return problems


@pytest.mark.parametrize("name", PROGRAMS)
def test_forms_are_texts(name):
    program = Program(PROGRAMS[name](), **OPTIONS.get(name, {}))
    assert check_plans(program) + check_schedules(program) == []


@pytest.mark.parametrize("target", ["cpu", "cuda:sm_90"])
def test_machine_code_of_forms(target):
    assert check_plans(Program((EXAMPLE / "mlp_lm.mlir").read_text(), target=target)) == []


def tool(name, *arguments, text=None):
    run = subprocess.run([binaries() / name, *map(str, arguments)], text=True, capture_output=True, input=text, timeout=300)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize("form", FORMS)
def test_the_tool_prints_and_reads_forms(form, tmp_path):
    model = EXAMPLE / "mlp_lm.mlir"
    printed = tmp_path / "program.mlir"
    printed.write_text(tool("shard-compile", model, f"--emit={form}", "--mlir-print-debuginfo", "--target=none"))
    for path in (model, printed):
        tool("shard-compile", path, "--target=none", "-o", tmp_path / f"{path.stem}.plan")
    assert (tmp_path / "program.plan").read_bytes() == (tmp_path / f"{model.stem}.plan").read_bytes()
