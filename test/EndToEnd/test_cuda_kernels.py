# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The models of the repository compiled for GPUs: the assembler takes every kernel, and none
spills registers. Needs the CUDA toolkit for that, and no GPU."""

import dataclasses
import os
import pathlib
import re
import shutil
import sys
from collections.abc import Callable
from functools import cache, partial

import pytest
from conftest import EXAMPLE, ROOT, succeed

sys.path.insert(0, str(ROOT / "python-bindings" / "test"))
sys.path.insert(0, str(ROOT / "examples" / "gpt"))

import model as gpt  # noqa: E402
import tiny_models  # noqa: E402
import training  # noqa: E402
import weft_models  # noqa: E402
from options import SETTINGS  # noqa: E402

import weft  # noqa: E402
from weft import ShapeDtypeStruct  # noqa: E402

PROCESSORS = ("sm_80", "sm_90", "sm_100")


def assembler():
    """ptxas, as the compiler looks for it."""
    found = os.environ.get("WEFT_PTXAS") or shutil.which("ptxas")
    if not found and pathlib.Path("/usr/local/cuda/bin/ptxas").exists():
        found = "/usr/local/cuda/bin/ptxas"
    return found if found != "none" else None


needs_assembler = pytest.mark.skipif(
    assembler() is None, reason="there is no ptxas here; the CUDA toolkit has it")


# ===----------------------------------------------------------------------===
# Models as text
# ===----------------------------------------------------------------------===


def lowered(step, *arguments):
    return weft.jit(step, donate_argnums=0).lower(*arguments).source.text


def tiny(name, dtype):
    """A GPT-2 or a Llama of two blocks."""
    model = tiny_models.MODELS[name]
    model = dataclasses.replace(model, config=dataclasses.replace(model.config, dtype=dtype))
    batch = {key: value[0] for key, value in model.batches(1).items()}
    adamw = tiny_models.adamw()
    return lowered(model.train_step(adamw), model.state(adamw), batch)


@dataclasses.dataclass(frozen=True)
class Gpt2Small:
    """Of 124 million parameters; two of its twelve blocks have all its kernels."""

    dtype: str
    heads: int = 12
    width: int = 768
    vocabulary: int = 50257
    context: int = 1024
    layers: int = 2
    wrap: Callable = lambda block: block

    def state(self):
        def f32(*shape):
            return ShapeDtypeStruct(shape, "float32")

        def norm():
            return {"scale": f32(self.width), "bias": f32(self.width)}

        def block():
            width = self.width
            attn = {name: f32(width, width) for name in ("wq", "wk", "wv", "wo")}
            attn |= {name: f32(width) for name in ("bq", "bk", "bv", "bo")}
            mlp = {"w1": f32(width, 4 * width), "b1": f32(4 * width),
                   "w2": f32(4 * width, width), "b2": f32(width)}
            return {"ln1": norm(), "attn": attn, "ln2": norm(), "mlp": mlp}

        params = {"wte": f32(self.vocabulary, self.width), "wpe": f32(self.context, self.width),
                  "ln_f": norm(), "blocks": [block() for _ in range(self.layers)]}
        step = ShapeDtypeStruct((), "int32")
        return {"params": params, "optimizer": {"mu": params, "nu": params, "step": step}}

    def text(self):
        tokens = ShapeDtypeStruct((8, self.context), "int32")
        loss = partial(weft_models.gpt2_loss, config=self, wrap=self.wrap)
        step = weft_models.train_step(loss, weft_models.adamw())
        return lowered(step, self.state(), {"tokens": tokens, "targets": tokens})


def gpt_example(**sizes):
    settings = {name: default for name, (_, default, _) in SETTINGS.items()} | sizes
    config = gpt.config_of(settings)
    tokens = ShapeDtypeStruct((settings["batch"], config.context), "int32")
    state = training.first_state(config, settings)
    return lowered(training.train_step(config, settings), state, tokens, tokens)


def mlp_in_f16():
    """The step of the example with all its numbers in f16."""
    text = (EXAMPLE / "mlp_lm.mlir").read_text()
    return text[:text.index("// The states before")].replace("f32", "f16")


MODELS = {
    "mlp": lambda: (EXAMPLE / "mlp_lm.mlir").read_text(),
    "mlp-fsdp": lambda: (EXAMPLE / "mlp_lm_fsdp.mlir").read_text(),
    "mlp-f16": mlp_in_f16,
    "gpt-small": lambda: gpt_example(layers=2, width=32, heads=4, context=32, batch=8),
    "gpt": lambda: gpt_example(layers=2),
    "gpt2-tiny-f32": lambda: tiny("gpt2", "float32"),
    "gpt2-tiny-bf16": lambda: tiny("gpt2", "bfloat16"),
    "gpt2-tiny-f16": lambda: tiny("gpt2", "float16"),
    "llama-tiny-f32": lambda: tiny("llama", "float32"),
    "llama-tiny-bf16": lambda: tiny("llama", "bfloat16"),
    "gpt2-f32": Gpt2Small("float32").text,
    "gpt2-bf16": Gpt2Small("bfloat16").text,
    "gpt2-bf16-checkpoints": Gpt2Small("bfloat16", wrap=weft.checkpoint).text,
}


@pytest.fixture(scope="module", params=MODELS)
def model(request, tmp_path_factory):
    """A file with a model."""
    path = tmp_path_factory.mktemp("cuda") / f"{request.param}.mlir"
    path.write_text(MODELS[request.param]())
    return path


@cache
def compile_for(processor, model, ptxas):
    plan = model.with_name(f"{processor} {'ptx' if ptxas == 'none' else 'cubin'}.plan")
    return plan, succeed("shard-compile", model, "-o", plan, f"--target=cuda:{processor}", f"--ptxas={ptxas}")


# ===----------------------------------------------------------------------===
# Tests
# ===----------------------------------------------------------------------===


@needs_assembler
@pytest.mark.parametrize("processor", PROCESSORS)
def test_the_assembler_takes_all_kernels_and_none_spills(model, processor):
    _, run = compile_for(processor, model, assembler())
    line = run.stdout.splitlines()[0]
    said = re.fullmatch(rf"(\d+) kernels for {processor}: a cubin of .*, at most (\d+) registers "
                        r"and .* of shared memory, no spills", line)
    assert said, line
    assert int(said[1]) > 0 and 0 < int(said[2]) <= 255


def test_a_plan_without_assembler_has_the_same_ptx(model):
    """PTX is text inside the plan."""
    plan, run = compile_for("sm_90", model, "none")
    assert "PTX only" in run.stdout.splitlines()[0]
    ptx = ptx_of(plan)
    assert ".target sm_90" in ptx and ".visible .entry kernel_0(" in ptx
    # No sum depends on the order in which threads come.
    assert not re.search(r"\b(atom|red)\.\S*(f16|f32|f64|bf16)", ptx)
    if assembler():
        both, _ = compile_for("sm_90", model, assembler())
        assert ptx_of(both) == ptx


def ptx_of(plan):
    contents = plan.read_bytes()
    begin = contents.index(b".version")
    return contents[begin:contents.index(b"\0", begin)].decode()
