# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans that the tests of reports look at."""

import weft
import weft.numpy as wnp
from weft import P
from weft.models import gpt


def mlp(mesh=((4, 8), ("data", "model")), rows=32768, width=4096, hidden=16384):
    """Two layers, tensor and data parallel: communication that is hidden, and some that is not."""
    def loss(params, x):
        y = wnp.tanh(x @ params["w1"]) @ params["w2"]
        return (y * y).sum()

    def step(params, x):
        value, gradients = weft.value_and_grad(loss)(params, x)
        return weft.tree.map(lambda w, g: w - g, params, gradients), value

    shape = weft.ShapeDtypeStruct
    specs = {"w1": P(None, "model"), "w2": P("model")}
    jitted = weft.jit(step, mesh=weft.Mesh(*mesh), in_shardings=(specs, P("data")), donate_argnums=0)
    params = {"w1": shape((width, hidden), "bfloat16"), "w2": shape((hidden, width), "bfloat16")}
    return jitted.lower(params, shape((rows, width), "bfloat16")).compile(None)


def pipelined(**settings):
    """A GPT of 2 stages with 4 micro-batches, 2-way tensor parallel."""
    sizes = {"layers": 4, "hidden": 1024, "heads": 16, "vocabulary": 8192, "sequence": 1024}
    return gpt(**{**sizes, "tensor": 2, "pipeline": 2, "data": 2, "global_batch": 8, **settings}).lower().compile(None)
