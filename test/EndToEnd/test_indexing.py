# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Looking up, adding up at indices and padding, as NumPy does, in every layout."""

import numpy as np
import pytest

from conftest import succeed

VOCABULARY, WIDTH, BATCH, LENGTH = 24, 20, 4, 6

# {table}, {tokens}, ...: a sharding, or nothing.
PROGRAM = """
weft.mesh @mesh = <["data"=2, "model"=2]>
func.func @main(
    %table: tensor<24x20xf32> {{weft.name = "table"{table}}},
    %tokens: tensor<4x6xi32> {{weft.name = "tokens"{tokens}}},
    %grads: tensor<4x6x20xf32> {{weft.name = "grads"{grads}}})
    -> (tensor<4x6x20xf32> {{weft.name = "rows"}},
        tensor<24x20xf32> {{weft.name = "sums"{table}}},
        tensor<4x6xf32> {{weft.name = "picked"}},
        tensor<4x6x20xf32> {{weft.name = "unpicked"}},
        tensor<4x14x23xf32> {{weft.name = "padded"}}) {{
  %rows = weft.gather %table, %tokens dim = 0
      : (tensor<24x20xf32>, tensor<4x6xi32>) -> tensor<4x6x20xf32>
  %sums = weft.scatter_add %grads, %tokens dim = 0
      : (tensor<4x6x20xf32>, tensor<4x6xi32>) -> tensor<24x20xf32>
  %picked = weft.gather %grads, %tokens dim = 2 batching = [0, 1] x [0, 1]
      : (tensor<4x6x20xf32>, tensor<4x6xi32>) -> tensor<4x6xf32>
  %unpicked = weft.scatter_add %picked, %tokens dim = 2 batching = [0, 1] x [0, 1]
      : (tensor<4x6xf32>, tensor<4x6xi32>) -> tensor<4x6x20xf32>
  %padded = weft.pad %grads low = [0, 1, 0] high = [0, 2, 3] interior = [0, 1, 0]
      value = -1.0 : f32 : tensor<4x6x20xf32> -> tensor<4x14x23xf32>
  return %rows, %sums, %picked, %unpicked, %padded
      : tensor<4x6x20xf32>, tensor<24x20xf32>, tensor<4x6xf32>, tensor<4x6x20xf32>,
        tensor<4x14x23xf32>
}}
"""

# Name -> shardings of table, tokens and grads.
LAYOUTS = {
    "replicated": ("", "", ""),
    "rows": ("{'model'}, {}", "{'data'}, {}", "{'data'}, {}, {}"),
    "columns": ("{}, {'model'}", "{'data'}, {}", "{'data'}, {}, {'model'}"),
    "both": ("{'data', 'model'}, {}", "{}, {'model'}", "{'data'}, {'model'}, {}"),
    "indexed": ("{'model', 'data'}, {}", "{'data'}, {}", "{}, {'data'}, {'model'}"),
}


def sharding(dims):
    dims = dims.replace("'", '"')
    return f", weft.sharding = #weft.sharding<@mesh, [{dims}]>" if dims else ""


def expected(table, tokens, grads):
    """What the program computes. Tokens are from -2 to 25: a lookup clamps them,
    a sum drops those out of range."""
    rows = table[tokens.clip(0, VOCABULARY - 1)]
    sums = np.zeros_like(table)
    inside = (tokens >= 0) & (tokens < VOCABULARY)
    np.add.at(sums, tokens[inside], grads[inside])
    picked = np.take_along_axis(
        grads, tokens.clip(0, WIDTH - 1)[..., None], axis=2)[..., 0]
    unpicked = np.zeros_like(grads)
    for index in np.argwhere((tokens >= 0) & (tokens < WIDTH)):
        unpicked[(*index, tokens[tuple(index)])] = picked[tuple(index)]
    padded = np.full((BATCH, 14, 23), -1, np.float32)
    padded[:, 1:12:2, :20] = grads
    return {"rows": rows, "sums": sums, "picked": picked, "unpicked": unpicked,
            "padded": padded}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_equals_numpy(tmp_path, layout):
    table, tokens, grads = map(sharding, LAYOUTS[layout])
    source = tmp_path / "program.mlir"
    source.write_text(PROGRAM.format(table=table, tokens=tokens, grads=grads))
    random = np.random.default_rng(0)
    inputs = {
        "table": random.standard_normal((VOCABULARY, WIDTH), np.float32),
        "tokens": random.integers(-2, 26, (BATCH, LENGTH), np.int32),
        # Small integers: their sums are exact in every order.
        "grads": random.integers(-9, 9, (BATCH, LENGTH, WIDTH)).astype(np.float32),
    }
    flags = []
    for name, value in inputs.items():
        np.save(tmp_path / f"{name}.npy", value)
        flags += ["--input", f"{name}={tmp_path / name}.npy"]
    wanted = expected(**inputs)
    for name in wanted:
        flags += ["--output", f"{name}={tmp_path / name}-out.npy"]
    plan = tmp_path / "program.plan"
    succeed("shard-compile", source, "-o", plan)
    succeed("shard-run", plan, *flags)
    for name, value in wanted.items():
        np.testing.assert_array_equal(np.load(tmp_path / f"{name}-out.npy"), value,
                                      err_msg=name)
