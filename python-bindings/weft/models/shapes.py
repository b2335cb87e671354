# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes in place of parameters, and the dimensions of activations."""

import weft

# The values that all models name.
NAMED = {
    "residual": ("batch", "residual time"),
    "heads": ("batch", "time", "heads"),
    "attended": ("batch", "time", "heads"),
    "hidden": ("batch", "time", "hidden"),
    "logits": ("batch", "time", "vocabulary"),
}


def array(*shape, dtype="float32"):
    return weft.ShapeDtypeStruct(shape, dtype)
