# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps of the transformers that published runs train, from their sizes and their parallelism.

    step = weft.models.gpt(layers=96, hidden=12288, heads=96, vocabulary=51200, sequence=2048,
                           tensor=8, pipeline=8, chunks=3, data=2, global_batch=64,
                           sequence_parallel=True, recomputation="selective")
    print(step)
    compiled = step.lower().compile(target="cuda", cluster="dgx-a100")

Only shapes are made: no parameter is allocated before a session of the plan holds it.
"""

from . import gpt as _gpt
from . import llama as _llama
from .parallelism import Parallelism
from .sizes import Sizes
from .training import TrainingStep, make_step

__all__ = ["Parallelism", "Sizes", "TrainingStep", "gpt", "llama"]


def gpt(**settings) -> TrainingStep:
    """The training step of a GPT-2 or GPT-3: learned positions, layer norms, GELU, biases, and one
    table for tokens in and out.

    The settings are the fields of `Sizes` and of `Parallelism`. ValueError names all that do not go
    together."""
    return make_step("gpt", _gpt, settings)


def llama(**settings) -> TrainingStep:
    """The training step of a Llama: rotary positions, RMS norms, grouped queries, a gated perceptron,
    and tables of their own for tokens in and out.

    The settings are the fields of `Sizes` and of `Parallelism`. ValueError names all that do not go
    together."""
    return make_step("llama", _llama, settings)
