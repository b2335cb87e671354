//===- FourierTransforms.cpp - Fourier transforms as matmuls --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attributes.h"
#include "ComplexNumbers.h"
#include "Emitter.h"

#include "mlir/AsmParser/AsmParser.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

/// Transforms up to this length are one product with a matrix.
static constexpr int64_t kDirectLength = 64;

/// Of n, the factor up to its root that is closest to it; 1 if n is prime.
static int64_t factorOf(int64_t n) {
  for (int64_t factor = std::sqrt(double(n)); factor > 1; --factor)
    if (n % factor == 0)
      return factor;
  return 1;
}

/// Whether a transform of this length can be done.
static bool isFeasible(int64_t n) {
  if (n <= kDirectLength)
    return n > 0;
  int64_t factor = factorOf(n);
  return factor == 1 ? n <= kMaxFourierFactor
                     : isFeasible(factor) && isFeasible(n / factor);
}

namespace {
/// Transforms of one element type in one direction.
class Transform {
public:
  /// `sign` is that of the exponent: -1 forwards, 1 backwards.
  Transform(RealOps &ops, FloatType element, int sign)
      : ops(ops), element(element), sign(sign) {}

  /// The transform along a dimension, of real numbers if `x.imag` is null.
  Complex along(Complex x, int64_t dim);

private:
  Complex direct(Complex x, int64_t dim);
  /// e^(sign 2 pi i j k / n) for j below `rows` and k below `columns`.
  Complex roots(int64_t rows, int64_t columns, int64_t n);
  Value contract(Value x, Value matrix, int64_t dim);

  RealOps &ops;
  FloatType element;
  int sign;
};
} // namespace

static SmallVector<int64_t> shapeOf(Value value) {
  return llvm::to_vector(typeOf(value).getShape());
}

static Value reshape(RealOps &ops, Value x, ArrayRef<int64_t> shape) {
  return ops.make("stablehlo.reshape", x, typeOf(x).clone(shape));
}

static Value transpose(RealOps &ops, Value x, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> shape;
  for (int64_t dim : dims)
    shape.push_back(typeOf(x).getDimSize(dim));
  return ops.make("stablehlo.transpose", x, typeOf(x).clone(shape),
                  ops.builder.getNamedAttr(
                      "permutation", ops.builder.getDenseI64ArrayAttr(dims)));
}

/// The elements from `start` to `limit` along a dimension.
static Value slice(RealOps &ops, Value x, int64_t dim, int64_t start,
                   int64_t limit) {
  SmallVector<int64_t> shape = shapeOf(x), limits = shape,
                       starts(shape.size(), 0), strides(shape.size(), 1);
  starts[dim] = start;
  limits[dim] = limit;
  shape[dim] = limit - start;
  Builder &b = ops.builder;
  return ops.make(
      "stablehlo.slice", x, typeOf(x).clone(shape),
      {b.getNamedAttr("start_indices", b.getDenseI64ArrayAttr(starts)),
       b.getNamedAttr("limit_indices", b.getDenseI64ArrayAttr(limits)),
       b.getNamedAttr("strides", b.getDenseI64ArrayAttr(strides))});
}

Complex Transform::roots(int64_t rows, int64_t columns, int64_t n) {
  SmallVector<APFloat> cosines, sines;
  auto push = [&](SmallVector<APFloat> &to, double value) {
    APFloat number(value);
    bool losesInfo;
    number.convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                   &losesInfo);
    to.push_back(number);
  };
  for (int64_t j = 0; j < rows; ++j)
    for (int64_t k = 0; k < columns; ++k) {
      double angle = sign * 2 * std::numbers::pi * double(j * k % n) / n;
      push(cosines, std::cos(angle));
      push(sines, std::sin(angle));
    }
  auto type = RankedTensorType::get({rows, columns}, element);
  return {ops.constant(DenseElementsAttr::get(type, cosines)),
          ops.constant(DenseElementsAttr::get(type, sines))};
}

/// The product over a dimension, whose place the columns of the matrix take.
Value Transform::contract(Value x, Value matrix, int64_t dim) {
  SmallVector<int64_t> shape = shapeOf(x);
  const int64_t rank = shape.size();
  shape.erase(shape.begin() + dim);
  shape.push_back(typeOf(matrix).getDimSize(1));
  Attribute dims = parseAttribute(
      "#stablehlo.dot<lhs_contracting_dimensions = [" + std::to_string(dim) +
          "], rhs_contracting_dimensions = [0]>",
      element.getContext());
  Value product =
      ops.make("stablehlo.dot_general", {x, matrix}, typeOf(x).clone(shape),
               ops.builder.getNamedAttr("dot_dimension_numbers", dims));
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(rank - 1));
  order.insert(order.begin() + dim, rank - 1);
  return transpose(ops, product, order);
}

Complex Transform::direct(Complex x, int64_t dim) {
  const int64_t n = typeOf(x.real).getDimSize(dim);
  Complex matrix = roots(n, n, n);
  Complex y = {contract(x.real, matrix.real, dim),
               contract(x.real, matrix.imag, dim)};
  if (!x.imag)
    return y;
  return {
      ops.make("stablehlo.subtract",
               {y.real, contract(x.imag, matrix.imag, dim)}),
      ops.make("stablehlo.add", {y.imag, contract(x.imag, matrix.real, dim)})};
}

