//===- MathCoefficients.h - Polynomials of functions ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Written by scripts/fit-polynomials.py. Coefficients are listed from that of
// the lowest power; `Narrow` is for f32 and `Wide` for f64.

#ifndef WEFT_LIB_CODEGEN_MATHCOEFFICIENTS_H
#define WEFT_LIB_CODEGEN_MATHCOEFFICIENTS_H

#include <cstdint>

namespace weft {

// clang-format off
/// (sin x - x) / x^3 in x^2 for |x| <= 0.80; error 2.2e-8
inline constexpr double sinTailNarrow[] = {
    -0x1.5555520000000p-3, 0x1.110bc80000000p-7,
    -0x1.9a96f80000000p-13};
/// (sin x - x) / x^3 in x^2 for |x| <= 0.80; error 2.5e-17
inline constexpr double sinTailWide[] = {
    -0x1.5555555555554p-3, 0x1.1111111110a9dp-7,
    -0x1.a01a019e43442p-13, 0x1.71de374494dfep-19,
    -0x1.ae5fb72fd005ap-26, 0x1.5ded7634bacb2p-33};
/// (cos x - 1 + x^2 / 2) / x^4 in x^2 for |x| <= 0.80; error 2.2e-9
inline constexpr double cosTailNarrow[] = {
    0x1.5555540000000p-5, -0x1.6c12860000000p-10,
    0x1.9baff20000000p-16};
/// (cos x - 1 + x^2 / 2) / x^4 in x^2 for |x| <= 0.80; error 1.6e-18
inline constexpr double cosTailWide[] = {
    0x1.5555555555555p-5, -0x1.6c16c16c168dcp-10,
    0x1.a01a019f2e74fp-16, -0x1.27e4f9eed5802p-22,
    0x1.1eeb3ef5846aap-29, -0x1.905ff8538dfd9p-37};
/// (atan x - x) / x^3 in x^2 for |x| <= tan(pi / 8); error 1.6e-8
inline constexpr double atanTailNarrow[] = {
    -0x1.5555540000000p-2, 0x1.9997300000000p-3,
    -0x1.2420140000000p-3, 0x1.b80d6c0000000p-4,
    -0x1.083c360000000p-4};
/// (atan x - x) / x^3 in x^2 for |x| <= tan(pi / 8); error 1.2e-18
inline constexpr double atanTailWide[] = {
    -0x1.5555555555555p-2, 0x1.9999999999953p-3,
    -0x1.249249248d7a3p-3, 0x1.c71c71c301242p-4,
    -0x1.745d165d42469p-4, 0x1.3b1392c5d6c1fp-4,
    -0x1.110e86a228a04p-4, 0x1.e199f35dd1917p-5,
    -0x1.ac79a54276a46p-5, 0x1.74d9955076661p-5,
    -0x1.1b28cee495a7dp-5, 0x1.0abb3a3829b06p-6};
/// (asin x - x) / x^3 in x^2 for |x| <= 1/2; error 4.2e-9
inline constexpr double asinTailNarrow[] = {
    0x1.5555540000000p-3, 0x1.3334320000000p-4,
    0x1.6d5b8e0000000p-5, 0x1.fd921a0000000p-6,
    0x1.18e1f60000000p-6, 0x1.14138c0000000p-5};
/// (asin x - x) / x^3 in x^2 for |x| <= 1/2; error 1.5e-17
inline constexpr double asinTailWide[] = {
    0x1.5555555555556p-3, 0x1.3333333332ec4p-4,
    0x1.6db6db6e3292ep-5, 0x1.f1c71c1d4aa0dp-6,
    0x1.6e8bb1d89492bp-6, 0x1.1c4d343fa57f6p-6,
    0x1.c9cf3759fd8ffp-7, 0x1.78246f32d075cp-7,
    0x1.524ea8b3aad31p-7, 0x1.653a8f8cfd43cp-8,
    0x1.1d661531b222ep-6, -0x1.e7a24f548c99fp-7,
    0x1.d78189767524ep-6};
/// erfc(a) exp(a^2) (1 + 2a) in (a - 4) / (a + 4) for a >= 0.49; error 1.9e-10
inline constexpr double erfcScaledNarrow[] = {
    0x1.3ba5920000000p+0, -0x1.1df1ae0000000p-3,
    0x1.f7f5900000000p-7, 0x1.16ecfe0000000p-4,
    -0x1.9dd9c40000000p-4, 0x1.7fedd80000000p-4,
    -0x1.0fc1e40000000p-4, 0x1.3060100000000p-5,
    -0x1.07fcea0000000p-6, 0x1.51bf740000000p-8,
    -0x1.cdb3d20000000p-11, -0x1.1044aa0000000p-11};
/// erfc(a) exp(a^2) (1 + 2a) in (a - 4) / (a + 4) for a >= 0.49; error 8.1e-19
inline constexpr double erfcScaledWide[] = {
    0x1.3ba5916e9fd7fp+0, -0x1.1df1ad154a28ep-3,
    0x1.f7f5df66fd755p-7, 0x1.16ecefcfa52c3p-4,
    -0x1.9ddb23c3e8d26p-4, 0x1.7fee004e149fep-4,
    -0x1.0fb06dfe4fd76p-4, 0x1.3079edf623f0fp-5,
    -0x1.0962388396a32p-6, 0x1.49c672a833cdfp-8,
    -0x1.8d4a9b737a9d3p-11, -0x1.a1df435ae5185p-13,
    0x1.3be05cfeb91d3p-13, -0x1.99550a320d90fp-16,
    -0x1.788b1ac48d52ap-17, 0x1.7ef6a4ef2e6c7p-18,
    0x1.3b36c6975a00fp-22, -0x1.b80e716494b90p-21,
    0x1.4153d5e01f070p-24, 0x1.bc116bcdb48d7p-24,
    -0x1.3472854cfd4a3p-26, -0x1.4d565ec30f994p-27,
    0x1.f4c548c0769eap-30};
/// erf(x) / x - 1 in x^2 for |x| <= 1; error 1.3e-19
inline constexpr double erfNearWide[] = {
    0x1.06eba8214db69p-3, -0x1.812746b0379e6p-2,
    0x1.ce2f21a042b2ep-4, -0x1.b82ce31284d69p-6,
    0x1.565bcd0db9201p-8, -0x1.c02db3da7b2aep-11,
    0x1.f9a321cd05c73p-14, -0x1.f4d1e26a29ff5p-17,
    0x1.b9df193f1fdadp-20, -0x1.5f1e7c06bb629p-23,
    0x1.f7b14dc1f44f0p-27, -0x1.38925a42dec1ap-30,
    0x1.05e163d78b59bp-34};
/// (2 atanh s - 2 s - 2/3 s^3) / s^5 in s^2 for |s| <= 0.1716; error 1.9e-18
inline constexpr double logTailWide[] = {
    0x1.999999999999ap-2, 0x1.2492492492523p-2,
    0x1.c71c71c6ea34fp-3, 0x1.745d177af5a52p-3,
    0x1.3b1395aa36ffcp-3, 0x1.1118d05c4c72cp-3,
    0x1.df7b03bbfc5c4p-4, 0x1.e040ef6d0ea22p-4};
/// 64 zeros, then 1280 bits of 2 / pi.
inline constexpr uint64_t twoOverPi[] = {
    0, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0,
    0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
    0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d};
// clang-format on

} // namespace weft

#endif // WEFT_LIB_CODEGEN_MATHCOEFFICIENTS_H
