# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers of experts, of which each token takes a few.

In shapes G stands for the dimensions of groups, S for the tokens of a group, K for the
choices of a token, E for the experts and C for the slots that each has for a group. Tokens
are copied to slots by a lookup in each group, and back by another one, so that groups may be
split over devices. Experts are split where their weights are: between the two stands a
tensor [E, G, C, features], whose split goes from the one dimension to the other.
"""

import math
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
                find no place add nothing. None drops nothing: choices are put in the order of their
                experts, each of which multiplies the rows that it has
    bias        [experts], added to scores where experts are chosen, but not in weights; see
                `updated_router_bias`
    jitter      the router sees numbers that are multiplied with ones uniform in 1 - jitter to
                1 + jitter, of the random `key`
    group_size  tokens next to each other along time that are a group, by default all of them

    A weft.Layout may place "dispatched", [experts, ..., groups of a row, slots, features], where
    tokens are copied to slots and back, "experts", the same where experts take and make it, and
    "expert hidden", with hidden features. With a `group_size` of all the time there are no groups
    of a row. Without a capacity there is "expert hidden" alone, [groups, choices, hidden features].
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
    room = size if capacity is None else routing.slots_of(size, top_k, count, capacity)
    if capacity is None:
        y, load = _in_order(grouped, route, weights, activation)
    else:
        y, load = _in_slots(grouped, route, weights, room, activation)
    y = sh.reshape(ops.convert(y, x.element), x.shape)
    if always is not None:
        y = el.add(y, _perceptron(always, x, activation, "shared hidden"))
    over = el.maximum(el.subtract(load, room), 0)
    return y, MoeMetrics(routing.balance_loss(route.shares, load, top_k), routing.z_loss(route.logits),
                         red.sum(load, tuple(range(len(load.shape) - 1))), red.sum(over))


def _in_slots(x: Tracer, route: routing.Routing, weights: dict[str, Tracer], room: int,
              activation: Callable[[Any], Any]) -> tuple[Tracer, Tracer]:
    """The result for x [G, S, features] of experts with so many slots for a group, and their load."""
    groups, (experts, features) = x.shape[:-2], weights["up"].shape[:2]
    slots = routing.assign_slots(route.experts, experts, room)
    tokens = _rows(x, slots.slot, experts * room)
    tokens = sh.moveaxis(sh.reshape(tokens, (*groups, experts, room, features)), len(groups), 0)
    made = _perceptron(weights, _named_twice(tokens, "dispatched", "experts"), activation, "expert hidden")
    made = sh.moveaxis(_named_twice(made, "experts", "dispatched"), 0, len(groups))
    made = sh.reshape(made, (*groups, experts * room, features))
    by_choice = _by_choice(route.weights)
    by_choice = el.where(slots.is_kept, by_choice, ops.zeros_like(by_choice))
    return _combine(made, slots.slot, by_choice, x.shape), slots.load


def _in_order(x: Tracer, route: routing.Routing, weights: dict[str, Tracer],
              activation: Callable[[Any], Any]) -> tuple[Tracer, Tracer]:
    """The same without slots: the choices of a group in the order of their experts."""
    groups, features = x.shape[:-2], x.shape[-1]
    experts = weights["up"].shape[0]
    row, load = routing.order_by_expert(route.experts, experts)
    rows = _rows(x, row)
    stacked = math.prod(groups)
    rows = sh.reshape(rows, (stacked, *rows.shape[-2:]))
    sizes = sh.reshape(load, (stacked, experts))
    made = _gated(weights, rows, activation, "expert hidden",
                  lambda x, w: ops.grouped_dot(*el.promoted(x, w), sizes))
    made = sh.reshape(made, (*groups, *made.shape[-2:]))
    return _combine(made, row, _by_choice(route.weights), x.shape), load


def _named_twice(x: Tracer, *names: str) -> Tracer:
    for name in names:
        x = checkpoint_name(x, name)
    return x


def _rows(x: Tracer, row: Tracer, count: int | None = None) -> Tracer:
    """Copies of tokens [G, S, features] in the rows [G, K S] that are theirs: [G, count, features],
    with zeros in rows that nothing is for; without a count there is one for each row."""
    groups, size = x.shape[:-2], x.shape[-2]
    rank = len(groups)
    dims = list(range(rank))
    tokens = ops.iota((row.shape[-1] // size, size), elements.INT32, 1)
    tokens = sh.broadcast_to(sh.reshape(el.add(tokens, 1), (-1,)), row.shape)
    # From 1 on: 0 is for rows that nothing is for.
    number = ops.scatter_add(tokens, row, rank, (*groups, count or row.shape[-1]), (dims, dims))
    taken = ops.gather(x, el.subtract(number, 1), rank, (dims, dims))
    if count is None:
        return taken
    is_used = sh.broadcast_to(sh.expand_dims(el.greater(number, 0), -1), taken.shape)
    return el.where(is_used, taken, ops.zeros_like(taken))


def _by_choice(weights: Tracer) -> Tracer:
    """[G, S, K] as [G, K S], first choices first."""
    return sh.reshape(sh.swapaxes(weights, -1, -2), (*weights.shape[:-2], -1))


def _combine(made: Tracer, row: Tracer, weights: Tracer, shape: tuple[int, ...]) -> Tracer:
    """For each token of a shape [G, S, features] the sum of its rows [G, K S] times their weights."""
    rank = len(shape) - 2
    dims = list(range(rank))
    taken = ops.convert(ops.gather(made, row, rank, (dims, dims)), weights.element)
    terms = el.multiply(taken, sh.expand_dims(weights, -1))
    return red.sum(sh.reshape(terms, (*shape[:rank], -1, *shape[rank:])), rank)


def _perceptron(weights: dict[str, Tracer], x: Tracer, activation: Callable[[Any], Any], name: str) -> Tracer:
    """Of x [E, ..., features] if weights have a dimension of experts."""
    e = "e" if len(weights["up"].shape) == 3 else ""
    return _gated(weights, x, activation, name,
                  lambda x, w: products.einsum(f"{e}...d,{e}df->{e}...f", x, w))


def _gated(weights: dict[str, Tracer], x: Tracer, activation: Callable[[Any], Any], name: str,
           multiply: Callable[[Tracer, Tracer], Tracer]) -> Tracer:
    up = checkpoint_name(multiply(x, weights["up"]), name)
    if "gate" in weights:
        hidden = el.multiply(activation(checkpoint_name(multiply(x, weights["gate"]), name)), up)
    else:
        hidden = activation(up)
    return multiply(checkpoint_name(hidden, name), weights["down"])


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
