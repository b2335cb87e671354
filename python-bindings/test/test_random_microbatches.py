# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random training steps over micro-batches on random meshes: the numbers of one device that
computes the micro-batches in a loop of Python.

    pytest python-bindings/test/test_random_microbatches.py --functions 400 --first-function 1000

`--functions` is 8 for each step, which is as much work.
"""

import dataclasses
import functools
import random

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import P, nn, tree

WIDTH, TIME, VOCABULARY, HEADS = 16, 4, 24, 4
MESHES = [None, {"data": 2}, {"model": 2}, {"data": 4}, {"data": 2, "model": 2}, {"data": 8},
          {"data": 2, "model": 4}, {"data": 4, "model": 2}]


@dataclasses.dataclass(frozen=True)
class Program:
    layers: tuple[str, ...]
    n: int
    # Rows of a micro-batch; the devices may not divide them.
    rows: int
    mesh: dict | None
    params: str
    dtype: str
    sum_dtype: str | None
    calls: int
    has_aux: bool
    is_checkpointed: bool
    update: str


LAYERS = ["mlp", "attention", "layer_norm", "rms_norm", "dropout", "bias", "captured", "of params", "mask"]


def program(seed):
    r = random.Random(seed)
    return Program(
        layers=tuple(r.choices(LAYERS, k=r.randint(1, 4))), n=r.randint(2, 8), rows=r.choice([1, 2, 3, 4, 8]),
        mesh=r.choice(MESHES), params=r.choice(["whole", "fsdp", "model"]),
        dtype=r.choice(["float64", "float64", "float32", "bfloat16"]), sum_dtype=r.choice([None, None, "float32"]),
        calls=r.choice([1, 1, 2]), has_aux=r.random() < 0.4, is_checkpointed=r.random() < 0.3,
        update=r.choice(["none", "clipped", "adamw"]))


# ===----------------------------------------------------------------------===
# The model
# ===----------------------------------------------------------------------===


def layer_params(kind, normal):
    square = (WIDTH, WIDTH)
    return {
        "mlp": lambda: {"in": (normal(WIDTH, 2 * WIDTH), normal(2 * WIDTH)), "out": [normal(2 * WIDTH, WIDTH)]},
        "attention": lambda: {name: normal(*square) for name in ("q", "k", "v", "out")},
        "layer_norm": lambda: {"scale": 1 + normal(WIDTH), "bias": normal(WIDTH)},
        "rms_norm": lambda: {"scale": 1 + normal(WIDTH)},
        "bias": lambda: {"bias": normal(WIDTH), "unused": normal(8)},
        "of params": lambda: {"a": normal(*square), "b": normal(*square)},
    }.get(kind, dict)()


CAPTURED = np.linspace(-1, 1, WIDTH)


def layer(kind, index, p, x, batch, first):
    rows = x.shape[0]
    if kind == "mlp":
        return x + nn.gelu(x @ p["in"][0] + p["in"][1]) @ p["out"][0]
    if kind == "attention":
        q, k, v = ((x @ p[name]).reshape(rows, TIME, HEADS, WIDTH // HEADS) for name in "q k v".split())
        return x + nn.dot_product_attention(q, k, v, is_causal=index % 2 == 0).reshape(x.shape) @ p["out"]
    if kind == "layer_norm":
        return nn.layer_norm(x, p["scale"], p["bias"])
    if kind == "rms_norm":
        return nn.rms_norm(x, p["scale"])
    if kind == "dropout":
        return nn.dropout(weft.random.fold_in(weft.random.key(3), index), 0.25, x)
    if kind == "bias":
        return x + p["bias"] * wnp.arange(TIME).astype(x.dtype)[:, None]
    if kind == "captured":
        return x * wnp.asarray(CAPTURED).astype(x.dtype)
    if kind == "of params":  # is the same in all micro-batches
        return x + wnp.tanh(p["a"] @ p["b"]).sum(axis=0)
    if kind == "skip":
        return x + 0.5 * first
    if kind == "stopped":
        return x + 0.1 * weft.stop_gradient(wnp.tanh(x))
    return wnp.where((batch["tokens"] % 3 == 0)[..., None], x, wnp.tanh(x))


def loss_of(program, boundary=None):
    """`boundary` is called on what goes from layer to layer, with the number of the layer. No
    checkpoint reaches across one."""
    is_checkpointed = program.is_checkpointed and not boundary

    def forward(params, batch):
        x = first = params["embedding"][batch["tokens"]] + params["positions"]
        for index, (kind, p) in enumerate(zip(program.layers, params["layers"], strict=True)):
            if boundary and index:
                x = boundary(x, index)
            one = functools.partial(layer, kind, index)
            x = (weft.checkpoint(one) if program.is_checkpointed and boundary else one)(p, x, batch, first)
        return (x @ params["embedding"].T).astype("float32" if x.dtype == "bfloat16" else x.dtype)

    def loss(params, batch):
        logits = (weft.checkpoint(forward) if is_checkpointed else forward)(params, batch)
        losses = nn.softmax_cross_entropy_with_integer_labels(logits, batch["targets"])
        value = (losses * batch["extra"][0].astype(losses.dtype)[:, None]).mean()
        aux = {"right": (wnp.argmax(logits, axis=-1) == batch["targets"]).sum(), "top": [wnp.max(losses)],
               "constant": wnp.ones((2,)), "norm": (params["positions"] ** 2).sum()}
        return (value, aux) if program.has_aux else value

    return loss


def arrays(program, seed):
    r = np.random.default_rng(seed)

    def normal(*shape):
        return r.normal(size=shape) * 0.3

    params = {"embedding": normal(VOCABULARY, WIDTH), "positions": normal(TIME, WIDTH),
              "layers": [layer_params(kind, normal) for kind in program.layers]}
    rows = program.n * program.rows
    tokens = r.integers(0, VOCABULARY, (2, rows, TIME)).astype(np.int32)
    batch = {"tokens": tokens[0], "targets": tokens[1], "extra": [r.uniform(size=rows).astype(np.float32)]}
    dtype = bfloat16() if program.dtype == "bfloat16" else np.dtype(program.dtype)
    return tree.map(lambda x: x.astype(dtype), params), batch


def bfloat16():
    return np.dtype(pytest.importorskip("ml_dtypes").bfloat16)


# ===----------------------------------------------------------------------===
# The step
# ===----------------------------------------------------------------------===


def updates(program, params, gradients):
    if program.update == "none":
        return gradients
    rule = (weft.optim.adamw(0.01) if program.update == "adamw"
            else weft.optim.chain(weft.optim.clip_by_global_norm(0.1), weft.optim.sgd(0.5)))
    return rule.update(gradients, rule.init(params), params)[0]


def of_microbatches(program, boundary=None):
    vg = weft.value_and_grad(loss_of(program, boundary), has_aux=program.has_aux)

    def step(params, batch):
        values, gradients = [], None
        for number in range(program.calls):
            value, found = weft.microbatches(vg, program.n, dtype=program.sum_dtype)(
                tree.map(lambda p: p * (1 + number / 2), params), batch)
            values.append(value)
            gradients = found if gradients is None else tree.map(lambda a, b: a + b, gradients, found)
        return values, gradients, updates(program, params, gradients)

    return step


def call(function, *args, **options):
    """The results on arrays of the types that they have: arguments of a call of weft.jit are of
    32 bits at most."""
    shapes = tree.map(lambda x: weft.ShapeDtypeStruct(x.shape, x.dtype), args)
    return weft.jit(function, **options).lower(*shapes).compile()(*args)


def expected(program, params, batch):
    """In a loop of Python on one device."""
    vg = functools.partial(call, weft.value_and_grad(loss_of(program), has_aux=program.has_aux))

    values, gradients = [], None
    for number in range(program.calls):
        scaled = call(lambda params, number=number: tree.map(lambda p: p * (1 + number / 2), params), params)
        total = None
        for i in range(program.n):
            one = vg(scaled, tree.map(lambda x, i=i: x[i::program.n], batch))
            if program.sum_dtype:
                one = tree.map(lambda x: x if x.dtype.kind == "i" else x.astype(program.sum_dtype), one)
            total = one if total is None else tree.map(lambda a, b: a + b, total, one)
        value, found = tree.map(lambda x: x if x.dtype.kind == "i" else (x / program.n).astype(x.dtype), total)
        values.append(value)
        gradients = found if gradients is None else tree.map(lambda a, b: a + b, gradients, found)
    return values, gradients, call(lambda p, g: updates(program, p, g), params, gradients)


def options(program, params, batch):
    if not program.mesh:
        return {}
    mesh = weft.Mesh(tuple(program.mesh.values()), tuple(program.mesh))
    axes = {"whole": None, "fsdp": "data", "model": "model"}
    axis = axes[program.params] if axes[program.params] in program.mesh else None

    def spec(x, axis, dim):
        """No device holds nothing."""
        shards = program.mesh.get(axis, 1)
        if shards == 1 or -(-x.shape[dim] // shards) * (shards - 1) >= x.shape[dim]:
            return P()
        return P(*[None] * dim, axis)

    of_params = tree.map(lambda p: spec(p, axis, p.ndim - 1 if program.params == "model" else 0), params)
    of_batch = tree.map(lambda x: spec(x, "data", 0), batch)
    return {"mesh": mesh, "in_shardings": (of_params, of_batch),
            "out_shardings": (None, of_params, of_params)}


# Relative to the largest element of an array.
TOLERANCES = {"float64": 1e-12, "float32": 2e-5, "bfloat16": 5e-2}


def check(seed):
    one = program(seed)
    params, batch = arrays(one, seed)
    found = call(of_microbatches(one), params, batch, **options(one, params, batch))
    wanted = expected(one, params, batch)
    # The first step of AdamW has the sign of a gradient, which may be noise.
    parts = 2 if one.update == "adamw" else 3
    tolerance = TOLERANCES[one.sum_dtype if one.dtype == "float64" and one.sum_dtype else one.dtype]
    for (path, a), (_, b) in zip(*(tree.flatten_with_paths(x[:parts], "")[0] for x in (found, wanted)), strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape, f"{seed}: {one}: {path}: {a.dtype} {b.dtype}"
        a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
        error = np.abs(a - b).max(initial=0) / max(np.abs(b).max(initial=0), 1e-2)
        assert error <= tolerance, f"{seed}: {one}: {path}: {error}: {a} {b}"


def test_random_steps(pytestconfig):
    first, count = pytestconfig.getoption("--first-function"), pytestconfig.getoption("--functions")
    for seed in range(first, first + max(1, count // 8)):
        check(seed)
