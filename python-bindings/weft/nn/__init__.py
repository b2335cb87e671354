# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of jax.nn that transformers need, and a few that models write
themselves: norms, rotary positions, cross entropy, mixtures of experts.

An op that one of these is made of carries its name and the user's line.
"""

from . import initializers
from ..eager import make_eager as _make_eager
from ..numpy.creation import one_hot
from ..numpy.elementwise import tanh
from ..numpy.reductions import logsumexp
from .activations import (
    celu, elu, gelu, glu, hard_sigmoid, hard_silu, hard_swish, hard_tanh, identity, leaky_relu,
    log_sigmoid, mish, relu, relu6, selu, sigmoid, silu, soft_sign, softplus, squareplus, swish)
from .attention import dot_product_attention
from .dropout import dropout
from .losses import softmax_cross_entropy_with_integer_labels
from .mixture import MoeMetrics, moe
from .norms import layer_norm, log_softmax, rms_norm, softmax, standardize
from .pooling import avg_pool, max_pool, min_pool, pool
from .rotary import rotary_angles, rotary_embedding
from .routing import updated_router_bias

_make_eager(globals())


def __getattr__(name: str):
    raise AttributeError(f"weft.nn has no {name}; docs/Python.md lists the functions that are supported")
