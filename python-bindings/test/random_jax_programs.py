# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs in jax.numpy, jax.lax and jax.nn, as lists of steps, each of which computes a value
of earlier ones."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

SIZES = (2, 3, 4, 6, 8, 12)
UNARY = (jnp.tanh, jnp.sin, jnp.cos, jnp.abs, jnp.square, jax.nn.relu, jax.nn.gelu, jax.nn.sigmoid,
         jax.nn.silu, jax.nn.softplus, jnp.arctan, jnp.sign, jax.nn.elu, lambda x: jnp.exp(-jnp.abs(x)),
         lambda x: jnp.log1p(jnp.abs(x)), lambda x: jnp.sqrt(1 + x * x), lambda x: jnp.clip(x, -0.7, 0.9),
         lambda x: jax.lax.stop_gradient(x) * x, lambda x: jnp.where(x > 0.1, x, 0.3 * x),
         lambda x: jnp.floor(3 * x) * 0.1 + x, lambda x: x.astype(jnp.int32).astype(x.dtype) + x)
BINARY = (jnp.add, jnp.subtract, jnp.multiply, jnp.maximum, jnp.minimum, lambda x, y: x / (1 + y * y),
          lambda x, y: jnp.where(x > y, x, y * 0.5), jnp.logaddexp,
          lambda x, y: jnp.arctan2(x, 1 + y * y), lambda x, y: jnp.sqrt(x * x + y * y + 0.1))
REDUCTIONS = (jnp.sum, jnp.mean, jnp.max, jnp.min, jax.nn.logsumexp,
              lambda x, axis, keepdims: jnp.sqrt(jnp.var(x, axis=axis, keepdims=keepdims) + 0.05),
              lambda x, axis, keepdims: jnp.prod(jnp.tanh(x) + 1.1, axis=axis, keepdims=keepdims))
CUMULATIVE = (jnp.cumsum, lambda x, axis: jnp.cumprod(jnp.tanh(x) + 1.05, axis=axis),
              lambda x, axis: jax.lax.cummax(x, axis), lambda x, axis: jax.lax.cumsum(x, axis, reverse=True))
ALONG = (jnp.sort, jax.nn.softmax, jax.nn.log_softmax, jnp.flip,
         lambda x, axis: (x - x.mean(axis, keepdims=True)) / jnp.sqrt(x.var(axis, keepdims=True) + 1e-2),
         lambda x, axis: x / jnp.sqrt(jnp.mean(x * x, axis, keepdims=True) + 1e-2),
         lambda x, axis: jnp.take_along_axis(x, jnp.argsort(-x, axis), axis),
         lambda x, axis: jax.nn.standardize(x, axis, epsilon=1e-2))


@dataclasses.dataclass(frozen=True)
class Step:
    """What is computed of which values, by their numbers."""

    name: str
    compute: Callable
    operands: tuple[int, ...]


