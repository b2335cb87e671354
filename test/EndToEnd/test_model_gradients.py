# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of two small models in f64 against derivatives worked out by hand."""

import dataclasses

import numpy as np
import pytest

from conftest import succeed
from derivative_cases import tensor

MLP = """
  %s1 = weft.dot_general %x, %w1 contracting = [1] x [0]
      : (tensor<8x5xf64>, tensor<5x6xf64>) -> tensor<8x6xf64>
  %c1 = weft.broadcast %b1 dims = [1] : tensor<6xf64> -> tensor<8x6xf64>
  %z1 = arith.addf %s1, %c1 : tensor<8x6xf64>
  %h = math.tanh %z1 : tensor<8x6xf64>
  %s2 = weft.dot_general %h, %w2 contracting = [1] x [0]
      : (tensor<8x6xf64>, tensor<6x3xf64>) -> tensor<8x3xf64>
  %c2 = weft.broadcast %b2 dims = [1] : tensor<3xf64> -> tensor<8x3xf64>
  %y = arith.addf %s2, %c2 : tensor<8x3xf64>
  %squares = arith.mulf %y, %y : tensor<8x3xf64>
  %sum = weft.reduce sum %squares dims = [0, 1] : tensor<8x3xf64> -> tensor<f64>
  %count = arith.constant dense<24.0> : tensor<f64>
  %loss = arith.divf %sum, %count : tensor<f64>"""


def mlp_gradients(x, w1, b1, w2, b2):
    h = np.tanh(x @ w1 + b1)
    y = h @ w2 + b2
    dy = 2 * y / y.size
    dz = (dy @ w2.T) * (1 - h * h)
    return dz @ w1.T, x.T @ dz, dz.sum(0), h.T @ dy, dy.sum(0)


# Causal attention with two heads of three, and a residual.
ATTENTION = """
  %q = weft.dot_general %x, %wq contracting = [2] x [0]
      : (tensor<4x5x6xf64>, tensor<6x2x3xf64>) -> tensor<4x5x2x3xf64>
  %k = weft.dot_general %x, %wk contracting = [2] x [0]
      : (tensor<4x5x6xf64>, tensor<6x2x3xf64>) -> tensor<4x5x2x3xf64>
  %v = weft.dot_general %x, %wv contracting = [2] x [0]
      : (tensor<4x5x6xf64>, tensor<6x2x3xf64>) -> tensor<4x5x2x3xf64>
  %scores = weft.dot_general %q, %k batching = [0, 2] x [0, 2] contracting = [3] x [3]
      : (tensor<4x5x2x3xf64>, tensor<4x5x2x3xf64>) -> tensor<4x2x5x5xf64>
  %row = weft.iota dim = 2 : tensor<4x2x5x5xi32>
  %column = weft.iota dim = 3 : tensor<4x2x5x5xi32>
  %seen = arith.cmpi sle, %column, %row : tensor<4x2x5x5xi32>
  %low = arith.constant dense<-1.0e30> : tensor<4x2x5x5xf64>
  %masked = arith.select %seen, %scores, %low : tensor<4x2x5x5xi1>, tensor<4x2x5x5xf64>
  %top = weft.reduce max %masked dims = [3] : tensor<4x2x5x5xf64> -> tensor<4x2x5xf64>
  %bound = weft.stop_gradient %top : tensor<4x2x5xf64>
  %bounds = weft.broadcast %bound dims = [0, 1, 2] : tensor<4x2x5xf64> -> tensor<4x2x5x5xf64>
  %shifted = arith.subf %masked, %bounds : tensor<4x2x5x5xf64>
  %e = math.exp %shifted : tensor<4x2x5x5xf64>
  %z = weft.reduce sum %e dims = [3] : tensor<4x2x5x5xf64> -> tensor<4x2x5xf64>
  %zs = weft.broadcast %z dims = [0, 1, 2] : tensor<4x2x5xf64> -> tensor<4x2x5x5xf64>
  %p = arith.divf %e, %zs : tensor<4x2x5x5xf64>
  %o = weft.dot_general %p, %v batching = [0, 1] x [0, 2] contracting = [3] x [1]
      : (tensor<4x2x5x5xf64>, tensor<4x5x2x3xf64>) -> tensor<4x2x5x3xf64>
  %a = weft.dot_general %o, %wo contracting = [1, 3] x [0, 1]
      : (tensor<4x2x5x3xf64>, tensor<2x3x6xf64>) -> tensor<4x5x6xf64>
  %y = arith.addf %x, %a : tensor<4x5x6xf64>
  %squares = arith.mulf %y, %y : tensor<4x5x6xf64>
  %loss = weft.reduce sum %squares dims = [0, 1, 2] : tensor<4x5x6xf64> -> tensor<f64>"""


