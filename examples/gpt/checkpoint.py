# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a checkpoint of this program says of its run, and its parameters for others.

The arrays themselves go from the ranks to the files and back (training.py).
"""

import dataclasses
import json
import pathlib

import model
import weft


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """The last one in a folder."""
    folder: pathlib.Path
    step: int
    settings: dict


def metadata(settings):
    """What is saved beside the arrays."""
    return {"settings": json.dumps(settings)}


def read(folder):
    """The checkpoint, or a ValueError that says why there is none."""
    try:
        settings = json.loads(weft.saved_metadata(folder)["settings"])
    except (FileNotFoundError, weft.ExecutionError) as error:
        raise ValueError(str(error)) from None
    except (KeyError, ValueError):
        raise ValueError(f"{folder}: the checkpoint is not of this program") from None
    return Checkpoint(folder, weft.saved_steps(folder)[-1], settings)


def params(found):
    """The parameters as whole arrays, or a ValueError that names all that do not fit."""
    like = {"state": {"params": model.init(model.config_of(found.settings), 0)}}
    return weft.restore(found.folder, like)["state"]["params"]
