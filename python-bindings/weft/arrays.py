# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft.Array`: an array in the shards that the ranks hold, and how calls leave it there.

    params, loss = step(params, batch)      # of a step that donates its parameters

Results stay in the memory of the ranks until `numpy.asarray` fetches them. Those that replace donated
arguments are not moved when they are passed to the next call.
"""

from __future__ import annotations

import functools
import operator
import weakref
from collections.abc import Callable, Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import distributed
from . import tree as trees
from .arguments import type_text
from .mesh import Mesh
from .shape import as_dtype, check_unmasked
from .sharding import Index, NamedSharding
from .spec import PartitionSpec

if TYPE_CHECKING:
    from .session import EntryInfo, Session, ValueInfo


class Shard(NamedTuple):
    """What a rank holds of an array."""

    device: int
    """The number of the rank."""
    index: Index
    """Where it lies in the array."""
    replica_id: int
    """How many ranks before it hold the same."""
    data: np.ndarray
    """A copy, without padding."""


class Array:
    """An array in shards on the ranks, which is used like one of JAX: it never changes, has
    `shape`, `dtype` and `sharding`, and becomes a NumPy array where one is needed (`numpy.asarray`,
    operators, indexing, methods of NumPy).

    Calls return one for each result, those of functions of JAX for results that replace a donated
    one; `device_put` and `make_array_from_callback` make one. An array that is donated to a call is deleted.
    """

    __slots__ = ("shape", "dtype", "sharding", "_session", "_name", "_parts", "_fetched", "_deletion",
                 "__weakref__")

    shape: tuple[int, ...]
    dtype: np.dtype
    sharding: NamedSharding

    def __init__(self, shape: Sequence[int], dtype: Any, sharding: NamedSharding, *,
                 session: Session | None = None, name: str = "",
                 parts: dict[int, np.ndarray] | None = None):
        """The state or output `name` of a session, or what ranks of this process hold by their numbers."""
        set_once = object.__setattr__
        set_once(self, "shape", tuple(shape))
        set_once(self, "dtype", dtype)
        set_once(self, "sharding", sharding)
        set_once(self, "_session", session)
        set_once(self, "_name", name)
        set_once(self, "_parts", parts)
        set_once(self, "_fetched", None)
        set_once(self, "_deletion", "")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"an Array cannot be changed: {name}")

    # Shapes and places

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def is_fully_replicated(self) -> bool:
        """Whether every rank holds all of it."""
        return self.sharding.is_fully_replicated

    @property
    def is_fully_addressable(self) -> bool:
        """Whether the ranks of this process hold all of it."""
        self._check()
        return distributed.process_count() == 1 or self._covers()

    @property
    def addressable_shards(self) -> list[Shard]:
        """What the ranks of this process hold, in their order."""
        indices, seen, shards = _indices(self.sharding, self.shape), {}, []
        for rank, part in self._local_parts().items():
            index = indices[rank]
            replica = seen[str(index)] = seen.get(str(index), -1) + 1
            shards.append(Shard(rank, index, replica, _without_padding(part, index, self.shape)))
        return shards

    def addressable_data(self, index: int) -> np.ndarray:
        """The data of one of `addressable_shards`."""
        return self.addressable_shards[index].data

    def block_until_ready(self) -> Array:
        """The array: calls return when the ranks are done."""
        self._check()
        return self

    def is_deleted(self) -> bool:
        """Whether a call took its memory."""
        return bool(self._deletion)

    # As an array of NumPy

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        value = self._value()
        return value if dtype is None else value.astype(dtype, copy=False)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an Array without dimensions")
        return self.shape[0]

    def __getitem__(self, key: Any) -> np.ndarray:
        return self._value()[key]

    def __iter__(self):
        return iter(self._value())

    def __bool__(self) -> bool:
        return bool(self._value())

    def __int__(self) -> int:
        return int(self._value())

    def __index__(self) -> int:
        return self._value().__index__()

    def __float__(self) -> float:
        return float(self._value())

    def __complex__(self) -> complex:
        return complex(self._value())

    def __format__(self, spec: str) -> str:
        return format(self._value() if self.shape else self._value()[()], spec)

    def __getattr__(self, name: str) -> Any:
        if name in _METHODS:
            return getattr(self._value(), name)
        raise AttributeError(f"a weft.Array has no attribute {name!r}; numpy.asarray(x) makes it an "
                             "array of NumPy")

    def __reduce__(self):
        return np.asarray, (self._value(),)

    def __str__(self) -> str:
        return repr(self) if self.is_deleted() or not self.is_fully_addressable else str(self._value())

    def __repr__(self) -> str:
        kind = type_text(self.dtype, self.shape)
        if self.is_deleted():
            return f"Array({kind}, deleted)"
        if not self.is_fully_addressable:
            return f"Array({kind}, sharding={self.sharding!r})"
        text = np.array2string(self._value(), separator=", ", prefix="Array(")
        return f"Array({text}, dtype={self.dtype.name})"

    # Where it is kept

    def _check(self) -> None:
        if self._deletion:
            raise RuntimeError(f"the Array {type_text(self.dtype, self.shape)} has been deleted: "
                               f"{self._deletion}")

    def _ranks(self) -> list[int]:
        """The ranks of this process that hold a part of it."""
        self._check()
        session = self._session
        return list(self._parts) if session is None else session.ranks_with(self._name)

    def _local_parts(self) -> dict[int, np.ndarray]:
        """What they hold, with padding."""
        self._check()
        session = self._session
        if session is not None:
            parts = {rank: session.shard(self._name, rank) for rank in session.ranks_with(self._name)}
            # A call of another thread, which kept the parts before it ran, may have come before.
            if self._session is session:
                return parts
            self._check()
        return self._parts

    def _covers(self) -> bool:
        """Whether the ranks of this process hold every shard, if not every copy of it."""
        indices = _indices(self.sharding, self.shape)
        return {*map(str, indices.values())} <= {str(indices[rank]) for rank in self._ranks()}

    def _all_local_parts(self) -> dict[int, np.ndarray] | None:
        """What every rank of this process holds, or those of another stage that hold a copy; None
        if there is a rank without."""
        parts, indices = self._local_parts(), _indices(self.sharding, self.shape)
        found = {str(indices[rank]): part for rank, part in parts.items()}
        all_parts = {rank: found.get(str(indices[rank])) for rank in _local_ranks(self.sharding)}
        return None if any(part is None for part in all_parts.values()) else all_parts

    def _value(self) -> np.ndarray:
        """All of it, fetched once."""
        self._check()
        if self._fetched is None:
            value = self._fetch()
            value.flags.writeable = False
            object.__setattr__(self, "_fetched", value)
        return self._fetched

    def _fetch(self) -> np.ndarray:
        if not self.is_fully_addressable:
            raise RuntimeError(
                f"the Array {type_text(self.dtype, self.shape)} is laid out as {self.sharding.spec}, and "
                "parts of it are in other processes; .addressable_shards are those of this one, and "
                "weft.distributed.process_allgather(x), called in all processes, gathers all of it")
        session = self._session
        if session is not None and distributed.process_count() == 1:
            value = session.value(self._name)
            if self._session is session:
                return value
        indices, value = _indices(self.sharding, self.shape), np.empty(self.shape, self.dtype)
        for rank, part in self._local_parts().items():
            value[indices[rank]] = _without_padding(part, indices[rank], self.shape)
        return value

    def _leave_ranks(self) -> None:
        """Keeps what the ranks hold before their memory gets another value."""
        parts = self._local_parts()
        object.__setattr__(self, "_parts", parts)
        object.__setattr__(self, "_session", None)

    def _delete(self, why: str) -> None:
        object.__setattr__(self, "_deletion", why)
        object.__setattr__(self, "_session", None)
        object.__setattr__(self, "_parts", None)
        object.__setattr__(self, "_fetched", None)


# What arrays of NumPy have and that does not change them.
_METHODS = frozenset(
    "T all any argmax argmin argsort astype choose clip compress conj conjugate copy cumprod cumsum diagonal "
    "dot flat flatten imag item itemsize max mean min nonzero prod ptp ravel real repeat reshape round "
    "searchsorted squeeze std sum swapaxes take tobytes tolist trace transpose var view".split())
_BINARY = "add sub mul truediv floordiv mod divmod pow matmul and or xor lshift rshift".split()
_OTHERS = "lt le eq ne gt ge neg pos abs invert".split()


def _set_operators() -> None:
    """Those of NumPy's array, which leaves tensors and arrays of JAX to these."""
    def forward(function: Callable) -> Callable:
        return lambda self, *others: function(self._value(), *others)

    def reflected(function: Callable) -> Callable:
        return lambda self, other: function(other, self._value())

    for name in _BINARY + _OTHERS:
        function = divmod if name == "divmod" else getattr(operator, f"__{name}__")
        setattr(Array, f"__{name}__", forward(function))
        if name in _BINARY:
            setattr(Array, f"__r{name}__", reflected(function))


