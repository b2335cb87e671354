# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints: the whole arrays of a state in one .safetensors file.

They are global arrays, so a run may continue under another mesh. A file is replaced in one
step: whoever stops the program finds the old one or the new one.
"""

import dataclasses
import json
import os
import pathlib

import safetensors
from safetensors.numpy import load_file, save

import weft


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    path: pathlib.Path
    step: int
    settings: dict
    arrays: dict

    def part(self, name):
        """The same with only what is under a name."""
        arrays = {path.removeprefix(f"{name}/"): array for path, array in self.arrays.items()
                  if path.startswith(f"{name}/")}
        return dataclasses.replace(self, arrays=arrays)


def _paths(tree):
    leaves, structure = weft.tree.flatten_with_keys(tree)
    return {weft.tree.slashes(path): leaf for path, leaf in leaves}, structure


def write(path, state, step, settings):
    """Writes a tree of arrays, whole or not at all."""
    metadata = {"step": str(step), "settings": json.dumps(settings)}
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(save(_paths(state)[0], metadata))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def read(path):
    """A checkpoint, or a ValueError that says why the file is none."""
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
        arrays = load_file(path)
        return Checkpoint(path, int(metadata["step"]), json.loads(metadata["settings"]), arrays)
    except FileNotFoundError:
        raise ValueError(f"{path}: file not found") from None
    except (OSError, safetensors.SafetensorError) as error:
        raise ValueError(f"{path}: cannot be read: {error}") from None
    except (KeyError, ValueError):
        raise ValueError(f"{path}: is no checkpoint of this program") from None


def restore(checkpoint, like):
    """The arrays as a tree like `like`, or a ValueError that names all that do not fit."""
    expected, structure = _paths(like)
    found = checkpoint.arrays
    problems = [f"{name} is missing" for name in expected.keys() - found.keys()]
    problems += [f"{name} is not of this model" for name in found.keys() - expected.keys()]
    for name in expected.keys() & found.keys():
        ours, theirs = expected[name], found[name]
        if (ours.shape, ours.dtype) != (theirs.shape, theirs.dtype):
            problems.append(
                f"{name} is {theirs.dtype}{list(theirs.shape)}, "
                f"the model has {ours.dtype}{list(ours.shape)}"
            )
    if problems:
        raise ValueError(f"{checkpoint.path}: " + "; ".join(sorted(problems)))
    return structure.unflatten(found[name] for name in expected)
