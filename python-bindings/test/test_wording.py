# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Messages and causes of programs that come from Python have specs for shardings."""

import pytest

from weft.wording import as_python, with_places


@pytest.mark.parametrize("text, expected", [
    ('"w" held as [{"data"}, {}], needed as [{}, {}] by weft.dot_general (mlp.py:6)',
     """"w" held as P('data', None), needed as P(None, None) by dot_general (mlp.py:6)"""),
    ('partial sums over {"data", "model"} of arith.mulf (f.py:1), needed as [] by result "y"',
     'partial sums over "data", "model" of mul (f.py:1), needed as P() by result "y"'),
    ('x held as [{"data", "model":(2)4}, {?}], unreduced={"seq"}, needed as [{"data", ?}] by math.tanh (f.py:2)',
     "x held as P(('data', 'model:(2)4'), UNCONSTRAINED, unreduced={'seq'}), "
     "needed as P(('data', UNCONSTRAINED),) by tanh (f.py:2)"),
    ('cannot reshard #weft.sharding<@mesh, [{}]> to #weft.sharding<@mesh, [{"a"}]> for x',
     "cannot reshard P(None,) to P('a',) for x"),
    ("got [2, 3] as [4] over 3 weft.compile", "got [2, 3] as [4] over 3 weft.compile"),
    ("by arith.select (f.py:3)", "by select (f.py:3)"),
    ('  all_gather  x  64  1  arith.mulf (f.py:1) held as [{"x"}], needed as [{}] by weft.reduce (f.py:2)\n',
     "  all_gather  x  64  1  mul (f.py:1) held as P('x',), needed as P(None,) by reduce (f.py:2)\n"),
    ("by arith.minsi (f.py:3)", "by min (f.py:3)"),
    ("of weft.dot_general (f.py:3), needed as [] by arith.subf there",
     "of dot_general (f.py:3), needed as P() by sub there"),
    ("weft.reduce (f.py:3) held as [], needed as [] for several users, the first arith.subf there",
     "reduce (f.py:3) held as P(), needed as P() for several users, the first sub there"),
])
def test_the_words_of_python(text, expected):
    assert as_python(text) == expected


@pytest.mark.parametrize("cause, expected", [
    ("of reduce (gradient of w['a (b)'], f.py:3), needed as P() by sub there",
     "of reduce (gradient of w['a (b)'], f.py:3), needed as P() by sub (gradient of w['a (b)'], f.py:3)"),
    ("2 collectives in one:\n8 B: of a (f.py:1), needed as P() by b there\n8 B: of c (f.py:2), needed as P() by d there",
     "2 collectives in one:\n8 B: of a (f.py:1), needed as P() by b (f.py:1)\n8 B: of c (f.py:2), needed as P() by d (f.py:2)"),
    *[(text, text) for text in ('of a (f.py:1), needed as P() by result "over there"', "")],
])
def test_a_place_that_is_not_repeated(cause, expected):
    assert with_places(cause) == expected
