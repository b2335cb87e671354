# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports fixtures that were damaged at random: each import succeeds, or says
what is wrong; none crashes or hangs.

    pytest test/Import/test_mutations.py
    WEFT_MUTATION_SEED=7 WEFT_MUTATIONS=2000 pytest test/Import/test_mutations.py

A failure prints its seed and leaves the damaged text in the temporary folder
that pytest names.
"""

import concurrent.futures
import gzip
import os
import pathlib
import random
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "test" / "Import" / "inputs"
SEED = int(os.environ.get("WEFT_MUTATION_SEED", "1"))
COUNT = int(os.environ.get("WEFT_MUTATIONS", "300"))
SECONDS = 60


def flip_bytes(text, rng):
    """Other characters in place of a few."""
    chars = list(text)
    for _ in range(rng.randint(1, 4)):
        chars[rng.randrange(len(chars))] = chr(rng.randint(1, 126))
    return "".join(chars)


def drop_lines(text, rng):
    lines = text.split("\n")
    for _ in range(rng.randint(1, 3)):
        del lines[rng.randrange(len(lines))]
    return "\n".join(lines)


def repeat_line(text, rng):
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    return "\n".join(lines[:at] + [lines[at]] + lines[at:])


def cut_off(text, rng):
    return text[:rng.randrange(len(text))]


def in_random_line(pattern):
    """A mutation of one match of the pattern in a random line that has one."""
    def decorate(change):
        def mutate(text, rng):
            matches = list(re.finditer(pattern, text))
            match = rng.choice(matches)
            return text[:match.start()] + change(match, rng, matches) + text[match.end():]
        mutate.__name__ = change.__name__
        return mutate
    return decorate


@in_random_line(r"(?<![\w.%#])-?\d+(?![\w.])")
def change_number(match, rng, _):
    return str(rng.choice([-1, 0, 1, 2, 3, 7, 100, 2**31, 2**63, int(match[0]) + 1]))


@in_random_line(r"tensor<[^<>]*>")
def swap_type(match, rng, matches):
    return rng.choice(matches)[0]


@in_random_line(r"%\w+")
def swap_value(match, rng, matches):
    return rng.choice(matches)[0]


@in_random_line(r'"(?:stablehlo|chlo|sdy|func)\.\w+"')
def swap_op(match, rng, matches):
    return rng.choice(matches)[0]


@in_random_line(r"#\w+(?:\.\w+)?<[^<>]*>")
def swap_attribute(match, rng, matches):
    return rng.choice(matches)[0]


@in_random_line(r"[\w.]+ = (?:array<[^<>]*>|#\w+(?:\.\w+)?<[^<>]*>|dense<[^<>]*> : [^,}]*>|[^,<>{}]+)")
def drop_attribute(match, rng, _):
    return rng.choice(["", "x = 1", match[0].split(" = ")[0] + " = unit"])


@in_random_line(r"\[[^\[\]]*\]|array<[^<>]*>")
def damage_list(match, rng, _):
    inner = match[0]
    return inner.replace(rng.choice(inner), rng.choice(["", ",", "[", "?", "{", '"', "9"]), 1)


MUTATIONS = [flip_bytes, drop_lines, repeat_line, cut_off, change_number, swap_type,
             swap_value, swap_op, swap_attribute, drop_attribute, damage_list]


def fixtures():
    return [gzip.decompress(path.read_bytes()).decode() for path in sorted(FOLDER.iterdir())]


def compile_tool():
    folder = pathlib.Path(os.environ.get("WEFT_BIN", ROOT / "build" / "dev" / "bin"))
    return folder / "shard-compile"


def problem_with(number, texts, folder):
    """What is wrong with the import of a mutant, or none."""
    rng = random.Random(f"{SEED}/{number}")
    mutation = MUTATIONS[number % len(MUTATIONS)]
    path = folder / f"{number}.mlir"
    path.write_text(mutation(rng.choice(texts), rng))
    try:
        run = subprocess.run([compile_tool(), path, "--emit=graph", "-o", os.devnull],
                             capture_output=True, stdin=subprocess.DEVNULL, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return f"{path} ({mutation.__name__}) takes more than {SECONDS} s"
    if run.returncode == 0 or (run.returncode == 1 and b"error: " in run.stderr):
        path.unlink()
        return None
    return (f"{path} ({mutation.__name__}) ended with {run.returncode}\n"
            + run.stderr.decode(errors="replace")[-2000:])


def test_damaged_programs(tmp_path):
    print(f"seed {SEED}, {COUNT} mutants")
    texts = fixtures()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = list(filter(None, pool.map(
            lambda number: problem_with(number, texts, tmp_path), range(COUNT))))
    assert not problems, f"seed {SEED}:\n" + "\n".join(problems)
