# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft.jit`: a Python function, traced and compiled for a mesh."""

from __future__ import annotations

import copyreg
import functools
import inspect
import operator
import sys
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import signature as signatures
from . import tree as trees
from .arrays import Array
from .compiled import Compiled
from .constraint import constrain_some
from .errors import count
from .lowered import Lowered, Source
from .mesh import AbstractMesh
from .pipeline import Pipeline, checked_pipeline
from .random_keys import typed_key_remedy
from .shape import ShapeDtypeStruct
from .tracing import Tracer, trace

if TYPE_CHECKING:
    from .budget import Budget
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
    memory_limit: int | str | None = None,
    pipeline: Pipeline | None = None,
    microbatches: int | None = None,
) -> Any:
    """Compiles a function of arrays, written in `weft.numpy`, for the ranks of a mesh.

    The names mean what they do in `jax.jit`: `in_shardings` is a prefix of the tuple of
    arguments (those that are not static, by position and then by name), `out_shardings` of the
    result; their leaves are `P`, `NamedSharding` or None. A `Layout` says where a training step
    computes. Static arguments are hashable values that the function is
    compiled for. `memory_limit` is that of `Lowered.compile`. A `Pipeline` gives the stages of
    the model to ranks along an axis of the mesh; without one, `microbatches` is the number of micro-batches
    into which each `weft.value_and_grad` splits its batch, as `weft.microbatches` does. As a decorator it may be
    given its options alone.
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
            memory_limit=memory_limit,
            pipeline=pipeline,
            microbatches=microbatches,
        )
    if not callable(f):
        raise TypeError(f"jit needs a function, got {f!r}")
    if not isinstance(mesh, (AbstractMesh, type(None))):
        raise TypeError(
            f"mesh must be a weft.Mesh or weft.AbstractMesh, got {mesh!r} of type "
            f"{type(mesh).__name__}"
        )
    if isinstance(in_shardings, list):
        in_shardings = tuple(in_shardings)  # as in JAX
    parameters = Parameters(f)
    static = parameters.chosen("static", static_argnums, static_argnames)
    donate = parameters.chosen("donate", donate_argnums, donate_argnames)
    both = sorted(static & donate)
    if both:
        raise ValueError(f"arguments cannot be both static and donated: {', '.join(both)}")
    if layout is not None and mesh is not None and mesh.shape_tuple != layout.mesh.shape_tuple:
        raise ValueError(f"jit is given mesh={mesh!s} and a layout on {layout.mesh!s}: use one mesh")
    mesh = mesh if layout is None else layout.mesh
    shardings = (in_shardings, out_shardings)
    pipeline = checked_pipeline("jit", pipeline, mesh)
    if microbatches is not None and (isinstance(microbatches, bool) or not isinstance(microbatches, int) or microbatches < 1):
        raise ValueError(f"jit: microbatches must be a number of at least 1, got {microbatches!r}")
    if pipeline is not None and microbatches is not None:
        raise ValueError("jit is given a pipeline and microbatches: say them in the pipeline, "
                         f"weft.Pipeline(..., microbatches={microbatches})")
    return Jitted(f, parameters, static, donate, mesh, layout, *shardings, memory_limit, pipeline, microbatches)


class Argument(NamedTuple):
    """An argument of a call; `by_name` if the function takes it in no other way."""

    name: str
    value: Any
    by_name: bool = False


class Parameters:
    """What the arguments of a function are called."""

    def __init__(self, f: Callable):
        self.function_name = getattr(f, "__name__", type(f).__name__)
        self.signature = inspect.signature(f)
        kinds = inspect.Parameter
        positional = (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
        every = self.signature.parameters.values()
        self.names = [p.name for p in every if p.kind in positional]
        self._keywords = [p.name for p in every if p.kind is kinds.KEYWORD_ONLY]
        # The name of ``**kwargs``.
        self.any_keyword = next((p.name for p in every if p.kind is kinds.VAR_KEYWORD), None)
        self._rest = next((p.name for p in every if p.kind is kinds.VAR_POSITIONAL), None)
        needed = [p for p in every if p.default is p.empty]
        self._required = sum(p.kind in positional for p in needed)
        self._requires_keyword = any(p.kind is kinds.KEYWORD_ONLY for p in needed)

    def chosen(self, what: str, numbers: Any, names: Any) -> frozenset[str]:
        """Names of the arguments that `<what>_argnums` and `<what>_argnames` say."""
        numbers = argument_numbers(f"{what}_argnums", numbers)
        names = _argument_names(f"{what}_argnames", names)
        known = self.names + self._keywords
        unknown = [] if self.any_keyword else [name for name in names if name not in known]
        if unknown:
            raise ValueError(
                f"{what}_argnames: {self.function_name} has no argument {', '.join(unknown)}; "
                f"its arguments are {', '.join(known)}"
            )
        size = len(self.names)
        if self._rest is None:
            wrong = [n for n in numbers if not -size <= n < size]
            if wrong:
                raise ValueError(
                    f"{what}_argnums: {self.function_name} has {count(size, 'argument')}, "
                    f"got {', '.join(map(str, wrong))}"
                )
        return frozenset([self.name(n + size if n < 0 else n) for n in numbers] + list(names))

    def takes(self, number: int) -> bool:
        """Whether so many arguments by position are a call, each with a name of its own."""
        return not self._requires_keyword and self._required <= number <= len(self.names)

    def bind(self, args: tuple, kwargs: dict) -> list[Argument]:
        """The arguments of a call: those by position, then in the order of the signature those
        that have a name only."""
        if not kwargs and self.takes(len(args)):
            return [Argument(name, value) for name, value in zip(self.names, args)]
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.function_name}: {error}") from None
        by_position = [Argument(self.name(i), value) for i, value in enumerate(bound.args)]
        order = {name: at for at, name in enumerate(self.signature.parameters)}
        names = sorted(bound.kwargs, key=lambda name: (order.get(name, len(order)), name))
        return by_position + [Argument(name, bound.kwargs[name], True) for name in names]

    def name(self, position: int) -> str:
        """``x``, or ``args[1]`` of ``*args``, as JAX calls it."""
        if position < len(self.names):
            return self.names[position]
        return f"{self._rest}[{position - len(self.names)}]"


def argument_numbers(what: str, given: Any) -> tuple[int, ...]:
    """The numbers of arguments that an option says."""
    several = given if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    try:
        return tuple(operator.index(number) for number in several)
    except TypeError:
        names = what.replace("argnums", "argnames")
        hint = f"; names go in {names}" if isinstance(given, str) and names != what else ""
        raise TypeError(
            f"{what} must be an integer or several, got {given!r} of type "
            f"{type(given).__name__}{hint}"
        ) from None


def _argument_names(what: str, given: Any) -> tuple[str, ...]:
    names = (given,) if not isinstance(given, Iterable) or isinstance(given, str) else tuple(given)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(
            f"{what} must be a string or several, got {given!r} of type {type(given).__name__}"
        )
    return names


def call(f: Callable, arguments: Iterable[Argument]) -> Any:
    """Calls a function as it was called."""
    arguments = list(arguments)
    positional = [a.value for a in arguments if not a.by_name]
    return f(*positional, **{a.name: a.value for a in arguments if a.by_name})


class Jitted:
    """A function that compiles itself for each new signature of its arguments."""

    def __init__(self, f, parameters, static, donate, mesh, layout, in_shardings, out_shardings,
                 memory_limit, pipeline, microbatches=None):
        functools.update_wrapper(self, f)
        self._f = f
        self._parameters = parameters
        self._static = static
        self._donate = donate
        self._mesh = mesh
        self._layout = layout
        self._in_shardings = in_shardings
        self._out_shardings = out_shardings
        self._memory_limit = memory_limit
        self._pipeline = pipeline
        self._microbatches = microbatches
        self._budget: Budget | None = None
        self._cache: dict[Hashable, Compiled] = {}

    def with_budget(self, budget: Budget) -> Jitted:
        """The function under a budget; see `weft.budget`."""
        made = object.__new__(Jitted)
        vars(made).update(vars(self), _budget=budget, _cache={})
        return made

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The traced program. Arguments are arrays or `ShapeDtypeStruct`s."""
        return self._lower(self._parameters.bind(args, kwargs))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs and not self._static and self._parameters.takes(len(args)):
            names, values, static = tuple(self._parameters.names[:len(args)]), args, ()
        else:
            arguments = self._parameters.bind(args, kwargs)
            dynamic = self._dynamic(arguments)
            names, values = tuple(a.name for a in dynamic), tuple(a.value for a in dynamic)
            static = tuple((a.name, trees.exact(a.value)) for a in arguments if a.name in self._static)
        leaves, structure = trees.flatten(values, root=names)
        kinds = tuple(map(_kind_of, leaves))
        key = (names, structure.nodes, static, kinds)
        try:
            compiled = self._cache.get(key)
        except TypeError:
            _check_hashable(static, structure, names)
            raise
        if compiled is None:
            arguments = self._parameters.bind(args, kwargs)
            if Tracer in kinds:
                return self._inlined(arguments)
            compiled = self._cache[key] = self._lower(arguments).compile()
        are_arrays = set(map(type, leaves)) <= _ARRAYS
        return compiled.call_leaves(leaves, kinds if are_arrays else None)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """The function as a method."""
        return self if instance is None else Bound(self, instance)

    def _inlined(self, arguments: list[Argument]) -> Any:
        """The call as a part of the caller, which decides on the mesh; shardings of arguments and
        results are constraints in its middle."""
        name = self._parameters.function_name
        dynamic = self._dynamic(arguments)
        names = tuple(a.name for a in dynamic)
        values = tuple(a.value for a in dynamic)
        if self._in_shardings is not None:
            values = constrain_some(values, self._in_shardings, f"in_shardings of {name}", self._mesh, names)
        result = self._of_dynamic(arguments)(*values)
        if self._out_shardings is None:
            return result
        return constrain_some(result, self._out_shardings, f"out_shardings of {name}", self._mesh, "result")

    def clear_cache(self) -> None:
        """Forgets what was compiled, with the memory of its ranks."""
        self._cache.clear()

    def _dynamic(self, arguments: list[Argument]) -> list[Argument]:
        return [a for a in arguments if a.name not in self._static]

    def _lower(self, arguments: list[Argument]) -> Lowered:
        dynamic = self._dynamic(arguments)
        names = [a.name for a in dynamic]
        traced = trace(
            self._of_dynamic(arguments),
            tuple(a.value for a in dynamic),
            mesh=self._mesh,
            layout=self._layout,
            arg_names=names,
            in_shardings=self._in_shardings,
            out_shardings=self._out_shardings,
            donate=tuple(i for i, name in enumerate(names) if name in self._donate),
            pipeline=self._pipeline,
            microbatches=self._microbatches,
        )
        _check_hashable((), traced.in_tree, names)
        source = Source(traced.text, f"{self._parameters.function_name}.mlir")
        signature = signatures.of_trees(names, traced.in_tree, traced.out_tree)
        reduce_dtype = None if self._layout is None else self._layout.reduce_dtype
        options = {"reduce_dtype": reduce_dtype} if reduce_dtype else {}
        if self._pipeline:
            options |= self._pipeline.options(splits_batch=not traced.is_differentiated)
        return Lowered(source, signature, traced.mesh, self._memory_limit, options, self._budget)

    def _of_dynamic(self, arguments: list[Argument]) -> Callable:
        """The function of the arguments that are not static, all by position."""
        if not any(a.by_name or a.name in self._static for a in arguments):
            return self._f

        @functools.wraps(self._f)
        def function(*dynamic):
            rest = iter(dynamic)
            return call(
                self._f,
                (a if a.name in self._static else a._replace(value=next(rest)) for a in arguments),
            )

        return function

    def __reduce__(self):
        found: Any = sys.modules.get(self.__module__)
        for part in getattr(self, "__qualname__", "").split("."):
            found = getattr(found, part, None)
        if found is self:  # as a decorated function, by its name
            return self.__qualname__
        return copyreg.__newobj__, (Jitted,), {**vars(self), "_cache": {}}

    def __repr__(self) -> str:
        options = [f"mesh={self._mesh!r}"] if self._mesh is not None else []
        return f"weft.jit({', '.join([self._parameters.function_name, *options])})"


