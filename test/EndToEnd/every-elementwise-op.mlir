// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Every op of arith and math on parts of tensors: compiled to a plan, with no
// communication. What they compute is tested by test/Unit/Codegen.
// RUN: shard-compile %s -o %t.plan | FileCheck %s --check-prefix=PLAN
// RUN: shard-run %t.plan --dump=functions | FileCheck %s --check-prefix=COST
// PLAN: entry functions: {{[0-9]+}} kernel launches{{$}}
// PLAN: entry integers: {{[0-9]+}} kernel launches{{$}}
// COST: launch {{.*}} flops {{[1-9]}}

weft.mesh @mesh = <["data"=2]>

func.func @functions(%x: tensor<8x20xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %y: tensor<8x20xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %n: tensor<8x20xi32> {weft.name = "n", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<8x20xf32> {weft.name = "r_acos", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_acosh", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_asin", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_asinh", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_atan", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_atanh", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_cbrt", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_ceil", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_cos", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_cosh", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_erf", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_erfc", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_exp", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_exp2", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_expm1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_floor", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_log", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_log10", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_log1p", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_log2", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_round", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_roundeven", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_rsqrt", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_sin", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_sinh", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_sqrt", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_tan", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_tanh", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_trunc", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_absf", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_isfinite", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_isinf", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_isnan", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_isnormal", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_atan2", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_copysign", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_powf", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_addf", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_subf", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_mulf", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_divf", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_remf", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_maximumf", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_minimumf", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_maxnumf", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_minnumf", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_fma", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_clampf", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_negf", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_fpowi", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_oeq", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_ogt", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_oge", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_olt", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_ole", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_one", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_ord", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_ueq", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_ugt", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_uge", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_ult", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_ule", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_une", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_uno", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_select", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xbf16> {weft.name = "r_truncf", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf64> {weft.name = "r_extf", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi8> {weft.name = "r_fptosi", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi64> {weft.name = "r_fptoui", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi32> {weft.name = "r_bitcast", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}) {
  %r_acos = math.acos %x : tensor<8x20xf32>
  %r_acosh = math.acosh %x : tensor<8x20xf32>
  %r_asin = math.asin %x : tensor<8x20xf32>
  %r_asinh = math.asinh %x : tensor<8x20xf32>
  %r_atan = math.atan %x : tensor<8x20xf32>
  %r_atanh = math.atanh %x : tensor<8x20xf32>
  %r_cbrt = math.cbrt %x : tensor<8x20xf32>
  %r_ceil = math.ceil %x : tensor<8x20xf32>
  %r_cos = math.cos %x : tensor<8x20xf32>
  %r_cosh = math.cosh %x : tensor<8x20xf32>
  %r_erf = math.erf %x : tensor<8x20xf32>
  %r_erfc = math.erfc %x : tensor<8x20xf32>
  %r_exp = math.exp %x : tensor<8x20xf32>
  %r_exp2 = math.exp2 %x : tensor<8x20xf32>
  %r_expm1 = math.expm1 %x : tensor<8x20xf32>
  %r_floor = math.floor %x : tensor<8x20xf32>
  %r_log = math.log %x : tensor<8x20xf32>
  %r_log10 = math.log10 %x : tensor<8x20xf32>
  %r_log1p = math.log1p %x : tensor<8x20xf32>
  %r_log2 = math.log2 %x : tensor<8x20xf32>
  %r_round = math.round %x : tensor<8x20xf32>
  %r_roundeven = math.roundeven %x : tensor<8x20xf32>
  %r_rsqrt = math.rsqrt %x : tensor<8x20xf32>
  %r_sin = math.sin %x : tensor<8x20xf32>
  %r_sinh = math.sinh %x : tensor<8x20xf32>
  %r_sqrt = math.sqrt %x : tensor<8x20xf32>
  %r_tan = math.tan %x : tensor<8x20xf32>
  %r_tanh = math.tanh %x : tensor<8x20xf32>
  %r_trunc = math.trunc %x : tensor<8x20xf32>
  %r_absf = math.absf %x : tensor<8x20xf32>
  %r_isfinite = math.isfinite %x : tensor<8x20xf32>
  %r_isinf = math.isinf %x : tensor<8x20xf32>
  %r_isnan = math.isnan %x : tensor<8x20xf32>
  %r_isnormal = math.isnormal %x : tensor<8x20xf32>
  %r_atan2 = math.atan2 %x, %y : tensor<8x20xf32>
  %r_copysign = math.copysign %x, %y : tensor<8x20xf32>
  %r_powf = math.powf %x, %y : tensor<8x20xf32>
  %r_addf = arith.addf %x, %y : tensor<8x20xf32>
  %r_subf = arith.subf %x, %y : tensor<8x20xf32>
  %r_mulf = arith.mulf %x, %y : tensor<8x20xf32>
  %r_divf = arith.divf %x, %y : tensor<8x20xf32>
  %r_remf = arith.remf %x, %y : tensor<8x20xf32>
  %r_maximumf = arith.maximumf %x, %y : tensor<8x20xf32>
  %r_minimumf = arith.minimumf %x, %y : tensor<8x20xf32>
  %r_maxnumf = arith.maxnumf %x, %y : tensor<8x20xf32>
  %r_minnumf = arith.minnumf %x, %y : tensor<8x20xf32>
  %r_fma = math.fma %x, %y, %x : tensor<8x20xf32>
  %r_clampf = math.clampf %x to [%y, %y] : tensor<8x20xf32>
  %r_negf = arith.negf %x : tensor<8x20xf32>
  %r_fpowi = math.fpowi %x, %n : tensor<8x20xf32>, tensor<8x20xi32>
  %r_oeq = arith.cmpf oeq, %x, %y : tensor<8x20xf32>
  %r_ogt = arith.cmpf ogt, %x, %y : tensor<8x20xf32>
  %r_oge = arith.cmpf oge, %x, %y : tensor<8x20xf32>
  %r_olt = arith.cmpf olt, %x, %y : tensor<8x20xf32>
  %r_ole = arith.cmpf ole, %x, %y : tensor<8x20xf32>
  %r_one = arith.cmpf one, %x, %y : tensor<8x20xf32>
  %r_ord = arith.cmpf ord, %x, %y : tensor<8x20xf32>
  %r_ueq = arith.cmpf ueq, %x, %y : tensor<8x20xf32>
  %r_ugt = arith.cmpf ugt, %x, %y : tensor<8x20xf32>
  %r_uge = arith.cmpf uge, %x, %y : tensor<8x20xf32>
  %r_ult = arith.cmpf ult, %x, %y : tensor<8x20xf32>
  %r_ule = arith.cmpf ule, %x, %y : tensor<8x20xf32>
  %r_une = arith.cmpf une, %x, %y : tensor<8x20xf32>
  %r_uno = arith.cmpf uno, %x, %y : tensor<8x20xf32>
  %r_select = arith.select %r_olt, %x, %y : tensor<8x20xi1>, tensor<8x20xf32>
  %r_truncf = arith.truncf %x : tensor<8x20xf32> to tensor<8x20xbf16>
  %r_extf = arith.extf %x : tensor<8x20xf32> to tensor<8x20xf64>
  %r_fptosi = arith.fptosi %x : tensor<8x20xf32> to tensor<8x20xi8>
  %r_fptoui = arith.fptoui %x : tensor<8x20xf32> to tensor<8x20xi64>
  %r_bitcast = arith.bitcast %x : tensor<8x20xf32> to tensor<8x20xi32>
  return %r_acos, %r_acosh, %r_asin, %r_asinh, %r_atan, %r_atanh, %r_cbrt, %r_ceil, %r_cos, %r_cosh, %r_erf, %r_erfc, %r_exp, %r_exp2, %r_expm1, %r_floor, %r_log, %r_log10, %r_log1p, %r_log2, %r_round, %r_roundeven, %r_rsqrt, %r_sin, %r_sinh, %r_sqrt, %r_tan, %r_tanh, %r_trunc, %r_absf, %r_isfinite, %r_isinf, %r_isnan, %r_isnormal, %r_atan2, %r_copysign, %r_powf, %r_addf, %r_subf, %r_mulf, %r_divf, %r_remf, %r_maximumf, %r_minimumf, %r_maxnumf, %r_minnumf, %r_fma, %r_clampf, %r_negf, %r_fpowi, %r_oeq, %r_ogt, %r_oge, %r_olt, %r_ole, %r_one, %r_ord, %r_ueq, %r_ugt, %r_uge, %r_ult, %r_ule, %r_une, %r_uno, %r_select, %r_truncf, %r_extf, %r_fptosi, %r_fptoui, %r_bitcast
      : tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xf32>, tensor<8x20xbf16>, tensor<8x20xf64>, tensor<8x20xi8>, tensor<8x20xi64>, tensor<8x20xi32>
}

func.func @integers(%m: tensor<8x20xi32> {weft.name = "m", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %n: tensor<8x20xi32> {weft.name = "n", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %b: tensor<8x20xi8> {weft.name = "b", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %c: tensor<8x20xi8> {weft.name = "c", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %p: tensor<8x20xi1> {weft.name = "p", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %q: tensor<8x20xi1> {weft.name = "q", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<8x20xi32> {weft.name = "r_addi_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi32> {weft.name = "r_subi_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi32> {weft.name = "r_muli_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi32> {weft.name = "r_divsi_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi32> {weft.name = "r_divui_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi32> {weft.name = "r_remsi_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi32> {weft.name = "r_remui_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi32> {weft.name = "r_ceildivsi_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi32> {weft.name = "r_ceildivui_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi32> {weft.name = "r_floordivsi_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi32> {weft.name = "r_andi_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi32> {weft.name = "r_ori_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi32> {weft.name = "r_xori_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi32> {weft.name = "r_shli_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi32> {weft.name = "r_shrsi_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi32> {weft.name = "r_shrui_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi32> {weft.name = "r_maxsi_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi32> {weft.name = "r_maxui_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi32> {weft.name = "r_minsi_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi32> {weft.name = "r_minui_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi32> {weft.name = "r_ipowi_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi32> {weft.name = "r_absi_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi32> {weft.name = "r_ctlz_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi32> {weft.name = "r_cttz_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi32> {weft.name = "r_ctpop_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_eq_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_ne_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_slt_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_sle_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_sgt_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_sge_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_ult_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_ule_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_ugt_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_uge_i32", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi8> {weft.name = "r_addi_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi8> {weft.name = "r_subi_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi8> {weft.name = "r_muli_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi8> {weft.name = "r_divsi_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi8> {weft.name = "r_divui_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi8> {weft.name = "r_remsi_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi8> {weft.name = "r_remui_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi8> {weft.name = "r_ceildivsi_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi8> {weft.name = "r_ceildivui_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi8> {weft.name = "r_floordivsi_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi8> {weft.name = "r_andi_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi8> {weft.name = "r_ori_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi8> {weft.name = "r_xori_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi8> {weft.name = "r_shli_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi8> {weft.name = "r_shrsi_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi8> {weft.name = "r_shrui_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi8> {weft.name = "r_maxsi_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi8> {weft.name = "r_maxui_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi8> {weft.name = "r_minsi_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi8> {weft.name = "r_minui_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi8> {weft.name = "r_ipowi_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi8> {weft.name = "r_absi_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi8> {weft.name = "r_ctlz_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi8> {weft.name = "r_cttz_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi8> {weft.name = "r_ctpop_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_eq_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_ne_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_slt_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_sle_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_sgt_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_sge_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_ult_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_ule_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_ugt_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_uge_i8", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_addi_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_subi_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_muli_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_divsi_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_divui_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_remsi_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_remui_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_ceildivsi_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_ceildivui_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_floordivsi_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_andi_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_ori_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_xori_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_shli_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_shrsi_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_shrui_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_maxsi_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_maxui_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_minsi_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_minui_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_ipowi_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_absi_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_ctlz_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_cttz_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_ctpop_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_eq_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_ne_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_slt_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_sle_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_sgt_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_sge_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_ult_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_ule_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_ugt_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi1> {weft.name = "r_uge_i1", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi64> {weft.name = "r_wide", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi32> {weft.name = "r_natural", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xi8> {weft.name = "r_narrow", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xbf16> {weft.name = "r_number", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf64> {weft.name = "r_float", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x20xf32> {weft.name = "r_bits", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}) {
  %r_addi_i32 = arith.addi %m, %n : tensor<8x20xi32>
  %r_subi_i32 = arith.subi %m, %n : tensor<8x20xi32>
  %r_muli_i32 = arith.muli %m, %n : tensor<8x20xi32>
  %r_divsi_i32 = arith.divsi %m, %n : tensor<8x20xi32>
  %r_divui_i32 = arith.divui %m, %n : tensor<8x20xi32>
  %r_remsi_i32 = arith.remsi %m, %n : tensor<8x20xi32>
  %r_remui_i32 = arith.remui %m, %n : tensor<8x20xi32>
  %r_ceildivsi_i32 = arith.ceildivsi %m, %n : tensor<8x20xi32>
  %r_ceildivui_i32 = arith.ceildivui %m, %n : tensor<8x20xi32>
  %r_floordivsi_i32 = arith.floordivsi %m, %n : tensor<8x20xi32>
  %r_andi_i32 = arith.andi %m, %n : tensor<8x20xi32>
  %r_ori_i32 = arith.ori %m, %n : tensor<8x20xi32>
  %r_xori_i32 = arith.xori %m, %n : tensor<8x20xi32>
  %r_shli_i32 = arith.shli %m, %n : tensor<8x20xi32>
  %r_shrsi_i32 = arith.shrsi %m, %n : tensor<8x20xi32>
  %r_shrui_i32 = arith.shrui %m, %n : tensor<8x20xi32>
  %r_maxsi_i32 = arith.maxsi %m, %n : tensor<8x20xi32>
  %r_maxui_i32 = arith.maxui %m, %n : tensor<8x20xi32>
  %r_minsi_i32 = arith.minsi %m, %n : tensor<8x20xi32>
  %r_minui_i32 = arith.minui %m, %n : tensor<8x20xi32>
  %r_ipowi_i32 = math.ipowi %m, %n : tensor<8x20xi32>
  %r_absi_i32 = math.absi %m : tensor<8x20xi32>
  %r_ctlz_i32 = math.ctlz %m : tensor<8x20xi32>
  %r_cttz_i32 = math.cttz %m : tensor<8x20xi32>
  %r_ctpop_i32 = math.ctpop %m : tensor<8x20xi32>
  %r_eq_i32 = arith.cmpi eq, %m, %n : tensor<8x20xi32>
  %r_ne_i32 = arith.cmpi ne, %m, %n : tensor<8x20xi32>
  %r_slt_i32 = arith.cmpi slt, %m, %n : tensor<8x20xi32>
  %r_sle_i32 = arith.cmpi sle, %m, %n : tensor<8x20xi32>
  %r_sgt_i32 = arith.cmpi sgt, %m, %n : tensor<8x20xi32>
  %r_sge_i32 = arith.cmpi sge, %m, %n : tensor<8x20xi32>
  %r_ult_i32 = arith.cmpi ult, %m, %n : tensor<8x20xi32>
  %r_ule_i32 = arith.cmpi ule, %m, %n : tensor<8x20xi32>
  %r_ugt_i32 = arith.cmpi ugt, %m, %n : tensor<8x20xi32>
  %r_uge_i32 = arith.cmpi uge, %m, %n : tensor<8x20xi32>
  %r_addi_i8 = arith.addi %b, %c : tensor<8x20xi8>
  %r_subi_i8 = arith.subi %b, %c : tensor<8x20xi8>
  %r_muli_i8 = arith.muli %b, %c : tensor<8x20xi8>
  %r_divsi_i8 = arith.divsi %b, %c : tensor<8x20xi8>
  %r_divui_i8 = arith.divui %b, %c : tensor<8x20xi8>
  %r_remsi_i8 = arith.remsi %b, %c : tensor<8x20xi8>
  %r_remui_i8 = arith.remui %b, %c : tensor<8x20xi8>
  %r_ceildivsi_i8 = arith.ceildivsi %b, %c : tensor<8x20xi8>
  %r_ceildivui_i8 = arith.ceildivui %b, %c : tensor<8x20xi8>
  %r_floordivsi_i8 = arith.floordivsi %b, %c : tensor<8x20xi8>
  %r_andi_i8 = arith.andi %b, %c : tensor<8x20xi8>
  %r_ori_i8 = arith.ori %b, %c : tensor<8x20xi8>
  %r_xori_i8 = arith.xori %b, %c : tensor<8x20xi8>
  %r_shli_i8 = arith.shli %b, %c : tensor<8x20xi8>
  %r_shrsi_i8 = arith.shrsi %b, %c : tensor<8x20xi8>
  %r_shrui_i8 = arith.shrui %b, %c : tensor<8x20xi8>
  %r_maxsi_i8 = arith.maxsi %b, %c : tensor<8x20xi8>
  %r_maxui_i8 = arith.maxui %b, %c : tensor<8x20xi8>
  %r_minsi_i8 = arith.minsi %b, %c : tensor<8x20xi8>
  %r_minui_i8 = arith.minui %b, %c : tensor<8x20xi8>
  %r_ipowi_i8 = math.ipowi %b, %c : tensor<8x20xi8>
  %r_absi_i8 = math.absi %b : tensor<8x20xi8>
  %r_ctlz_i8 = math.ctlz %b : tensor<8x20xi8>
  %r_cttz_i8 = math.cttz %b : tensor<8x20xi8>
  %r_ctpop_i8 = math.ctpop %b : tensor<8x20xi8>
  %r_eq_i8 = arith.cmpi eq, %b, %c : tensor<8x20xi8>
  %r_ne_i8 = arith.cmpi ne, %b, %c : tensor<8x20xi8>
  %r_slt_i8 = arith.cmpi slt, %b, %c : tensor<8x20xi8>
  %r_sle_i8 = arith.cmpi sle, %b, %c : tensor<8x20xi8>
  %r_sgt_i8 = arith.cmpi sgt, %b, %c : tensor<8x20xi8>
  %r_sge_i8 = arith.cmpi sge, %b, %c : tensor<8x20xi8>
  %r_ult_i8 = arith.cmpi ult, %b, %c : tensor<8x20xi8>
  %r_ule_i8 = arith.cmpi ule, %b, %c : tensor<8x20xi8>
  %r_ugt_i8 = arith.cmpi ugt, %b, %c : tensor<8x20xi8>
  %r_uge_i8 = arith.cmpi uge, %b, %c : tensor<8x20xi8>
  %r_addi_i1 = arith.addi %p, %q : tensor<8x20xi1>
  %r_subi_i1 = arith.subi %p, %q : tensor<8x20xi1>
  %r_muli_i1 = arith.muli %p, %q : tensor<8x20xi1>
  %r_divsi_i1 = arith.divsi %p, %q : tensor<8x20xi1>
  %r_divui_i1 = arith.divui %p, %q : tensor<8x20xi1>
  %r_remsi_i1 = arith.remsi %p, %q : tensor<8x20xi1>
  %r_remui_i1 = arith.remui %p, %q : tensor<8x20xi1>
  %r_ceildivsi_i1 = arith.ceildivsi %p, %q : tensor<8x20xi1>
  %r_ceildivui_i1 = arith.ceildivui %p, %q : tensor<8x20xi1>
  %r_floordivsi_i1 = arith.floordivsi %p, %q : tensor<8x20xi1>
  %r_andi_i1 = arith.andi %p, %q : tensor<8x20xi1>
  %r_ori_i1 = arith.ori %p, %q : tensor<8x20xi1>
  %r_xori_i1 = arith.xori %p, %q : tensor<8x20xi1>
  %r_shli_i1 = arith.shli %p, %q : tensor<8x20xi1>
  %r_shrsi_i1 = arith.shrsi %p, %q : tensor<8x20xi1>
  %r_shrui_i1 = arith.shrui %p, %q : tensor<8x20xi1>
  %r_maxsi_i1 = arith.maxsi %p, %q : tensor<8x20xi1>
  %r_maxui_i1 = arith.maxui %p, %q : tensor<8x20xi1>
  %r_minsi_i1 = arith.minsi %p, %q : tensor<8x20xi1>
  %r_minui_i1 = arith.minui %p, %q : tensor<8x20xi1>
  %r_ipowi_i1 = math.ipowi %p, %q : tensor<8x20xi1>
  %r_absi_i1 = math.absi %p : tensor<8x20xi1>
  %r_ctlz_i1 = math.ctlz %p : tensor<8x20xi1>
  %r_cttz_i1 = math.cttz %p : tensor<8x20xi1>
  %r_ctpop_i1 = math.ctpop %p : tensor<8x20xi1>
  %r_eq_i1 = arith.cmpi eq, %p, %q : tensor<8x20xi1>
  %r_ne_i1 = arith.cmpi ne, %p, %q : tensor<8x20xi1>
  %r_slt_i1 = arith.cmpi slt, %p, %q : tensor<8x20xi1>
  %r_sle_i1 = arith.cmpi sle, %p, %q : tensor<8x20xi1>
  %r_sgt_i1 = arith.cmpi sgt, %p, %q : tensor<8x20xi1>
  %r_sge_i1 = arith.cmpi sge, %p, %q : tensor<8x20xi1>
  %r_ult_i1 = arith.cmpi ult, %p, %q : tensor<8x20xi1>
  %r_ule_i1 = arith.cmpi ule, %p, %q : tensor<8x20xi1>
  %r_ugt_i1 = arith.cmpi ugt, %p, %q : tensor<8x20xi1>
  %r_uge_i1 = arith.cmpi uge, %p, %q : tensor<8x20xi1>
  %r_wide = arith.extsi %b : tensor<8x20xi8> to tensor<8x20xi64>
  %r_natural = arith.extui %p : tensor<8x20xi1> to tensor<8x20xi32>
  %r_narrow = arith.trunci %m : tensor<8x20xi32> to tensor<8x20xi8>
  %r_number = arith.sitofp %b : tensor<8x20xi8> to tensor<8x20xbf16>
  %r_float = arith.uitofp %m : tensor<8x20xi32> to tensor<8x20xf64>
  %r_bits = arith.bitcast %m : tensor<8x20xi32> to tensor<8x20xf32>
  return %r_addi_i32, %r_subi_i32, %r_muli_i32, %r_divsi_i32, %r_divui_i32, %r_remsi_i32, %r_remui_i32, %r_ceildivsi_i32, %r_ceildivui_i32, %r_floordivsi_i32, %r_andi_i32, %r_ori_i32, %r_xori_i32, %r_shli_i32, %r_shrsi_i32, %r_shrui_i32, %r_maxsi_i32, %r_maxui_i32, %r_minsi_i32, %r_minui_i32, %r_ipowi_i32, %r_absi_i32, %r_ctlz_i32, %r_cttz_i32, %r_ctpop_i32, %r_eq_i32, %r_ne_i32, %r_slt_i32, %r_sle_i32, %r_sgt_i32, %r_sge_i32, %r_ult_i32, %r_ule_i32, %r_ugt_i32, %r_uge_i32, %r_addi_i8, %r_subi_i8, %r_muli_i8, %r_divsi_i8, %r_divui_i8, %r_remsi_i8, %r_remui_i8, %r_ceildivsi_i8, %r_ceildivui_i8, %r_floordivsi_i8, %r_andi_i8, %r_ori_i8, %r_xori_i8, %r_shli_i8, %r_shrsi_i8, %r_shrui_i8, %r_maxsi_i8, %r_maxui_i8, %r_minsi_i8, %r_minui_i8, %r_ipowi_i8, %r_absi_i8, %r_ctlz_i8, %r_cttz_i8, %r_ctpop_i8, %r_eq_i8, %r_ne_i8, %r_slt_i8, %r_sle_i8, %r_sgt_i8, %r_sge_i8, %r_ult_i8, %r_ule_i8, %r_ugt_i8, %r_uge_i8, %r_addi_i1, %r_subi_i1, %r_muli_i1, %r_divsi_i1, %r_divui_i1, %r_remsi_i1, %r_remui_i1, %r_ceildivsi_i1, %r_ceildivui_i1, %r_floordivsi_i1, %r_andi_i1, %r_ori_i1, %r_xori_i1, %r_shli_i1, %r_shrsi_i1, %r_shrui_i1, %r_maxsi_i1, %r_maxui_i1, %r_minsi_i1, %r_minui_i1, %r_ipowi_i1, %r_absi_i1, %r_ctlz_i1, %r_cttz_i1, %r_ctpop_i1, %r_eq_i1, %r_ne_i1, %r_slt_i1, %r_sle_i1, %r_sgt_i1, %r_sge_i1, %r_ult_i1, %r_ule_i1, %r_ugt_i1, %r_uge_i1, %r_wide, %r_natural, %r_narrow, %r_number, %r_float, %r_bits
      : tensor<8x20xi32>, tensor<8x20xi32>, tensor<8x20xi32>, tensor<8x20xi32>, tensor<8x20xi32>, tensor<8x20xi32>, tensor<8x20xi32>, tensor<8x20xi32>, tensor<8x20xi32>, tensor<8x20xi32>, tensor<8x20xi32>, tensor<8x20xi32>, tensor<8x20xi32>, tensor<8x20xi32>, tensor<8x20xi32>, tensor<8x20xi32>, tensor<8x20xi32>, tensor<8x20xi32>, tensor<8x20xi32>, tensor<8x20xi32>, tensor<8x20xi32>, tensor<8x20xi32>, tensor<8x20xi32>, tensor<8x20xi32>, tensor<8x20xi32>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi8>, tensor<8x20xi8>, tensor<8x20xi8>, tensor<8x20xi8>, tensor<8x20xi8>, tensor<8x20xi8>, tensor<8x20xi8>, tensor<8x20xi8>, tensor<8x20xi8>, tensor<8x20xi8>, tensor<8x20xi8>, tensor<8x20xi8>, tensor<8x20xi8>, tensor<8x20xi8>, tensor<8x20xi8>, tensor<8x20xi8>, tensor<8x20xi8>, tensor<8x20xi8>, tensor<8x20xi8>, tensor<8x20xi8>, tensor<8x20xi8>, tensor<8x20xi8>, tensor<8x20xi8>, tensor<8x20xi8>, tensor<8x20xi8>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi1>, tensor<8x20xi64>, tensor<8x20xi32>, tensor<8x20xi8>, tensor<8x20xbf16>, tensor<8x20xf64>, tensor<8x20xf32>
}
