//===- ConvertBits.cpp - Elements as bits, and random bits ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Converters.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <array>

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

//===----------------------------------------------------------------------===//
// Bitcasts
//===----------------------------------------------------------------------===//

/// The bits of each element as an integer.
static Value toBits(Conversion &c, Value x) {
  if (!x || isa<IntegerType>(typeOf(x).getElementType()))
    return x;
  Type integer = c.builder.getIntegerType(typeOf(x).getElementTypeBitWidth());
  return c.make<arith::BitcastOp>(typeOf(x).clone(integer), x);
}

static Value fromBits(Conversion &c, Value bits) {
  if (!bits || bits.getType() == c.type())
    return bits;
  return c.make<arith::BitcastOp>(c.type(), bits);
}

/// Each element in pieces, the lowest bits first, along a new last dimension.
static Value splitBits(Conversion &c, Value x) {
  Value bits = toBits(c, x);
  unsigned from = typeOf(x).getElementTypeBitWidth(),
           to = c.element().getIntOrFloatBitWidth();
  Shape shape(typeOf(x).getShape());
  shape.push_back(1);
  Type piece = c.builder.getIntegerType(to);
  SmallVector<Value> pieces;
  for (unsigned shift = 0; bits && shift < from; shift += to) {
    Value part = c.make<arith::ShRUIOp>(bits, c.splatLike(bits, double(shift)));
    pieces.push_back(c.reshape(
        c.make<arith::TruncIOp>(typeOf(bits).clone(piece), part), shape));
  }
  return fromBits(c, c.concat(pieces, shape.size() - 1));
}

/// The elements along the last dimension as pieces of one.
static Value joinBits(Conversion &c, Value x) {
  unsigned from = typeOf(x).getElementTypeBitWidth(),
           to = c.element().getIntOrFloatBitWidth();
  Value pieces = toBits(c, x);
  Shape starts(typeOf(x).getRank(), 0), limits(typeOf(x).getShape());
  RankedTensorType type = c.type().clone(c.builder.getIntegerType(to));
  Value bits;
  for (unsigned i = 0; i < to / from; ++i) {
    starts.back() = i;
    limits.back() = i + 1;
    Value part = c.reshape(c.slice(pieces, starts, limits), c.shape());
    part = c.make<arith::ExtUIOp>(type, part);
    part = c.make<arith::ShLIOp>(part, c.splat(type, double(i * from)));
    bits = i == 0 ? part : c.make<arith::OrIOp>(bits, part);
  }
  return fromBits(c, bits);
}

static Value convertBitcast(Conversion &c) {
  Value x = c.operand(0);
  if (!x || x.getType() == c.type())
    return x;
  unsigned from = typeOf(x).getElementTypeBitWidth(),
           to = c.element().getIntOrFloatBitWidth();
  if (from == to)
    return c.make<arith::BitcastOp>(c.type(), x);
  if (from < 8 || to < 8)
    return c.unsupported("of booleans to elements of another width");
  ArrayRef<int64_t> wide = from > to ? typeOf(x).getShape() : c.shape(),
                    narrow = from > to ? c.shape() : typeOf(x).getShape();
  if (narrow.size() != wide.size() + 1 || narrow.drop_back() != wide ||
      narrow.back() != int64_t(std::max(from, to) / std::min(from, to)))
    return c.malformed("elements of another width need a last dim of as many "
                       "as make up one");
  return from > to ? splitBits(c, x) : joinBits(c, x);
}

//===----------------------------------------------------------------------===//
// Random bits
//===----------------------------------------------------------------------===//

namespace {
/// Philox 4x32 of ten rounds (Salmon et al., "Parallel random numbers: as easy
/// as 1, 2, 3", 2011), as XLA generates bits with it on CPUs and GPUs. A block
/// of four words is a function of a key and of a counter of 128 bits, so each
/// element computes its block and takes its word: no element moves, wherever
/// the result is split.
class Philox {
public:
  using Words = std::array<Value, 4>;

  explicit Philox(Conversion &c) : c(c) {}

  /// The blocks of a key, at counters of which the halves are given.
  Words run(Value key, Value low, Value high);

  Value add(Value x, Value y) { return c.make<arith::AddIOp>(x, y); }
  Value low(Value x) { return toWord(x); }
  Value high(Value x) {
    return toWord(c.make<arith::ShRUIOp>(x, c.splatLike(x, 32)));
  }
  Value number(Value like, uint64_t value) {
    if (!like)
      return {};
    Type type = typeOf(like).getElementType();
    APInt bits(type.getIntOrFloatBitWidth(), value);
    return c.splat(typeOf(like),
                   cast<TypedAttr>(c.builder.getIntegerAttr(type, bits)));
  }

private:
  Value toWord(Value x) {
    return x ? c.make<arith::TruncIOp>(typeOf(x).clone(c.builder.getI32Type()),
                                       x)
             : Value();
  }
  Value multiply(Value x, uint32_t factor) {
    if (!x)
      return {};
    x = c.make<arith::ExtUIOp>(typeOf(x).clone(c.builder.getI64Type()), x);
    return c.make<arith::MulIOp>(x, number(x, factor));
  }
  Value mix(Value x, Value y, Value z) {
    return c.make<arith::XOrIOp>(c.make<arith::XOrIOp>(x, y), z);
  }

  Conversion &c;
};
} // namespace

