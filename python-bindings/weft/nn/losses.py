# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses, named as in optax."""

import operator
from typing import Any

from ..numpy import elementwise as el
from ..numpy import shapes as sh
from ..tracing import elements, ops
from ..tracing.errors import ShapeError
from ..tracing.graph import as_tracer
from ..tracing.locations import user_line
from ..tracing.tracer import Tracer


def softmax_cross_entropy_with_integer_labels(
        logits: Any, labels: Any, axis: int = -1, where: Any = None, *,
        ignore_index: int | None = None) -> Tracer:
    """-log(softmax(logits)[label]) for each label. Logits that are split along `axis`
    stay split: what moves between devices are a maximum and two sums a label, the second
    of which goes with the sum of the losses where there is one.

    As in optax, labels below 0 count from the last class, those outside of the classes have
    loss NaN, and labels where `where`, of their shape, is false have loss and gradient 0; so
    have labels that are `ignore_index`. The mean over the others is
    `losses.sum() / (labels != ignore_index).sum()`."""
    logits, labels = el.inexact(logits), as_tracer(labels)
    name = "softmax_cross_entropy_with_integer_labels"
    dim = sh.axis_of(axis, len(logits.shape), name)
    wanted = logits.shape[:dim] + logits.shape[dim + 1:]
    if labels.element.kind != "i" or labels.shape != wanted:
        raise ShapeError(
            f"{user_line()}: {name}: labels must be integers of "
            f"shape {wanted}, that of the logits without axis {axis}, got {labels!r}")
    if labels.element in (elements.INT8, elements.INT16):
        labels = ops.convert(labels, elements.INT32)
    kept = None if where is None else _mask(where, labels, name)
    if ignore_index is not None:
        others = el.not_equal(labels, operator.index(ignore_index))
        kept = others if kept is None else el.logical_and(kept, others)
    if kept is None:
        return ops.cross_entropy(logits, labels, dim)
    losses = ops.cross_entropy(logits, el.where(kept, labels, ops.zeros_like(labels)), dim)
    return el.where(kept, losses, ops.zeros_like(losses))


def _mask(where: Any, labels: Tracer, name: str) -> Tracer:
    where = as_tracer(where)
    if where.shape != labels.shape:
        raise ShapeError(f"{user_line()}: {name}: where must have the shape of the labels, "
                         f"{labels.shape}, got {where!r}")
    return el.to_bool(where)