/// Of n = a b numbers, that at b j1 + j2 is [j1, j2] of a matrix. Its columns
/// are transformed, turned by roots of n, and then its rows; the number at
/// k1 + a k2 of the answer is [k1, k2].
Complex Transform::along(Complex x, int64_t dim) {
  const SmallVector<int64_t> shape = shapeOf(x.real);
  const int64_t n = shape[dim], a = factorOf(n), b = n / a;
  if (n <= kDirectLength || a == 1)
    return direct(x, dim);
  SmallVector<int64_t> split = shape;
  split[dim] = b;
  split.insert(split.begin() + dim, a);
  auto onParts = [](Complex z, auto function) -> Complex {
    return {function(z.real), z.imag ? function(z.imag) : Value()};
  };
  x = onParts(x, [&](Value part) { return reshape(ops, part, split); });
  x = along(x, dim);
  Complex turn = onParts(roots(a, b, n), [&](Value part) {
    NamedAttribute dims = ops.builder.getNamedAttr(
        "broadcast_dimensions",
        ops.builder.getDenseI64ArrayAttr({dim, dim + 1}));
    return ops.make("stablehlo.broadcast_in_dim", part, x.real.getType(), dims);
  });
  x = along(ops.multiply(x, turn), dim + 1);
  SmallVector<int64_t> order =
      llvm::to_vector(llvm::seq<int64_t>(split.size()));
  std::swap(order[dim], order[dim + 1]);
  return onParts(x, [&](Value part) {
    return reshape(ops, transpose(ops, part, order), shape);
  });
}

/// All n numbers of a transform of real ones, of the first n / 2 + 1: the rest
/// are the conjugates of these, in reverse.
static Complex completeHermitian(RealOps &ops, Complex x, int64_t dim,
                                 int64_t n) {
  const int64_t stored = n / 2 + 1;
  if (n <= 2)
    return x;
  Builder &b = ops.builder;
  auto complete = [&](Value part, bool isImaginary) {
    Value rest =
        ops.make("stablehlo.reverse", slice(ops, part, dim, 1, n - stored + 1),
                 slice(ops, part, dim, 1, n - stored + 1).getType(),
                 b.getNamedAttr("dimensions", b.getDenseI64ArrayAttr(dim)));
    if (isImaginary)
      rest = ops.make("stablehlo.negate", rest);
    SmallVector<int64_t> shape = shapeOf(part);
    shape[dim] = n;
    return ops.make("stablehlo.concatenate", {part, rest},
                    typeOf(part).clone(shape),
                    b.getNamedAttr("dimension", b.getI64IntegerAttr(dim)));
  };
  return {complete(x.real, false), complete(x.imag, true)};
}

std::optional<Complex> weft::stablehlo::expandFourierTransform(Operation *op,
                                                               Complex operand,
                                                               RealOps &ops) {
  std::optional<std::string> kind =
      readEnum(op->getAttr("fft_type"), "fft_type");
  std::optional<Dims> lengths = readIntegers(op->getAttr("fft_length"));
  auto type = dyn_cast<RankedTensorType>(operand.real.getType());
  auto element =
      type ? dyn_cast<FloatType>(type.getElementType()) : FloatType();
  if (!kind || !lengths || !element || !type.hasStaticShape() ||
      lengths->empty() || type.getRank() < int64_t(lengths->size()) ||
      !llvm::all_of(*lengths, isFeasible))
    return std::nullopt;
  const bool fromReal = kind == "RFFT", toReal = kind == "IRFFT";
  if (!fromReal && !toReal && kind != "FFT" && kind != "IFFT")
    return std::nullopt;
  const int64_t first = type.getRank() - lengths->size(),
                last = type.getRank() - 1;
  SmallVector<int64_t> expected(*lengths);
  if (toReal)
    expected.back() = expected.back() / 2 + 1;
  if (fromReal == bool(operand.imag) ||
      type.getShape().drop_front(first) != ArrayRef<int64_t>(expected))
    return std::nullopt;

  Transform transform(ops, element, toReal || kind == "IFFT" ? 1 : -1);
  Complex x = operand;
  auto alongTheOthers = [&] {
    for (int64_t dim = first; dim < last; ++dim)
      x = transform.along(x, dim);
  };
  // The rows are symmetric only when the others are transformed back.
  if (toReal) {
    alongTheOthers();
    x = completeHermitian(ops, x, last, lengths->back());
  }
  x = transform.along(x, last);
  if (fromReal)
    x = {slice(ops, x.real, last, 0, lengths->back() / 2 + 1),
         slice(ops, x.imag, last, 0, lengths->back() / 2 + 1)};
  if (!toReal)
    alongTheOthers();
  if (kind == "FFT" || fromReal)
    return x;
  double count = 1;
  for (int64_t length : *lengths)
    count *= length;
  auto scale = [&](Value part) {
    return ops.make("stablehlo.multiply",
                    {part, ops.splat(part.getType(), 1 / count)});
  };
  return Complex{scale(x.real), toReal ? Value() : scale(x.imag)};
}
