# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Causal attention of the models, in one kernel or with all scores in memory."""

import weft.numpy as wnp
from weft import nn


def causal_attention(q, k, v, config):
    """Over [batch, time, heads, features]. Keys and values may have fewer heads than queries."""
    if getattr(config, "attention", "fused") == "fused":
        return nn.dot_product_attention(q, k, v, is_causal=True)
    batch, time, heads, size = q.shape
    grouped = q.reshape(batch, time, k.shape[2], heads // k.shape[2], size)
    scores = wnp.einsum("btkgd,bskd->bkgts", grouped, k)
    seen = wnp.arange(time)[:, None] >= wnp.arange(time)[None, :]
    weights = nn.softmax(wnp.where(seen, scores * size**-0.5, -1e4))
    return wnp.einsum("bkgts,bskd->btkgd", weights, v).reshape(q.shape)
