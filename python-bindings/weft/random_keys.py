# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keys of jax.random that have a dtype of their own, where arrays of numbers are wanted."""

from __future__ import annotations

from typing import Any


def typed_key_remedy(value: Any) -> str:
    """What to pass instead of a key that `jax.random.key` made; empty for anything else."""
    if not str(getattr(value, "dtype", "")).startswith("key<"):
        return ""
    return (
        "a typed key of JAX has no array of numbers; pass jax.random.key_data(key), make it with "
        "jax.random.PRNGKey, or use weft.random.key"
    )
