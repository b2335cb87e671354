# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers of experts, of which each token takes a few.

In shapes G stands for the dimensions of groups, S for the tokens of a group, K for the
choices of a token, E for the experts and C for the slots that each has for a group. Tokens
are copied to slots by a lookup in each group, and back by another one, so that groups may be
split over devices. Experts are split where their weights are: between the two stands a
tensor [E, G, C, features], whose split goes from the one dimension to the other.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..numpy import elementwise as el, products, reductions as red, shapes as sh
from ..recomputation import checkpoint_name
from ..tracing import elements, ops
from ..tracing.errors import ShapeError
from ..tracing.graph import as_tracer
from ..tracing.locations import user_line
from ..tracing.tracer import Tracer
from . import routing
from .activations import silu


class MoeMetrics(NamedTuple):
    """balance_loss, z_loss  terms for the loss of the model
    load     [experts] int32: how many tokens chose each expert
    dropped  int32: choices that found no place
    """

    balance_loss: Tracer
    z_loss: Tracer
    load: Tracer
    dropped: Tracer


def moe(x: Any, router: Any, experts: Mapping[str, Any], *, top_k: int = 2, capacity: float | None = 1.25,
        shared: Mapping[str, Any] | None = None, activation: Callable[[Any], Any] = silu,
        score: str = "softmax", normalize: bool | None = None, bias: Any = None, jitter: float = 0.0,
        key: Any = None, group_size: int | None = None) -> tuple[Tracer, MoeMetrics]:
    """A mixture of experts: for each token of x, [..., time, features], the results of the `top_k`
    experts with the highest scores, weighted, and metrics.

    router      [features, experts]; its product with a token, in float32 at least, is scored by
                `score`, "softmax" over experts or "sigmoid"
    experts     "up" [experts, features, hidden], "down" [experts, hidden, features] and perhaps
                "gate", as "up": activation(x up) down, or (activation(x gate) * x up) down
    shared      the same without the first dimension: an expert that each token takes, with weight 1
    normalize   whether the weights of a token, the scores of its experts, are divided by their sum;
                by default if there are several
    capacity    an expert takes this many times the even share of a group's choices; those that
                find no place add nothing. None drops nothing: each expert has a slot for each token
                of a group
    bias        [experts], added to scores where experts are chosen, but not in weights; see
                `updated_router_bias`
    jitter      the router sees numbers that are multiplied with ones uniform in 1 - jitter to
                1 + jitter, of the random `key`
    group_size  tokens next to each other along time that are a group, by default all of them

    A weft.Layout may place "dispatched", [experts, ..., groups of a row, slots, features], where
    tokens are copied to slots and back, "experts", the same where experts take and make it, and
    "expert hidden", with hidden features. With a `group_size` of all the time there are no groups
    of a row.
    """
    x = as_tracer(x)
    router = as_tracer(router)
    weights = {name: as_tracer(value) for name, value in experts.items()}
    always = None if shared is None else {name: as_tracer(value) for name, value in shared.items()}
    _check(x, router, weights, always, top_k, capacity, score, bias, jitter, key, group_size)
    count, time = router.shape[-1], x.shape[-2]
    grouped = x
    if group_size is not None and group_size != time:
        grouped = sh.reshape(x, (*x.shape[:-2], time // group_size, group_size, x.shape[-1]))
    size = grouped.shape[-2]
    normalize = top_k > 1 if normalize is None else normalize
    route = routing.route(grouped, router, top_k, score, normalize, bias, jitter, key)
    room = routing.slots_of(size, top_k, count, capacity)
    slots = routing.assign_slots(route.experts, count, room)
    tokens = _named_twice(_dispatch(grouped, slots.slot, count, room), "dispatched", "experts")
    made = _perceptron(weights, tokens, activation, "expert hidden")
    y = _combine(_named_twice(made, "experts", "dispatched"), slots, route.weights)
    y = sh.reshape(ops.convert(y, x.element), x.shape)
    if always is not None:
        y = el.add(y, _perceptron(always, x, activation, "shared hidden"))
    groups = tuple(range(len(slots.load.shape) - 1))
    over = el.maximum(el.subtract(slots.load, room), 0)
    return y, MoeMetrics(routing.balance_loss(route.shares, slots.load, top_k), routing.z_loss(route.logits),
                         red.sum(slots.load, groups), red.sum(over))


def _named_twice(x: Tracer, *names: str) -> Tracer:
    for name in names:
        x = checkpoint_name(x, name)
    return x


def _dispatch(x: Tracer, slot: Tracer, experts: int, room: int) -> Tracer:
    """Tokens [G, S, features] in slots [E, G, C, features]; zeros where a slot is free."""
    groups, (size, features) = x.shape[:-2], x.shape[-2:]
    rank = len(groups)
    dims = list(range(rank))
    tokens = ops.iota((slot.shape[-1] // size, size), elements.INT32, 1)
    tokens = sh.broadcast_to(sh.reshape(el.add(tokens, 1), (-1,)), slot.shape)
    # From 1 on: 0 is for slots that nothing is for.
    number = ops.scatter_add(tokens, slot, rank, (*groups, experts * room), (dims, dims))
    taken = ops.gather(x, el.subtract(number, 1), rank, (dims, dims))
    is_used = sh.broadcast_to(sh.expand_dims(el.greater(number, 0), -1), taken.shape)
    taken = el.where(is_used, taken, ops.zeros_like(taken))
    return sh.moveaxis(sh.reshape(taken, (*groups, experts, room, features)), rank, 0)


def _combine(made: Tracer, slots: routing.Slots, weights: Tracer) -> Tracer:
    """For each token the weighted sum of its slots in [E, G, C, features]: [G, S, features]."""
    groups, features = made.shape[1:-2], made.shape[-1]
    rank = len(groups)
    dims = list(range(rank))
    rows = sh.reshape(sh.moveaxis(made, 0, rank), (*groups, -1, features))
    taken = ops.convert(ops.gather(rows, slots.slot, rank, (dims, dims)), weights.element)
    size, count = weights.shape[-2:]
    by_choice = sh.reshape(sh.swapaxes(weights, -1, -2), (*groups, count * size))
    by_choice = el.where(slots.is_kept, by_choice, ops.zeros_like(by_choice))
    terms = el.multiply(taken, sh.expand_dims(by_choice, -1))
    return red.sum(sh.reshape(terms, (*groups, count, size, features)), rank)


def _perceptron(weights: dict[str, Tracer], x: Tracer, activation: Callable[[Any], Any], name: str) -> Tracer:
    """Of x [E, ..., features] if weights have a dimension of experts."""
    e = "e" if len(weights["up"].shape) == 3 else ""
    up = products.einsum(f"{e}...d,{e}df->{e}...f", x, weights["up"])
    if "gate" in weights:
        gate = products.einsum(f"{e}...d,{e}df->{e}...f", x, weights["gate"])
        hidden = el.multiply(activation(checkpoint_name(gate, name)), checkpoint_name(up, name))
    else:
        hidden = activation(checkpoint_name(up, name))
    return products.einsum(f"{e}...f,{e}fd->{e}...d", checkpoint_name(hidden, name), weights["down"])


def _check(x: Tracer, router: Tracer, weights: dict[str, Tracer], shared: dict[str, Tracer] | None, top_k: int,
           capacity: float | None, score: str, bias: Any, jitter: float, key: Any, group_size: int | None) -> None:
    line = f"{user_line()}: moe"
    if len(x.shape) < 2 or x.element.kind != "f":
        raise ShapeError(f"{line}: tokens must be floats [..., time, features], got {x!r}")
    time, features = x.shape[-2:]
    if len(router.shape) != 2 or router.shape[0] != features:
        raise ShapeError(f"{line}: the router must be [features, experts] with {features} features, got {router!r}")
    count = router.shape[1]
    _check_weights(line, "experts", weights, (count,), features)
    if shared is not None:
        _check_weights(line, "shared", shared, (), features)
    if not 1 <= top_k <= count:
        raise ValueError(f"{line}: top_k must be from 1 to the number of experts, {count}, got {top_k}")
    if capacity is not None and not capacity > 0:
        raise ValueError(f"{line}: capacity must be above 0, or None to drop nothing, got {capacity}")
    if score not in routing.SCORES:
        raise ValueError(f'{line}: score must be {" or ".join(routing.SCORES)}, got {score!r}')
    if bias is not None and as_tracer(bias).shape != (count,):
        raise ShapeError(f"{line}: the bias must have one number for each of {count} experts, got {as_tracer(bias)!r}")
    if not 0 <= jitter < 1:
        raise ValueError(f"{line}: jitter must be at least 0 and below 1, got {jitter}")
    if (jitter > 0) != (key is not None):
        raise ValueError(f"{line}: a key is for jitter above 0, and jitter needs one; got jitter {jitter} and "
                         f"{'no key' if key is None else 'a key'}")
    if group_size is not None and (group_size < 1 or time % group_size):
        raise ValueError(f"{line}: group_size must divide the {time} tokens along time, got {group_size}")


def _check_weights(line: str, name: str, weights: dict[str, Tracer], front: tuple[int, ...], features: int) -> None:
    if {"up", "down"} - weights.keys() or weights.keys() - {"up", "down", "gate"}:
        raise ValueError(f'{line}: {name} must have "up", "down" and perhaps "gate", got '
                         f"{', '.join(sorted(weights)) or 'nothing'}")
    up = weights["up"].shape
    hidden = up[-1] if up else None
    for key, wanted in (("up", (*front, features, hidden)), ("gate", (*front, features, hidden)),
                        ("down", (*front, hidden, features))):
        if key in weights and weights[key].shape != wanted:
            raise ShapeError(f'{line}: {name}["{key}"] must have shape {wanted}, got {weights[key].shape}')
