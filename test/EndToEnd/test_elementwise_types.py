# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every op of arith and math with every type, compiled for one rank and for four, against
NumPy. One plan a number of ranks; one entry a type."""

import re

import numpy as np
import pytest
from conftest import succeed
from elementwise_cases import CASES, FLOATS, INTEGERS, LEAST_EXPONENT, MANTISSA

SHAPE = (8, 37)
COUNT = 8 * 37
WIDTH = FLOATS | INTEGERS

# Op -> why there is no case for it.
WITHOUT_CASE = {
    "arith.constant": "it has no operand",
    "arith.scaling_extf": "kernels refuse it, which test/Unit/Codegen/MathTest.cpp shows",
    "arith.scaling_truncf": "kernels refuse it, which test/Unit/Codegen/MathTest.cpp shows",
    "arith.index_cast": "no tensor of a program has elements of type index",
    "arith.index_castui": "no tensor of a program has elements of type index",
}


# ===----------------------------------------------------------------------===
# Numbers, as their bits
# ===----------------------------------------------------------------------===


def decode(bits, t):
    """Bits as longdouble."""
    if t == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.longdouble)
    return bits.view({"f16": np.float16, "f32": np.float32, "f64": np.float64}[t]).astype(
        np.longdouble)


def storage(t):
    return np.dtype(f"u{max(WIDTH[t], 8) // 8}")


def samples(t, seed):
    """Bits of special numbers and of numbers of every magnitude, of integers near the limits
    too, each operand's in an order of its own."""
    random = np.random.default_rng([seed, *t.encode()])
    width = WIDTH[t]
    bits = random.integers(0, 1 << width, COUNT, np.uint64, endpoint=False) if width < 64 \
        else random.integers(0, 2**64 - 1, COUNT, np.uint64, endpoint=True)
    if t in FLOATS:
        mantissa = MANTISSA[t] - 1
        one = ((1 << (width - 2)) - (1 << mantissa))
        infinity = ((1 << (width - 1 - mantissa)) - 1) << mantissa
        special = [0, 1, 1 << mantissa, (1 << mantissa) - 1, one, one + 1, one - 1,
                   one + (1 << (mantissa - 1)), one - (1 << mantissa), one + (1 << mantissa),
                   infinity - 1, infinity, infinity + (1 << (mantissa - 1))]
        special += [number + (1 << (width - 1)) for number in special]
        # Most functions are interesting between 2^-10 and 2^10.
        near = slice(len(bits) // 3, None)
        exponents = random.integers(-10, 11, COUNT, np.int64)
        shift = np.uint64(mantissa)
        bits[near] = ((bits & np.uint64((1 << mantissa) - 1 | 1 << (width - 1)))
                      | ((np.uint64(one >> mantissa) + exponents.astype(np.uint64)) << shift))[near]
    else:
        top = 1 << width
        special = [n % top for n in (0, 1, -1, 2, -2, 3, -3, 7, width - 1, width, width + 1,
                                     top // 2, top // 2 - 1, top // 2 + 1)]
        # Shifts and powers by little.
        few = random.integers(0, 80, COUNT // 4, np.uint64) % np.uint64(min(top, 2**63))
        bits[-len(few):] = few
    bits[:len(special)] = special
    if t == "bf16":  # a NaN has lost its payload where it was made
        nan = (bits & np.uint64(0x7fff)) > np.uint64(0x7f80)
        bits[nan] = bits[nan] & np.uint64(0x8000) | np.uint64(0x7fc0)
    # Every special number with every other one, for the most part.
    return random.permutation(bits).astype(storage(t))


def operands_of(types):
    return [samples(t, seed) for seed, t in enumerate(types)]


# ===----------------------------------------------------------------------===
# The program
# ===----------------------------------------------------------------------===

SHARDED = 'weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>'


def tensor(t):
    return f"tensor<{'x'.join(map(str, SHAPE))}x{t}>"


def outside(t):
    """Files have no bf16."""
    return "f32" if t == "bf16" else t


def entry(name, cases):
    inputs = sorted({(t, i) for case in cases for i, t in enumerate(case.operands)})
    lines, outputs = [], []
    for t, i in inputs:
        raw = f"%in_{t}_{i}"
        if t == "bf16":
            lines.append(f"%{t}_{i} = arith.truncf {raw} : {tensor('f32')} to {tensor(t)}")
    for number, case in enumerate(cases):
        names = {"xyz"[i]: f"%{t}_{i}" if outside(t) != t else f"%in_{t}_{i}"
                 for i, t in enumerate(case.operands)}
        names |= {f"r{i}": f"%r{number}_{i}" for i in range(len(case.results))}
        lines.append(case.line.format(**names, **{t: tensor(t) for t in WIDTH}))
        for i, t in enumerate(case.results):
            value = f"%r{number}_{i}"
            if t == "bf16":
                lines.append(f"{value}_out = arith.extf {value} : {tensor(t)} to {tensor('f32')}")
                value += "_out"
            outputs.append((value, tensor(outside(t)), f"{name}.r{number}_{i}"))
    arguments = ", ".join(f'%in_{t}_{i}: {tensor(outside(t))} '
                          f'{{weft.name = "{name}.{t}_{i}", {SHARDED}}}' for t, i in inputs)
    types = ", ".join(f'{kind} {{weft.name = "{label}", {SHARDED}}}' for _, kind, label in outputs)
    body = "\n  ".join(lines)
    return (f"func.func @{name}({arguments}) -> ({types}) {{\n  {body}\n"
            f"  return {', '.join(value for value, _, _ in outputs)}"
            f" : {', '.join(kind for _, kind, _ in outputs)}\n}}\n", inputs, outputs)


def program(ranks, entries):
    """The text of entries on a mesh of `ranks` devices."""
    return f'weft.mesh @mesh = <["x"={ranks}]>\n' + "\n".join(text for text, _, _ in entries)


@pytest.fixture(scope="module", params=[1, 4], ids=lambda ranks: f"{ranks}-ranks")
def computed(request, tmp_path_factory):
    """(entry, case, result) -> bits."""
    folder = tmp_path_factory.mktemp("elementwise")
    entries = {name: entry(name, cases) for name, cases in CASES.items()}
    source, plan = folder / "cases.mlir", folder / "cases.plan"
    source.write_text(program(request.param, entries.values()))
    report = succeed("shard-compile", source, "-o", plan).stdout
    # Kernels, and no communication.
    assert set(re.findall(r"^entry (\w+): \d+ kernel launch(?:es)?$", report, re.MULTILINE)) == set(entries)
    assert re.search(r"launch .* flops [1-9]", succeed("shard-run", plan, "--dump=f32").stdout)
    found = {}
    for name, (_, inputs, outputs) in entries.items():
        arguments = []
        for t, i in inputs:
            bits = samples(t, i).reshape(SHAPE)
            if t == "bf16":
                bits = bits.astype(np.uint32) << 16
            array = bits.astype(bool) if t == "i1" else bits.view(
                f"{'i' if t in INTEGERS else 'f'}{bits.itemsize}")
            np.save(folder / f"{name}.{t}_{i}.npy", array)
            arguments += ["--input", f"{name}.{t}_{i}={folder / name}.{t}_{i}.npy"]
        for _, _, label in outputs:
            arguments += ["--output", f"{label}={folder / label}.npy"]
        succeed("shard-run", plan, "--entry", name, "--quiet", *arguments)
        for value, _, label in outputs:
            array = np.load(folder / f"{label}.npy").reshape(-1)
            bits = array.view(f"u{array.itemsize}")
            found[label] = (bits >> 16).astype(np.uint16) if value.endswith("_out") else bits
    return found


# ===----------------------------------------------------------------------===
# Comparing
# ===----------------------------------------------------------------------===


def unit(x, t):
    """Of the last place of t at x."""
    _, exponent = np.frexp(np.where(np.isfinite(x), x, 1))
    return np.ldexp(np.longdouble(1), np.maximum(exponent - 1, LEAST_EXPONENT[t])
                    - MANTISSA[t] + 1)


def errors(got, want, t):
    """Units between `got` and the exact number; infinite where one is a NaN, or an infinity
    that the other is not near."""
    limit = np.ldexp(np.longdouble(2) - np.ldexp(np.longdouble(1), 1 - MANTISSA[t]),
                     1 - LEAST_EXPONENT[t])
    beyond = limit + unit(limit, t) / 2
    apart = np.where(np.abs(want) >= beyond, np.copysign(np.inf, want), want)
    same = (got == apart) | (np.isnan(got) & np.isnan(want))
    # Next to the largest number an error of some units is an infinity.
    got = np.where(np.isinf(got) & np.isfinite(apart),
                   np.copysign(limit + unit(limit, t), got), got)
    want = np.where(np.isinf(apart) & np.isfinite(got), np.copysign(limit + unit(limit, t), want),
                    want)
    with np.errstate(invalid="ignore"):
        distance = np.abs(got - want) / unit(want, t)
    return np.where(same, 0, np.where(np.isnan(distance), np.inf, distance))


def bound_of(case, t):
    """16 bits are rounded from f32, within whose bound they are."""
    if case.error == 0:
        return 0
    slack = 2 ** -9
    return 0.5 + 4 * 2**-12 + slack if WIDTH[t] == 16 else case.error + slack


def bits_of(values, t):
    mask = (1 << WIDTH[t]) - 1
    return np.array([int(value) & mask for value in values], np.uint64)


def check(case, operands, results):
    if case.reference is None:  # bits, moved
        want = operands[0] if len(operands) == 1 else np.where(operands[0] != 0, *operands[1:])
        np.testing.assert_array_equal(results[0], want)
        return
    read = [decode(bits, t) if t in FLOATS else bits
            for bits, t in zip(operands, case.operands, strict=True)]
    with np.errstate(all="ignore"):
        wanted = case.reference(*read)
    for got, want, t in zip(results, wanted if isinstance(wanted, tuple) else (wanted,),
                            case.results, strict=True):
        if t in INTEGERS:
            wrong = got.astype(np.uint64) != bits_of(want, t)
        else:
            got, want = decode(got, t), np.asarray(want, np.longdouble)
            bound = bound_of(case, t)
            wrong = errors(got, want, t) > bound
            wrong |= (got == 0) & (want == 0) & (np.signbit(got) != np.signbit(want))
        at = np.flatnonzero(wrong)[:4]
        assert not len(at), "\n".join(f"{[str(x[i]) for x in read]} gives {got[i]}, not {want[i]}"
                                      for i in at)


@pytest.mark.parametrize("name", CASES)
def test_numbers(computed, name):
    failures = []
    for number, case in enumerate(CASES[name]):
        results = [computed[f"{name}.r{number}_{i}"] for i in range(len(case.results))]
        try:
            check(case, operands_of(case.operands), results)
        except AssertionError as error:
            failures.append(f"{case.line}\n{error}")
    assert not failures, "\n\n".join(failures)


def test_every_op_has_a_case_or_a_reason(tmp_path):
    empty = tmp_path / "empty.mlir"
    empty.write_text("module {}\n")
    run = succeed("shard-opt", empty, "--weft-print-op-interfaces", "-o", "/dev/null")
    ops = set(re.findall(r"remark: ((?:arith|math)\.\w+): ", run.stderr))
    assert ops == {case.op for cases in CASES.values() for case in cases} | set(WITHOUT_CASE)
