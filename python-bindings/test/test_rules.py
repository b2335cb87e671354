# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules over parameter paths, and the table of what they came to."""

import io

import pytest

import weft
from weft import IndivisibleError, Mesh, P, ShapeDtypeStruct, SpecError
from weft.path_groups import group_paths

MESH = Mesh((2, 4), ("data", "model"))


def array(*shape):
    return ShapeDtypeStruct(shape, "float32")


def model(layers=2, width=64, vocabulary=1001):
    def block():
        return {
            "ln": {"scale": array(width)},
            "attn": {"wq": array(width, width), "wo": array(width, width)},
        }

    return {"blocks": [block() for _ in range(layers)], "wte": array(vocabulary, width)}


RULES = [
    ("blocks/.*/attn/w[qkv]", P("data", "model")),
    ("blocks/.*/attn/wo", P("model", "data")),
    ("blocks/.*/scale", P()),
    ("wte", P(None, "model")),
]


def refused(call, *args, error=SpecError):
    with pytest.raises(error) as raised:
        call(*args)
    assert type(raised.value) is error
    return str(raised.value)


def test_rules_give_a_tree_of_specs():
    specs = weft.rules(RULES)(model(layers=1))
    block = {"attn": {"wq": P("data", "model"), "wo": P("model", "data")}, "ln": {"scale": P()}}
    assert specs == {"blocks": [block], "wte": P(None, "model")}


def test_the_first_rule_that_matches_wins():
    specs = weft.rules([("blocks/0/.*", P("data")), (".*", P())])(model())
    assert specs["blocks"][0]["ln"]["scale"] == P("data")
    assert specs["blocks"][1]["ln"]["scale"] == P()


def test_unmatched_parameters_and_idle_rules_are_reported_together():
    rules = weft.rules(
        [
            ("attn/wq", P("data")),
            ("blocks/.*/attn/.*", P()),
            ("blocks/.*/attn/wo", P("model")),
            ("wtf", P()),
        ]
    )
    assert refused(rules, model()) == (
        "rules: 3 of 7 parameters match no rule, 3 of 4 rules never apply\n"
        "  no rule matches blocks/{0..1}/ln/scale: float32[64]\n"
        '    closest: rule 2 "blocks/.*/attn/.*"\n'
        "  no rule matches wte: float32[1001, 64]\n"
        '    closest: rule 4 "wtf"\n'
        '  to replicate what no rule matches, end the list with (".*", P())\n'
        '  rule 1 "attn/wq" matches no parameter\n'
        '    it matches only a part of "blocks/0/attn/wq"\n'
        '  rule 3 "blocks/.*/attn/wo" never applies\n'
        "    rule 2 before it has all 2 parameters that it matches: move it up\n"
        '  rule 4 "wtf" matches no parameter'
    )


def test_a_rule_that_matches_a_part_of_a_path():
    assert (
        'rule 1 "attn/w" matches only "attn/w" of it, and rules match whole paths: write '
        '".*attn/w.*"' in refused(weft.rules([("attn/w", P())]), model())
    )


def test_no_rules():
    assert "there are no rules" in refused(weft.rules([]), model())


def test_rules_with_a_mesh_check_shapes():
    rules = weft.rules([("w", P("model", "data")), (".*", P())])
    params = {"v": array(1001), "w": array(3, 64)}
    assert rules(params)["w"] == P("model", "data")
    assert refused(rules, params, MESH, error=IndivisibleError) == (
        "rules: 1 of 2 arrays cannot be sharded as written\n"
        "  w: float32[3, 64], P('model', 'data')\n"
        "    dimension 0 of size 3 is split 4 ways by 'model' (4): some devices would hold nothing of "
        "it\n"
        "    nearest legal: P(None, ('data', 'model')) (96 B a device) or P(None, 'data') (384 B a "
        "device); or pad dimension 0 to 4"
    )


def test_rules_that_are_none():
    assert refused(weft.rules, [("a(", P()), ("b", "data"), "c", (3, P()), ("ok", P())]) == (
        "4 rules cannot be used:\n"
        '  rule 1: "a(" is not a regular expression: missing ), unterminated subpattern at position 1\n'
        "  rule 2: \"b\" has 'data' of type str; expected a PartitionSpec\n"
        "  rule 3: expected a pair of a regular expression and a PartitionSpec, got 'c'\n"
        "  rule 4: expected a regular expression, got 3 of type int"
    )


def test_rules_print():
    assert repr(weft.rules([("a.*", P("x"))])) == "Rules([('a.*', P('x',))])"


def table(tree, specs, mesh=MESH):
    file = io.StringIO()
    weft.show_specs(tree, specs, mesh, file=file)
    return file.getvalue()