def attention_gradients(x, wq, wk, wv, wo):
    q, k, v = (np.einsum("bsm,mhd->bshd", x, w) for w in (wq, wk, wv))
    scores = np.einsum("bqhd,bkhd->bhqk", q, k)
    e = np.where(np.tri(x.shape[1], dtype=bool), np.exp(scores), 0)
    p = e / e.sum(-1, keepdims=True)
    o = np.einsum("bhqk,bkhd->bhqd", p, v)
    y = x + np.einsum("bhqd,hdm->bqm", o, wo)
    dy = 2 * y
    do = np.einsum("bqm,hdm->bhqd", dy, wo)
    dp = np.einsum("bhqd,bkhd->bhqk", do, v)
    ds = p * (dp - (p * dp).sum(-1, keepdims=True))
    dq = np.einsum("bhqk,bkhd->bqhd", ds, k)
    dk = np.einsum("bhqk,bqhd->bkhd", ds, q)
    dv = np.einsum("bhqk,bhqd->bkhd", p, do)
    dx = dy + sum(np.einsum("bshd,mhd->bsm", d, w)
                  for d, w in ((dq, wq), (dk, wk), (dv, wv)))
    return (dx, *(np.einsum("bsm,bshd->mhd", x, d) for d in (dq, dk, dv)),
            np.einsum("bhqd,bqm->hdm", o, dy))


@dataclasses.dataclass
class Model:
    body: str
    shapes: dict
    gradients: callable

    def text(self):
        """The batch split over "data", the weights whole."""
        batch = ', weft.sharding = #weft.sharding<@mesh, [{"data"}, ' \
                + ", ".join(["{}"] * (len(self.shapes["x"]) - 1)) + "]>"
        entry = ", ".join(f'%{n}: {tensor(s)} {{weft.name = "{n}"{batch if n == "x" else ""}}}'
                          for n, s in self.shapes.items())
        results = ", ".join(f'{tensor(s)} {{weft.name = "d_{n}"}}' for n, s in self.shapes.items())
        arguments = ", ".join(f"%{n}: {tensor(s)}" for n, s in self.shapes.items())
        values = ", ".join(f"%{n}" for n in self.shapes)
        types = ", ".join(map(tensor, self.shapes.values()))
        count = len(self.shapes)
        return f"""
weft.mesh @mesh = <["data"=1]>
func.func private @loss({arguments}) -> tensor<f64> {{{self.body}
  return %loss : tensor<f64>
}}
func.func @gradients({entry}) -> ({results}) {{
  %g:{count + 1} = weft.value_and_grad @loss({values}) wrt = {list(range(count))}
      : ({types}) -> (tensor<f64>, {types})
  return {", ".join(f"%g#{i + 1}" for i in range(count))} : {types}
}}
"""


MODELS = {
    "mlp": Model(MLP, dict(x=(8, 5), w1=(5, 6), b1=(6,), w2=(6, 3), b2=(3,)), mlp_gradients),
    "attention": Model(ATTENTION, dict(x=(4, 5, 6), wq=(6, 2, 3), wk=(6, 2, 3), wv=(6, 2, 3),
                                       wo=(2, 3, 6)), attention_gradients),
}


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_gradients_equal_those_by_hand(tmp_path, model, devices):
    source, plan = tmp_path / "model.mlir", tmp_path / "model.plan"
    source.write_text(model.text())
    succeed("shard-compile", source, "--mesh", f"data={devices}", "-o", plan)
    random = np.random.default_rng(0)
    values = {name: random.normal(size=shape) for name, shape in model.shapes.items()}
    flags = []
    for name, value in values.items():
        np.save(tmp_path / f"{name}.npy", value)
        flags += ["--input", f"{name}={tmp_path / name}.npy",
                  "--output", f"d_{name}={tmp_path / name}.gradient.npy"]
    succeed("shard-run", plan, "--quiet", *flags)
    for name, expected in zip(values, model.gradients(**values), strict=True):
        np.testing.assert_allclose(np.load(tmp_path / f"{name}.gradient.npy"), expected,
                                   rtol=1e-10, atol=1e-10, err_msg=name)
