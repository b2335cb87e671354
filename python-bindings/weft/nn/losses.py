# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses, named as in optax."""

from typing import Any

from ..numpy import elementwise as el
from ..numpy import shapes as sh
from ..tracing import elements, ops
from ..tracing.errors import ShapeError
from ..tracing.graph import as_tracer
from ..tracing.locations import user_line
from ..tracing.tracer import Tracer


def softmax_cross_entropy_with_integer_labels(logits: Any, labels: Any, axis: int = -1) -> Tracer:
    """-log(softmax(logits)[label]) for each label. Logits that are split along `axis`
    stay split: what moves between devices are a maximum and two sums a label, the second
    of which goes with the sum of the losses where there is one."""
    logits, labels = el.inexact(logits), as_tracer(labels)
    dim = sh.axis_of(axis, len(logits.shape), "softmax_cross_entropy_with_integer_labels")
    wanted = logits.shape[:dim] + logits.shape[dim + 1:]
    if labels.element.kind != "i" or labels.shape != wanted:
        raise ShapeError(
            f"{user_line()}: softmax_cross_entropy_with_integer_labels: labels must be integers of "
            f"shape {wanted}, that of the logits without axis {axis}, got {labels!r}")
    if labels.element is elements.INT8:
        labels = ops.convert(labels, elements.INT32)
    return ops.cross_entropy(logits, labels, dim)