class Program:
    """A function of float32 arrays, which returns a loss, and what it is made of."""

    def __init__(self, seed: int, length: int = 12):
        self._random = np.random.default_rng(seed)
        self.inputs = [self._shape() for _ in range(self._random.integers(2, 4))]
        self.steps: list[Step] = []
        self._shapes = list(self.inputs)
        while len(self.steps) < length:
            step = self._step()
            if step is None:
                continue
            shape = self._result(step)
            if shape is not None:
                self.steps.append(step)
                self._shapes.append(shape)

    def __str__(self) -> str:
        texts = [f"v{i} = input {shape}" for i, shape in enumerate(self.inputs)]
        for number, step in enumerate(self.steps, len(self.inputs)):
            operands = ", ".join(f"v{i}" for i in step.operands)
            texts.append(f"v{number} = {step.name}({operands}) {self._shapes[number]}")
        return "\n".join(texts)

    def values(self, *inputs: Any) -> list[Any]:
        values = list(inputs)
        for step in self.steps:
            values.append(step.compute(*(values[i] for i in step.operands)))
        return values

    def loss(self, *inputs: Any) -> tuple[Any, Any]:
        """Of all values that nothing else uses; the last one beside it."""
        values = self.values(*inputs)
        used = {i for step in self.steps for i in step.operands}
        ends = [v for i, v in enumerate(values) if i not in used]
        return sum(jnp.mean(jnp.sin(v)) for v in ends), values[-1]

    # How it is made

    def _shape(self) -> tuple[int, ...]:
        return tuple(int(n) for n in self._random.choice(SIZES, self._random.integers(1, 4)))

    def _pick(self, least: int = 0) -> int | None:
        found = [i for i, shape in enumerate(self._shapes) if len(shape) >= least]
        # Later ones more often: long programs.
        weights = np.array([1.0 + i for i in found])
        return int(self._random.choice(found, p=weights / weights.sum())) if found else None

    def _of(self, choices: tuple) -> Any:
        return choices[self._random.integers(len(choices))]

    def _result(self, step: Step) -> tuple[int, ...] | None:
        """None for what is too large, or what JAX refuses."""
        arguments = [jax.ShapeDtypeStruct(self._shapes[i], jnp.float32) for i in step.operands]
        try:
            result = jax.eval_shape(step.compute, *arguments)
        except (TypeError, ValueError):
            return None
        fits = result.size <= 4096 and 0 not in result.shape and len(result.shape) <= 4
        return result.shape if fits and result.dtype == jnp.float32 else None

    def _step(self) -> Step | None:
        kind = self._of((self._unary, self._binary, self._binary, self._reduction, self._cumulative, self._along,
                         self._einsum, self._einsum, self._slice, self._pad, self._concat, self._gather,
                         self._gather, self._scatter, self._reshape, self._transpose, self._top_k, self._argmax,
                         self._scan, self._dynamic, self._roll, self._broadcast))
        return kind()

    def _one(self, name: str, compute: Callable, least: int = 1) -> Step | None:
        at = self._pick(least)
        return None if at is None else Step(name, compute, (at,))

    def _axis(self, at: int) -> int:
        return int(self._random.integers(len(self._shapes[at])))

    def _unary(self):
        number = self._random.integers(len(UNARY))
        return self._one(f"unary {number}", UNARY[number], 0)

    def _binary(self):
        number = self._random.integers(len(BINARY))
        first, function = self._pick(), BINARY[number]
        return Step(f"binary {number}", function, (first, self._pick()))

    def _reduction(self):
        number, at = self._random.integers(len(REDUCTIONS)), self._pick(1)
        if at is None:
            return None
        function, axis, keep = REDUCTIONS[number], self._axis(at), bool(self._random.integers(2))
        return Step(f"reduction {number} axis {axis} keepdims {keep}",
                    lambda x: function(x + 0.01, axis=axis, keepdims=keep), (at,))

    def _along_axis(self, kind: str, functions: tuple):
        number, at = self._random.integers(len(functions)), self._pick(1)
        if at is None:
            return None
        function, axis = functions[number], self._axis(at)
        return Step(f"{kind} {number} axis {axis}", lambda x: function(x, axis=axis), (at,))

    def _cumulative(self):
        return self._along_axis("cumulative", CUMULATIVE)

    def _along(self):
        return self._along_axis("along", ALONG)

    def _einsum(self):
        """Letters by sizes, so that dimensions of one size meet."""
        first, second = self._pick(1), self._pick(1)
        if first is None or second is None:
            return None
        letters: dict[tuple[int, int], str] = {}

        def named(shape):
            seen: dict[int, int] = {}
            text = ""
            for size in shape:
                count = seen.get(size, 0)
                seen[size] = count + 1
                text += letters.setdefault((size, count), chr(ord("a") + len(letters)))
            return text

        one, two = named(self._shapes[first]), named(self._shapes[second])
        every = sorted(set(one + two))
        keep = [c for c in every if self._random.random() < (0.4 if c in one and c in two else 0.8)]
        self._random.shuffle(keep)
        spec = f"{one},{two}->{''.join(keep)}"
        return Step(f"einsum {spec}", lambda x, y: jnp.einsum(spec, x, y) * 0.3, (first, second))

    def _slice(self):
        at = self._pick(1)
        if at is None:
            return None
        axis = self._axis(at)
        size = self._shapes[at][axis]
        start, step = int(self._random.integers(size)), int(self._of((1, 1, 2, -1)))
        index = (slice(None),) * axis + (slice(start, None, step),)
        return Step(f"slice {index}", lambda x: x[index], (at,))

    def _pad(self):
        at = self._pick(1)
        if at is None:
            return None
        shape = self._shapes[at]
        config = [tuple(int(n) for n in (*self._random.integers(-1, 3, 2), self._random.integers(2))) for _ in shape]
        return Step(f"pad {config}", lambda x: jax.lax.pad(x, np.float32(0.25).astype(x.dtype), config), (at,))

    def _concat(self):
        first = self._pick(1)
        if first is None:
            return None
        axis, shape = self._axis(first), self._shapes[first]
        others = [i for i, other in enumerate(self._shapes) if len(other) == len(shape) and all(
            a == b for d, (a, b) in enumerate(zip(other, shape)) if d != axis)]
        second = int(self._of(tuple(others)))
        return Step(f"concatenate axis {axis}", lambda x, y: jnp.concatenate([x, y], axis), (first, second))

    def _indices(self, size: int, count: int) -> np.ndarray:
        return self._random.integers(0, size, count).astype(np.int32)

    def _gather(self):
        at = self._pick(1)
        if at is None:
            return None
        axis = self._axis(at)
        size = self._shapes[at][axis]
        indices = self._indices(size, int(self._random.integers(1, 7)))
        if self._random.integers(2):
            # Computed ones, which change with the values.
            return Step(f"take computed axis {axis}", lambda x: jnp.take(
                x, jnp.argsort(jax.lax.stop_gradient(x).sum(tuple(d for d in range(x.ndim) if d != axis)))[:4],
                axis=axis), (at,))
        return Step(f"take {indices} axis {axis}", lambda x: jnp.take(x, indices, axis=axis), (at,))

    def _scatter(self):
        at = self._pick(1)
        if at is None:
            return None
        indices = self._indices(self._shapes[at][0], 3)
        way = self._of(("add", "set", "max", "min"))
        factor = np.linspace(0.5, 1.5, 3)
        return Step(f"at[{indices}].{way}", lambda x: getattr(x.at[indices], way)(
            (x[:1] * factor.astype(x.dtype).reshape(3, *[1] * (x.ndim - 1)))), (at,))

    def _reshape(self):
        at = self._pick(1)
        if at is None:
            return None
        size = int(np.prod(self._shapes[at]))
        cut = int(self._of(tuple(d for d in range(1, size + 1) if size % d == 0)))
        return Step(f"reshape {cut}", lambda x: x.reshape(cut, size // cut), (at,))

    def _transpose(self):
        at = self._pick(2)
        if at is None:
            return None
        order = tuple(int(i) for i in self._random.permutation(len(self._shapes[at])))
        return Step(f"transpose {order}", lambda x: x.transpose(order), (at,))

    def _top_k(self):
        return self._one("top_k", lambda x: jax.lax.top_k(x, min(2, x.shape[-1]))[0])

    def _argmax(self):
        number, at = int(self._random.integers(2)), self._pick(1)
        if at is None:
            return None
        axis, function = self._axis(at), (jnp.argmax, jnp.argmin)[number]
        return Step(f"arg{('max', 'min')[number]} axis {axis}",
                    lambda x: jax.nn.one_hot(function(x, axis=axis), x.shape[axis], dtype=x.dtype, axis=axis) * x, (at,))

    def _scan(self):
        at = self._pick(2)
        if at is None:
            return None
        return Step("scan", lambda x: jax.lax.scan(lambda c, row: ((c := jnp.tanh(c + row)), c * row), x[0], x)[1], (at,))

    def _dynamic(self):
        """A slice at an index that is computed, within bounds: XLA joins two that are not wrongly."""
        at = self._pick(1)
        if at is None:
            return None
        return Step("dynamic_slice", lambda x: jax.lax.dynamic_slice_in_dim(
            x, jnp.argmax(x.reshape(-1)) % (x.shape[0] // 2 + 1), x.shape[0] - x.shape[0] // 2), (at,))

    def _roll(self):
        at = self._pick(1)
        if at is None:
            return None
        axis, by = self._axis(at), int(self._random.integers(-3, 4))
        return Step(f"roll {by} axis {axis}", lambda x: jnp.roll(x, by, axis), (at,))

    def _broadcast(self):
        at, size = self._pick(), int(self._of(SIZES))
        return Step(f"broadcast {size}", lambda x: jnp.broadcast_to(x, (size, *x.shape)), (at,))