_set_operators()
Array.__hash__ = None


def _indices(sharding: NamedSharding, shape: tuple[int, ...]) -> dict[int, Index]:
    """Where the part of each rank lies."""
    mesh = sharding.mesh
    if not isinstance(mesh, Mesh):
        mesh = Mesh(mesh.axis_sizes, mesh.axis_names, mesh.axis_types)
        sharding = sharding.update(mesh=mesh)
    return sharding.devices_indices_map(shape)


def _local_ranks(sharding: NamedSharding) -> range:
    return distributed.local_ranks(max(1, sharding.num_devices))


def _without_padding(part: np.ndarray, index: Index, shape: tuple[int, ...]) -> np.ndarray:
    sizes = (len(range(*each.indices(size))) for each, size in zip(index, shape))
    return part[tuple(map(slice, sizes))]


def _with_padding(part: np.ndarray, local: tuple[int, ...]) -> np.ndarray:
    """A copy of the shape of the shards."""
    padded = np.empty(local, part.dtype) if part.shape == local else np.zeros(local, part.dtype)
    padded[tuple(map(slice, part.shape))] = part
    padded.flags.writeable = False
    return padded


# In checkpoints


class HeldShard(NamedTuple):
    """What ranks of this process hold of an array."""

    start: tuple[int, ...]
    data: np.ndarray
    holder: int
    """The number of this process among those that hold the same, and how many these are."""
    holders: int


