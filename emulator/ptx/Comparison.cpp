//===- Comparison.cpp - setp, set, selp, slct and testp -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FloatLanes.h"

namespace weft::emulator {
namespace {

enum class Relation : uint8_t { EQ, NE, LT, LE, GT, GE, Num, NaN };

/// `Unordered`: what the comparison with NaN gives.
template <Relation R, bool Unordered> struct Compare {
  template <typename T> static bool apply(T a, T b) {
    if constexpr (!std::is_integral_v<T>)
      if (std::isnan(a) || std::isnan(b))
        return R == Relation::NaN || (R != Relation::Num && Unordered);
    switch (R) {
    case Relation::EQ:
      return a == b;
    case Relation::NE:
      return a != b;
    case Relation::LT:
      return a < b;
    case Relation::LE:
      return a <= b;
    case Relation::GT:
      return a > b;
    case Relation::GE:
      return a >= b;
    case Relation::Num:
      return true;
    case Relation::NaN:
      return false;
    }
  }
};

template <typename T, typename F, bool Flush>
void compareHandler(Warp &warp, const Op &op, Mask mask) {
  const T *a = warp.lanes<T>(op.operands[1]),
          *b = warp.lanes<T>(op.operands[2]);
  Mask result = 0;
  forLanes(mask, [&](uint32_t i) {
    auto x = Element<T>::load(a[i]), y = Element<T>::load(b[i]);
    if constexpr (Flush)
      x = flushed(x), y = flushed(y);
    result |= Mask(F::apply(x, y)) << i;
  });
  Mask &out = warp.predicate(op.operands[0]);
  out = (out & ~mask) | result;
}

template <typename F> Handler compareFor(Type type, bool flush) {
  switch (type) {
  case Type::B16:
  case Type::U16:
    return compareHandler<uint16_t, F, false>;
  case Type::S16:
    return compareHandler<int16_t, F, false>;
  case Type::B32:
  case Type::U32:
    return compareHandler<uint32_t, F, false>;
  case Type::S32:
    return compareHandler<int32_t, F, false>;
  case Type::B64:
  case Type::U64:
    return compareHandler<uint64_t, F, false>;
  case Type::S64:
    return compareHandler<int64_t, F, false>;
  case Type::F16:
    return compareHandler<Half, F, false>;
  case Type::BF16:
    return compareHandler<BFloat, F, false>;
  case Type::F32:
    return flush ? compareHandler<float, F, true>
                 : compareHandler<float, F, false>;
  case Type::F64:
    return compareHandler<double, F, false>;
  default:
    return nullptr;
  }
}

using Chooser = Handler (*)(Type, bool);

Chooser comparison(Modifiers &modifiers) {
  using enum Relation;
  // lo, ls, hi and hs are the unsigned integers' names of lt, le, gt and ge.
  return modifiers
      .takeOneOf<Chooser>({
          {"eq", compareFor<Compare<EQ, false>>},
          {"ne", compareFor<Compare<NE, false>>},
          {"lt", compareFor<Compare<LT, false>>},
          {"le", compareFor<Compare<LE, false>>},
          {"gt", compareFor<Compare<GT, false>>},
          {"ge", compareFor<Compare<GE, false>>},
          {"lo", compareFor<Compare<LT, false>>},
          {"ls", compareFor<Compare<LE, false>>},
          {"hi", compareFor<Compare<GT, false>>},
          {"hs", compareFor<Compare<GE, false>>},
          {"equ", compareFor<Compare<EQ, true>>},
          {"neu", compareFor<Compare<NE, true>>},
          {"ltu", compareFor<Compare<LT, true>>},
          {"leu", compareFor<Compare<LE, true>>},
          {"gtu", compareFor<Compare<GT, true>>},
          {"geu", compareFor<Compare<GE, true>>},
          {"num", compareFor<Compare<Num, false>>},
          {"nan", compareFor<Compare<NaN, false>>},
      })
      .value_or(nullptr);
}

enum class Combine : uint8_t { None, And, Or, Xor };

/// d = a combined with b; flags & 1: with the complement of a.
template <Combine C> void combine(Warp &warp, const Op &op, Mask mask) {
  Mask a = warp.predicate(op.operands[1]), b = warp.predicate(op.operands[2]);
  if (op.flags & 1)
    a = ~a;
  Mask value = C == Combine::And   ? a & b
               : C == Combine::Or  ? a | b
               : C == Combine::Xor ? a ^ b
                                   : a;
  Mask &out = warp.predicate(op.operands[0]);
  out = (out & ~mask) | (value & mask);
}

Handler combineHandler(Combine kind) {
  switch (kind) {
  case Combine::And:
    return combine<Combine::And>;
  case Combine::Or:
    return combine<Combine::Or>;
  case Combine::Xor:
    return combine<Combine::Xor>;
  case Combine::None:
    break;
  }
  return combine<Combine::None>;
}

struct Comparison {
  Chooser chooser;
  Combine combination;
  bool flush;

  static Comparison take(Emitter &e) {
    Comparison result;
    result.chooser = comparison(e.modifiers);
    if (!result.chooser)
      e.fail("expected a comparison");
    result.combination = e.modifiers
                             .takeOneOf<Combine>({{"and", Combine::And},
                                                  {"or", Combine::Or},
                                                  {"xor", Combine::Xor}})
                             .value_or(Combine::None);
    result.flush = e.modifiers.take("ftz");
    return result;
  }

