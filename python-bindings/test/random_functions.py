# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random functions of matrices, as lists of steps that Weft and JAX both run.

Rows do not meet: what is wrong in one of them is wrong whatever is in the others.
"""

import dataclasses

import numpy as np

ROWS, COLUMNS, INPUTS = 24, 4, 3


def _numpy(name, **options):
    return lambda x, *values: getattr(x.numpy, name)(*values, **options)


def _nn(name, **options):
    return lambda x, *values: getattr(x.nn, name)(*values, **options)


def _along(name):
    """Of each row, as a column that broadcasts."""
    return lambda x, v: getattr(x.numpy, name)(v, axis=-1, keepdims=True)


def _where(x, a, b, c):
    return x.numpy.where(a > b, c, a)


UNARY = {
    **{name: _numpy(name) for name in (
        "exp exp2 expm1 log log2 log10 log1p sqrt square reciprocal sin cos tan sinh cosh tanh abs negative sign "
        "floor").split()},
    **{name: _nn(name) for name in (
        "relu relu6 sigmoid silu softplus log_sigmoid soft_sign squareplus mish elu celu selu leaky_relu hard_tanh "
        "hard_sigmoid hard_silu softmax log_softmax").split()},
    "gelu": _nn("gelu", approximate=False),
    **{f"x**{n}": lambda _, v, n=n: v**n for n in (2, 3, -1, -2, 0.5)},
    "rsqrt": lambda x, v: x.lax.rsqrt(v), "erf": lambda x, v: x.lax.erf(v),
    "logistic": lambda x, v: x.lax.logistic(v),
    "clip": lambda x, v: x.numpy.clip(v, -2, 3),
    **{name: _along(name) for name in ("sum", "mean", "max", "min", "prod", "var")},
    "logsumexp": lambda x, v: x.nn.logsumexp(v, axis=-1, keepdims=True),
    "cumsum": _numpy("cumsum", axis=-1),
}
BINARY = {name: _numpy(name) for name in (
    "add subtract multiply divide maximum minimum logaddexp power").split()}
TERNARY = {"where": _where}


@dataclasses.dataclass(frozen=True)
class Step:
    name: str
    operands: tuple[int, ...]

    def __str__(self):
        return f"{self.name}({', '.join(f'v{i}' for i in self.operands)})"


def program(seed):
    """Steps whose operands are the inputs and the results of earlier ones; the last one counts."""
    random = np.random.default_rng(seed)
    steps = []
    for _ in range(random.integers(1, 7)):
        table = [UNARY, UNARY, BINARY, BINARY, TERNARY][random.choice(5, p=[0.3, 0.25, 0.2, 0.2, 0.05])]
        count = 1 if table is UNARY else 2 if table is BINARY else 3
        known = INPUTS + len(steps)
        # Mostly the newest value, so that programs are deep.
        operands = [known - 1 if random.random() < 0.6 else random.integers(known) for _ in range(count)]
        steps.append(Step(str(random.choice(list(table))), tuple(map(int, operands))))
    return steps


def run(x, steps, values, disturb=lambda value: value):
    """The values of all steps; each of them, and every operand of it, as `disturb` leaves it."""
    values = list(values)
    for step in steps:
        function = (UNARY | BINARY | TERNARY)[step.name]
        values.append(disturb(function(x, *(disturb(values[i]) for i in step.operands))))
    return values[INPUTS:]


def arguments(seed):
    """Rows of numbers about 1, and of every magnitude; some that are special."""
    random = np.random.default_rng((seed, 1))
    shape = (INPUTS, ROWS, COLUMNS)
    magnitude = 10.0 ** np.where(random.random((INPUTS, ROWS, 1)) < 0.5, random.uniform(-2, 2, shape),
                                 random.uniform(-37, 38, shape))
    values = random.choice([-1, 1], shape) * magnitude
    special = random.choice([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 3.4e38, -90, 90, 2, 1e-30], shape)
    rows = np.arange(ROWS)[:, None] % 3 == 0
    return list(np.where(rows & (random.random(shape) < 0.4), special, values).astype(np.float32))
