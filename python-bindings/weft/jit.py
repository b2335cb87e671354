# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft.jit`: a Python function, traced and compiled for a mesh."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any

from . import signature as signatures
from . import tree as trees
from .compiled import Compiled
from .lowered import Lowered, Source
from .mesh import AbstractMesh
from .shape import ShapeDtypeStruct

if TYPE_CHECKING:
    from .layout import Layout


def jit(
    f: Callable | None = None,
    *,
    mesh: AbstractMesh | None = None,
    layout: Layout | None = None,
    in_shardings: Any = None,
    out_shardings: Any = None,
    donate_argnums: int | Iterable[int] = (),
    donate_argnames: str | Iterable[str] = (),
    static_argnums: int | Iterable[int] = (),
    static_argnames: str | Iterable[str] = (),
) -> Any:
    """Compiles a function of arrays, written in `weft.numpy`, for the ranks of a mesh.

    The names mean what they do in `jax.jit`: `in_shardings` is a prefix of the tuple of
    arguments (those that are not static), `out_shardings` of the result; their leaves are
    `P`, `NamedSharding` or None. A `Layout` says where a training step computes. Static arguments are hashable values that the function is
    compiled for. As a decorator it may be given its options alone.
    """
    if f is None:
        return functools.partial(
            jit,
            mesh=mesh,
            layout=layout,
            in_shardings=in_shardings,
            out_shardings=out_shardings,
            donate_argnums=donate_argnums,
            donate_argnames=donate_argnames,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
        )
    if not callable(f):
        raise TypeError(f"jit needs a function, got {f!r}")
    parameters = Parameters(f)
    static = parameters.positions("static", static_argnums, static_argnames)
    donate = parameters.positions("donate", donate_argnums, donate_argnames)
    both = sorted(static & donate)
    if both:
        names = ", ".join(parameters.names[i] for i in both)
        raise ValueError(f"arguments cannot be both static and donated: {names}")
    if layout is not None and mesh is not None and mesh.shape_tuple != layout.mesh.shape_tuple:
        raise ValueError(f"jit is given mesh={mesh!s} and a layout on {layout.mesh!s}: use one mesh")
    mesh = mesh if layout is None else layout.mesh
    return Jitted(f, parameters, static, donate, mesh, layout, in_shardings, out_shardings)


