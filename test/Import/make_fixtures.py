# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the programs of inputs/: training steps as JAX lowers them.

    <python with jax and optax> test/Import/make_fixtures.py [name ...]

Each is the generic form of the StableHLO that `jax.jit(...).lower(...)` makes
of a whole training step of jax_models.py, on the mesh (4, 2) with the axes
"data" and "model". Sizes are small; they do not change the number of ops.
"""

import os
import pathlib
import re
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
# Programs are compiled to be run for a few steps, by test_numbers.py, or not at all.
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8 --xla_backend_optimization_level=0"

import contextlib
import gzip
from functools import partial

import jax
import optax
from jax.sharding import AxisType

import jax_models as models

FOLDER = pathlib.Path(__file__).parent / "inputs"

# Name: model, style, and what differs from the plain form.
FIXTURES = {
    "mlp": ("mlp", "DP+TP"),
    "mlp_explicit": ("mlp", "DP+TP", "explicit"),
    "mlp_microbatches": ("mlp", "DP+TP", "microbatches"),
    "gpt2": ("gpt2", "DP+TP"),
    "gpt2_explicit": ("gpt2", "DP+TP", "explicit"),
    "gpt2_optax": ("gpt2", "FSDP", "optax"),
    "gpt2_scan": ("gpt2", "FSDP+TP", "scan"),
    "gpt2_scan_explicit": ("gpt2", "DP+TP", "scan", "explicit"),
    "llama": ("llama", "SP"),
    "llama_explicit": ("llama", "DP+TP", "explicit"),
    "llama_scan": ("llama", "DP+TP", "scan"),
    "llama_scan_explicit": ("llama", "DP+TP", "scan", "explicit"),
}

BATCH = 8


def model_of(name, scan):
    """(config, init, loss, batch) of a model; the first three take a config."""
    if name == "mlp":
        return (models.MLPConfig(), models.mlp_init, models.mlp_loss,
                partial(models.mlp_batch, size=BATCH))
    batch = partial(models.lm_batch, size=BATCH)
    if name == "gpt2":
        return (models.GPT2Config(), partial(models.gpt2_init, scan=scan),
                partial(models.gpt2_loss, scan=scan), batch)
    return (models.LlamaConfig(), partial(models.llama_init, scan=scan),
            partial(models.llama_loss, scan=scan), batch)


def step_of(name, mesh):
    """(jitted step, its state, its batch) of a fixture, on the given mesh."""
    model, style, *variants = FIXTURES[name]
    config, init, loss, make_batch = model_of(model, "scan" in variants)
    layout = models.Layout(mesh, style)
    optimizer = models.optax_adamw() if "optax" in variants else models.adamw()
    step = models.train_step(partial(loss, config=config, layout=layout), optimizer,
                             2 if "microbatches" in variants else None)
    state = models.init_state(init(jax.random.key(0), config=config), optimizer)
    batch = make_batch(jax.random.key(1), config=config)
    state, batch = models.place(layout, state, batch)
    return models.jit_step(step, layout, state, batch), state, batch


def mesh_context(name, shape):
    """The mesh of a fixture, and the context in which it is traced."""
    kind = AxisType.Explicit if "explicit" in FIXTURES[name] else AxisType.Auto
    mesh = jax.make_mesh(shape, ("data", "model"), axis_types=(kind,) * 2)
    explicit = kind == AxisType.Explicit
    return mesh, jax.set_mesh(mesh) if explicit else contextlib.nullcontext()


def lower(name, shape=(4, 2)):
    """The text of a fixture."""
    mesh, context = mesh_context(name, shape)
    with context:
        step, state, batch = step_of(name, mesh)
        lowered = step.trace(state, batch).lower(lowering_platforms=("cpu",))
    text = lowered.compiler_ir("stablehlo").operation.get_asm(
        print_generic_op_form=True, enable_debug_info=True)
    # Neither where the repository lies nor what holds anyway is of interest.
    text = re.sub(r'"[^"]*/([^"/]+\.py)":', r'"\1":', text)
    default = "#stablehlo<precision DEFAULT>"
    return text.replace(f", precision_config = [{default}, {default}]", "")


def write(name, text):
    path = FOLDER / f"{name}.stablehlo.mlir.gz"
    packed = gzip.compress(text, mtime=0)
    path.write_bytes(packed)
    print(f"{path.name}: {len(text)} bytes, packed {len(packed)}")


def read(path):
    """The text of a fixture, as `write` packed it."""
    return gzip.decompress(path.read_bytes())


def main():
    # One line of source for each op.
    jax.config.update("jax_traceback_in_locations_limit", 1)
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or FIXTURES:
        header = (f"// Made by test/Import/make_fixtures.py with JAX {jax.__version__}"
                  f" and optax {optax.__version__}:\n"
                  f"// {', '.join(FIXTURES[name])}.\n")
        write(name, (header + lower(name)).encode())


if __name__ == "__main__":
    main()