def is_shared(leaf: Any) -> bool:
    """Whether a leaf of a tree is an `Array` whose shards several ranks hold."""
    return isinstance(leaf, Array) and leaf.sharding.num_devices > 1


def ranks_with(leaf: Array) -> list[int]:
    """The ranks of this process that hold a part of an array."""
    return leaf._ranks()


def held_shards(x: Array, ranks: list[list[int]]) -> list[HeldShard]:
    """What the ranks of this process hold of an array, once each; `ranks` are those of each process that
    hold a part of it."""
    indices = _indices(x.sharding, x.shape)
    holders: dict[str, list[int]] = {}
    for process, members in enumerate(ranks):
        for key in {str(indices[rank]) for rank in members}:
            holders.setdefault(key, []).append(process)
    held = {}
    for rank, part in x._local_parts().items():
        index, sharers = indices[rank], holders[str(indices[rank])]
        start = tuple(each.indices(size)[0] for each, size in zip(index, x.shape))
        held[str(index)] = HeldShard(start, _without_padding(part, index, x.shape),
                                     sharers.index(distributed.process_index()), len(sharers))
    return [*held.values()]


def indices_answered_for(sharding: NamedSharding, shape: tuple[int, ...]) -> set[str]:
    """Of the places of shards those whose first rank is one of this process. A single rank is one of every
    process: the first one answers for it."""
    if sharding.num_devices == 1 and distributed.process_index() > 0:
        return set()
    first: dict[str, int] = {}
    for rank, index in _indices(sharding, shape).items():
        first.setdefault(str(index), rank)
    local = _local_ranks(sharding)
    return {index for index, rank in first.items() if rank in local}


