# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Safetensors files, written with NumPy alone: a machine with a GPU may have nothing else."""

import json
import struct

import numpy as np

TYPES = {"float32": "F32", "int32": "I32"}


def write(path, named):
    """Arrays of (name, array) pairs, one after the other."""
    header, offset = {}, 0
    for name, array in named:
        header[name] = {"dtype": TYPES[array.dtype.name], "shape": array.shape,
                        "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, array in named:
            np.ascontiguousarray(array).tofile(file)


def paths(tree, root):
    """(path, array) of a tree of dicts and lists, as weft.tree.flatten_with_paths names them."""
    if isinstance(tree, dict):
        return [pair for key in sorted(tree) for pair in paths(tree[key], f"{root}[{key!r}]")]
    if isinstance(tree, list):
        return [pair for i, child in enumerate(tree) for pair in paths(child, f"{root}[{i}]")]
    return [(root, tree)]
