# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Thirty programs with one annotation that somebody got wrong, and the reference with it right."""

import dataclasses
from functools import partial

import numpy as np
import tiny_models

import weft
import weft.numpy as wnp
from weft import P, optim

MESH = weft.Mesh((2, 4), ("data", "model"))
COLUMNS, ROWS = P(None, "model"), P("model", None)

# Of each parameter its spec, by the last part of its path: Megatron's.
SPECS = {
    "mlp": {"w1": COLUMNS, "b1": P("model"), "w2": ROWS, "b2": P(), "w3": COLUMNS, "w4": ROWS,
            "hidden": P("data", "model")},
    "gpt2": {"wte": ROWS, "wpe": P(), "wq": COLUMNS, "wk": COLUMNS, "wv": COLUMNS, "wo": ROWS, "bq": P("model"),
             "bk": P("model"), "bv": P("model"), "bo": P(), "w1": COLUMNS, "b1": P("model"), "w2": ROWS, "b2": P(),
             "scale": P(), "bias": P()},
    "llama": {"wte": ROWS, "wq": COLUMNS, "wk": COLUMNS, "wv": COLUMNS, "wo": ROWS, "gate": COLUMNS, "up": COLUMNS,
              "down": ROWS, "head": COLUMNS, "norm1": P(), "norm2": P(), "norm_f": P()},
}

# What is wrong: the parameter (of all layers) or the activation that a constraint holds, and its spec.
PLANTED = {
    "mlp": [("w1", ROWS), ("w2", COLUMNS), ("w3", ROWS), ("w4", COLUMNS), ("w2", P()), ("w4", P()),
            ("w1", P(None, "data")), ("w2", P("data", None)), ("hidden", P("model", None)), ("hidden", P("model", "data"))],
    "gpt2": [("wq", ROWS), ("wk", ROWS), ("wo", COLUMNS), ("w1", ROWS), ("w2", COLUMNS), ("wte", COLUMNS), ("w1", P()),
             ("w2", P()), ("wo", P(None, "data")), ("wv", ROWS)],
    "llama": [("wv", ROWS), ("wo", COLUMNS), ("gate", ROWS), ("up", ROWS), ("down", COLUMNS), ("head", ROWS),
              ("down", P()), ("wo", P()), ("gate", P(None, "data")), ("wq", ROWS)],
}
CASES = [(model, *wrong) for model, every in PLANTED.items() for wrong in every]


def mlp(params, batch, hidden):
    x = wnp.tanh(batch["x"] @ params["w1"] + params["b1"])
    x = weft.with_sharding_constraint(x, hidden) @ params["w2"] + params["b2"]
    y = wnp.tanh(x @ params["w3"]) @ params["w4"]
    return ((y - batch["y"]) ** 2).mean()


def _mlp_shapes(width=512, hidden=2048, rows=512):
    array = lambda *shape: weft.ShapeDtypeStruct(shape, "float32")
    return ({"w1": array(width, hidden), "b1": array(hidden), "w2": array(hidden, width), "b2": array(width),
             "w3": array(width, hidden), "w4": array(hidden, width)}, {"x": array(rows, width), "y": array(rows, width)})


CONFIG = tiny_models.Config(vocab=4096, context=128, width=512, hidden=2048, heads=8, groups=8)


def lower(model, name=None, wrong=None):
    """A step of SGD with momentum; `name` is annotated as `wrong`."""
    specs = SPECS[model] | ({name: wrong} if name else {})
    if model == "mlp":
        loss, (params, batch) = partial(mlp, hidden=specs["hidden"]), _mlp_shapes()
    else:
        of = dataclasses.replace(tiny_models.MODELS[model], config=CONFIG)
        loss, params = of.loss(), of.params()
        batch = {key: weft.ShapeDtypeStruct((16, CONFIG.context), np.int32) for key in ("tokens", "targets")}
    optimizer = optim.sgd(0.1, momentum=0.9)

    def train_step(state, batch):
        value, gradients = weft.value_and_grad(loss)(state["params"], batch)
        updates, momenta = optimizer.update(gradients, state["optimizer"], state["params"])
        return {"params": optim.apply_updates(state["params"], updates), "optimizer": momenta}, value

    leaves, structure = weft.tree.flatten_with_keys(params)
    state = {"params": params, "optimizer": weft.eval_shape(optimizer.init, params)}
    spec_tree = structure.unflatten([specs[str(path[-1].value)] for path, _ in leaves])
    jitted = weft.jit(train_step, mesh=MESH, donate_argnums=0, in_shardings=(
        {"params": spec_tree, "optimizer": None}, P("data")))
    return jitted.lower(state, batch)