# Making them


def make_array_from_callback(shape: Sequence[int], sharding: NamedSharding,
                             data_callback: Callable[[Index], Any], *, dtype: Any = None) -> Array:
    """An array of which each process makes what its ranks hold: `data_callback` takes the slices of
    a shard and returns its elements, as in JAX. It is called once for each shard that ranks of this
    process hold."""
    shape = tuple(int(size) for size in shape)
    if not isinstance(sharding, NamedSharding):
        raise TypeError(f"make_array_from_callback needs a NamedSharding, got {sharding!r}")
    local, indices = sharding.shard_shape(shape), _indices(sharding, shape)
    made: dict[str, np.ndarray] = {}
    parts = {}
    for rank in _local_ranks(sharding):
        index = indices[rank]
        if str(index) not in made:
            made[str(index)] = _part(data_callback(index), index, shape, local, dtype)
        parts[rank] = made[str(index)]
    dtypes = sorted({str(part.dtype) for part in parts.values()})
    if len(dtypes) > 1:
        raise ValueError(f"data_callback returned shards of the dtypes {' and '.join(dtypes)}; give dtype=")
    return Array(shape, next(iter(parts.values())).dtype, sharding, parts=parts)


def _part(data: Any, index: Index, shape: tuple[int, ...], local: tuple[int, ...], dtype: Any) -> np.ndarray:
    data = np.asarray(data, None if dtype is None else as_dtype(dtype))
    expected = tuple(len(range(*each.indices(size))) for each, size in zip(index, shape))
    if data.shape != expected:
        raise ValueError(f"data_callback returned the shape {data.shape} for the shard {index} of an array of "
                         f"shape {shape}; expected {expected}")
    return _with_padding(data, local)


def device_put(x: Any, device: Any) -> Any:
    """A tree of arrays on the ranks: `device` is a `NamedSharding`, or a prefix tree of them. In a
    job of several processes each has all of `x` and takes what its ranks hold. An argument that is
    not donated is moved to the ranks by the first call that gets it."""
    leaves, structure = trees.flatten(x)
    shardings = trees.broadcast_prefix(device, x, name="device")
    return structure.unflatten(map(_put, leaves, shardings))


def _put(leaf: Any, sharding: Any) -> Array:
    if not isinstance(sharding, NamedSharding):
        raise TypeError(f"device_put needs a NamedSharding for each array, got {sharding!r} of type "
                        f"{type(sharding).__name__}")
    check_unmasked(leaf, "device_put")
    whole = np.asarray(leaf)
    whole = whole.astype({"float64": np.float32, "int64": np.int32}.get(whole.dtype.name, whole.dtype), copy=False)
    return make_array_from_callback(whole.shape, sharding, lambda index: whole[index])


def init(function: Callable, *args: Any, mesh: Any = None, out_shardings: Any = None) -> Any:
    """What a function of `weft.numpy` returns for these arguments, as `Array`s: each rank computes and keeps its
    shards, and nothing is gathered. For states that no process could hold whole:

        state = weft.init(lambda key: model.init(key), weft.random.key(0), mesh=mesh, out_shardings=specs)

    `mesh` and `out_shardings` are those of `weft.jit`. All processes of a job call it alike."""
    from .jit import jit

    compiled = jit(function, mesh=mesh, out_shardings=out_shardings).lower(*args).compile()
    infos = {info.name: info for info in compiled.entry.outputs}

    def shards(session: Session, name: str) -> Array:
        info = infos[name]
        parts = {rank: session.shard(name, rank) for rank in session.ranks_with(name)}
        return Array(info.shape, info.dtype, info.sharding, parts=parts)

    return compiled.call_leaves(compiled.signature.leaves(args, {}), None, shards)