class Bound:
    """A jitted function as a method of an object: its first argument is the object."""

    def __init__(self, jitted: Jitted, instance: Any):
        self.__wrapped__ = jitted
        self.__self__ = instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__wrapped__(self.__self__, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The traced program, as that of the function."""
        return self.__wrapped__.lower(self.__self__, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<bound {self.__wrapped__!r} of {self.__self__!r}>"


def _check_hashable(static: tuple, structure: trees.TreeDef, names: tuple[str, ...]) -> None:
    """Raises for a static value that no cache could find again."""
    for name, value in static:
        try:
            hash(value)
        except TypeError:
            raise TypeError(
                f"static argument {name} must be hashable, got {value[0].__name__}"
            ) from None
    found = trees.unhashable_static(structure)
    if found:
        path, value = found
        raise TypeError(
            f"static field {trees.place(names, path)} must be hashable, got {type(value).__name__}"
        )


_ARRAYS = {np.ndarray, Array}


def _kind_of(leaf: Any) -> Hashable:
    """What an array must have in common with another to be an argument of the same plan: shape
    and dtype, or for what has none its type."""
    kind = type(leaf)
    if kind is np.ndarray:
        return (leaf.shape, leaf.dtype) if leaf.dtype.isnative else (leaf.shape, leaf.dtype, False)
    if kind is Array:
        return leaf.shape, leaf.dtype
    if isinstance(leaf, Tracer):
        return Tracer
    if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
        return kind
    if typed_key_remedy(leaf):
        return kind  # which tracing refuses
    spec = ShapeDtypeStruct.like(leaf)
    return (spec.shape, spec.dtype, True) if spec.weak_type else (spec.shape, spec.dtype)