Philox::Words Philox::run(Value key, Value lowCounter, Value highCounter) {
  Words x = {low(lowCounter), high(lowCounter), low(highCounter),
             high(highCounter)};
  Value left = low(key), right = high(key);
  for (int round = 0; round < 10; ++round) {
    Value first = multiply(x[0], 0xD2511F53),
          second = multiply(x[2], 0xCD9E8D57);
    x = {mix(high(second), x[1], left), low(second),
         mix(high(first), x[3], right), low(first)};
    left = add(left, number(left, 0x9E3779B9));
    right = add(right, number(right, 0xBB67AE85));
  }
  return x;
}

/// The number of each element, in row-major order.
static Value countElements(Conversion &c, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, c.builder.getI64Type());
  Value sum = c.splat(type, 0);
  int64_t stride = 1;
  for (int64_t dim = shape.size(); dim-- > 0; stride *= shape[dim]) {
    Value at = c.iota(shape, type.getElementType(), dim);
    at = c.make<arith::MulIOp>(at, c.splat(type, double(stride)));
    sum = c.make<arith::AddIOp>(sum, at);
  }
  return sum;
}

/// One of the values, by the number that is in `index`.
static Value chooseByIndex(Conversion &c, Value index, ValueRange values) {
  Value chosen = values.back();
  for (size_t i = values.size() - 1; i-- > 0;)
    chosen = c.make<arith::SelectOp>(
        c.make<arith::CmpIOp>(arith::CmpIPredicate::eq, index,
                              c.splatLike(index, double(i))),
        values[i], chosen);
  return chosen;
}

/// A word, or two of them for each element of 64 bits; of narrower elements the
/// rest of the word is lost.
static Value takeWords(Conversion &c, Value index, const Philox::Words &words) {
  RankedTensorType type = c.type(1);
  unsigned width = type.getElementTypeBitWidth();
  if (width < 64) {
    Value word = chooseByIndex(c, index, words);
    return width == 32 || !word ? word : c.make<arith::TruncIOp>(type, word);
  }
  SmallVector<Value> pairs;
  for (int i = 0; i < 4; i += 2) {
    Value high = c.make<arith::ExtUIOp>(type, words[i + 1]);
    high = c.make<arith::ShLIOp>(high, c.splat(type, 32));
    pairs.push_back(
        c.make<arith::OrIOp>(high, c.make<arith::ExtUIOp>(type, words[i])));
  }
  return chooseByIndex(c, index, pairs);
}

/// The operand is [key, low half of the counter], then high half the key
/// itself, or [key, low half, high half].
static Values convertRngBitGenerator(Conversion &c) {
  Values failed(2);
  Value state = c.operand(0);
  if (!state)
    return failed;
  std::string algorithm =
      readEnum(c.getSource()->getAttr("rng_algorithm"), "rng_algorithm")
          .value_or("");
  if (algorithm != "DEFAULT" && algorithm != "PHILOX") {
    c.unsupported("by " + Twine(algorithm) +
                  "; PHILOX, which DEFAULT is, is supported");
    return failed;
  }
  RankedTensorType given = typeOf(state), bits = c.type(1);
  if (given.getRank() != 1 || !given.getElementType().isInteger(64) ||
      given.getDimSize(0) < 2 || given.getDimSize(0) > 3 ||
      !isa<IntegerType>(bits.getElementType()) ||
      bits.getElementTypeBitWidth() < 8) {
    c.malformed("its state must be two or three integers of 64 bits, and its "
                "bits integers");
    return failed;
  }
  auto part = [&](int64_t index) {
    return c.reshape(c.slice(state, {index}, {index + 1}), {});
  };
  Value key = part(0), low = part(1),
        high = given.getDimSize(0) == 3 ? part(2) : key;
  int64_t perBlock = bits.getElementTypeBitWidth() == 64 ? 2 : 4;
  Philox philox(c);
  // The counter is carried over into its high half.
  auto advance = [&](Value by) {
    Shape shape(typeOf(by).getShape());
    Value before = c.broadcastScalar(low, shape);
    Value after = philox.add(before, by), top = c.broadcastScalar(high, shape);
    Value isCarried =
        c.make<arith::CmpIOp>(arith::CmpIPredicate::ult, after, before);
    Value carried = philox.add(top, philox.number(top, 1));
    return std::pair(after, c.make<arith::SelectOp>(isCarried, carried, top));
  };
  Value number = countElements(c, bits.getShape());
  Value block =
      c.make<arith::DivUIOp>(number, c.splatLike(number, double(perBlock)));
  Value within =
      c.make<arith::RemUIOp>(number, c.splatLike(number, double(perBlock)));
  auto [blockLow, blockHigh] = advance(block);
  Philox::Words words =
      philox.run(c.broadcastScalar(key, bits.getShape()), blockLow, blockHigh);
  uint64_t blocks = llvm::divideCeil(bits.getNumElements(), perBlock);
  auto [nextLow, nextHigh] = advance(philox.number(low, blocks));
  SmallVector<Value> next = {key, nextLow, nextHigh};
  next.resize(given.getDimSize(0));
  for (Value &value : next)
    value = c.reshape(value, {1});
  return {c.concat(next, 0), takeWords(c, within, words)};
}

std::vector<Converter> weft::stablehlo::bitConverters() {
  return {{"stablehlo.bitcast_convert", single(convertBitcast)},
          {"stablehlo.rng_bit_generator",
           convertRngBitGenerator,
           {"rng_algorithm"}}};
}
