# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which experts a token goes to, and at which place of them.

In shapes G stands for the dimensions of groups, S for the tokens of a group, K for the
choices of a token and E for the experts.
"""

import math
from typing import Any, NamedTuple

from .. import random
from ..numpy import creation, elementwise as el, ordering, products, reductions as red, shapes as sh
from ..tracing import elements, ops
from ..tracing.errors import ShapeError
from ..tracing.graph import as_tracer
from ..tracing.locations import user_line
from ..tracing.tracer import Tracer
from .norms import softmax

SCORES = ("softmax", "sigmoid")


class Routing(NamedTuple):
    """experts  [G, S, K] int32, the likeliest first
    weights  [G, S, K], of the results of these experts
    shares   [G, S, E], which sum to 1 for each token
    logits   [G, S, E]
    """

    experts: Tracer
    weights: Tracer
    shares: Tracer
    logits: Tracer


def route(x: Tracer, router: Any, top_k: int, score: str, normalize: bool, bias: Any, jitter: float,
          key: Any) -> Routing:
    """The choices of tokens [G, S, features]; scores are float32 at least."""
    wide = elements.to_computed(x.element)
    x, router = ops.convert(x, wide), ops.convert(as_tracer(router), wide)
    if jitter:
        noise = random.uniform(key, x.shape, wide.numpy, 1 - jitter, 1 + jitter)
        x = el.multiply(x, noise)
    logits = products.einsum("...d,de->...e", x, router)
    scores = softmax(logits) if score == "softmax" else el.logistic(logits)
    dim = len(scores.shape) - 1
    ranked = scores if bias is None else el.add(scores, ops.convert(as_tracer(bias), wide))
    experts = ops.argsort(ranked, dim, True, top_k)
    weights = ordering.take_rows(scores, experts, dim)
    if normalize:
        weights = el.divide(weights, red.sum(weights, -1, keepdims=True))
    shares = scores if score == "softmax" else el.divide(scores, red.sum(scores, -1, keepdims=True))
    return Routing(experts, weights, shares, logits)


class Slots(NamedTuple):
    """Each expert has C slots for the tokens of a group.

    slot     [G, K S] int32: the number of an expert times C, plus the place there; E C for a
             token that found no place
    is_kept  [G, K S]: whether it found one
    load     [G, E] int32: tokens that chose an expert, whether or not they found a place
    """

    slot: Tracer
    is_kept: Tracer
    load: Tracer


def assign_slots(chosen: Tracer, experts: int, capacity: int) -> Slots:
    """Slots for choices [G, S, K]: first choices before second ones, earlier tokens before
    later ones."""
    chosen, places, load = _places(chosen, experts)
    is_kept = el.less(places, capacity)
    slot = el.add(el.multiply(chosen, capacity), places)
    return Slots(el.where(is_kept, slot, experts * capacity), is_kept, load)


def order_by_expert(chosen: Tracer, experts: int) -> tuple[Tracer, Tracer]:
    """The rows [G, K S] of choices [G, S, K] that are put in the order of their experts, and the
    load."""
    chosen, places, load = _places(chosen, experts)
    firsts = el.subtract(red.cumsum(load, -1), load)
    return el.add(ordering.take_rows(firsts, chosen, len(load.shape) - 1), places), load


def _places(chosen: Tracer, experts: int) -> tuple[Tracer, Tracer, Tracer]:
    """Choices as [G, K S], first choices first; how many of them were there before for the same
    expert; and the load [G, E]."""
    chosen = sh.reshape(sh.swapaxes(chosen, -1, -2), (*chosen.shape[:-2], -1))
    is_chosen = creation.one_hot(chosen, experts, dtype="int32")
    places = red.sum(el.multiply(el.subtract(red.cumsum(is_chosen, -2), 1), is_chosen), -1)
    return chosen, places, red.sum(is_chosen, -2)


def balance_loss(shares: Tracer, load: Tracer, top_k: int) -> Tracer:
    """The number of experts times the sum over experts of the share of choices and the mean
    share of scores; the mean over groups. It is 1 where both are even."""
    size, experts = shares.shape[-2:]
    chosen = el.divide(ops.convert(load, shares.element), size * top_k)
    return el.multiply(red.mean(red.sum(el.multiply(chosen, red.mean(shares, -2)), -1)), experts)


def z_loss(logits: Tracer) -> Tracer:
    """The mean of logsumexp(logits)^2, which keeps logits small."""
    return red.mean(el.square(red.logsumexp(logits, -1)))


def updated_router_bias(bias: Any, load: Any, rate: float = 1e-3) -> Tracer:
    """The bias of a router after a step: of an expert that more tokens than the mean chose it
    falls by `rate`, of one that fewer chose it rises."""
    bias, load = as_tracer(bias), as_tracer(load)
    if bias.shape != load.shape or len(bias.shape) != 1:
        raise ShapeError(f"{user_line()}: updated_router_bias: bias and load must have one number an expert, "
                         f"got {bias!r} and {load!r}")
    load = ops.convert(load, bias.element)
    return el.add(bias, el.multiply(rate, el.sign(el.subtract(red.mean(load), load))))


def slots_of(size: int, top_k: int, experts: int, capacity: float) -> int:
    """How many tokens of a group an expert takes: `capacity` times an even share of the choices,
    rounded up."""
    return min(size, max(1, math.ceil(size * top_k * capacity / experts)))
