# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs as text of both compilers."""

from __future__ import annotations


def weft_text(program):
    """A module of Weft with the program as @main."""
    mesh = ", ".join(f'"{name}"={size}' for name, size in program.mesh.items())
    return f"weft.mesh @mesh = <[{mesh}]>\n" + function_text(
        program, "weft.sharding = #weft.sharding", weft_op
    )


def stablehlo_text(program, weft_rules=()):
    """A module of StableHLO with the program as @main. The ops named in `weft_rules` have
    Weft's sharding rule instead of Shardy's own."""
    mesh = ", ".join(f'"{name}"={size}' for name, size in program.mesh.items())

    def op_text(*op):
        return stablehlo_op(*op, weft_rules)

    return f"sdy.mesh @mesh = <[{mesh}]>\n" + function_text(
        program, "sdy.sharding = #sdy.sharding", op_text
    )


def function_text(program, attribute, op_text):
    def annotated(type_, sharding):
        return f"{type_} {{{attribute}{sharding.text(program.mesh)}}}" if sharding else str(type_)

    arguments = ", ".join(
        f"%v{i}: {annotated(type_, program.annotations.get(i))}"
        for i, type_ in enumerate(program.arguments)
    )
    results = ", ".join(
        annotated(program.type_of(value), program.result_annotations.get(i))
        for i, value in enumerate(program.results)
    )
    lines = [f"func.func @main({arguments}) -> ({results}) {{"]
    for index, op in enumerate(program.ops):
        value = len(program.arguments) + index
        lines.append(f"  {op_text(program, op, value)}")
    names = ", ".join(f"%v{value}" for value in program.results)
    types = ", ".join(str(program.type_of(value)) for value in program.results)
    lines += [f"  return {names} : {types}" if names else "  return", "}"]
    return "\n".join(lines) + "\n"


def weft_op(program, op, value):
    names = [f"%v{operand}" for operand in op.operands]
    sharding = program.annotations.get(value)
    text = sharding.text(program.mesh) if sharding else ""
    if op.weft == "constraint":
        return f"%v{value} = weft.constraint {names[0]} {text} : {op.type}"
    attrs = f"{{weft.shardings = [#weft.sharding{text}]}}" if text else ""
    return f"%v{value} = {op.weft.format(*names, attrs=attrs)}"


def stablehlo_op(program, op, value, weft_rules):
    names = [f"%v{operand}" for operand in op.operands]
    types = [str(program.type_of(operand)) for operand in op.operands]
    sharding = program.annotations.get(value)
    text = sharding.text(program.mesh) if sharding else ""
    if op.weft == "constraint":
        return f"%v{value} = sdy.sharding_constraint {names[0]} {text} : {op.type}"
    name, properties, region = op.stablehlo
    before = ""
    if name in ("reduce", "pad"):
        before = f'%i{value} = "stablehlo.constant"() <{{value = dense<0.0> : tensor<f32>}}> : () -> tensor<f32>\n  '
        names.append(f"%i{value}")
        types.append("tensor<f32>")
    attrs = [f"sdy.sharding = #sdy.sharding_per_value<[{text}]>"] if text else []
    attrs += [f"sdy.sharding_rule = {op.rule}"] if name in weft_rules and op.rule else []
    return (
        f'{before}%v{value} = "stablehlo.{name}"({", ".join(names)})'
        + (f" <{{{properties}}}>" if properties else "")
        + (f" {region}" if region else "")
        + (f" {{{', '.join(attrs)}}}" if attrs else "")
        + f" : ({', '.join(types)}) -> {op.type}"
    )