  /// Compares operands 1 and 2; `outputs` are the predicates of the result and
  /// of its complement.
  void emit(Emitter &e, Type type, const std::vector<Value> &outputs) const {
    e.modifiers.finish(e.statement.opcode);
    bool combines = combination != Combine::None;
    e.expectOperands(combines ? 4 : 3);
    Handler handler = chooser(type, flush);
    if (!handler)
      e.fail("the type does not go with the operation");
    Value a = e.read(e.operand(1), type), b = e.read(e.operand(2), type);
    bool direct = !combines && outputs.size() == 1;
    Value result = direct ? outputs[0] : e.temporaryPredicate();
    e.emit(handler, {result}, {a, b});
    if (direct)
      return;
    Value other = combines ? e.readPredicate(e.operand(3)) : result;
    for (size_t i = 0; i < outputs.size(); ++i)
      e.emit(combineHandler(combination), {outputs[i]}, {result, other}).flags =
          i;
  }
};

void setPredicate(Emitter &e) {
  Comparison comparison = Comparison::take(e);
  Type type = e.modifiers.type();
  std::vector<Value> outputs;
  for (const Operand *operand : e.elements(e.operand(0)))
    if (operand->kind != Operand::Kind::Sink)
      outputs.push_back(e.writtenPredicate(*operand));
  comparison.emit(e, type, outputs);
}

/// By a predicate (operand 3), or by the sign of one.
template <typename T> void selectHandler(Warp &warp, const Op &op, Mask mask) {
  T *out = warp.lanes<T>(op.operands[0]);
  const T *a = warp.lanes<T>(op.operands[1]),
          *b = warp.lanes<T>(op.operands[2]);
  Mask choice = warp.predicate(op.operands[3]);
  forLanes(mask, [=](uint32_t i) { out[i] = choice >> i & 1 ? a[i] : b[i]; });
}

Handler selectFor(uint32_t size) {
  return size == 2   ? selectHandler<uint16_t>
         : size == 4 ? selectHandler<uint32_t>
                     : selectHandler<uint64_t>;
}

void select(Emitter &e) {
  Type type = e.modifiers.type();
  e.modifiers.finish(e.statement.opcode);
  e.expectOperands(4);
  Value a = e.read(e.operand(1), type), b = e.read(e.operand(2), type),
        choice = e.readPredicate(e.operand(3));
  e.emit(selectFor(sizeOf(type)), {e.written(e.operand(0), sizeOf(type))},
         {a, b, choice});
}

/// `set`: 1.0 or all ones where the comparison holds.
void set(Emitter &e) {
  Comparison comparison = Comparison::take(e);
  Type result = e.modifiers.type(), type = e.modifiers.type();
  Value choice = e.temporaryPredicate();
  comparison.emit(e, type, {choice});
  uint32_t size = sizeOf(result);
  uint64_t yes = result == Type::F32    ? 0x3f800000
                 : result == Type::F16  ? 0x3c00
                 : result == Type::BF16 ? 0x3f80
                                        : ~uint64_t(0);
  e.emit(selectFor(size), {e.written(e.operand(0), size)},
         {e.constant(yes, size), e.constant(0, size), choice});
}

/// `slct`: a where c >= 0, else b.
void selectBySign(Emitter &e) {
  bool flush = e.modifiers.take("ftz");
  Type type = e.modifiers.type(), sign = e.modifiers.type();
  e.modifiers.finish(e.statement.opcode);
  e.expectOperands(4);
  Value a = e.read(e.operand(1), type), b = e.read(e.operand(2), type),
        c = e.read(e.operand(3), sign), choice = e.temporaryPredicate();
  e.emit(compareFor<Compare<Relation::GE, false>>(sign, flush), {choice},
         {c, e.constant(0, sizeOf(sign))});
  e.emit(selectFor(sizeOf(type)), {e.written(e.operand(0), sizeOf(type))},
         {a, b, choice});
}

template <int Class> struct IsOfClass {
  template <typename T> static bool apply(T a, T) {
    switch (Class) {
    case 0:
      return std::isfinite(a);
    case 1:
      return std::isinf(a);
    case 2:
      return !std::isnan(a);
    case 3:
      return std::isnan(a);
    case 4:
      return std::isnormal(a);
    default:
      return std::fpclassify(a) == FP_SUBNORMAL;
    }
  }
};

void testProperty(Emitter &e) {
  auto isSingle = e.modifiers.take("f32");
  if (!isSingle && !e.modifiers.take("f64"))
    e.fail("expected .f32 or .f64");
  auto choose = [&]<int Class>() -> Handler {
    return isSingle ? compareHandler<float, IsOfClass<Class>, false>
                    : compareHandler<double, IsOfClass<Class>, false>;
  };
  auto handler =
      e.modifiers.takeOneOf<Handler>({{"finite", choose.operator()<0>()},
                                      {"infinite", choose.operator()<1>()},
                                      {"number", choose.operator()<2>()},
                                      {"notanumber", choose.operator()<3>()},
                                      {"normal", choose.operator()<4>()},
                                      {"subnormal", choose.operator()<5>()}});
  if (!handler)
    e.fail("expected a property");
  e.modifiers.finish(e.statement.opcode);
  Value a = e.read(e.operand(1), isSingle ? Type::F32 : Type::F64);
  e.emit(*handler, {e.writtenPredicate(e.operand(0))}, {a, a});
}

} // namespace

void addComparison(InstructionTable &table) {
  table["setp"] = setPredicate;
  table["set"] = set;
  table["selp"] = select;
  table["slct"] = selectBySign;
  table["testp"] = testProperty;
}

} // namespace weft::emulator
