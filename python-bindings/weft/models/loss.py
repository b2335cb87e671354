# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The loss of language models."""

import weft.numpy as wnp
from weft import checkpoint_name as named, nn


def lm_loss(logits, targets):
    """The mean over all positions of -log p(target), in nats."""
    logits = named(logits.astype(wnp.float32), "logits")
    return nn.softmax_cross_entropy_with_integer_labels(logits, targets).mean()