class Parameters:
    """What the arguments of a function are called."""

    def __init__(self, f: Callable):
        self.function_name = getattr(f, "__name__", type(f).__name__)
        self.signature = inspect.signature(f)
        kinds = inspect.Parameter
        positional = (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
        every = self.signature.parameters.values()
        self.names = [p.name for p in every if p.kind in positional]
        self._rest = next((p.name for p in every if p.kind is kinds.VAR_POSITIONAL), None)

    def positions(
        self, what: str, numbers: int | Iterable[int], names: str | Iterable[str]
    ) -> frozenset[int]:
        """The arguments that `<what>_argnums` and `<what>_argnames` name."""
        numbers = (numbers,) if isinstance(numbers, int) else tuple(numbers)
        names = (names,) if isinstance(names, str) else tuple(names)
        unknown = [name for name in names if name not in self.names]
        if unknown:
            raise ValueError(
                f"{what}_argnames: {self.function_name} has no argument {', '.join(unknown)}; "
                f"its arguments are {', '.join(self.names)}"
            )
        count = len(self.names)
        if self._rest is None:
            wrong = [n for n in numbers if not -count <= n < count]
            if wrong:
                raise ValueError(
                    f"{what}_argnums: {self.function_name} has {count} arguments, "
                    f"got {', '.join(map(str, wrong))}"
                )
        return frozenset(
            [n + count if n < 0 else n for n in numbers] + [self.names.index(n) for n in names]
        )

    def bind(self, args: tuple, kwargs: dict) -> tuple:
        """All arguments by position."""
        bound = self.signature.bind(*args, **kwargs)
        if bound.kwargs:
            raise TypeError(
                f"{self.function_name}: arguments must be positional, got "
                f"{', '.join(bound.kwargs)} by name"
            )
        return bound.args

    def name(self, position: int) -> str:
        """``x``, or ``args[1]`` of ``*args``, as JAX calls it."""
        if position < len(self.names):
            return self.names[position]
        return f"{self._rest}[{position - len(self.names)}]"


class Jitted:
    """A function that compiles itself for each new signature of its arguments."""

    def __init__(self, f, parameters, static, donate, mesh, layout, in_shardings, out_shardings):
        functools.update_wrapper(self, f)
        self._f = f
        self._parameters = parameters
        self._static = static
        self._donate = donate
        self._mesh = mesh
        self._layout = layout
        self._in_shardings = in_shardings
        self._out_shardings = out_shardings
        self._cache: dict[Hashable, Compiled] = {}

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The traced program. Arguments are arrays or `ShapeDtypeStruct`s."""
        return self._lower(self._parameters.bind(args, kwargs))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args = self._parameters.bind(args, kwargs)
        if self._is_traced(args):
            return self._inlined(args)
        key = self._key(args)
        if key not in self._cache:
            self._cache[key] = self._lower(args).compile()
        return self._cache[key](*(args[i] for i in self._dynamic(args)))

    def _is_traced(self, args: tuple) -> bool:
        """Whether the call is part of a function that is being traced."""
        from .tracing import Tracer

        dynamic = [args[i] for i in self._dynamic(args)]
        return any(isinstance(leaf, Tracer) for leaf in trees.leaves(dynamic))

    def _inlined(self, args: tuple) -> Any:
        """The call as a part of the caller, which decides mesh and boundaries."""
        if self._in_shardings is not None or self._out_shardings is not None:
            raise NotImplementedError(
                f"{self._parameters.function_name}, jitted with in_shardings or out_shardings, is "
                "called by a function that is being traced; use with_sharding_constraint instead"
            )
        return self._f(*args)

    def clear_cache(self) -> None:
        """Forgets what was compiled, with the memory of its ranks."""
        self._cache.clear()

    def _dynamic(self, args: tuple) -> list[int]:
        return [i for i in range(len(args)) if i not in self._static]

    def _lower(self, args: tuple) -> Lowered:
        from .tracing import trace

        dynamic = self._dynamic(args)
        names = [self._parameters.name(i) for i in dynamic]
        traced = trace(
            self._with_static(args),
            tuple(args[i] for i in dynamic),
            mesh=self._mesh,
            layout=self._layout,
            arg_names=names,
            in_shardings=self._in_shardings,
            out_shardings=self._out_shardings,
            donate=tuple(at for at, i in enumerate(dynamic) if i in self._donate),
        )
        source = Source(traced.text, f"{self._parameters.function_name}.mlir")
        return Lowered(source, signatures.of_trees(names, traced.in_tree, traced.out_tree))

    def _with_static(self, args: tuple) -> Callable:
        """The function of the other arguments."""
        if not any(i in self._static for i in range(len(args))):
            return self._f

        @functools.wraps(self._f)
        def function(*dynamic):
            rest = iter(dynamic)
            return self._f(*(a if i in self._static else next(rest) for i, a in enumerate(args)))

        return function

    def _key(self, args: tuple) -> Hashable:
        """What a call must have in common with another to run the same plan."""
        parts: list[Hashable] = []
        for i, arg in enumerate(args):
            if i in self._static:
                try:
                    hash(arg)
                except TypeError:
                    raise TypeError(
                        f"static argument {self._parameters.name(i)} must be hashable, "
                        f"got {type(arg).__name__}"
                    ) from None
                parts.append((type(arg), arg))
                continue
            leaves, structure = trees.flatten(arg)
            kinds = tuple(map(_kind_of, leaves))
            parts.append((str(structure), kinds))
        return tuple(parts)


def _kind_of(leaf: Any) -> Hashable:
    if isinstance(leaf, (bool, int, float)) and not hasattr(leaf, "dtype"):
        return type(leaf)
    spec = ShapeDtypeStruct.like(leaf)
    return spec.shape, spec.dtype.name, spec.weak_type
