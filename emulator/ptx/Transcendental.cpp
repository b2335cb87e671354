//===- Transcendental.cpp - Roots, reciprocals and approximations ---------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The approximations of PTX allow an error; what is computed here is nearer to
// the exact value than a GPU's is, and not the same bits.
//
//===----------------------------------------------------------------------===//

#include "FloatLanes.h"

namespace weft::emulator {
namespace {

struct Root {
  template <typename T> static T apply(T a) { return std::sqrt(a); }
};
struct Reciprocal {
  template <typename T> static T apply(T a) { return T(1) / a; }
};
struct ReciprocalRoot {
  template <typename T> static T apply(T a) {
    return static_cast<T>(1 / std::sqrt(static_cast<double>(a)));
  }
};
struct Sine {
  template <typename T> static T apply(T a) { return std::sin(a); }
};
struct Cosine {
  template <typename T> static T apply(T a) { return std::cos(a); }
};
struct Logarithm {
  template <typename T> static T apply(T a) { return std::log2(a); }
};
struct Power {
  template <typename T> static T apply(T a) { return std::exp2(a); }
};
struct HyperbolicTangent {
  template <typename T> static T apply(T a) { return std::tanh(a); }
};

template <typename F> void unary(Emitter &e) {
  e.modifiers.take("approx");
  FloatFlags flags = FloatFlags::take(e.modifiers);
  emitFloat<F, 1>(e, flags, e.modifiers.type());
}

} // namespace

void addTranscendental(InstructionTable &table) {
  table["sqrt"] = unary<Root>;
  table["rcp"] = unary<Reciprocal>;
  table["rsqrt"] = unary<ReciprocalRoot>;
  table["sin"] = unary<Sine>;
  table["cos"] = unary<Cosine>;
  table["lg2"] = unary<Logarithm>;
  table["ex2"] = unary<Power>;
  table["tanh"] = unary<HyperbolicTangent>;
}

} // namespace weft::emulator