def test_the_table_of_rules():
    assert table(model(), weft.rules(RULES)) == (
        "parameter                    shape       dtype    rule                     spec             "
        "   bytes a device  why not sharded\n"
        "blocks/{0..1}/attn/wo (2x)   [64, 64]    float32  2 blocks/.*/attn/wo      P('model', "
        "'data')        4.00 KiB\n"
        "blocks/{0..1}/attn/wq (2x)   [64, 64]    float32  1 blocks/.*/attn/w[qkv]  P('data', "
        "'model')        4.00 KiB\n"
        "blocks/{0..1}/ln/scale (2x)  [64]        float32  3 blocks/.*/scale        P()              "
        "            512 B  P() replicates it\n"
        "wte                          [1001, 64]  float32  4 wte                    P(None, 'model') "
        "         62.6 KiB\n"
        "\n"
        "7 parameters on 8 devices ('data' 2 x 'model' 4)\n"
        "315 KiB in all, 71.1 KiB a device (22.6 %)\n"
        "512 B of it in 2 parameters that are not sharded\n"
    )


@pytest.mark.parametrize(
    ("arrays", "specs", "mesh", "reason"),
    [
        (array(64), P(None), MESH, "P() replicates it; P('model',) would leave 1/4 of it a device"),
        (array(64), P(), MESH, "P() replicates it; P('model',) would leave 1/4 of it a device"),
        (array(63), P(), MESH, "P() replicates it; no dimension divides by 'data' (2) or 'model' (4)"),
        (array(), P(), MESH, "P() replicates it"),
        (array(64), None, MESH, "no spec: left to propagation"),
        (array(64), P(P.UNCONSTRAINED), MESH, "unconstrained: left to propagation"),
        (array(64), P("x"), Mesh((1,), "x"), "'x' of the mesh has size 1"),
        (
            array(3, 8),
            P("model"),
            MESH,
            "ILLEGAL: dimension 0 of size 3 is split 4 ways by 'model' (4): some devices would hold "
            "nothing of it; nearest legal: P(None, 'model')",
        ),
        (array(50, 12), P("model"), MESH, "dimension 0 padded to 52: 4 % more"),
        (
            array(50, 11),
            P("model", "data"),
            MESH,
            "dimension 0 padded to 52 and dimension 1 padded to 12: 13 % more",
        ),
        (array(64), P("data"), MESH, ""),
    ],
)
def test_what_is_remarked(arrays, specs, mesh, reason):
    row = table({"w": arrays}, specs, mesh).splitlines()[1]
    assert row.endswith(reason) if reason else row.endswith("128 B")


def test_the_table_of_a_prefix_tree_says_where_specs_are_from():
    own = weft.NamedSharding(MESH, P("data"))
    text = table({**model(layers=1), "x": array(1)}, {"blocks": P(), "wte": own, "x": own})
    lines = text.splitlines()
    assert lines[0].split()[3] == "from"
    assert " blocks " in lines[1] and " wte " in lines[4]
    assert lines[-1] == "1 spec illegal, counted as not sharded"
    assert "(all)" in table(array(8), P())


def test_paths_group_where_they_say_all():
    def texts(*paths):
        return [str(group) for group in group_paths(paths)]

    assert texts("a/0/b", "a/1/b", "a/3/b") == ["a/{0,1,3}/b"]
    assert texts("a/0/1", "a/0/2", "a/1/1", "a/1/2") == ["a/{0..1}/{1..2}"]
    assert texts("a/0/1", "a/1/2") == ["a/0/1", "a/1/2"]
    assert texts("layer_0/w1", "layer_1/w1", "layer_0/w2") == ["layer_{0..1}/w1", "layer_0/w2"]
    assert texts("x['a'][0]", "x['a'][1]") == ["x['a'][{0..1}]"]


def test_a_rule_that_was_told_of_is_not_told_of_again():
    tree = {"block": {"w": weft.ShapeDtypeStruct((8,), "float32")}}
    assert refused(weft.rules([("block", P())]), tree) == (
        "rules: 1 of 1 parameter matches no rule, 1 of 1 rule never applies\n"
        "  no rule matches block/w: float32[8]\n"
        '    rule 1 "block" matches only "block" of it, and rules match whole paths: write "block.*"\n'
        '  to replicate what no rule matches, end the list with (".*", P())\n'
        '  rule 1 "block" matches no parameter'
    )
    assert refused(weft.rules([(".*w", P()), ("block/w", P())]), tree).endswith(
        "rule 1 before it has the only parameter that it matches: move it up"
    )


def test_paths_that_read_alike_are_told_apart():
    tree = {"a": {"b": weft.ShapeDtypeStruct((8,), "float32")}, "a/b": weft.ShapeDtypeStruct((4,), "float32"),
            "c/d": weft.ShapeDtypeStruct((2,), "float32")}
    rules = weft.rules([(r"\['a'\]\['b'\]", P("data")), (r"\['a/b'\]", P()), ("c/d", P("model"))])
    assert rules(tree) == {"a": {"b": P("data")}, "a/b": P(), "c/d": P("model")}
    text = refused(weft.rules([("a/b", P()), ("c/d", P())]), tree)
    assert "no rule matches ['a']['b']: float32[8]" in text
    assert "no rule matches ['a/b']: float32[4]" in text
