# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of Python from a JAX program. A plan has none: those for debugging are left out, others are
refused."""

import contextlib
import warnings

_DEBUGGING = ("debug_print", "debug_callback", "inspect_sharding")
_CALLBACKS = ("pure_callback", "io_callback")


def rules(equations) -> tuple:
    """Lowers what is for debugging to nothing, with a warning for each line."""
    found = [each for each in equations if each.primitive.name in _DEBUGGING and not each.params.get("ordered")]
    for line in _lines(found):
        warnings.warn(f"{line}: left out: debugging output, for which a plan would call Python", stacklevel=4)
    return tuple((primitive, lambda *_, **__: []) for primitive in {each.primitive: None for each in found})


@contextlib.contextmanager
def named(equations):
    """Says which lines JAX means where it cannot lower a callback for a mesh without devices."""
    try:
        yield
    except ValueError as error:
        lines = _lines(each for each in equations if each.primitive.name in _CALLBACKS)
        if not lines or "require devices" not in str(error):
            raise
        raise NotImplementedError(
            f"{', '.join(lines)}: a function of Python, which a plan cannot call; return what it reads, and "
            "remove checks, those of equinox with EQX_ON_ERROR=off in the environment") from None


def _lines(equations) -> list[str]:
    from jax.extend import source_info_util

    return list({source_info_util.summarize(each.source_info): None for each in equations})
