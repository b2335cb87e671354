# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every op with a derivative, in programs small enough for finite differences.

A case computes %r from its operands %x0, %x1, ... in f64. Operands are drawn
where the op is smooth; what happens elsewhere is tested by its own values.
"""

import dataclasses

import numpy as np


def tensor(shape, element="f64"):
    return "tensor<" + "".join(f"{size}x" for size in shape) + element + ">"


def dense(values):
    """The literal of an array."""
    def text(part):
        return "[" + ", ".join(map(text, part)) + "]" if isinstance(part, list) else repr(part)
    return f"dense<{text(values.tolist())}>"


@dataclasses.dataclass
class Case:
    name: str
    shapes: list  # of the operands
    result: tuple  # shape of %r
    body: str
    low: float = -2.0
    high: float = 2.0

    def operands(self):
        random = np.random.default_rng(list(self.name.encode()))
        return [np.asarray(random.uniform(self.low, self.high, shape)) for shape in self.shapes]

    def function(self):
        """The private function @<name>: the sum of %r, each element weighted."""
        weights = np.random.default_rng(0).uniform(0.5, 1.5, self.result)
        result = tensor(self.result)
        arguments = ", ".join(f"%x{i}: {tensor(s)}" for i, s in enumerate(self.shapes))
        return f"""