def gathered(x: Any) -> Any:
    """An `Array` as a whole array of NumPy in every process, all of which call it."""
    if not isinstance(x, Array):
        return np.asarray(x)
    x._check()
    if x._session is not None:
        return x._session.value(x._name)
    if x.is_fully_addressable:
        return x._value()
    return np.asarray(_gather(x.sharding)(x))


@functools.cache
def _gather(sharding: NamedSharding) -> Callable:
    from .jit import jit

    return jit(lambda x: x, mesh=sharding.mesh, in_shardings=sharding, out_shardings=PartitionSpec())


# Calls


class Residents:
    """The results of one entry of a session, which it leaves on the ranks, as arrays."""

    def __init__(self, session: Session, entry: EntryInfo):
        self._session, self._entry = session, entry
        # Partial sums are no shards.
        self._results = [(i, info) for i, info in enumerate(entry.outputs) if not info.sharding.spec.unreduced]
        # By the name of a result the array that is there, and by the number of another input the one that it got last.
        self._held: dict[str, weakref.ref[Array]] = {}
        self._given: dict[int, weakref.ref[Array]] = {}

    def call(self, values: Sequence[Any], all_stay: bool) -> list[Any]:
        """The results of the entry of arrays of NumPy and `Array`s, of the types of the inputs. They are
        `Array`s: all of them, or those that replace one."""
        values, donated, given = list(values), set(), {}
        names = {info.name for info, value in zip(self._entry.inputs, values) if type(value) is Array}
        stay = [(i, info) for i, info in self._results if all_stay or info.name in names]
        for i, value in enumerate(values):
            if type(value) is Array:
                values[i] = self._moved(i, value, donated)
                if not self._entry.inputs[i].is_state:
                    given[i] = weakref.ref(value)
        self.leave(donated)
        self._set_shards(values)
        self._given = given
        try:
            results = self._session.call_some(self._entry.name, values, frozenset(i for i, _ in stay))
        finally:
            for name in donated:
                if (array := self._held[name]()) is not None:
                    array._delete("it was donated to a call, whose result has its memory")
        for i, info in stay:
            results[i] = Array(info.shape, info.dtype, info.sharding, session=self._session, name=info.name)
            self._held[info.name] = weakref.ref(results[i])
        return results

    def leave(self, donated: Set[str] = frozenset()) -> None:
        """Before a run: results of earlier ones that are not donated to it keep their values. What inputs
        have got is forgotten."""
        for name in self._held.keys() - donated:
            if (array := self._held.pop(name)()) is not None:
                array._leave_ranks()
        self._given = {}

    def _moved(self, i: int, value: Array, donated: set[str]) -> Any:
        """What the input gets: None if the ranks have the array already."""
        value._check()
        info = self._entry.inputs[i]
        held = self._held.get(info.name) if info.is_state else self._given.get(i)
        if held is not None and held() is value:
            if info.is_state:
                donated.add(info.name)
            return None
        parts = value._all_local_parts() if _is_laid_out(value.sharding, info) else None
        return value._value() if parts is None else parts

    def _set_shards(self, values: list[Any]) -> None:
        for i, value in enumerate(values):
            if isinstance(value, dict):
                self._session.set_parts(self._entry.name, self._entry.inputs[i].name, value)
                values[i] = None


def _is_laid_out(sharding: NamedSharding, info: ValueInfo) -> bool:
    """Whether the shards of an array are those of an input."""
    ndim = len(info.shape)
    return (sharding.num_devices == info.sharding.num_devices and _devices(sharding) == _devices(info.sharding)
            and sharding.layout(ndim) == info.sharding.layout(ndim))


def _devices(sharding: NamedSharding) -> tuple[int, ...]:
    mesh = sharding.mesh
    return tuple(mesh.devices.flat) if isinstance(mesh, Mesh) else tuple(range(mesh.size))
