# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft.stage_boundary`: random training steps are cut so that the verifier of the graph, which
knows the order of the passes of stages, accepts them, and no number changes.

    pytest python-bindings/test/test_stages.py --functions 400 --first-function 1000
"""

import dataclasses
import re
import subprocess

import numpy as np
import test_random_microbatches as steps
from running import BINARIES

import weft
import weft.numpy as wnp
from weft import tree

GRAPH = ["--weft-inline-calls", "--weft-autodiff", "--weft-decompose", "--symbol-dce"]
WIDTH = 16


def cut(text, stages):
    """The graph in which every op has a stage."""
    done = subprocess.run([BINARIES / "shard-opt", "-", *GRAPH, f"--weft-assign-stages=stages={stages}",
                           "--weft-join-equal-ops", "--weft-verify-form=form=graph"],
                          input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def step(layers, boundaries, cuts):
    """Layers with a parameter each, cut behind those that `boundaries` lists; the embedding is
    the head as well, and one value skips all layers."""

    def loss(params, tokens, targets):
        x = skipped = params["embedding"][tokens]
        for i, w in enumerate(params["layers"]):
            x = x + wnp.tanh(x @ w) * params["scale"]
            if i in boundaries and cuts:
                x = weft.stage_boundary(x)
        logits = (x + skipped * 0.5) @ params["embedding"].T
        return weft.nn.softmax_cross_entropy_with_integer_labels(logits, targets).mean()

    def step(params, tokens, targets):
        value, gradients = weft.microbatches(weft.value_and_grad(loss), 4)(params, tokens, targets)
        norm = wnp.sqrt(sum((g * g).sum() for g in tree.leaves(gradients)))
        return tree.map(lambda p, g: p - 0.1 * g / norm, params, gradients), value

    return step


def arguments(layers):
    r = np.random.default_rng(0)
    params = {"embedding": r.normal(size=(24, WIDTH)).astype(np.float32), "scale": np.float32(0.5),
              "layers": [r.normal(size=(WIDTH, WIDTH)).astype(np.float32) * 0.3 for _ in range(layers)]}
    tokens = r.integers(0, 24, (2, 8, 3)).astype(np.int32)
    return params, tokens[0], tokens[1]


def text_of(function, args, **options):
    shapes = tree.map(lambda x: weft.ShapeDtypeStruct(x.shape, x.dtype), args)
    return weft.jit(function, **options).lower(*shapes).as_text()


def stages_of(text, pattern):
    return sorted({int(n) for line in text.splitlines() if re.search(pattern, line)
                   for n in re.findall(r"stage = (\d+)", line)})


def test_a_tied_embedding_and_a_skip_are_cut():
    text = cut(text_of(step(6, (1, 3), cuts=True), arguments(6), donate_argnums=0), 3)
    # Both ends use the embedding, and each sums its part of the gradient.
    assert stages_of(text, "weft.microbatch_use .*tensor<24x16xf32>") == [0, 2]
    assert stages_of(text, "weft.microbatch_sum .*tensor<24x16xf32>") == [0, 2]
    # The labels are needed at the end, the tokens at the beginning.
    assert stages_of(text, "weft.microbatch_slice") == [0, 2]
    # Two layers a stage, each with matmuls in all three passes.
    for stage in range(3):
        for part in ("forward", "input_gradient", "weight_gradient"):
            if (stage, part) != (0, "input_gradient"):
                assert re.search(f"weft.dot_general .*stage = {stage}, stage_pass = {part}>", text), (stage, part)
    # A step has one loss, and each stage the norm of all gradients.
    assert stages_of(text, "math.sqrt .*tensor<f32>") == [0, 1, 2]


def test_no_number_changes():
    args = arguments(4)
    found, wanted = (weft.jit(step(4, (0, 2), cuts))(*args) for cuts in (True, False))
    for a, b in zip(tree.leaves(found), tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-7)


def random_step(program):
    """The random step with boundaries between its layers."""
    return steps.of_microbatches(program, boundary=lambda x, _: weft.stage_boundary(x))


def test_random_steps_are_cut(pytestconfig):
    first, count = pytestconfig.getoption("--first-function"), pytestconfig.getoption("--functions")
    for seed in range(first, first + count):
        # A pipeline has one loop, no boundary in a checkpointed function, and no stage without
        # parameters.
        program = steps.program(seed)
        layers = [kind for kind in program.layers if kind not in ("captured", "dropout", "mask")]
        program = dataclasses.replace(program, layers=tuple(layers), calls=1, is_checkpointed=False, mesh=None)
        if len(layers) > 1:
            cut(text_of(random_step(program), steps.arrays(program, seed)), len(layers))
