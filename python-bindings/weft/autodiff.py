# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients. Nothing is differentiated here: the function becomes a function of the
module, and `weft.value_and_grad` asks the compiler for its derivative."""

import functools
from typing import Any, Callable, Sequence

from . import tree as trees
from .constraint import compute_with, constrain
from .eager import eager
from .errors import listing
from .tracing import ops
from .tracing.batching import of_every_example, written
from .tracing.graph import as_tracer, current_graph, in_graph
from .tracing.locations import user_line
from .tracing.outline import outline
from .tracing.tracer import Batched, Tracer


def value_and_grad(fun: Callable, argnums: int | Sequence[int] = 0,
                   has_aux: bool = False) -> Callable:
    """A function that returns what `fun` returns, and the gradient of it by the
    arguments that `argnums` counts, in trees of their structure.

    `fun` returns a scalar; with `has_aux` a pair of a scalar and anything, which is
    passed on: `(value, aux), gradient`.
    """
    def differentiated(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        return _value_and_grad(fun, argnums, has_aux, args, kwargs)

    return functools.wraps(fun)(differentiated)


def grad(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable:
    """As value_and_grad, the gradient alone; with `has_aux`, `gradient, aux`."""
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        value, gradient = eager(_call)(fun, argnums, has_aux, args, kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return functools.wraps(fun)(differentiated)


@eager
def _value_and_grad(fun: Callable, argnums: int | Sequence[int], has_aux: bool, args: tuple, kwargs: dict) -> Any:
    graph = current_graph()
    if graph.parent is None and graph.module.microbatches is not None:
        from .microbatches import split_as_asked

        return split_as_asked(value_and_grad(fun, argnums, has_aux), argnums, args, kwargs)
    return _call(fun, argnums, has_aux, args, kwargs)


def stop_gradient(x: Any) -> Any:
    """x, or a tree of tensors, as a constant where gradients are taken."""
    return trees.map(_stop, x)


def _stop(x: Any) -> Tracer:
    x = as_tracer(x)
    if x.element.kind != "f" or x.splat is not None:
        return x
    return ops.unary("weft.stop_gradient", x)


def _positions(argnums: int | Sequence[int], count: int) -> list[int]:
    numbers = [argnums] if isinstance(argnums, int) else list(argnums)
    for number in numbers:
        if not -count <= number < count:
            raise ValueError(f"{user_line()}: argnums names argument {number} of a call with "
                             f"{count} positional arguments")
    positions = [number % count for number in numbers]
    twice = sorted({number for number in positions if positions.count(number) > 1})
    if twice:
        raise ValueError(f"{user_line()}: argnums names {listing([f'argument {n}' for n in twice])} "
                         f"more than once, got {argnums!r}")
    return positions


def _call(fun: Callable, argnums: int | Sequence[int], has_aux: bool, args: tuple,
          kwargs: dict) -> tuple[Any, Any]:
    positions = _positions(argnums, len(args))
    leaves, treedef = trees.flatten([args[i] for i in positions])
    one = isinstance(argnums, int)
    # Under vmap, examples have gradients of their own, also by what they share.
    variables = treedef.unflatten(of_every_example(_variable(leaf)) for leaf in leaves)
    # The tree that the tables of a layout are of.
    whole = trees.leaves(_used_as_laid_out(variables[0] if one else tuple(variables)))
    # What has no elements has no derivative but itself.
    operands = [value for value in whole if 0 not in value.shape]

    def with_empty(values: Sequence[Tracer]) -> Any:
        others = iter(values)
        return treedef.unflatten(value if 0 in value.shape else next(others) for value in whole)

    def of_variables(variables: list[Tracer]) -> tuple[Tracer, Tracer | None, Any]:
        """What is differentiated, the losses that it is the sum of if examples have their own, and the rest."""
        inside = list(args)
        for position, arg in zip(positions, with_empty(variables)):
            inside[position] = arg
        loss, aux = _split(fun(*inside, **kwargs), has_aux)
        if not isinstance(loss, Batched):
            return loss, None, aux
        losses = written(loss)
        return ops.reduce("sum", losses, range(len(losses.shape))), loss, aux

    current_graph().module.is_differentiated = True
    outlined = outline(fun, "loss", of_variables, operands)
    wrt = ", ".join(map(str, range(len(operands))))
    (total, loss, aux), gradients = outlined.call("weft.value_and_grad", f" wrt = [{wrt}]", operands,
                                                  more=operands)
    gradients = with_empty(gradients)
    loss = total if loss is None else loss
    value = (loss, aux) if has_aux else loss
    return value, laid_out(gradients[0] if one else tuple(gradients))


def _variable(leaf: Any) -> Tracer:
    value = as_tracer(leaf)
    if value.element.kind != "f":
        raise TypeError(
            f"{user_line()}: grad takes floats to differentiate by, got {value!r}; choose other "
            "arguments with argnums, or convert with .astype(float)")
    return value


def _layout() -> Any:
    """The layout that says where parameters and gradients are: that of the whole function, for
    what it differentiates itself."""
    graph = current_graph()
    return graph.module.layout if graph.parent is None else None


def _used_as_laid_out(operands: Any) -> Any:
    layout = _layout()
    table = layout.compute() if layout else None
    if table is None:
        return operands
    return (constrain if layout.gathers_once() else compute_with)(operands, table, what="Layout compute")


def gathered_once(params: Any) -> Any:
    """The parameters before all micro-batches, where the layout says that they are gathered there."""
    layout = _layout()
    return constrain(params, layout.compute(), "Layout compute") if layout and layout.gathers_once() else params


def laid_out(gradients: Any) -> Any:
    """The gradients, where the layout says that they are."""
    layout = _layout()
    table = layout.gradients() if layout else None
    return gradients if table is None else constrain(gradients, table, "Layout gradients")


def _split(result: Any, has_aux: bool) -> tuple[Tracer, Any]:
    """The loss and the rest of what a function returned."""
    if has_aux and not (isinstance(result, tuple) and len(result) == 2):
        raise TypeError(f"{user_line()}: with has_aux the function must return a pair (loss, aux), "
                        f"got {type(result).__name__}")
    loss, aux = result if has_aux else (result, None)
    try:
        loss = as_tracer(loss)
    except TypeError:
        raise TypeError(f"{user_line()}: a function to be differentiated must return a scalar, got "
                        f"{type(loss).__name__}" + (
                            "; with has_aux=True it may return a pair (loss, aux)"
                            if isinstance(loss, tuple) else "")) from None
    if loss.shape or loss.element.kind != "f":
        raise TypeError(
            f"{user_line()}: a function to be differentiated must return a scalar of floats, got "
            f"{loss!r}; reduce it with .sum() or .mean()")
    return in_graph(loss), aux