func.func private @{self.name}({arguments}) -> tensor<f64> {{
  {self.body}
  %weights = arith.constant {dense(weights)} : {result}
  %weighted = arith.mulf %r, %weights : {result}
  %loss = weft.reduce sum %weighted dims = {list(range(len(self.result)))} : {result} -> tensor<f64>
  return %loss : tensor<f64>
}}"""


def unary(op, low=-2.0, high=2.0):
    dialect, _, mnemonic = op.partition(".")
    return Case(f"{dialect}_{mnemonic}", [(3, 4)], (3, 4),
                f"%r = {op} %x0 : tensor<3x4xf64>", low, high)


def binary(op, low=-2.0, high=2.0):
    dialect, _, mnemonic = op.partition(".")
    return Case(f"{dialect}_{mnemonic}", [(3, 4), (3, 4)], (3, 4),
                f"%r = {op} %x0, %x1 : tensor<3x4xf64>", low, high)


ELEMENTWISE = [
    unary("arith.negf"),
    binary("arith.addf"),
    binary("arith.subf"),
    binary("arith.mulf"),
    binary("arith.divf", 0.5, 2),
    binary("arith.maximumf"),
    binary("arith.minimumf"),
    binary("arith.maxnumf"),
    binary("arith.minnumf"),
    Case("arith_select", [(3, 4), (3, 4)], (3, 4), """
  %zero = arith.constant dense<0.0> : tensor<3x4xf64>
  %c = arith.cmpf olt, %x0, %zero : tensor<3x4xf64>
  %r = arith.select %c, %x0, %x1 : tensor<3x4xi1>, tensor<3x4xf64>"""),
    binary("arith.remf", 0.5, 2),
    unary("math.absf"),
    unary("math.exp"),
    unary("math.expm1"),
    unary("math.log", 0.2, 3),
    unary("math.log1p", -0.8, 3),
    unary("math.exp2"),
    unary("math.log2", 0.2, 3),
    unary("math.log10", 0.2, 3),
    unary("math.sqrt", 0.2, 3),
    unary("math.cbrt", 0.2, 3),
    binary("math.powf", 0.3, 2),
    Case("math_fpowi", [(2, 4)], (2, 4), """
  %n = arith.constant dense<[[-2, -1, 0, 1], [2, 3, 4, 5]]> : tensor<2x4xi32>
  %r = math.fpowi %x0, %n : tensor<2x4xf64>, tensor<2x4xi32>"""),
    unary("math.sin"),
    Case("math_sincos", [(3, 4)], (3, 4), """
  %s, %c = math.sincos %x0 : tensor<3x4xf64>
  %cc = arith.mulf %c, %c : tensor<3x4xf64>
  %r = arith.addf %s, %cc : tensor<3x4xf64>"""),
    unary("math.cos"),
    unary("math.tan", -1.2, 1.2),
    unary("math.sinh"),
    unary("math.cosh"),
    unary("math.asin", -0.9, 0.9),
    unary("math.acos", -0.9, 0.9),
    unary("math.atan"),
    unary("math.asinh"),
    unary("math.acosh", 1.2, 3),
    unary("math.atanh", -0.9, 0.9),
    binary("math.atan2"),
    unary("math.erf"),
    unary("math.erfc"),
    Case("math_clampf", [(3, 4)] * 2, (3, 4), """
  %half = arith.constant dense<0.5> : tensor<3x4xf64>
  %high = math.fma %x1, %x1, %half : tensor<3x4xf64>
  %low = arith.negf %high : tensor<3x4xf64>
  %r = math.clampf %x0 to [%low, %high] : tensor<3x4xf64>"""),
    unary("math.rsqrt", 0.2, 3),
    unary("math.tanh"),
    unary("math.floor"),
    unary("math.ceil"),
    unary("math.round"),
    unary("math.roundeven"),
    unary("math.trunc"),
    binary("math.copysign"),
    Case("math_fma", [(3, 4)] * 3, (3, 4), "%r = math.fma %x0, %x1, %x2 : tensor<3x4xf64>"),
]


def dot(name, lhs, rhs, result, batching="", contracting="[] x []"):
    batching = f"batching = {batching} " if batching else ""
    return Case(f"dot_{name}", [lhs, rhs], result,
                f"%r = weft.dot_general %x0, %x1 {batching}contracting = {contracting}"
                f" : ({tensor(lhs)}, {tensor(rhs)}) -> {tensor(result)}")


def grouped(name, op, lhs, rhs, result, flag=""):
    """Some rows are in no group, and a group has no rows."""
    types = ", ".join([tensor(lhs), tensor(rhs), tensor((2, 3), "i32")])
    return Case(name, [lhs, rhs], result, f"""%s = arith.constant dense<[[2, 0, 2], [1, 3, 1]]> : tensor<2x3xi32>
  %r = weft.{op} %x0, %x1 groups %s {flag} : ({types}) -> {tensor(result)}""")


GROUPED = [
    grouped("grouped_dot", "grouped_dot", (2, 5, 3), (3, 3, 4), (2, 5, 4)),
    grouped("grouped_dot_transposed", "grouped_dot", (2, 5, 4), (3, 3, 4), (2, 5, 3), "transposed"),
    grouped("grouped_outer", "grouped_outer", (2, 5, 3), (2, 5, 4), (3, 3, 4)),
]

DOT_GENERAL = [
    dot("matrix", (3, 4), (4, 5), (3, 5), contracting="[1] x [0]"),
    dot("lhs_transposed", (4, 3), (4, 5), (3, 5), contracting="[0] x [0]"),
    dot("rhs_transposed", (3, 4), (5, 4), (3, 5), contracting="[1] x [1]"),
    dot("both_transposed", (4, 3), (5, 4), (3, 5), contracting="[0] x [1]"),
    dot("vectors", (6,), (6,), (), contracting="[0] x [0]"),
    dot("outer", (3,), (2, 2), (3, 2, 2)),
    dot("matrix_vector", (3, 4), (4,), (3,), contracting="[1] x [0]"),
    dot("batched", (2, 3, 4), (2, 4, 5), (2, 3, 5), "[0] x [0]", "[2] x [1]"),
    dot("batch_inside", (3, 2, 4), (4, 5, 2), (2, 3, 5), "[1] x [2]", "[2] x [0]"),
    dot("two_batches", (2, 3, 2, 4), (4, 3, 2), (2, 3, 2), "[0, 1] x [2, 1]", "[3] x [0]"),
    dot("crossed_batches", (2, 3, 4), (3, 2, 4), (3, 2), "[1, 0] x [0, 1]", "[2] x [2]"),
    dot("two_contracted", (3, 2, 4), (4, 2, 5), (3, 5), contracting="[1, 2] x [1, 0]"),
    dot("contracted_apart", (2, 3, 4), (5, 4, 2), (3, 5), contracting="[2, 0] x [1, 2]"),
    dot("free_around", (2, 4, 3), (2, 4, 2), (2, 3, 2, 2), contracting="[1] x [1]"),
]


def move(name, operand, result, op):
    return Case(name, [operand], result,
                f"%r = weft.{op} : {tensor(operand)} -> {tensor(result)}")


SHAPE = [
    move("broadcast_scalar", (), (2, 3), "broadcast %x0 dims = []"),
    move("broadcast_rows", (3,), (2, 3), "broadcast %x0 dims = [1]"),
    move("broadcast_columns", (2,), (2, 3), "broadcast %x0 dims = [0]"),
    move("broadcast_size_1", (2, 1), (2, 3), "broadcast %x0 dims = [0, 1]"),
    move("broadcast_size_1_inside", (1, 3, 1), (2, 2, 3, 1), "broadcast %x0 dims = [0, 2, 3]"),
    move("reshape", (2, 6), (3, 4), "reshape %x0"),
    move("transpose", (2, 3, 4), (4, 2, 3), "transpose %x0 dims = [2, 0, 1]"),
    move("reduce_sum", (2, 3, 4), (3,), "reduce sum %x0 dims = [0, 2]"),
    move("reduce_max", (2, 3, 4), (2, 4), "reduce max %x0 dims = [1]"),
    move("reduce_min", (2, 3, 4), (), "reduce min %x0 dims = [0, 1, 2]"),
    Case("concat", [(2, 3), (2, 1), (2, 2)], (2, 6),
         "%r = weft.concat %x0, %x1, %x2 dim = 1"
         " : (tensor<2x3xf64>, tensor<2x1xf64>, tensor<2x2xf64>) -> tensor<2x6xf64>"),
    Case("rearrange", [(2, 6)], (2, 4),
         "%r = weft.rearrange %x0 dim = 1 map <[6] to [4], 2 to 0 for 3> value = 0.0 : f64 : (tensor<2x6xf64>) -> tensor<2x4xf64>"),
    Case("barrier", [(3, 4), (2,)], (3, 4),
         "%r = weft.barrier %x0 after %x1 : tensor<3x4xf64> after tensor<2xf64>"),
    Case("constraint", [(4, 3)], (4, 3),
         '%r = weft.constraint %x0 <@mesh, [{"x"}, {}]> : tensor<4x3xf64>'),
    # A value after the loop, and one of each micro-batch.
    *(Case(f"microbatch_{kind}", [(3, 4), (3,)], shape,
           f'%part = weft.microbatch_slice %x0 dim = 1 of <"{kind}", 4> : tensor<3x4xf64> -> tensor<3xf64>\n'
           f'  %own = weft.microbatch_use %x1 of <"{kind}", 4> : tensor<3xf64>\n'
           "  %product = arith.mulf %part, %own : tensor<3xf64>\n"
           "  %y = math.tanh %product : tensor<3xf64>\n"
           f'  %r = weft.microbatch_{kind} %y {leaves}')
      for kind, shape, leaves in (
          ("sum", (3,), 'of <"sum", 4> : tensor<3xf64>'),
          ("stack", (4, 3), 'dim = 0 of <"stack", 4> : tensor<3xf64> -> tensor<4x3xf64>'))),
]



def indexed(name, op, operand, indices, result, attributes):
    """`indices` may lie outside of the range: gather clamps them, scatter_add drops
    what comes with them."""
    indices = np.array(indices)
    kind = tensor(indices.shape, "i32")
    return Case(name, [operand], result, f"""%i = arith.constant {dense(indices)} : {kind}
  %r = weft.{op} %x0, %i {attributes} : ({tensor(operand)}, {kind}) -> {tensor(result)}""")


INDEXED = [
    move("slice", (4, 5), (2, 3), "slice %x0 starts = [1, 2] limits = [3, 5] strides = [1, 1]"),
    move("slice_strided", (6, 7), (3, 2), "slice %x0 starts = [0, 1] limits = [6, 7] strides = [2, 4]"),
    move("pad", (2, 3), (4, 5), "pad %x0 low = [1, 0] high = [0, 2] interior = [1, 0] value = 1.5 : f64"),
    indexed("gather_rows", "gather", (5, 3), [[0, 4, 1], [4, 9, -1]], (2, 3, 3), "dim = 0"),
    indexed("gather_columns", "gather", (3, 5), [4, 4], (3, 2), "dim = 1"),
    indexed("gather_batched", "gather", (2, 5, 3), [[0, 4, 4], [2, 2, 7]], (2, 3, 3),
            "dim = 1 batching = [0] x [0]"),
    indexed("gather_along", "gather", (3, 5), [[0, 1], [4, 4], [2, 0]], (3, 2),
            "dim = 1 batching = [0] x [0]"),
    indexed("scatter_add_rows", "scatter_add", (2, 3, 3), [[0, 4, 1], [4, 9, -1]], (5, 3), "dim = 0"),
    indexed("scatter_add_columns", "scatter_add", (3, 2), [4, 4], (3, 5), "dim = 1"),
    indexed("scatter_add_batched", "scatter_add", (2, 3, 3), [[0, 4, 4], [2, 2, 7]], (2, 5, 3),
            "dim = 1 batching = [0] x [0]"),
]



def composite(name, op, *shapes, words=()):
    """An op whose result has the shape of its first operand; `words` are the names of
    the others."""
    kinds = [tensor(shape) for shape in shapes]
    types = " ".join([kinds[0], *(f"{word} {kind}" for word, kind in zip(words, kinds[1:]))])
    return Case(name, list(shapes), shapes[0], f"%r = weft.{op} : {types}")


def norm(op, name, shape, dims, *words):
    sizes = tuple(shape[dim] for dim in dims)
    operands = " ".join(["%x0", *(f"{word} %x{i}" for i, word in enumerate(words, 1))])
    return composite(f"{op}_{name}", f"{op} {operands} dims = {list(dims)} epsilon = 1.0e-2",
                     shape, *[sizes] * len(words), words=words)


def cross_entropy(name, logits, labels, dim):
    """Labels below 0 count from the end."""
    labels = np.array(labels)
    kind = tensor(labels.shape, "i32")
    return Case(f"cross_entropy_{name}", [logits], labels.shape,
                f"""%l = arith.constant {dense(labels)} : {kind}
  %r = weft.cross_entropy %x0, %l dim = {dim} : ({tensor(logits)}, {kind}) -> {tensor(labels.shape)}""")


COMPOSITES = [
    composite("softmax_rows", "softmax %x0 dims = [1]", (3, 4)),
    composite("softmax_apart", "softmax %x0 dims = [0, 2]", (2, 3, 2)),
    composite("softmax_whole", "softmax %x0 dims = [0, 1]", (3, 2)),
    composite("log_softmax_rows", "log_softmax %x0 dims = [1]", (3, 4)),
    composite("log_softmax_columns", "log_softmax %x0 dims = [0]", (3, 4)),
    norm("layer_norm", "plain", (3, 4), [1]),
    norm("layer_norm", "scaled", (3, 4), [1], "scale"),
    norm("layer_norm", "biased", (3, 4), [1], "bias"),
    norm("layer_norm", "scaled_biased", (2, 3, 4), [2], "scale", "bias"),
    norm("layer_norm", "two_dims", (2, 3, 2), [0, 2], "scale", "bias"),
    norm("rms_norm", "plain", (3, 4), [0]),
    norm("rms_norm", "scaled", (3, 4), [1], "scale"),
    composite("gelu_exact", "gelu %x0", (3, 4)),
    composite("gelu_approximate", "gelu approximate %x0", (3, 4)),
    composite("silu", "silu %x0", (3, 4)),
    composite("logistic", "logistic %x0", (3, 4)),
    composite("sech_squared", "sech_squared %x0", (3, 4)),
    cross_entropy("rows", (3, 5), [4, 0, 2], 1),
    cross_entropy("inside", (2, 5, 3), [[0, -5, -1], [1, 2, 3]], 1),
]


def attention(name, query, key, result, mask="", extra=""):
    """%out or %logsumexp as %r."""
    rows = tensor(query[:3])
    diagonal = ", tensor<i32>" if "diagonal" in mask else ""
    out, logsumexp = ("%r", "%l") if result == query else ("%o", "%r")
    return Case(f"attention_{name}", [query, key, key], result, f"""{extra}
  {out}, {logsumexp} = weft.attention %x0, %x1, %x2 {mask} scale = 0.75
      : ({tensor(query)}, {tensor(key)}, {tensor(key)}{diagonal}) -> ({tensor(query)}, {rows})""")


DIAGONAL = "%d = arith.constant dense<2> : tensor<i32>"
ATTENTION = [
    attention("plain", (2, 3, 2, 3), (2, 4, 2, 3), (2, 3, 2, 3)),
    attention("grouped", (1, 3, 4, 2), (1, 3, 2, 2), (1, 3, 4, 2)),
    attention("causal", (1, 4, 2, 2), (1, 4, 1, 2), (1, 4, 2, 2), "causal"),
    attention("diagonal", (1, 2, 2, 2), (1, 5, 1, 2), (1, 2, 2, 2), "causal diagonal %d", DIAGONAL),
    attention("logsumexp", (1, 3, 2, 2), (1, 4, 1, 2), (1, 3, 2)),
]


def convolution(name, x, w, result, strides, low, high, lhs_dilation, rhs_dilation, groups):
    return Case(f"convolution_{name}", [x, w], result,
                f"%r = weft.convolution %x0, %x1 strides = {strides} low = {low} high = {high} "
                f"lhs_dilation = {lhs_dilation} rhs_dilation = {rhs_dilation} groups = {groups} : "
                f"({tensor(x)}, {tensor(w)}) -> {tensor(result)}")


def reduce_window(name, kind, x, dim, size, stride, dilation, result, around=""):
    return Case(f"reduce_window_{name}", [x], result,
                f"%r = weft.reduce_window {kind} %x0 dim = {dim} size = {size} stride = {stride} "
                f"dilation = {dilation}{around} : {tensor(x)} -> {tensor(result)}")


AROUND = " {low = 1 : i64, high = 1 : i64}"


def spread_windows(name, g, dim, size, stride, result, around=""):
    return Case(f"spread_windows_{name}", [g], result,
                f"%r = weft.spread_windows %x0 dim = {dim} size = {size} stride = {stride} "
                f"dilation = 1{around} : ({tensor(g)}) -> {tensor(result)}")


def spread_extrema(name, g, x, size, stride, around=""):
    """Where the maxima are, which are no function that has a derivative."""
    return Case(f"spread_windows_{name}", [g, x], x, f"""%m = weft.reduce_window max %x1 dim = 0 size = {size} stride = {stride} dilation = 1{around} : {tensor(x)} -> {tensor(g)}
  %r = weft.spread_windows %x0 of %x1, %m dim = 0 size = {size} stride = {stride} dilation = 1{around}
      : ({tensor(g)}, {tensor(x)}, {tensor(g)}) -> {tensor(x)}""")


WINDOWED = [
    convolution("plain", (2, 4, 2), (2, 2, 3), (2, 3, 3), [1], [0], [0], [1], [1], 1),
    convolution("strided", (1, 5, 4, 2), (3, 2, 2, 2), (1, 2, 3, 2), [2, 2], [0, 1], [0, 1], [1, 1], [1, 1], 1),
    convolution("dilated", (1, 3, 2), (2, 2, 2), (1, 2, 2), [2], [1], [-1], [2], [2], 1),
    convolution("grouped", (1, 4, 4), (2, 2, 4), (1, 3, 4), [1], [0], [0], [1], [1], 2),
    convolution("groups_apart", (1, 4, 2, 3), (2, 3, 4), (1, 3, 4), [1], [0], [0], [1], [1], 2),
    convolution("depthwise", (2, 3, 3, 2), (2, 2, 1, 2), (2, 2, 2, 2), [1, 1], [0, 0], [0, 0], [1, 1], [1, 1], 2),
    reduce_window("sum", "sum", (2, 5), 1, 3, 2, 1, (2, 2)),
    reduce_window("halves", "max", (5, 2), 0, 2, 2, 1, (2, 2)),
    reduce_window("overlapping", "max", (2, 6), 1, 3, 2, 1, (2, 2)),
    reduce_window("dilated", "min", (2, 7), 1, 2, 1, 3, (2, 4)),
    reduce_window("padded_sum", "sum", (2, 5), 1, 3, 2, 1, (2, 3), AROUND),
    reduce_window("padded_max", "max", (2, 5), 1, 3, 2, 1, (2, 3), AROUND),
    spread_windows("sum", (2, 3), 1, 3, 2, (2, 7)),
    spread_windows("padded", (2, 3), 1, 3, 2, (2, 5), AROUND),
    spread_extrema("maxima", (3, 2), (7, 2), 3, 2),
    spread_extrema("padded_maxima", (3, 2), (5, 2), 3, 2, AROUND),
]

CASES = ELEMENTWISE + DOT_GENERAL + GROUPED + SHAPE + INDEXED + COMPOSITES + ATTENTION + WINDOWED
