# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""States that are padded differently on each mesh, and files that are not padded."""

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from conftest import succeed, tool

# Softmax over 7 classes, and a step along the gradient of its mean log.
PROGRAM = """
weft.mesh @mesh = <["a"=4]>
func.func private @loss(%w: tensor<7x3xf32>, %x: tensor<5x3xf32>) -> tensor<f32> {
  %y = weft.dot_general %x, %w contracting = [1] x [1] : (tensor<5x3xf32>, tensor<7x3xf32>) -> tensor<5x7xf32>
  %max = weft.reduce max %y dims = [1] : tensor<5x7xf32> -> tensor<5xf32>
  %maxes = weft.broadcast %max dims = [0] : tensor<5xf32> -> tensor<5x7xf32>
  %d = arith.subf %y, %maxes : tensor<5x7xf32>
  %e = math.exp %d : tensor<5x7xf32>
  %sum = weft.reduce sum %e dims = [1] : tensor<5x7xf32> -> tensor<5xf32>
  %log = math.log %sum : tensor<5xf32>
  %loss = weft.reduce sum %log dims = [0] : tensor<5xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
func.func @step(
    %w: tensor<7x3xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>},
    %x: tensor<5x3xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{}, {}]>})
    -> (tensor<7x3xf32> {weft.name = "w"}, tensor<f32> {weft.name = "loss"}) {
  %r:2 = weft.value_and_grad @loss(%w, %x) wrt = [0] : (tensor<7x3xf32>, tensor<5x3xf32>) -> (tensor<f32>, tensor<7x3xf32>)
  %new = arith.subf %w, %r#1 : tensor<7x3xf32>
  return %new, %r#0 : tensor<7x3xf32>, tensor<f32>
}
"""


def step(w, x):
    """In double precision."""
    y = x @ w.T
    e = np.exp(y - y.max(1, keepdims=True))
    p = e / e.sum(1, keepdims=True)
    # The maximum is subtracted and not added again.
    p[np.arange(len(y)), y.argmax(1)] -= 1
    return w - p.T @ x, np.log(e.sum(1)).sum()


@pytest.fixture
def case(tmp_path):
    random = np.random.default_rng(3)
    w, x = random.standard_normal((7, 3)), random.standard_normal((5, 3))
    (tmp_path / "program.mlir").write_text(PROGRAM)
    save_file({"w": w.astype(np.float32)}, tmp_path / "w1.safetensors")
    np.save(tmp_path / "x.npy", x.astype(np.float32))
    return tmp_path, w, x


def test_each_step_on_another_mesh(case):
    folder, w, x = case
    for number, devices in enumerate([4, 2, 5, 1, 3], 1):
        plan, here, there = (folder / f"{devices}.plan", folder / f"w{number}.safetensors",
                             folder / f"w{number + 1}.safetensors")
        report = succeed("shard-compile", folder / "program.mlir", "--mesh", f"a={devices}",
                         "-o", plan).stdout
        assert ("w: dim 0 of size 7 over" in report) == (devices > 1)
        succeed("shard-run", plan, "--quiet", "--load", here, "--input", f"x={folder}/x.npy",
                "--output", f"loss={folder}/loss.npy", "--save", there)
        w, loss = step(w, x)
        np.testing.assert_allclose(np.load(folder / "loss.npy"), loss, rtol=1e-5)
        np.testing.assert_allclose(load_file(there)["w"], w, rtol=1e-4, atol=1e-5)


def test_more_shards_than_elements(case):
    folder, *_ = case
    run = tool("shard-compile", folder / "program.mlir", "--mesh", "a=8", "-o", folder / "8.plan")
    assert run.returncode != 0
    assert 'dim 0 of "w" has size 7, fewer than its 8 shards of {"a"}; nearest legal: {}' in run.stderr
