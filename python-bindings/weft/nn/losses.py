# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses, named as in optax."""

from typing import Any

from ..numpy import elementwise as el
from ..numpy import indexing, reductions as red, shapes as sh
from ..tracing.tracer import Tracer


def softmax_cross_entropy_with_integer_labels(logits: Any, labels: Any, axis: int = -1) -> Tracer:
    """-log(softmax(logits)[label]) for each label. Logits that are split along `axis`
    stay split: what moves between devices are a maximum and two sums a label."""
    chosen = indexing.take_along_axis(logits, sh.expand_dims(labels, axis), axis, mode="clip")
    return el.subtract(red.logsumexp(logits, axis), sh.squeeze(chosen, axis))
