# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft.checkpoint`: functions whose values a gradient recomputes.

The function becomes one of the module, which the compiler calls once in the
forward pass and, as far as the policy keeps nothing, again in the backward pass.
"""

import dataclasses
import functools
from typing import Any, Callable

from . import tree as trees
from .constraint import constrain
from .eager import eager
from .tracing import ops
from .tracing.graph import as_tracer, current_graph
from .tracing.outline import outline
from .tracing.tracer import Tracer


@dataclasses.dataclass(frozen=True)
class Policy:
    """Which values of a function are kept for its gradient; see `checkpoint_policies`."""
    kind: str
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        names = ", ".join(f'"{name}"' for name in self.names)
        return f'"{self.kind}"' + (f" [{names}]" if names else "")


class checkpoint_policies:  # noqa: N801, the name is JAX's
    """What `checkpoint` may keep, by JAX's names."""
    nothing_saveable = Policy("nothing")
    everything_saveable = Policy("everything")
    dots_saveable = checkpoint_dots = Policy("dots")

    @staticmethod
    def save_only_these_names(*names: str) -> Policy:
        """Keeps what `checkpoint_name` gives one of the names, with all that the op which made it
        gives: of attention also what its derivative needs."""
        if not names:
            return checkpoint_policies.nothing_saveable
        return Policy("names", tuple(map(_checked, names)))


def _checked(name: str) -> str:
    if not isinstance(name, str) or not name.isprintable() or '"' in name or "\\" in name:
        raise ValueError(f"a checkpoint name is text without quotes and backslashes, got {name!r}")
    return name


def checkpoint(fun: Callable, *, policy: Policy | None = None) -> Callable:
    """`fun`, recomputed in the backward pass as far as `policy` does not keep its
    values; by default it keeps none. No bit of results and gradients changes."""
    if policy is not None and not isinstance(policy, Policy):
        raise TypeError(f"policy must be one of weft.checkpoint_policies, got {policy!r}")

    @functools.wraps(fun)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        return eager(_call)(fun, policy or checkpoint_policies.nothing_saveable, args, kwargs)

    return checkpointed


remat = checkpoint


def checkpoint_name(x: Any, name: str) -> Any:
    """x, a tensor or a tree of them, under a name that policies can list, and for which a
    `weft.Layout` can have a spec."""
    _checked(name)
    layout = current_graph().module.layout
    spec = layout.activation(name) if layout else None
    if spec is not None:
        x = constrain(x, spec, f'Layout activations "{name}"')

    def mark(leaf: Any) -> Tracer:
        value = as_tracer(leaf)
        return value if value.splat is not None else ops.unary("weft.checkpoint_name", value, f' "{name}"')

    return trees.map(mark, x)


def _is_tensor(leaf: Any) -> bool:
    return isinstance(leaf, Tracer) and leaf.splat is None


def _call(fun: Callable, policy: Policy, args: tuple, kwargs: dict) -> Any:
    leaves, treedef = trees.flatten((args, kwargs))
    operands = [leaf for leaf in leaves if _is_tensor(leaf)]

    def of_tensors(arguments: list[Tracer]) -> Any:
        rest = iter(arguments)
        args, kwargs = treedef.unflatten([next(rest) if _is_tensor(leaf) else leaf
                                          for leaf in leaves])
        return fun(*args, **kwargs)

    outlined = outline(fun, "checkpoint", of_tensors, operands)
    return outlined.call("weft.checkpoint", f" policy = {policy}", operands)[0]
