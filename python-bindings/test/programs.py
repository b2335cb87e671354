# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs as text that the tests of plans and compiled functions share."""

import pytest

pytest.importorskip("weft._compiler", reason="the compiler's module is not built; PYTHONPATH=build/dev/python has it")

from weft import signature, tree  # noqa: E402
from weft.lowered import Lowered, Source  # noqa: E402

# A step of descent on `sum(tanh(x w))`, whose gradient is given as if it were x^T y. Rows of x are
# split over data, columns of w over model; w is a state.
STEP = """\
weft.mesh @mesh = <["data"=2, "model"=2]>
func.func @step(
    %w: tensor<8x8xf32> {weft.name = "params['w']", weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>},
    %x: tensor<16x8xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<8x8xf32> {weft.name = "params['w']"}, tensor<f32> {weft.name = "loss"}) {
  %s = weft.dot_general %x, %w contracting = [1] x [0]
      : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %y = math.tanh %s : tensor<16x8xf32>
  %g = weft.dot_general %x, %y contracting = [0] x [0]
      : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %new = arith.subf %w, %g : tensor<8x8xf32>
  %loss = weft.reduce sum %y dims = [0, 1] : tensor<16x8xf32> -> tensor<f32>
  return %new, %loss : tensor<8x8xf32>, tensor<f32>
}
"""

TWO_ENTRIES = """\
weft.mesh @mesh = <["data"=2]>
func.func @init() -> (tensor<4xf32> {weft.name = "w"}) {
  %c = arith.constant dense<0.5> : tensor<4xf32>
  return %c : tensor<4xf32>
}
func.func @step(%w: tensor<4xf32> {weft.name = "w"}, %x: tensor<4xf32> {weft.name = "x"})
    -> (tensor<4xf32> {weft.name = "w"}) {
  %new = arith.addf %w, %x : tensor<4xf32>
  return %new : tensor<4xf32>
}
"""


def identity(element):
    """A vector of 4 that comes out as it went in, split in two."""
    return f"""\
weft.mesh @mesh = <["data"=2]>
func.func @f(%x: tensor<4x{element}> {{weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{{"data"}}]>}})
    -> (tensor<4x{element}> {{weft.name = "y"}}) {{
  %y = weft.reshape %x : tensor<4x{element}> -> tensor<4x{element}>
  return %y : tensor<4x{element}>
}}
"""


def lowered(text, args, result, name="model.mlir"):
    """A program whose arguments have the names and trees of `args`, a dict."""
    in_tree = tree.structure(tuple(args.values()))
    trees = signature.of_trees(list(args), in_tree, tree.structure(result))
    return Lowered(Source(text, name), trees)


def lowered_step():
    return lowered(STEP, {"params": {"w": 0}, "x": 0}, ({"w": 0}, 0))
